"""Which table of a database is AX's log, and of which layout; everything else is refused by name.

Each table is judged by its own columns: a name alone proves nothing, and one migrated table says
nothing of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from axnb.errors import NotALogError
from axnb.text import cut_middle, safe

LOG_TABLE = "conversation_log"
EXECUTION_TABLE = "execution_log"

#: The tables that are judged by their columns; of all others only the names matter.
KNOWN_TABLES = (LOG_TABLE, EXECUTION_TABLE, "event_log")
_EXPECTED = "conversation_id, seq or step, payload"


@dataclass(frozen=True)
class Layout:
    """An event log that axnb reads."""

    column: str
    variant: str | None
    has_executions: bool
    notes: tuple[str, ...] = ()


def recognise(
    place: str,
    tables: Mapping[str, Sequence[str]],
    keys: Sequence[str] = (),
    if_empty: str = "",
) -> Layout:
    """Judge the tables of a database by their columns (name -> columns, in order).

    `place` is what a message calls the database; `keys` are the primary key columns of
    conversation_log; `if_empty` says what to do where there is no table at all. Raises
    NotALogError with one sentence for everything that is not G3 to G8.
    """
    log = tables.get(LOG_TABLE)
    if log is None:
        raise _no_log(place, tables, if_empty)
    columns = set(log)
    if {"conversation_id", "messages"} <= columns and "payload" not in columns:
        raise NotALogError(
            f"{place} holds an AX log of G2a, which was never released; axnb reads G3 to G8."
        )
    numbers = [name for name in ("seq", "step") if name in columns]
    if not {"conversation_id", "payload"} <= columns or not numbers:
        raise NotALogError(
            f"{place} has a table conversation_log that is not AX's: expected {_EXPECTED}; "
            f"found {_names(log)}."
        )
    notes = []
    if len(numbers) == 2:
        numbers = [name for name in numbers if name in keys]
        if len(numbers) != 1:
            raise NotALogError(
                f"{place} has a table conversation_log with both seq and step, and its key does "
                "not tell which of them numbers the rows."
            )
        notes.append(f"conversation_log has both seq and step; its key uses {numbers[0]}.")
    checkpointd = {"session_id", "session_step"} <= columns
    known = {"conversation_id", "payload", "seq", "step", "session_id", "session_step"}
    if extra := [name for name in log if name not in known]:
        notes.append(f"conversation_log has columns that axnb does not know: {_names(extra)}.")
    if "event_log" in tables:
        notes.append("A table event_log of a generation before G3 lies beside the log; not read.")
    executions = tables.get(EXECUTION_TABLE)
    if executions is not None and not {"exec_id", "payload", "timestamp"} <= set(executions):
        notes.append(
            "execution_log is not AX's: expected exec_id, payload, timestamp; found "
            f"{_names(executions)}. It was not read."
        )
        executions = None
    return Layout(
        column=numbers[0],
        variant="checkpointd" if checkpointd else None,
        has_executions=executions is not None,
        notes=tuple(notes),
    )


def _no_log(place: str, tables: Mapping[str, Sequence[str]], if_empty: str) -> NotALogError:
    events = set(tables.get("event_log", ()))
    if {"id", "state", "payload", "timestamp"} <= events:
        generation = "G1" if "checkpoint_id" in events else "G0b" if "exec_id" in events else "G0a"
        return NotALogError(
            f"{place} holds an AX log of {generation}, which was never released; axnb reads G3 "
            "to G8."
        )
    if not tables:
        return NotALogError(f"{place} has no tables at all{if_empty}.")
    return NotALogError(
        f"{place} has no table conversation_log (expected {_EXPECTED}); it has "
        f"{_names(sorted(tables))}."
    )


def _names(names: Sequence[str]) -> str:
    """Some names of a stranger's, each of them short."""
    shown = ", ".join(cut_middle(safe(name), 40) for name in names[:12])
    return f"{shown}, … {len(names) - 12} more" if len(names) > 12 else shown
