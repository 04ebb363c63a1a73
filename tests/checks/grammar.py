"""Which logs AX could have written in a healthy history: a grammar, and nothing of axnb's checks.

    log           one generation wrote it; rows have the key and the storage classes that AX gives
    conversation  turns, numbered 1 to N without a gap, of one owner
    turn          an input, outputs, an end
    input         PENDING; content of the client's; the owner's name as its generation writes it
    output        PENDING; one message or step of the harness's, and nothing else
    end           COMPLETED, and nothing else

A call is answered once and within its turn, by its id or else in order; one that a person was asked
about, after the approval, and never after a refusal. A question gets one answer, and an answer
answers the question that is open under its id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axnb.ax.versions import GENERATIONS, Generation
from tests.checks.reading import EVENTS, EXECUTION, read

_CLASSES = ("text", "integer", "text")
_PENDING, _COMPLETED = "STATE_PENDING", "STATE_COMPLETED"


@dataclass(frozen=True)
class Stored:
    """What lies in a SQLite file: rows with their storage classes, and G3's executions."""

    column: str
    rows: tuple[tuple[tuple[str, str, str], bytes | None, Any, bytes | None], ...]
    executions: tuple[tuple[bytes, bytes], ...]


def stored(path: Path, generation: Generation) -> Stored:
    """Read a file back, in the order of its keys, without a guess at any value."""
    column = generation.step_column
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        rows = connection.execute(
            f"select typeof(conversation_id), typeof({column}), typeof(payload), "
            f"cast(conversation_id as blob), {column}, cast(payload as blob) "
            f"from conversation_log order by 4, 5, 6"
        ).fetchall()
        has_executions = connection.execute(
            "select count(*) from sqlite_master where name = 'execution_log'"
        ).fetchone()[0]
        executions = (
            connection.execute(
                "select exec_id, payload from execution_log order by rowid"
            ).fetchall()
            if has_executions
            else []
        )
    classed = [((a.decode(), b.decode(), c.decode()), *key) for a, b, c, *key in rows]
    return Stored(column, tuple(classed), tuple(executions))  # type: ignore[arg-type]


def says_the_same(one: Stored, other: Stored, generation: Generation) -> bool:
    """Does every row of both say the same under the same key, whatever its spelling?"""
    return _said(one, generation) == _said(other, generation)


def _said(log: Stored, generation: Generation) -> tuple[list[Any], list[Any]]:
    return (
        [(row[:3], _read_or_raw(row[3], EVENTS[generation.name])) for row in log.rows],
        [(exec_id, _read_or_raw(payload, EXECUTION)) for exec_id, payload in log.executions],
    )


def _read_or_raw(payload: bytes | None, message: Any) -> Any:
    found = None if payload is None else read(payload, message)
    return payload if found is None else found


def is_healthy(log: Stored) -> bool:
    """Could a server of any one generation have left this log, all turns at their end?"""
    return any(
        _is_healthy_for(log, generation)
        for generation in GENERATIONS.values()
        if generation.step_column == log.column
    )


def _is_healthy_for(log: Stored, generation: Generation) -> bool:
    conversations: dict[bytes, list[dict[str, Any]]] = {}
    for classes, conversation_id, step, payload in log.rows:
        event = None if payload is None else read(payload, EVENTS[generation.name])
        if classes != _CLASSES or event is None or conversation_id is None:
            return False
        events = conversations.setdefault(conversation_id, [])
        events.append(event)
        number = event.get(generation.step_column, step)
        names_number = generation.event == "StepEvent" or generation.step_column in event
        if not (number == step == len(events) and names_number):
            return False
        if event.get("conversation_id", "").encode() != conversation_id:
            return False
    turns = {key: _turns(events) for key, events in conversations.items()}
    return all(_is_conversation(own, generation) for own in turns.values()) and _are_executed(
        [turn for own in turns.values() for turn in own], log, generation
    )


