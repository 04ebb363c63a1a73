"""Rows of two sources are compared by what they say."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from axnb.ax.canonical import canonical_digest
from axnb.case.canonical import canonical_digests
from axnb.case.case import Case
from axnb.testing.logs import LogBuilder, StoredRow, answer, call
from tests import ax_logs

Load = Callable[[Path | str], str]


def _rows(case: Case, source: str) -> list[int]:
    return [n for (n,) in case.rows('select "row" from event_rows where source = ?', [source])]


def _digests(case: Case, source: str) -> dict[int, bytes | None]:
    with case.reading() as session:
        return canonical_digests(session, source, _rows(case, source))


def _text_digests(case: Case, source: str) -> dict[int, bytes]:
    return dict(case.rows('select "row", digest from event_rows where source = ?', [source]))


def _spell_anew(payload: str) -> str:
    """The same row as another program writes it: indented, in another order, in ASCII."""
    members = json.loads(payload, parse_int=_whole)
    return json.dumps(dict(reversed(members.items())), indent=1)


def _whole(digits: str) -> int | float:
    """Python's whole numbers have no -0, which real rows have."""
    return -0.0 if digits == "-0" else int(digits)


def _respelled(log: Path, copy: Path) -> Path:
    copy.write_bytes(log.read_bytes())
    with closing(sqlite3.connect(copy)) as database:
        database.create_function("spell_anew", 1, _spell_anew)
        database.execute("update conversation_log set payload = spell_anew(payload)")
        database.commit()
    return copy


@pytest.mark.parametrize("name", ["g3-sqlite", "g5b-builtin-sqlite", "g8-sqlite"])
def test_a_real_log_and_its_respelled_copy_say_the_same(
    name: str, case: Case, load: Load, tmp_path: Path
) -> None:
    """Although no two texts are equal."""
    log = ax_logs.ROOT / name / "log.sqlite"
    first, second = load(log), load(_respelled(log, tmp_path / "copy.sqlite"))
    digests = _digests(case, first)
    assert digests == _digests(case, second)
    assert None not in digests.values()
    texts, others = _text_digests(case, first), _text_digests(case, second)
    assert digests.keys() == texts.keys() == others.keys()
    assert len(texts) > 100
    assert not any(texts[row] == others[row] for row in texts)


def test_one_changed_row_is_seen(case: Case, load: Load, tmp_path: Path) -> None:
    """In a copy that is spelled anew all over."""
    log = LogBuilder("G8")
    for number in range(5):
        arguments = {"amount": number, "order": "é"}
        log.turn(f"c{number}", "hi", call("charge", arguments), answer({"ok": True}))
    copy = _respelled(log.write_sqlite(tmp_path / "log.sqlite"), tmp_path / "copy.sqlite")
    with closing(sqlite3.connect(copy)) as database:
        changed = database.execute(
            "update conversation_log set payload = replace(payload, '\"amount\": 3', "
            "'\"amount\": 3.0000000000000000000001')"
        )
        assert changed.rowcount > 0
        database.commit()
    first, second = load(tmp_path / "log.sqlite"), load(copy)
    here, there = _digests(case, first), _digests(case, second)
    differing = [row for row in here if here[row] != there[row]]
    assert case.rows(
        'select conversation_id, step from events where source = ? and "row" = ?',
        [first, *differing],
    ) == [("c3", 2)]


def test_a_payload_without_a_canonical_form_is_unknown(
    case: Case, load: Load, tmp_path: Path
) -> None:
    """AX reads rows that say a thing twice, or a number without a value, where it drops them."""
    log = LogBuilder("G8")
    payloads = [
        '{"conversation_id":"c","x":1,"x":2,"state":"STATE_COMPLETED"}',
        '{"conversation_id":"c","x":1e,"state":"STATE_COMPLETED"}',
        '{"conversation_id":"c", "state":"STATE_COMPLETED"}',
    ]
    log.rows = [StoredRow("c", step, payload) for step, payload in enumerate(payloads, 1)]
    source = load(log.write_sqlite(tmp_path / "log.sqlite"))
    found = canonical_digest('{"state":"STATE_COMPLETED","conversation_id":"c"}')
    assert list(_digests(case, source).values()) == [None, None, found]


def test_a_rejected_row_and_a_row_that_is_not_there_are_unknown(
    case: Case, load: Load, tmp_path: Path
) -> None:
    """Their payloads are not in the case; a row of another source does not stand in for them."""
    log = LogBuilder("G8")
    log.turn("c", "hi")
    other = load(log.write_sqlite(tmp_path / "other.sqlite"))
    log.rows[1] = StoredRow("c", 2, "no JSON")
    source = load(log.write_sqlite(tmp_path / "log.sqlite"))
    ((rejected,),) = case.rows('select "row" from rejects where source = ?', [source])
    (healthy,) = _rows(case, source)
    with case.reading() as session:
        found = canonical_digests(session, source, [10**12, rejected, healthy, healthy])
        assert list(found) == sorted([10**12, rejected, healthy])
        assert {row for row, digest in found.items() if digest is None} == {10**12, rejected}
        assert canonical_digests(session, other, [rejected])[rejected] is not None
        assert canonical_digests(session, "no such source", [healthy]) == {healthy: None}


def test_only_the_rows_that_are_asked_for_are_answered(case: Case, load: Load) -> None:
    """In any order, from any iterable, none at all included."""
    source = load(ax_logs.ROOT / "g8-sqlite" / "log.sqlite")
    everything = _digests(case, source)
    some = sorted(everything)[::7]
    with case.reading() as session:
        assert canonical_digests(session, source, []) == {}
        assert canonical_digests(session, source, reversed(some)) == {
            r: everything[r] for r in some
        }


def test_more_rows_than_one_query_takes(case: Case, load: Load, tmp_path: Path) -> None:
    """Every row gets the digest of its own payload."""
    log = LogBuilder("G8")
    log.rows = [
        StoredRow("c", n, json.dumps({"conversation_id": "c", "state": 3, "n": n}))
        for n in range(1, 2503)
    ]
    source = load(log.write_sqlite(tmp_path / "log.sqlite"))
    payloads = dict(case.rows('select "row", payload from event_rows'))
    assert len(payloads) == 2502
    expected = {row: canonical_digest(payload) for row, payload in payloads.items()}
    assert _digests(case, source) == expected
    assert len(set(expected.values())) == 2502
