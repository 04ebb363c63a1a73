"""What a timeline shows of one conversation, read from a case: rows, their parts, their calls."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from axnb.case.case import ask
from axnb.checks.kept import digest_key
from axnb.checks.told import keyed
from axnb.triaging import ConversationTriage, Triage

#: A conversation of more rows is shown by its beginning, its end, and what is wrong between.
MOST_ROWS = 200

#: Hex digits of a keyed digest that are shown; a finding's witness has the same.
DIGEST_DIGITS = 12

Record = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A row of the timeline."""

    #: Its place in the conversation, from 1, and in its source.
    n: int
    row: int
    step: int | None
    position: int
    turn: int
    state: str
    #: Does AX's own query find it?
    visible: bool
    digest: str
    #: Why it cannot be read, and its bytes; None where it can.
    unreadable: str | None
    size: int
    parts: tuple[Record, ...]
    #: The raw bytes of a row that cannot be read, if they are to be shown.
    raw: bytes | None = None


@dataclass(frozen=True)
class Timeline:
    """The rows of a conversation that are shown, and what belongs to them."""

    entries: tuple[Entry, ...]
    #: Rows that the conversation has, shown or not.
    total: int
    #: By position and number of the part that makes the call.
    calls: Mapping[tuple[int, int], Record]
    #: By position of the answer and id of the call.
    answered: Mapping[tuple[int, str], Record]
    #: Outcomes by position and id of the question.
    questions: Mapping[tuple[int, str], str]
    #: What servers' logs say of the conversation, in order.
    server_events: tuple[Record, ...]


def read_timeline(
    session: duckdb.DuckDBPyConnection,
    triage: Triage,
    conversation: ConversationTriage,
    *,
    reveal: bool = False,
    everything: bool = False,
    most: int = MOST_ROWS,
) -> Timeline:
    """Read a conversation, a long one in part; payloads only where they are to be revealed."""
    key = {"source": conversation.source, "id": conversation.conversation_id}
    limits = {"most": most, "head": most // 10, "tail": most // 2}
    marked = _marked_steps(triage, conversation)
    rows = ask(
        session,
        "conversation_rows",
        {**key, **limits, "everything": everything, "marked": marked},
    )
    if not everything:
        rows = _at_most(rows, most)
    numbers = [row["row"] for row in rows]
    positions = sorted({row["position"] for row in rows})
    parts = _by_row(ask(session, "conversation_parts", {**key, "rows": numbers}))
    if reveal:
        _add_values(parts, ask(session, "conversation_values", {**key, "rows": numbers}))
    calls = ask(session, "conversation_calls", {**key, "positions": positions})
    starts = [turn["first_position"] for turn in ask(session, "conversation_turns", key)]
    secret = digest_key(session)
    return Timeline(
        entries=tuple(_entry(row, parts.get(row["row"], []), starts, secret) for row in rows),
        total=rows[0]["total"] if rows else 0,
        calls={(call["call_position"], call["part"]): call for call in calls},
        answered={(call["result_position"], call["call_id"]): call for call in calls},
        questions={
            (found["position"], found["question_id"]): found["outcome"]
            for found in ask(session, "conversation_questions", key)
        },
        server_events=tuple(
            ask(session, "conversation_events", {"id": conversation.conversation_id})
        ),
    )


def _marked_steps(triage: Triage, conversation: ConversationTriage) -> list[int]:
    """Steps that a finding is about, or a call whose outcome is not known."""
    key = conversation.source, conversation.conversation_id
    found = {f.step for f in triage.findings if (f.source, f.conversation_id) == key}
    found |= {call.step for call in conversation.unresolved}
    return sorted(step for step in found if step is not None)


def _at_most(rows: list[Record], most: int) -> list[Record]:
    """A conversation can have more wounds than a person reads: the first ones are shown."""
    if len(rows) <= most:
        return rows
    return rows[: most - most // 2] + rows[-(most // 2) :]


def _by_row(parts: Iterable[Record]) -> dict[int, list[Record]]:
    found: dict[int, list[Record]] = {}
    for part in parts:
        found.setdefault(part["row"], []).append(part)
    return found


def _add_values(parts: dict[int, list[Record]], values: Iterable[Record]) -> None:
    """Put the payloads beside what is known of them; those of unreadable rows as part 0."""
    for value in values:
        if value["part"] == 0:
            parts[value["row"]] = [value]
            continue
        for part in parts.get(value["row"], ()):
            if part["part"] == value["part"]:
                part["value"] = value["value"]


def _entry(row: Record, parts: list[Record], starts: list[int], secret: bytes) -> Entry:
    unreadable = row["reason"]
    if unreadable is not None and row["detail"]:
        unreadable += f" ({row['detail']})"
    return Entry(
        n=row["n"],
        row=row["row"],
        step=row["step"],
        position=row["position"],
        turn=bisect_right(starts, row["position"]),
        state=row["state"],
        visible=row["visible"],
        digest=(keyed(row["digest"], secret) or "")[:DIGEST_DIGITS],
        unreadable=unreadable,
        size=row["size"],
        parts=() if unreadable is not None else tuple(parts),
        raw=parts[0]["raw"] if unreadable is not None and parts else None,
    )