def _turns(events: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    turns: list[list[dict[str, Any]]] = [[]]
    for event in events:
        turns[-1].append(event)
        if event.get("state") == _COMPLETED:
            turns.append([])
    # What follows the last end is a turn without one; mostly nothing does.
    return turns if turns[-1] else turns[:-1]


def _is_conversation(turns: Sequence[Sequence[dict[str, Any]]], generation: Generation) -> bool:
    owners = {_owner(turn[0], generation) for turn in turns}
    parts = [_parts_of_turn(turn, generation) for turn in turns]
    return (
        all(_is_turn(turn, generation) for turn in turns)
        and len(owners) == 1
        and all(map(_are_answered, parts))
        and _are_decided([part for own in parts for part in own])
    )


def _owner(event: dict[str, Any], generation: Generation) -> str:
    return str(event.get(generation.owner_key or "", ""))


def _is_turn(turn: Sequence[dict[str, Any]], generation: Generation) -> bool:
    if len(turn) < 2:
        return False
    head, *outputs, end = turn
    # Up to G4 a turn's rows share an execution of their own; `_are_executed` sees to the rest.
    usual = {"conversation_id", "exec_id", "state", generation.step_column}
    content = generation.content_key
    return (
        end.get("state") == _COMPLETED
        and end.keys() <= usual
        and all(event.get("state") == _PENDING for event in turn[:-1])
        and all(event.keys() <= {*usual, content} for event in outputs)
        and all(len(event.get(content, ())) == 1 for event in outputs)
        and all(event.get(content) for event in turn[:-1])
        and _is_input(head, generation)
    )


def _is_input(event: dict[str, Any], generation: Generation) -> bool:
    """It names its owner; where the default one goes unnamed, its first part is a person's."""
    unnamed = not generation.names_default and _parts(event, generation)[0].role == "user"
    return bool(_owner(event, generation)) or unnamed


# --- content -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A piece of content; of a confirmation the kind is `asked`, `approved` or `declined`."""

    kind: str
    role: str = ""
    id: str = ""
    tool: str = ""


def _parts_of_turn(turn: Iterable[dict[str, Any]], generation: Generation) -> list[Piece]:
    return [part for event in turn for part in _parts(event, generation)]


def _parts(event: dict[str, Any], generation: Generation) -> list[Piece]:
    found: list[Piece] = []
    for item in event.get(generation.content_key, ()):
        content = item.get("content", {})
        if isinstance(content.get("content"), list):
            found += [_piece(one, content.get("role", "")) for one in content["content"]]
        elif generation.content_key == "messages":
            found.append(_piece(content, item.get("role", "")))
        else:
            found.append(
                _piece({k: item[k] for k in item if k not in ("index", "description")}, "")
            )
    return found


def _piece(content: dict[str, Any], role: str) -> Piece:
    kind, body = next(iter(content.items()), ("empty", {}))
    if kind == "content":
        kind = "empty"
    elif kind == "confirmation":
        approved = body.get("approval", {}).get("approved")
        refused = "decline" in body or "approval" in body
        kind = "approved" if approved else "declined" if refused else "asked"
    function = body.get("function_call", body.get("function_result", {}))
    named = body.get("id", body.get("call_id", ""))
    return Piece(kind, role, named, function.get("name", ""))


def _are_answered(parts: Iterable[Piece]) -> bool:
    """Is each call of a turn answered once, or refused and not answered?"""
    waiting: list[Piece] = []
    seen: set[str] = set()
    asked: dict[str, str] = {}
    for part in parts:
        if part.kind in ("asked", "approved", "declined"):
            asked[part.id] = part.kind
        elif part.kind == "empty":
            return False
        elif part.kind == "tool_call":
            if not part.tool or part.id in seen:
                return False
            seen |= {part.id} - {""}
            waiting.append(part)
        elif part.kind == "tool_result":
            answered = next((c for c in waiting if _answers(part, c)), None)
            if answered is None or (part.id and asked.get(part.id, "approved") != "approved"):
                return False
            waiting.remove(answered)
    return all(call.id and asked.get(call.id) == "declined" for call in waiting)


def _answers(result: Piece, call: Piece) -> bool:
    return result.id == call.id and result.tool in ("", call.tool)


def _are_decided(parts: Iterable[Piece]) -> bool:
    """Does every question of a conversation get one answer?"""
    open_ids: set[str] = set()
    for part in parts:
        if part.kind == "asked":
            # One that waits may be put to the person again.
            open_ids.add(part.id)
        elif part.kind in ("approved", "declined"):
            if part.id not in open_ids:
                return False
            open_ids.remove(part.id)
    return not open_ids


# --- executions: G3 and G4 -----------------------------------------------------------------------


def _are_executed(
    turns: Sequence[Sequence[dict[str, Any]]], log: Stored, generation: Generation
) -> bool:
    """Has each turn an execution of its own, and in G3 one that one agent began and ended?"""
    ids = [{event.get("exec_id", "") for event in turn} for turn in turns]
    if generation.name not in ("G3", "G4"):
        return not log.executions and all(own == {""} for own in ids)
    named = [next(iter(own)) for own in ids if len(own) == 1]
    if len(named) != len(turns) or not all(named) or len(set(named)) != len(named):
        return False
    executed: dict[str, list[dict[str, Any]]] = {}
    for exec_id, payload in log.executions:
        event = read(payload, EXECUTION)
        if event is None or event.get("exec_id", "").encode() != exec_id:
            return False
        executed.setdefault(event["exec_id"], []).append(event)
    if generation.name == "G4":
        return not executed
    return executed.keys() == set(named) and all(map(_is_execution, executed.values()))


def _is_execution(events: Sequence[dict[str, Any]]) -> bool:
    *begun, end = events
    agents = {event.get("agent_id", "") for event in begun}
    return (
        len(agents) == 1
        and "" not in agents
        and all(event.get("state") == _PENDING for event in begun)
        and end.get("state") == _COMPLETED
    )
