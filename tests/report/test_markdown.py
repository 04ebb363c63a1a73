"""Markdown for a ticket: as a reader of CommonMark and GFM takes it, no stranger's text lives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import mistune
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from axnb.report.markdown import render_markdown
from axnb.report.view import brief
from axnb.result import Result
from tests import ax_logs
from tests.report.made import (
    NAMES,
    OTHER_RUN,
    RUN,
    all_hostile,
    by_hand,
    finding,
    made,
    real,
    source,
    timeless,
)

_PLUGINS = [
    *("table", "strikethrough", "url", "task_lists", "footnotes", "abbr", "def_list", "math"),
    *("ruby", "mark", "insert", "superscript", "subscript", "spoiler"),
]
_READER: Any = mistune.create_markdown(renderer=None, plugins=_PLUGINS)

#: All that a ticket is made of.
SAFE = {
    *("heading", "blank_line", "list", "list_item", "block_text", "paragraph", "text", "codespan"),
    *("table", "table_head", "table_body", "table_row", "table_cell", "strong", "softbreak"),
}


def _tokens(tokens: Any) -> Iterator[Mapping[str, Any]]:
    for token in tokens:
        yield token
        yield from _tokens(token.get("children") or ())


def _read(text: str) -> list[Mapping[str, Any]]:
    return list(_tokens(_READER(text)))


def _living(text: str) -> set[str]:
    return {token["type"] for token in _read(text)} - SAFE


def _shape(text: str) -> list[str]:
    """What a document is made of, whatever its words are."""
    kinds = ("text", "codespan", "softbreak", "block_text", "paragraph")
    return [token["type"] for token in _read(text) if token["type"] not in kinds]


def _result(texts: list[str]) -> Result:
    """A result with texts of strangers in every place that has one."""
    turn = iter(texts * 40)
    text = lambda: next(turn)  # noqa: E731
    call = {"source": "log", "step": 1, "known": text()}
    conversation = {"source": "log", "last_step": 1, "findings": []}
    told = {"action": "resume", "title": "Resume", "count": 3, "findings": ["AX110"]}
    return by_hand(
        drill="triage",
        verdict="failed",
        examined=(text(), text()),
        why=(text(), text()),
        scope=(text(),),
        sources=(
            source(name=text(), custody={"sha256": "0" * 64}),
            source(custody={"lsn": text()}),
        ),
        actions=(
            {
                **told,
                "reason": text(),
                "conversations": [
                    {
                        **conversation,
                        "conversation_id": text(),
                        "standing": text(),
                        "advice": text(),
                    }
                    for _ in range(2)
                ],
            },
        ),
        unresolved={
            "count": 3,
            "calls": [
                {**call, "tool": text(), "operation_id": text(), "conversation_id": text()}
                for _ in range(2)
            ],
        },
        findings=tuple(
            finding(n, sentence=text(), keys={"conversation_id": text(), "step": 1}) for n in (1, 2)
        ),
        run={**RUN, "locators": [text()], "started": text(), "axnb": text(), "id": text()},
    )


#: What this shape is when the texts are dull.
_DULL = _shape(render_markdown(_result(["dull"])))

_DANGEROUS = [
    *(
        "`",
        "``",
        "|",
        "\\",
        "\\|",
        "<",
        ">",
        "<b>",
        "&lt;",
        "[",
        "](",
        ")",
        "!",
        "*",
        "**",
        "_",
        "__",
    ),
    *(
        "~",
        "~~",
        "#",
        "# ",
        "- ",
        "+ ",
        "1. ",
        "> ",
        "    ",
        "```",
        "---",
        "===",
        "\n",
        "\n\n",
        "\t",
    ),
    *("@someone", "#12", "GH-12", "www.evil.example", "https://evil.example", "a@evil.example"),
    *(
        "evil.example",
        ":boom:",
        "$x$",
        "==x==",
        "++x++",
        "^x^",
        "[^1]",
        "[ ] ",
        "x",
        " ",
        "0",
        ":",
    ),
    *(
        "javascript:",
        "0123abcdef",
        "{%raw%}",
        "\u202e",
        "\x1b[31m",
        "|---|---|",
        "<!--",
        ":---",
        "''",
    ),
]
_PIECES = st.sampled_from(_DANGEROUS)
_HOSTILE = st.lists(_PIECES | st.text(max_size=4), max_size=12).map("".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(_HOSTILE, min_size=1, max_size=5))
@example(["a\\|b", "\\", "`", "|"])
@example(["`", "``", "` ` `", " x "])
@example(["1. x", "- x", "[ ] x", "= x"])
def test_no_text_comes_to_life(texts: list[str]) -> None:
    text = render_markdown(_result(texts))
    assert _living(text) == set()
    assert _shape(text) == _DULL


def test_no_known_hostile_text_comes_to_life() -> None:
    for hostile in all_hostile():
        text = render_markdown(_result([hostile]))
        assert _living(text) == set(), hostile
        assert _shape(text) == _DULL, hostile


@settings(max_examples=40, deadline=None)
@given(_HOSTILE)
@example("a\\|b")
def test_bars_break_no_table_in_any_dialect(text: str) -> None:
    """Dialects disagree on what a backslash does before a bar: there is none within a cell."""
    lines = render_markdown(_result([text])).splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert [row.count("|") for row in rows] == [6] * len(rows)
    assert len(rows) == 6


#: What other readers, which know more than this one, bring to life outside of code.
_ELSEWHERE = re.compile(
    r"@\w|#\d|\bGH-\d|https?:|www\.|\w\.example|<|\[|\]|!\[|\$|~|\*(?!\*)|_|:[a-z]+:|\\|\b[0-9a-f]{10}\b"
)


@settings(max_examples=40, deadline=None)
@given(_HOSTILE)
@example("x:x")
def test_nothing_stands_outside_of_code_that_another_reader_may_know(text: str) -> None:
    tokens = _read(render_markdown(_result([text])))
    plain = [t["raw"] for t in tokens if t["type"] == "text"]
    assert [words for words in plain if _ELSEWHERE.search(words)] == []


def test_no_piece_of_markup_stands_outside_of_code_in_a_sentence() -> None:
    for piece in _DANGEROUS:
        for sentence in (
            piece,
            f"so{piece}it is.",
            f"so {piece} it is.",
            f"{piece}so it{piece}is.",
        ):
            tokens = _read(render_markdown(_result([sentence])))
            plain = [t["raw"] for t in tokens if t["type"] == "text"]
            assert [words for words in plain if _ELSEWHERE.search(words)] == [], sentence


@settings(max_examples=50, deadline=None)
@given(_HOSTILE)
@example(" leading and trailing ")
@example("   ")
def test_a_text_is_shown_as_it_is(text: str) -> None:
    """It can be copied out of its code span again."""
    told = finding(keys={"conversation_id": text}, sentence="dull")
    tokens = _read(render_markdown(by_hand(findings=(told,))))
    spans = [t["raw"] for t in tokens if t["type"] == "codespan"]
    shown = brief(text).replace("|", "\\u007c")
    assert (shown in spans) or (not shown and "(empty)" in str(tokens))


@pytest.mark.parametrize("name", NAMES)
def test_results_of_triages_are_dead(name: str) -> None:
    assert _living(render_markdown(made(name))) == set()


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(ax_logs.sqlite_logs(), "crafted-sqlite", "g3-sqlite", "g8-sqlite"),
)
def test_real_logs(log: ax_logs.RealLog) -> None:
    result = real(log)
    text = render_markdown(result)
    assert _living(text) == set()
    for group in result.actions:
        assert f"**{group['title']}, {group['count']:,}:**" in text
    for check in result.checks:
        row = rf"\| {check['id']} {check['name']} \| {check['severity']} \| {check['found']:,} \|"
        assert bool(re.search(row, text)) == (check["found"] > 0)
    calls = result.unresolved["count"]
    assert ("## Calls to read back" in text) == (calls > 0)


def test_the_order_of_a_ticket() -> None:
    headings = re.findall(r"^#+ (.*)$", render_markdown(made("several")), re.MULTILINE)
    assert headings[0] == "✗ failed: triage"
    assert [heading.split(":")[0] for heading in headings[1:]] == [
        "Why",
        "What to do, and what not to touch",
        "Calls to read back from their tools",
        "Findings",
        "Evidence",
        "Scope",
    ]


def test_a_conversation_is_named_with_its_log_where_there_are_several() -> None:
    text = render_markdown(made("several"))
    assert "  - log `silent`: " in text
    assert "| log-3 `open` |" in text
    assert "`silent`: " in render_markdown(made("failed"))
    assert "log `silent`" not in render_markdown(made("failed"))


def test_sentences_without_danger_are_sentences() -> None:
    for sentence in (
        "11 of 30 conversations are blocked for good.",
        "First seen 2026-11-29T20:23:14Z, last seen 2026-11-29T20:23:58Z.",
        "When: unknown. The log has no times; give --server-log to get them.",
        "Asked as v0.2.3 (G8), the newest that the log shows.",
    ):
        assert f"- {sentence}\n" in render_markdown(by_hand(why=(sentence,)))


def test_what_is_cut_is_counted() -> None:
    conversation = {"source": "log", "conversation_id": "c", "last_step": 1, "findings": []}
    group = {"action": "resume", "title": "Resume", "reason": "r", "count": 999, "findings": []}
    call = {
        "tool": "t",
        "operation_id": None,
        "source": "log",
        "conversation_id": "c",
        "step": None,
    }
    result = by_hand(
        examined=("e.",) * 21,
        why=("w.",) * 22,
        scope=("s.",) * 23,
        sources=(source(),) * 24,
        actions=(
            {**group, "conversations": [{**conversation, "standing": "s", "advice": "a."}] * 30},
        ),
        unresolved={"count": 777, "calls": [{**call, "known": "no result logged"}] * 30},
    )
    text = render_markdown(result)
    for told in ("… 1 more", "… 2 more", "… 3 more", "… 4 more", "… 979 more", "… 757 more"):
        assert f"{told} in `result.json`\n" in text
    assert _living(text) == set()


def test_one_line_depends_on_the_run() -> None:
    parts = {
        name: value for name, value in vars(made("failed")).items() if not name.startswith("_")
    }
    one, other = (render_markdown(Result(**{**parts, "run": r})) for r in (RUN, OTHER_RUN))
    differing = [a for a, b in zip(one.splitlines(), other.splitlines(), strict=True) if a != b]
    assert len(differing) == 1
    assert differing[0].startswith("- Run: ")
    assert timeless(by_hand(run=RUN))[2] == timeless(by_hand(run=OTHER_RUN))[2]
