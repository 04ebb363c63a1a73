"""Take a whole log into the words of another generation: a new table beside the old one.

What each generation calls what, and what none of the other has a place for, was read from AX's
public history; the statements are tried on logs of real servers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb

from axnb.ax.versions import Generation
from axnb.case.case import run_sql
from axnb.plans.changes import NoChangeError
from axnb.plans.literals import comment
from axnb.text import count
from axnb.triaging import SourceTriage

#: Generations that a plan takes a log to. Earlier ones own every conversation of a default harness
#: without a name, and G3 keeps its pending executions in another table.
_TARGETS = ("G5b", "G6", "G7", "G8")

#: All keys of a row that only some generations write.
_KEYS = (
    "messages",
    "steps",
    "seq",
    "step",
    "exec_id",
    "interaction_id",
    "harness_id",
    "harness_config",
    "agent_id",
    "agent_config",
)

#: SQLite takes JSON apart that is nested a thousand deep; what is written adds a few levels.
_MAX_DEPTH = 900


@dataclass(frozen=True)
class Migration:
    """What the statements of a migration need."""

    rows: int
    size: int
    last_step: int | None
    old_column: str
    new_column: str
    #: Does the payload of the asked generation hold the row's number?
    numbered: bool
    content_key: str
    owner_key: str
    config_key: str
    #: Keys of other generations: a row without any of them stays as it is.
    foreign: tuple[str, ...]
    #: (conversation_id, step) of rows that stay in the words in which they are.
    as_it_is: tuple[tuple[str, int], ...]
    #: What cannot be carried over, a sentence each.
    losses: tuple[str, ...]


def find_migration(
    session: duckdb.DuckDBPyConnection, source: SourceTriage, target: Generation
) -> Migration:
    """How the log of `source` becomes one of `target`.

    Raises NoChangeError with a sentence where a plan cannot do it without losing a row.
    """
    owner_key, config_key = target.owner_key, target.config_key
    if target.name not in _TARGETS or owner_key is None or config_key is None:
        raise NoChangeError(
            f"axnb writes no plan that takes a log to {target.label}; serve it with the version "
            "that wrote it."
        )
    _refuse_parts(source)
    values = {"source": source.name}
    ((rows, size, last_step, irregular, where, executed, encoded, messages, steps),) = run_sql(
        session, "plans", "migration.sql", values
    )
    if irregular:
        raise NoChangeError(
            f"{count(irregular, 'row')} of the log (conversation {comment(where, 40) or '?'}, …) "
            f"cannot stand in a table of {target.label}: the key is lost, occurs twice or is of "
            "another class. A person must move what is there first."
        )
    as_it_is = [
        (conversation_id, step)
        for conversation_id, step, payload in run_sql(session, "plans", "as_it_is.sql", values)
        if payload is None or _depth(payload) > _MAX_DEPTH
    ]
    to_steps = target.content_key == "steps"
    written: set[str] = {target.content_key, owner_key, config_key}
    written.add("interaction_id" if to_steps else target.step_column)
    return Migration(
        rows=rows,
        size=size,
        last_step=last_step,
        old_column=source.column or "",
        new_column=target.step_column,
        numbered=not to_steps,
        content_key=target.content_key,
        owner_key=owner_key,
        config_key=config_key,
        foreign=tuple(key for key in _KEYS if key not in written),
        as_it_is=tuple(as_it_is),
        losses=(
            *_losses(messages and to_steps, steps and not to_steps, executed, encoded),
            *_left(len(as_it_is)),
        ),
    )


def _refuse_parts(source: SourceTriage) -> None:
    if source.scope is not None:
        raise NoChangeError("only one conversation was read: ask without --conversation.")
    if source.incomplete:
        raise NoChangeError("the log was not read whole, and a migration must not lose a row.")
    if source.variant or any("columns that axnb does not know" in n for n in source.notes):
        raise NoChangeError("conversation_log has columns that AX itself does not write.")


_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def _depth(payload: str) -> int:
    """How deep a JSON text is nested."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(payload):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        deepest = max(deepest, depth)
    return deepest


def _losses(to_steps: bool, to_messages: bool, executed: int, encoded: int) -> list[str]:
    losses = []
    if to_steps:
        losses.append("the role of thoughts, tool calls and tool results, and G3's internal_only")
    if to_messages:
        losses.append(
            "is_error of results, description and index of steps; a result that is no object "
            "stands under the key `result`, and thoughts and calls get the role model"
        )
    if executed:
        losses.append(f"exec_id of {count(executed, 'row')}")
    if encoded:
        losses.append(f"the base64 configuration of {count(encoded, 'row')}")
    if not losses:
        return []
    return [f"Not carried over: {'; '.join(losses)}. The old table keeps it."]


def _left(number: int) -> list[str]:
    if not number:
        return []
    verb = "stays as it is" if number == 1 else "stay as they are"
    return [f"{count(number, 'row')} {verb}: undecodable, or nested too deep. Triage again."]
