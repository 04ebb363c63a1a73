"""The tool service: a system outside of AX whose effects a drill counts and reverses.

    POST /operations            a request with its operation id -> the entry of its effect
    GET  /operations/OPERATION  {"effects": [entry…], "requests": [request…]}
    POST /entries/N/release     the entry
    GET  /ledger                all effects and requests

A request is stored and committed before its effect, and the effect is one transaction, so each can
be seen without the other after a crash. With deduplication a known operation id has no second
effect and gets the first's entry; without it, which is the default, every request has one. A
request holds operation_id, conversation_id, tool, item, caller and attempt.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from axnb.runtimes.json_server import JsonServer, Request

_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    request INTEGER PRIMARY KEY, operation_id TEXT NOT NULL, conversation_id TEXT NOT NULL,
    tool TEXT NOT NULL, item TEXT NOT NULL, caller TEXT NOT NULL, attempt INTEGER NOT NULL,
    entry INTEGER
);
CREATE TABLE IF NOT EXISTS effects (
    entry INTEGER PRIMARY KEY, operation_id TEXT NOT NULL, conversation_id TEXT NOT NULL,
    tool TEXT NOT NULL, item TEXT NOT NULL, status TEXT NOT NULL, reservation TEXT NOT NULL,
    requested_as INTEGER NOT NULL REFERENCES requests
);
"""
_TEXTS = ("operation_id", "conversation_id", "tool", "item", "caller")

#: A longer text is no id and no item of a drill.
_MAX_TEXT = 1000


class Ledger:
    """The tool's own database. Threads take turns."""

    def __init__(self, path: Path | str, *, dedup: bool = False) -> None:
        self._dedup = dedup
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()

    def operate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Store a request, then do what it asks for; the entry. Raises ValueError if it is odd."""
        texts = [_text(asked, name) for name in _TEXTS]
        attempt = asked.get("attempt", 1)
        if not isinstance(attempt, int) or not 0 < attempt < 1 << 31:
            raise ValueError("attempt is no number.")
        with self._lock:
            stored = self._db.execute(
                "INSERT INTO requests (operation_id, conversation_id, tool, item, caller, attempt)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [*texts, attempt],
            )
            return self._effect(int(stored.lastrowid or 0), *texts[:4])

    def _effect(
        self, request: int, operation_id: str, conversation_id: str, tool: str, item: str
    ) -> dict[str, Any]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            known = self._effects("operation_id = ?", operation_id)
            entry = known[0]["entry"] if known and self._dedup else None
            if entry is not None and (known[0]["tool"], known[0]["item"]) != (tool, item):
                raise ValueError("the operation id was used for something else.")
            if entry is None:
                # Told from the operation alone, so that it is the same in every run.
                name = hashlib.sha256(f"{operation_id}/{len(known)}".encode()).hexdigest()[:8]
                entry = self._db.execute(
                    "INSERT INTO effects (operation_id, conversation_id, tool, item, status,"
                    " reservation, requested_as) VALUES (?, ?, ?, ?, 'reserved', ?, ?)",
                    [operation_id, conversation_id, tool, item, f"R-{name}", request],
                ).lastrowid
            self._db.execute("UPDATE requests SET entry = ? WHERE request = ?", [entry, request])
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        return self._effects("entry = ?", entry)[0]

    def release(self, entry: int) -> dict[str, Any]:
        """Undo an effect; twice is fine. Raises KeyError if there is no such entry."""
        with self._lock:
            self._db.execute("UPDATE effects SET status = 'released' WHERE entry = ?", [entry])
            found = self._effects("entry = ?", entry)
        if not found:
            raise KeyError(entry)
        return found[0]

    def lookup(self, operation_id: str) -> dict[str, Any]:
        """Effects and requests of an operation, in order."""
        with self._lock:
            return {
                "effects": self._effects("operation_id = ?", operation_id),
                "requests": self._requests("operation_id = ?", operation_id),
            }

    def all(self) -> dict[str, Any]:
        """All effects and requests, in order."""
        with self._lock:
            return {"effects": self._effects("?", 1), "requests": self._requests("?", 1)}

    def _effects(self, where: str, value: Any) -> list[dict[str, Any]]:
        found = self._db.execute(f"SELECT * FROM effects WHERE {where} ORDER BY entry", [value])
        return [dict(row) for row in found]

    def _requests(self, where: str, value: Any) -> list[dict[str, Any]]:
        found = self._db.execute(f"SELECT * FROM requests WHERE {where} ORDER BY request", [value])
        return [dict(row) for row in found]


def _text(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_TEXT:
        raise ValueError(f"{name} is missing, or no short text.")
    return value


class ToolServer(JsonServer):
    """The service before a ledger."""

    def __init__(self, ledger: Ledger, port: int = 0, token: str = "") -> None:
        self._ledger = ledger
        self._token = token
        super().__init__(self._answer, port)

    def _answer(self, request: Request) -> tuple[int, Any]:
        match request.method, request.path:
            case "POST", ("operations",):
                if not isinstance(request.body, dict):
                    raise ValueError("the body is no object.")
                return 200, self._ledger.operate(request.body)
            case "GET", ("operations", operation_id):
                return 200, self._ledger.lookup(operation_id)
            case "POST", ("entries", number, "release") if number.isdecimal():
                return 200, self._ledger.release(int(number[:18]))
            case "GET", ("ledger",):
                return 200, self._ledger.all()
            case "GET", ("token",):
                return 200, {"token": self._token}
        raise KeyError(request.path)
