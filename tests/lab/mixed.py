"""Logs that hold a bit of everything: generations, rejected rows, rows of several parts or none."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from axnb.ax.rows import STATES, Part, Row
from axnb.case.browse import RowFilter
from axnb.case.case import Case
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, decide, say, think

IDS = ("c1", "c2", "c'%_", "")
TOOLS = ("pay", "send_%", "p'a")
PARTS = (
    *(say("hello"), say(""), think("hm"), ask("sure?"), decide("approved"), decide("declined")),
    *(call(tool, {"n": 1}) for tool in TOOLS),
    *(answer({"ok": True}, "pay"), answer({"ok": True}, "pay", is_error=True)),
    Part("image", "user", value="data:x"),
)
BROKEN = (b"\xff\xfe", '{"state":', "no json", '{"steps":3}', None, 7)


def mixed(seed: int = 0) -> LogBuilder:
    """One fixed log with all of it."""
    log = LogBuilder("G8")
    for n, generation in enumerate(("G8", "G6", "G5", "G7")):
        other = LogBuilder(generation)
        for conversation in IDS:
            other.turn(conversation, f"hi {seed}", *PARTS[n : n + 7])
            other.interrupted(conversation, "again", *PARTS[n + 3 : n + 6])
        log.rows += [StoredRow(r.conversation_id, n * 100 + r.step, r.payload) for r in other.rows]
    log.rows += [StoredRow("c1", 500 + n, payload) for n, payload in enumerate(BROKEN)]
    log.rows += [
        StoredRow("c1", 1, '{"state":"STATE_PENDING"}'),
        StoredRow("c2", 700, several(PARTS[-4:])),
        StoredRow("c2", None, several(PARTS[6:9])),
        StoredRow("c2", "two", several(PARTS[:6])),
        StoredRow(b"\xff", 3, several(PARTS[:2])),
        StoredRow(None, 3, several(PARTS[:2])),
        StoredRow("c2", 2**62, '{"state":"STATE_CANCELED"}'),
        StoredRow("c2", -4, '{"state":9}'),
    ]
    return log


def several(parts: tuple[Part, ...]) -> str:
    """The payload of one row with several parts."""
    log = LogBuilder("G8")
    log.add(Row("x", STATES.index("STATE_PENDING"), parts=parts))
    return str(log.rows[0].payload)


@st.composite
def logs(draw: st.DrawFn) -> LogBuilder:
    """Any log of that kind."""
    log = LogBuilder("G8")
    for _ in range(draw(st.integers(0, 12))):
        conversation = draw(st.sampled_from(IDS))
        step = draw(st.one_of(st.none(), st.integers(-3, 6), st.just(2**63 - 1)))
        state = draw(st.sampled_from(range(5)))
        parts = tuple(draw(st.lists(st.sampled_from(PARTS), max_size=4)))
        other = LogBuilder(draw(st.sampled_from(("G3", "G5", "G6", "G7", "G8"))))
        broken = draw(st.one_of(st.none(), st.none(), st.sampled_from(BROKEN)))
        if broken is None:
            row = Row(
                conversation, state, parts=parts if other.generation.name >= "G6" else parts[:1]
            )
            other.add(row, step=1)
            broken = other.rows[0].payload
        log.rows.append(StoredRow(conversation, step, broken))
    return log


@st.composite
def filters(draw: st.DrawFn, sources: tuple[str, ...] = ("log", "log-2")) -> RowFilter:
    """Any filter."""
    step = st.one_of(st.none(), st.integers(-5, 520), st.sampled_from((-(2**63), 2**63 - 1)))
    kinds = ("", "text", "thought", "tool_call", "tool_result", "confirmation", "other")
    return RowFilter(
        draw(st.sampled_from(sources)),
        draw(st.sampled_from(("", "c", "c1", "'", "%", "nobody"))),
        draw(st.one_of(st.none(), st.integers(0, 5))),
        draw(st.sampled_from((*kinds, "no content", "unreadable"))),
        draw(st.sampled_from(("", "", "pay", "%", "'", "_"))),
        draw(step),
        draw(step),
    )


#: A line: row, part, conversation, step, state's number, kind, tool.
Line = tuple[int, int, str | None, int | None, int | None, str | None, str | None]


def lines_of(case: Case, source: str) -> list[Line]:
    """The lines of a source, read from the case's tables in the plainest way."""
    names = dict(
        case.rows(
            "select conversation, conversation_id from conversation_numbers where source = ?",
            [source],
        )
    )
    careful: dict[int, list[tuple[Any, ...]]] = {}
    for row, part, kind, tool in case.rows(
        'select "row", part, kind, tool from careful_parts where source = ?', [source]
    ):
        careful.setdefault(row, []).append((part, kind, tool))
    found: list[Line] = []
    for row, conversation, step, state, fast, kind, tool in case.rows(
        'select "row", conversation, step, state, fast, part_kind, part_tool from event_rows '
        "where source = ?",
        [source],
    ):
        parts = [(1, kind, tool)] if fast else careful.get(row, [(1, None, None)])
        found += [(row, n, names[conversation], step, state, k, t) for n, k, t in parts]
    found += [
        (row, 0, conversation, step, state, "unreadable", None)
        for row, conversation, step, state in case.rows(
            'select "row", conversation_id, step, state from rejects where source = ?', [source]
        )
    ]
    return sorted(found, key=lambda line: line[:2])


_NAMED = ("text", "thought", "tool_call", "tool_result", "confirmation", "unreadable")


def fits(line: Line, wanted: RowFilter) -> bool:
    """Does a filter choose a line?"""
    _, _, conversation, step, state, kind, tool = line
    of_kind = {
        "": True,
        "no content": kind is None,
        "other": kind is not None and kind not in _NAMED,
    }.get(wanted.kind, kind == wanted.kind)
    return (
        (not wanted.within or (conversation is not None and wanted.within in conversation))
        and (wanted.state is None or state == wanted.state)
        and of_kind
        and (not wanted.tool or (tool is not None and wanted.tool in tool))
        and (wanted.lowest is None or (step is not None and step >= wanted.lowest))
        and (wanted.highest is None or (step is not None and step <= wanted.highest))
    )
