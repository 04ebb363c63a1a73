"""What a log says, row by row, in words that are the same for every generation."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from axnb.ax import protojson, rows
from axnb.ax.behaviour import Harness
from axnb.ax.rows import READS_SHAPE
from axnb.ax.versions import GENERATIONS, Generation
from axnb.case.case import Case
from axnb.loading import load
from axnb.settings import Settings
from axnb.triaging import Question, Triage, triage

Key = tuple[Any, Any]

#: Both answer to an empty start, so that nothing hangs on them.
HARNESSES = (Harness("antigravity", True), Harness("drill", True))

_ROLES = {"thought": "model", "tool_call": "model", "tool_result": "user"}


def stored(path: Path) -> dict[Key, Any]:
    """The rows of a SQLite log in the order of their commits."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        database.text_factory = bytes
        names = [row[1].decode() for row in database.execute("pragma table_info(conversation_log)")]
        column = "step" if "step" in names else "seq"
        found = database.execute(
            f"select conversation_id, {column}, payload from conversation_log order by rowid"
        )
        return {(name, step): payload for name, step, payload in found}


def said(payload: bytes, column: str, generation: Generation | None = None) -> rows.Row | None:
    """What a row says to a server of its own generation, or of another; None if to none."""
    try:
        text = payload.decode()
        if generation is None:
            generation = GENERATIONS[READS_SHAPE[rows.shape(protojson.parse(text), column)]]
        row = rows.read(text, generation)
    except (protojson.PayloadError, UnicodeDecodeError):
        return None
    # What a step says by its kind, a message says by its role.
    held = (part for part in row.parts if part.kind != "empty")
    parts = (replace(part, role=_ROLES.get(part.kind, part.role)) for part in held)
    return replace(row, parts=tuple(parts))


def asked(source: str, version: str, harnesses: tuple[Harness, ...] = HARNESSES) -> Triage:
    """Triage of a log under a version."""
    with Case(settings=Settings()) as case:
        load(case, [source])
        return triage(case, Question(version, harnesses))
