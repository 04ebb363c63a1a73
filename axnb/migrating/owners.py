"""Which conversations have no owner in any row, and who owns them.

G4, and G5 of before 2026-07-15, stored the default harness as nothing; G3 keeps the agent in its
execution_log. The first owner that a row names is the conversation's, for every server.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from axnb.ax import protojson, rows, schemas
from axnb.ax.json_text import PayloadError, parse
from axnb.ax.rows import READS_SHAPE
from axnb.ax.versions import GENERATIONS
from axnb.converting.process import Nameless, Names
from axnb.migrating.source import Source, SqliteSource

#: G3's own agent, which asks the model; no harness is called so.
PLANNER = "__planner"

#: Members that name an owner, by both spellings that AX takes.
_OWNER_KEYS = frozenset({"harness_id", "harnessId", "agent_id", "agentId"})

_TEXT = r'"[^"\\]*"'
_NUMBER = r'(?:, ?"(?:seq|step)":[0-9]+)?'
_TURN = rf'(?:, ?"(?:exec_id|interaction_id)":{_TEXT})?'
#: How AX begins a row that names its owner.
_HEAD = re.compile(
    rf'\{{"conversation_id":{_TEXT}{_NUMBER}{_TURN}, ?"(?:harness|agent)_id":"[^"\\]'
)


def find_names(source: Source, default: str) -> Names:
    """The owners that input rows shall name, by conversation. Raises SourceError."""
    column = source.reader.layout.column
    owned: set[bytes] = set()
    for conversation_id, raw in source.mentions():
        if conversation_id not in owned and _names_one(raw, column):
            owned.add(conversation_id)
    agents = _agents(source)
    nameless: dict[bytes, Nameless] = {}
    for conversation_id, step, raw in source.first_rows():
        if conversation_id in owned:
            continue
        agent = agents.get(_turn(_text(raw) or "", column)) if agents else None
        owner = default if agent in (None, "", PLANNER) else str(agent)
        nameless[conversation_id] = Nameless(owner, step)
    return Names(nameless)


def guess_names(source: SqliteSource, default: str) -> Names | None:
    """As `find_names` would have it if either all conversations named their owners or none did.

    Where none did, only first rows and the newest ones were looked at, so it is a guess. None where
    these tell of both, or of agents.
    """
    if source.reader.layout.has_executions:
        return None
    column = source.reader.layout.column
    nameless: dict[bytes, Nameless] = {}
    has_owners = False
    for conversation_id, step, raw in source.first_rows():
        if _names_one(raw, column):
            has_owners = True
        else:
            nameless[conversation_id] = Nameless(default, step)
        if has_owners and nameless:
            return None
    if nameless and any(_names_one(raw, column) for raw in source.newest()):
        return None
    return Names(nameless, is_guess=bool(nameless))


def _names_one(raw: Any, column: str) -> bool:
    if not _may_name(raw):
        return False
    payload = _text(raw)
    return payload is not None and bool(_HEAD.match(payload) or _owner(payload, column))


def _may_name(raw: Any) -> bool:
    """Has the row a member that may name an owner? Most speak of one in their texts alone."""
    try:
        event = orjson.loads(raw)
    except (ValueError, TypeError):
        return True
    return isinstance(event, dict) and not _OWNER_KEYS.isdisjoint(event)


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return value if isinstance(value, str) else None


def _event(payload: str, column: str) -> rows.Reading | None:
    """What the row's own generation reads; None if it cannot."""
    try:
        tree = parse(payload)
    except PayloadError:
        return None
    found = rows.reading(tree, GENERATIONS[READS_SHAPE[rows.shape(tree, column)]])
    return found if found.readable else None


def _owner(payload: str, column: str) -> str:
    found = _event(payload, column)
    return found.owner if found is not None else ""


def _turn(payload: str, column: str) -> str:
    found = _event(payload, column)
    return found.exec_id if found is not None else ""


def _agents(source: Source) -> dict[str, str]:
    """Who ran each execution of G3: its first row that is PENDING says so."""
    found: dict[str, str] = {}
    event, pending = schemas.message("g3", "ExecutionEvent"), rows.STATES.index("STATE_PENDING")
    for exec_id, payload, _ in source.executions():
        name, text = _text(exec_id), _text(payload)
        if name is None or text is None or name in found:
            continue
        try:
            told = protojson.decode(parse(text), event)
        except PayloadError:
            continue
        if told.get("state") == pending:
            found[name] = told.get("agent_id", "")
    return found
