"""Build event logs as AX's servers of each generation leave them, healthy or wounded.

log = LogBuilder("G8")
log.turn("c1", "Charge the card", call("charge_card", {"amount": 9}), answer({"ok": True}))
log.interrupted("c2", "Charge the card", call("charge_card", {"amount": 9}))
log.write_sqlite(path)
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from axnb.ax.rows import STATES, Part, Row, write
from axnb.ax.versions import GENERATIONS, Generation

_PENDING, _COMPLETED = STATES.index("STATE_PENDING"), STATES.index("STATE_COMPLETED")


@dataclass(frozen=True)
class StoredRow:
    """A row as it lies in the table; keys and payload may be of any class, wounds included."""

    conversation_id: Any
    step: Any
    payload: Any


def say(text: str, role: str = "assistant") -> Part:
    """A text."""
    return Part("text", role, value=text)


def think(text: str) -> Part:
    """A thought."""
    return Part("thought", "model", value=text)


def call(tool: str, arguments: Mapping[str, Any] | None = None, call_id: str = "call_1") -> Part:
    """A call of a tool."""
    return Part("tool_call", "model", call_id=call_id, tool=tool, value=_object(arguments or {}))


def answer(
    result: Mapping[str, Any],
    tool: str = "",
    call_id: str = "call_1",
    *,
    is_error: bool = False,
) -> Part:
    """A result; without a tool it takes the name of the call before it."""
    return Part(
        "tool_result",
        "user",
        call_id=call_id,
        tool=tool,
        value=_object(result),
        is_error=is_error,
    )


def ask(question: str, question_id: str = "confirm_1") -> Part:
    """A question to a person."""
    return Part("confirmation", "assistant", call_id=question_id, value=question, decision="asked")


def decide(decision: str, question_id: str = "confirm_1") -> Part:
    """A person's answer: `approved` or `declined`."""
    return Part("confirmation", "user", call_id=question_id, decision=decision)


def _object(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(sorted(value.items())), separators=(",", ":"), ensure_ascii=False)


class LogBuilder:
    """A log of one generation; `rows` may be changed freely before it is written."""

    def __init__(self, generation: str = "G8", harness: str = "antigravity") -> None:
        self.generation: Generation = GENERATIONS[generation]
        self.harness = harness
        self.rows: list[StoredRow] = []
        self.executions: list[tuple[str, str, str]] = []

    def turn(self, conversation_id: str, text: str, *parts: Part) -> None:
        """A turn from its input to its end."""
        self.interrupted(conversation_id, text, *parts)
        exec_id = self._exec_id
        self.add(Row(conversation_id, _COMPLETED, exec_id=exec_id))
        self._execution(exec_id, {"state": "STATE_COMPLETED"})

    def interrupted(self, conversation_id: str, text: str, *parts: Part) -> None:
        """A turn whose end was never logged."""
        self._exec_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{conversation_id}/{len(self.rows)}"))
        owner = self.harness if self._names_owner() else ""
        question = Part("text", "user", value=text)
        self.add(Row(conversation_id, _PENDING, owner, exec_id=self._exec_id, parts=(question,)))
        self._execution(self._exec_id, {"agent_id": self.harness, "state": "STATE_PENDING"})
        tool = ""
        for part in parts:
            if part.kind == "tool_call":
                tool = part.tool or ""
            elif part.kind == "tool_result" and not part.tool:
                part = replace(part, tool=tool)
            self.output(conversation_id, part)

    def output(self, conversation_id: str, part: Part) -> None:
        """One output of the turn that was begun last."""
        self.add(Row(conversation_id, _PENDING, exec_id=self._exec_id, parts=(part,)))

    def add(self, row: Row, step: int | None = None) -> None:
        """A row at the next number of its conversation, or at `step`."""
        number = self.last_step(row.conversation_id) + 1 if step is None else step
        self.rows.append(
            StoredRow(row.conversation_id, number, write(row, self.generation, number))
        )

    def last_step(self, conversation_id: str) -> int:
        """The highest number of a conversation; 0 if it has no rows."""
        steps = [r.step for r in self.rows if r.conversation_id == conversation_id]
        return max((s for s in steps if isinstance(s, int)), default=0)

    def _names_owner(self) -> bool:
        return self.generation.names_default or self.harness not in ("", "antigravity")

    def _execution(self, exec_id: str, event: Mapping[str, str]) -> None:
        if self.generation.name == "G3":
            payload = _object({"exec_id": exec_id, **event})
            number = len(self.executions)
            self.executions.append(
                (exec_id, payload, f"2026-05-22 10:00:{number % 60:02}.0 +0000 UTC")
            )

    # --- stores --------------------------------------------------------------------------------

    def ddl(self, *, keyed: bool = True, typed: bool = True) -> str:
        """The table as AX creates it; without its key, or without types, to hold wounds."""
        kinds = ("TEXT NOT NULL", "INTEGER NOT NULL", "TEXT NOT NULL") if typed else ("", "", "")
        column = self.generation.step_column
        key = f", PRIMARY KEY (conversation_id, {column})" if keyed else ""
        return (
            f"CREATE TABLE conversation_log (conversation_id {kinds[0]}, {column} {kinds[1]}, "
            f"payload {kinds[2]}{key})"
        )

    def write_sqlite(
        self, path: Path, *, keyed: bool = True, typed: bool = True, pragmas: Iterable[str] = ()
    ) -> Path:
        """Write the log as a SQLite file and return its path."""
        with closing(sqlite3.connect(path)) as connection:
            # It need not outlast a crash of the machine.
            connection.execute("PRAGMA synchronous = OFF")
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")
            connection.execute(self.ddl(keyed=keyed, typed=typed))
            connection.executemany(
                "INSERT INTO conversation_log VALUES (?, ?, ?)",
                [(r.conversation_id, r.step, r.payload) for r in self.rows],
            )
            if self.executions:
                connection.execute(
                    "CREATE TABLE execution_log (exec_id TEXT NOT NULL, payload TEXT NOT NULL, "
                    "timestamp DATETIME NOT NULL)"
                )
                connection.executemany(
                    "INSERT INTO execution_log VALUES (?, ?, ?)", self.executions
                )
            connection.commit()
        return path

    def write_postgres(self, dsn: str, schema: str = "public", *, keyed: bool = True) -> str:
        """Write the log into a PostgreSQL database and return its DSN; needs psycopg."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(dsn) as connection:
            connection.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema))
            )
            connection.execute(
                sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(schema))
            )
            connection.execute(self.ddl(keyed=keyed).encode())
            with connection.cursor().copy("COPY conversation_log FROM STDIN") as copy:
                for row in self.rows:
                    copy.write_row((row.conversation_id, row.step, row.payload))
        return dsn
