"""Does a copy say what the log says, row by row, in whatever words?"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from axnb.ax import json_text, protojson, rows
from axnb.ax.canonical import canonical
from axnb.ax.conversion import convert
from axnb.ax.rows import READS_SHAPE, Part, Row
from axnb.ax.versions import GENERATIONS, Generation
from axnb.case.case import Case, ask
from axnb.drills.migration.reading import ReadLog

#: Rows that are compared at once.
_AT_ONCE = 50_000

#: Steps have no roles for these; what they are follows from their kind.
_ROLES = {"thought": "model", "tool_call": "model", "tool_result": "user"}

#: The last name of a path that is lost -> what of a part it may change.
_EXPLAINS: Mapping[str, tuple[str, ...]] = {
    "role": ("role",),
    "is_error": ("is_error",),
    "harness_config": ("config",),
    "agent_config": ("config",),
}

#: What a lost path of another name may change: what a part holds.
_USUALLY = ("value", "kind", "parts")


@dataclass(frozen=True)
class Difference:
    """A row that does not say in a copy what it says in the log."""

    conversation_id: str
    step: int | None
    #: `missing`, `added`, `text`, or what of the row is another: `state`, `owner`, `value`, …
    what: str
    #: Paths that the migration lists as lost from this row, where they explain it.
    listed: tuple[str, ...] = ()

    @property
    def is_listed(self) -> bool:
        """Was it foretold?"""
        return bool(self.listed)

    def as_dict(self) -> dict[str, Any]:
        """The difference as JSON."""
        return {
            "conversation_id": self.conversation_id,
            "step": self.step,
            "what": self.what,
            "listed": list(self.listed),
        }


def differences(
    case: Case, log: ReadLog, copy: ReadLog, ways: tuple[Generation, ...], named: Mapping[str, str]
) -> list[Difference]:
    """Rows that a copy has lost, added or changed.

    `ways` are the generations that it was taken to, one after the other; `named` are the owners of
    conversations, which the rows of those that had none may name.
    """
    told: list[Difference] = []
    for ids in _pieces(log, copy):
        values = {"source": log.source, "other": copy.source, "ids": ids}
        with case.reading() as session:
            found = ask(session, "carried_otherwise", values)
        for row in found:
            told += _differences(row, log.column, copy.column, ways, named)
    return sorted(told, key=lambda d: (d.conversation_id, d.step or 0, d.what))


def _pieces(log: ReadLog, copy: ReadLog) -> Iterator[list[str]]:
    """All conversations, so many at a time that a comparison needs little memory."""
    rows = {c.conversation_id: c.rows for c in copy.conversations}
    rows |= {c.conversation_id: c.rows for c in log.conversations}
    # Rows whose conversation cannot be told come first.
    piece, number = [""], 0
    for name, count in rows.items():
        if number + count > _AT_ONCE and number:
            yield piece
            piece, number = [], 0
        piece.append(name)
        number += count
    yield piece


def _differences(
    row: Mapping[str, Any],
    column: str,
    copied_column: str,
    ways: tuple[Generation, ...],
    named: Mapping[str, str],
) -> Iterator[Difference]:
    name, step = str(row["conversation_id"] or ""), row["step"]
    if not row["is_there"] or not row["is_copied"]:
        yield Difference(name, step, "missing" if row["is_there"] else "added")
        return
    if row["payload"] is None or row["copy"] is None:
        yield Difference(name, step, "text")
        return
    lost = _lost(row["payload"], column, step, ways)
    before, after = _read(row["payload"], column), _read(row["copy"], copied_column)
    for what in _otherwise(before, after):
        if what == "owner" and not before.owner and after.owner == named.get(name):
            continue  # the owner of a conversation that had none is named
        yield Difference(name, step, what, tuple(path for path in lost if _explains(path, what)))


def _lost(payload: str, column: str, step: int | None, ways: tuple[Generation, ...]) -> list[str]:
    """Paths that are lost on the way, each once."""
    found: dict[str, None] = {}
    for generation in ways:
        made = convert(payload, column, step or 0, generation)
        found |= dict.fromkeys(made.losses)
        payload, column = made.text, generation.step_column
    return list(found)


def _explains(path: str, what: str) -> bool:
    return what in _EXPLAINS.get(path.rpartition(".")[2], _USUALLY)


def _read(payload: str, column: str) -> Row:
    found = rows.shape(protojson.parse(payload), column)
    return rows.read(payload, GENERATIONS[READS_SHAPE[found]])


def _otherwise(before: Row, after: Row) -> Iterator[str]:
    """What of a row is another, in words that are the same for every generation."""
    if before.conversation_id != after.conversation_id:
        yield "conversation_id"
    if before.state != after.state:
        yield "state"
    if before.owner != after.owner:
        yield "owner"
    if _config(before.config) != _config(after.config):
        yield "config"
    # A step may hold nothing where a message is there, and says as little.
    old, new = ([p for p in row.parts if p.kind != "empty"] for row in (before, after))
    if len(old) != len(new):
        yield "parts"
        return
    for one, other in zip(old, new, strict=True):
        for what in ("kind", "role", "call_id", "tool", "decision", "is_error", "value"):
            if _said(one, what) != _said(other, what):
                yield what


def _said(part: Part, what: str) -> Any:
    if what == "role":
        return part.role or _ROLES.get(part.kind, "")
    if what == "is_error":
        return bool(part.is_error)
    if what == "value" and part.kind in ("tool_call", "tool_result"):
        return None if part.value is None else _canonical(part.value)
    return getattr(part, what) or ""


def _config(config: str | None) -> str:
    """A configuration as JSON: G4 holds it as base64."""
    if config is None:
        return ""
    if config.startswith("{"):
        return _canonical(config)
    try:
        return _canonical(base64.b64decode(config, validate=True).decode())
    except (binascii.Error, UnicodeDecodeError):
        return config


def _canonical(text: str) -> str:
    try:
        return canonical(text)
    except json_text.PayloadError:
        return text
