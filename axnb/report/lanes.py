"""Conversations as lines of steps: what a picture of them shows, read from a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import duckdb

from axnb.case.case import ask
from axnb.triaging import ConversationTriage, Triage

#: Conversations that are drawn, and marks of each: a longer one is drawn by its ends.
MOST_LANES = 24
MOST_MARKS = 40
_HEAD = 12

#: States of a row that leave its turn open.
OPEN_STATES = ("STATE_PENDING", "STATE_UNSPECIFIED", "")

_KINDS = {"tool_call": "call", "tool_result": "result"}


def lanes(session: duckdb.DuckDBPyConnection, triage: Triage) -> list[dict[str, Any]]:
    """The conversations that need attention, the most urgent first; all if none does.

    Each is `{source, conversation_id, action, total, marks}`; a mark is `{n, step, kind, wounds}`,
    where `n` is its place among all marks, `kind` one of input, call, result, text, question, end
    and unreadable, and `wounds` the findings (errors and warnings) of its step.
    """
    drawn = urgent(triage)[:MOST_LANES]
    keys = [(c.source, c.conversation_id) for c in drawn]
    found = ask(session, "lanes", {"sources": [k[0] for k in keys], "ids": [k[1] for k in keys]})
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found:
        rows.setdefault((row["source"], row["conversation_id"]), []).append(row)
    wounds = _wounds(triage, set(keys))
    return [_lane(c, rows.get(key, []), wounds) for c, key in zip(drawn, keys, strict=True)]


def urgent(triage: Triage) -> list[ConversationTriage]:
    """Conversations that need attention, the most urgent first; all if none does."""
    ordered = triage.by_urgency()
    return [c for c in ordered if c.action != "nothing"] or ordered


Wounds = Mapping[tuple[str, str, int], list[str]]


def _wounds(triage: Triage, keys: set[tuple[str, str]]) -> Wounds:
    found: dict[tuple[str, str, int], list[str]] = {}
    for f in triage.findings:
        if f.step is None or f.conversation_id is None or f.severity == "info":
            continue
        if (f.source, f.conversation_id) in keys:
            ids = found.setdefault((f.source, f.conversation_id, f.step), [])
            ids += [f.id] if f.id not in ids else []
    return found


def _lane(c: ConversationTriage, rows: Iterable[Mapping[str, Any]], wounds: Wounds) -> Any:
    marks: list[dict[str, Any]] = []
    for _, parts in groupby(rows, key=lambda row: row["row"]):
        marks += _marks(list(parts))
    for n, mark in enumerate(marks, 1):
        mark["n"] = n
        if mark["step"] is not None:
            mark["wounds"] = wounds.get((c.source, c.conversation_id, mark["step"]), [])
    _once(marks)
    shown = marks
    if len(marks) > MOST_MARKS:
        shown = marks[:_HEAD] + marks[_HEAD - MOST_MARKS :]
    return {
        "source": c.source,
        "conversation_id": c.conversation_id,
        "action": c.action,
        "total": len(marks),
        "marks": shown,
    }


def _marks(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The marks of one row: its parts, and its end."""
    first = parts[0]
    if not first["readable"]:
        return [_mark(first, "unreadable")]
    found = [_mark(p, _kind(p)) for p in parts if p["kind"] is not None]
    if first["state"] not in OPEN_STATES:
        found.append(_mark(first, "end"))
    return found or [_mark(first, "text")]


def _mark(part: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"n": 0, "step": part["step"], "kind": kind, "wounds": []}


def _kind(part: Mapping[str, Any]) -> str:
    if part["kind"] == "confirmation":
        return "question" if part["decision"] == "asked" else "input"
    if part["role"] == "user" and part["kind"] not in _KINDS:
        return "input"
    return _KINDS.get(part["kind"], "text")


def _once(marks: Sequence[dict[str, Any]]) -> None:
    """Several marks can have one step: the last of them carries its wounds."""
    last = {mark["step"]: mark["n"] for mark in marks}
    for mark in marks:
        if last[mark["step"]] != mark["n"]:
            mark["wounds"] = []
