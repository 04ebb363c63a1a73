"""Conversations of the drill's own, as the servers of each generation write them.

They stand in the matrix for generations that a log has none of, and are what a rollback is
rehearsed on where no conversation of the log was interrupted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from axnb.ax import protojson
from axnb.ax.rows import STATES, Part, Row, write
from axnb.ax.versions import BUILT_IN_HARNESSES, GENERATIONS, Generation

_PENDING, _COMPLETED = STATES.index("STATE_PENDING"), STATES.index("STATE_COMPLETED")

#: A conversation of two turns, and one that was interrupted after its call.
KINDS = ("finished", "interrupted")

_QUESTION = Part("text", "user", value="Which seats are free?")
_ANSWER = Part("text", "assistant", value="12A and 12B.")
_TASK = Part("text", "user", value="Reserve 12A.")
_CALL = Part("tool_call", "model", "call_1", "reserve", '{"seat":"12A"}')
_RESULT = Part("tool_result", "user", "call_1", "reserve", '{"ok":true}')
_DONE = Part("text", "assistant", value="12A is reserved.")

Stored = list[tuple[int, str]]


def named(generation: Generation, kind: str) -> str:
    """The id of a specimen."""
    return f"axnb-specimen-{generation.name}-{kind}"


def specimen(
    generation: Generation, kind: str, conversation_id: str, owner: str = BUILT_IN_HARNESSES[0]
) -> Stored:
    """The rows of a specimen: their numbers and payloads."""
    has_name = generation.names_default or (owner != BUILT_IN_HARNESSES[0])
    is_finished = kind == "finished"
    turns: list[tuple[Part, ...]] = [(_QUESTION, _ANSWER)]
    turns.append((_TASK, _CALL, _RESULT, _DONE) if is_finished else (_TASK, _CALL))
    found: list[Row] = []
    for number, turn in enumerate(turns):
        exec_id = _execution(conversation_id, number)
        for place, part in enumerate(turn):
            names = owner if place == 0 and has_name and generation.owner_key else ""
            found.append(Row(conversation_id, _PENDING, names, exec_id=exec_id, parts=(part,)))
        if is_finished or number == 0:
            found.append(Row(conversation_id, _COMPLETED, exec_id=exec_id))
    return [(step, write(row, generation, step)) for step, row in enumerate(found, 1)]


def write_specimens(folder: Path) -> list[Path]:
    """Two logs, one a name of the step column, with the specimens of all its generations."""
    paths = []
    for column in ("seq", "step"):
        path = folder / f"specimens-{column}.sqlite"
        generations = [g for g in GENERATIONS.values() if g.step_column == column]
        with closing(sqlite3.connect(path)) as log, log:
            log.execute(
                f"CREATE TABLE conversation_log (conversation_id TEXT NOT NULL, {column} INTEGER "
                f"NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (conversation_id, {column}))"
            )
            for generation in generations:
                for kind in KINDS:
                    name = named(generation, kind)
                    rows = specimen(generation, kind, name)
                    values = [(name, *row) for row in rows]
                    log.executemany("INSERT INTO conversation_log VALUES (?, ?, ?)", values)
            if column == "seq":
                _write_executions(log)
        paths.append(path)
    return paths


def _write_executions(log: sqlite3.Connection) -> None:
    """What G3 writes beside its conversations."""
    log.execute(
        "CREATE TABLE execution_log (exec_id TEXT NOT NULL, payload TEXT NOT NULL, "
        "timestamp DATETIME NOT NULL)"
    )
    log.executemany("INSERT INTO execution_log VALUES (?, ?, ?)", _executions())


def _executions() -> Iterator[Sequence[str]]:
    for kind in KINDS:
        for number in (0, 1):
            exec_id = _execution(named(GENERATIONS["G3"], kind), number)
            agent = ("agent_id", BUILT_IN_HARNESSES[0])
            is_over = kind == "finished" or number == 0
            states = ["STATE_PENDING", "STATE_COMPLETED"] if is_over else ["STATE_PENDING"]
            for place, state in enumerate(states):
                told = [("exec_id", exec_id), *([agent] if place == 0 else []), ("state", state)]
                payload = protojson.dump(protojson.Members(told))
                yield exec_id, payload, f"2026-05-22 10:00:0{number * 2 + place}.0 +0000 UTC"


def _execution(conversation_id: str, number: int) -> str:
    return f"{conversation_id}-{number}"
