"""Wounds that the log alone does not show: other logs, client transcripts, server logs, people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from axnb.testing.logs import LogBuilder, say
from axnb.triaging import Expectation, Question
from tests.checks.pairs import Evidence, Pair, healthy


def expecting(conversation_id: str, last: int) -> Question:
    """Somebody knows how far a conversation went."""
    return Question(expectations=(Expectation(conversation_id, last),))


# --- `fine` has the steps 1 to 5, the last text is `done` -----------------------------------------


def _expected(conversation_id: str, last: int) -> Callable[[], Evidence]:
    return lambda: Evidence(healthy(), expected=(Expectation(conversation_id, last),))


def _sent(number: int, kind: str = "text", text: str = "done", to: str = "fine") -> dict[str, Any]:
    digest = hashlib.sha256(text.encode()).hexdigest() if kind == "text" else None
    return {"conversation": to, "number": number, "kind": kind, "digest": digest}


def _client(*lines: dict[str, Any]) -> Callable[[], Evidence]:
    return lambda: Evidence(healthy(), client=lines)


def _warned(message: str, level: str = "WARN") -> Callable[[], Evidence]:
    line = {
        "time": "2026-07-22T12:00:00.5Z",
        "level": level,
        "msg": message,
        "conversation_id": "fine",
        "error": "eventlog: begin tx: sql: database is closed",
    }
    return lambda: Evidence(healthy(), server_log=(line,))


def _with_copy(change: Callable[[LogBuilder], None]) -> Callable[[], Evidence]:
    def make() -> Evidence:
        copy = healthy()
        change(copy)
        return Evidence(healthy(), copy)

    return make


def _go_on(log: LogBuilder) -> None:
    log.turn("fine", "again", say("and on"))


def _part_ways(log: LogBuilder) -> None:
    log.rows[3] = replace(log.rows[3], payload=log.rows[3].payload.replace("done", "lost"))


def _share_the_id_only(log: LogBuilder) -> None:
    _part_ways(log)
    log.rows[0] = replace(log.rows[0], payload=log.rows[0].payload.replace('"hi"', '"other"'))


def _respell(log: LogBuilder) -> None:
    log.rows = [replace(row, payload=json.dumps(json.loads(row.payload))) for row in log.rows]


def _lack_one(log: LogBuilder) -> None:
    log.turn("only here", "hi")


PAIRS: dict[str, list[Pair]] = {
    "AX103": [
        Pair(_expected("fine", 7), [("fine", 5, [5])], _expected("fine", 5)),
        Pair(_expected("gone", 1), [("gone", None, [])], _expected("fine", 1)),
        Pair(_client(_sent(6, "tool_call")), [("fine", 5, [5])], _client(_sent(4))),
        Pair(_with_copy(_go_on), [("fine", 5, [5])], _with_copy(_respell)),
        Pair(_with_copy(_lack_one), [("only here", None, [])], _with_copy(_share_the_id_only)),
    ],
    "AX107": [
        Pair(
            _with_copy(_part_ways),
            [("fine", 4, [4]), ("fine", 4, [4])],
            _with_copy(_share_the_id_only),
        ),
        Pair(_client(_sent(4, text="lost")), [("fine", 4, [4])], _client(_sent(4))),
        Pair(_client(_sent(3)), [("fine", 3, [3])], _with_copy(_respell)),
    ],
    "AX118": [
        Pair(
            _warned("Failed to log streamed message to event log"),
            [("fine", None, [])],
            _warned("Failed to parse harness config for logging"),
        ),
        Pair(
            _warned("Failed to log completion event to event log"),
            [("fine", None, [])],
            _warned("Stream failed", "ERROR"),
        ),
    ],
    "AX119": [
        Pair(_client(_sent(4), _sent(0, "tool_call")), [("fine", None, [])], _client(_sent(4))),
        Pair(_client(_sent(0, to="gone")), [("gone", None, [])], _client(_sent(4))),
    ],
}
