"""The plan of a migration: ordered statements that nobody's name can break out of."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.drills.migration.plan import Planned, plan_text, statements
from axnb.evidence.locators import PostgresLocator, SqliteLocator

USUAL = Planned(
    source=SqliteLocator(Path("/data/log.sqlite")),
    schema="public",
    old=GENERATIONS["G6"],
    new=GENERATIONS["G8"],
    default_harness="antigravity",
    losses=(),
    interrupted=2,
    way_back=GENERATIONS["G6"],
)

HOSTILE = ("it's; rm -rf $(x).sqlite", "a\nkubectl delete ns", "-rf", "`x`", '"$HOME"', "a\x1b[2Jb")


def commands(text: str) -> list[list[str]]:
    """The words of each command that a shell would run, were the whole plan pasted."""
    lines = [line.strip() for line in text.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_one_word_or_none(name: str) -> None:
    usual = commands(plan_text(USUAL))
    hostile = commands(plan_text(replace(USUAL, source=SqliteLocator(Path("/data") / name))))
    assert len(hostile) == len(usual)
    for words, others in zip(usual, hostile, strict=True):
        assert len(others) == len(words)
        changed = [other for word, other in zip(words, others, strict=True) if word != other]
        assert set(changed) <= {name, f"./{name}", "LOG"}


@pytest.mark.parametrize("path", ["steps[].content", "a'; rm -rf /", "x\ny"])
def test_a_path_of_a_loss_is_one_word_or_none(path: str) -> None:
    told = commands(plan_text(replace(USUAL, losses=[path])))
    (words,) = (w for w in told if w[:2] == ["axnb", "migrate"] and "--dry-run" not in w)
    assert words[-1] in (f"--accept-loss={path}", "--accept-loss=…")


def test_each_statement_has_its_checks_and_its_undo_and_none_is_undone_by_pasting() -> None:
    for planned in (
        USUAL,
        replace(USUAL, old=GENERATIONS["G3"], way_back=None),
        replace(USUAL, source=PostgresLocator("postgresql://me:secret@db/ax"), losses=["a", "b"]),
    ):
        assert len(statements(planned)) == 7
        for statement in statements(planned):
            assert statement.before
            assert statement.do
            assert statement.after
            assert statement.undo
        text = plan_text(planned)
        assert "secret" not in text
        assert [int(n) for n in re.findall(r"--- (\d)\. ", text)] == [1, 2, 3, 4, 5, 6, 7]
        assert not [words for words in commands(text) if words[0] in ("rm", "drop")]
        assert max(map(len, text.splitlines())) < 140


def test_what_changes_between_two_versions_is_said() -> None:
    renamed = plan_text(replace(USUAL, old=GENERATIONS["G5b"], way_back=GENERATIONS["G5b"]))
    assert "what stood under `harnesses` goes under `antigravity` and `registry`" in renamed
    assert "axnb migrate migrated.sqlite back.sqlite --to G5b" in renamed
    assert "harnesses`" not in plan_text(USUAL)
    gone = plan_text(replace(USUAL, old=GENERATIONS["G4"], way_back=None))
    assert "there is no migration back" in gone


def test_a_pattern_of_pg_dump_names_one_schema_or_any() -> None:
    source = PostgresLocator("postgresql://db/ax")
    for schema, pattern in (("ax", "ax.conversation_log"), ('o"; x', "*.conversation_log")):
        text = plan_text(replace(USUAL, source=source, schema=schema))
        assert f"--table='{pattern}'" in text
