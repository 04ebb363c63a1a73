"""What `axnb migrate` says on a terminal."""

from __future__ import annotations

from typing import Any

from axnb.migrating import AsItIs, Migrated
from axnb.report.migration_text import render_migration
from axnb.report.terminal import WIDTH
from axnb.text import columns, is_hidden


def _migrated(**parts: Any) -> Migrated:
    whole: dict[str, Any] = {
        "source": "log.sqlite",
        "destination": "new.sqlite",
        "target": "G8",
        "rows_read": 20,
        "rows_written": 20,
        "digest": None,
        "converted": 18,
        "as_it_is": 0,
        "as_it_is_first": (),
        "renumbered": 0,
        "owners": {},
        "losses": {},
        "generations": {"G6": 20},
        "executions": 0,
        "notes": (),
        "custody": {},
    }
    return Migrated(**{**whole, **parts})


def test_a_copy_is_looked_at_next() -> None:
    assert render_migration(_migrated(), {}).splitlines() == [
        "log.sqlite   AX log, rows by what they show: G6 20",
        "target       v0.2.3 (G8), new.sqlite",
        "",
        f"{'✓ OK':<16}20 rows read, 20 written and read back.  18 rewritten, 2 with the same text.",
        "",
        "Next:  axnb triage new.sqlite --ax-version=G8",
        "       axnb drill migration log.sqlite --to=G8 --out=drill",
    ]


def test_a_refusal_names_each_path_and_offers_a_rehearsal() -> None:
    losses = {"messages[].role": 2, "session_id": 7}
    found = _migrated(rows_written=None, losses=losses)
    text = render_migration(found, {"session_id": 7})
    assert "✗ FAILED" in text
    assert "18 would be rewritten" in text
    (role,) = (line for line in text.splitlines() if "messages[].role" in line)
    assert role.endswith("2   accepted")
    assert "axnb triage" not in text
    assert "Next:  axnb drill migration log.sqlite --to=G8" in text


def test_a_database_is_named_by_its_variable_and_a_stranger_moves_no_cursor() -> None:
    left = (AsItIs("\x1b[31mred" * 30, "2", "\u202ewrong"),)
    found = _migrated(source="postgresql://db/ax", as_it_is=9, as_it_is_first=left)
    text = render_migration(found, {})
    assert "axnb drill migration AX_EVENTLOG_DSN --to=G8" in text
    assert not any(is_hidden(c) for c in text.replace("\n", ""))
    assert [line for line in text.splitlines() if columns(line) > WIDTH] == []
    assert "… 8 more" in text
