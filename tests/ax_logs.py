"""The logs that real AX servers wrote, and what real servers did next with copies of them.

Where the whole collection lies beside the checkout, all of it is used; else the part in
`tests/data`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_SHARED = Path(__file__).parents[2] / "shared" / "ax-logs"
_DATA = Path(__file__).parent / "data" / "ax-logs"

#: The whole collection if it is there.
ROOT = _SHARED if _SHARED.is_dir() else _DATA
IS_WHOLE = ROOT is _SHARED

#: Answers to empty and new requests on logged conversations: all, and in `tests/data`.
SQLITE_ANSWERS = 9418 if IS_WHOLE else 7390
POSTGRES_ANSWERS = 1652 if IS_WHOLE else 252


@dataclass(frozen=True)
class RealLog:
    """A log with the answers of real servers."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def sqlite(self) -> Path:
        """The SQLite file."""
        return self.folder / "log.sqlite"

    @property
    def server_logs(self) -> list[Path]:
        """What the servers on this store printed."""
        return sorted(self.folder.glob("server*.log"))

    @property
    def dump(self) -> str:
        """The PostgreSQL dump: plain INSERTs."""
        return (self.folder / "dump.sql").read_text(encoding="utf-8")

    @property
    def truth(self) -> dict[str, Any]:
        """What is known of the log."""
        return _truth(self.folder)

    def answers(self) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
        """(target, conversation, request, answer); ids that were not in the log are left out."""
        for conversation_id, about in self.truth["conversations"].items():
            if conversation_id == "brand-new":
                continue
            for target, requests in about.get("next", {}).items():
                for request, answer in requests.items():
                    yield target, conversation_id, request, answer


@cache
def _truth(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    return found


def sqlite_logs() -> list[RealLog]:
    """Logs in SQLite that servers were asked about."""
    return [log for log in _logs() if log.sqlite.exists() and log.truth["targets"]]


def postgres_logs() -> list[RealLog]:
    """Logs in PostgreSQL."""
    return [log for log in _logs() if (log.folder / "dump.sql").exists()]


def written_logs(generations: tuple[str, ...]) -> list[RealLog]:
    """Logs that servers of some generations wrote alone, by the first word of their folders."""
    return [
        log
        for log in _logs()
        if log.name.partition("-")[0] in generations and "written_by" in log.truth
    ]


def some_quick(logs: list[RealLog], *quick: str) -> list[Any]:
    """All logs as parameters: the named ones, which differ in kind, and the others as slow."""
    assert {*quick} <= {log.name for log in logs}
    marks = {log.name: () if log.name in quick else (pytest.mark.slow,) for log in logs}
    return [pytest.param(log, id=log.name, marks=marks[log.name]) for log in logs]


def _logs() -> list[RealLog]:
    return [RealLog(path.parent) for path in sorted(ROOT.glob("*/truth.json"))]


def rename_conversations(log: Path, target: Path) -> dict[str, str]:
    """Copy a log with every conversation renamed, in its rows too; returns old id -> new id."""
    target.write_bytes(log.read_bytes())
    names: dict[str, str] = {}
    with closing(sqlite3.connect(target)) as connection:
        rows = connection.execute("select rowid, conversation_id, payload from conversation_log")
        for rowid, old, payload in rows.fetchall():
            new = names.setdefault(old, f"x{len(names):04}-{'renamed' * 3}")
            text = payload if isinstance(payload, str) else payload.decode()
            for space in ("", " "):
                text = text.replace(
                    f'"conversation_id":{space}"{old}"', f'"conversation_id":{space}"{new}"'
                )
            value = text if isinstance(payload, str) else text.encode()
            connection.execute(
                "update conversation_log set conversation_id = ?, payload = ? where rowid = ?",
                (new, value, rowid),
            )
        connection.commit()
    return names
