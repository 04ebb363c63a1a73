"""Mutations of G3's execution_log."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from axnb.testing.logs import LogBuilder
from tests.checks.mutations.mutant import (
    InapplicableError,
    Mutant,
    copied,
    dumped,
    mutation,
    one_of,
)


@mutation
def change_an_execution(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    if not log.executions:
        raise InapplicableError
    changed = copied(log)
    rows: list[tuple[Any, Any, Any]] = list(changed.executions)
    at = draw(st.integers(0, len(rows) - 1))
    exec_id, payload, time = rows[at]
    how = one_of(
        draw, "delete", "double", "move", "id", "state", "agent", "broken", "swap", "no JSON"
    )
    tree = json.loads(payload)
    if how == "delete":
        del rows[at]
    elif how == "double":
        rows.append(rows[at])
    elif how == "move":
        rows[at] = (one_of(draw, "other", rows[0][0], ""), payload, time)
    elif how == "swap":
        other = draw(st.integers(0, len(rows) - 1))
        rows[at], rows[other] = (
            (exec_id, rows[other][1], time),
            (rows[other][0], payload, rows[other][2]),
        )
    elif how == "no JSON":
        rows[at] = (exec_id, payload[:-2], time)
    else:
        key = {"id": "exec_id", "state": "state", "agent": "agent_id", "broken": "inputs"}[how]
        choices = {
            "id": ["other", "", rows[0][0]],
            "state": ["STATE_PENDING", "STATE_COMPLETED", "STATE_FAILED", "?", 3, None],
            "agent": ["other", "", None],
            "broken": ["x", [], [{}]],
        }[how]
        tree[key] = draw(st.sampled_from(choices))
        rows[at] = (exec_id, dumped(tree), time)
    if rows == log.executions:
        raise InapplicableError
    changed.executions = rows
    named = {exec_id, *(row[0] for row in set(rows) ^ set(log.executions))}
    touched = {
        row.conversation_id for row in log.rows if json.loads(row.payload).get("exec_id") in named
    }
    return Mutant(f"execution {how}: {log.executions[at]}", changed, touched)
