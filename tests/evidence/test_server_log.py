"""Server logs: which conversation a line is about, what it says, and nothing of its text."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axnb.case.case import Case
from axnb.errors import SourceError
from axnb.evidence.lines import LineError
from axnb.evidence.server_log import read_event
from axnb.evidence.witnesses import SERVER_LOG, load_witness
from tests import ax_logs


def _record(message: str, **attributes: Any) -> bytes:
    record = {"time": "2026-07-22T12:00:00.123456789Z", "level": "INFO", "msg": message}
    return json.dumps(record | attributes, ensure_ascii=False).encode()


def _request(text: str) -> str | None:
    found = read_event(_record("Executing request", request=text))
    assert found["event"] == "request"
    assert set(found) == {"at", "level", "event", "conversation_id", "reason"}
    assert found["reason"] is None
    named: str | None = found["conversation_id"]
    return named


# --- requests ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "conversation_id"),
    [
        ("plain", "plain"),
        (r"say \"hi\" \\ there", 'say "hi" \\ there'),
        (r"line\nend\ttab\r", "line\nend\ttab\r"),
        (r"\x01\x7f", "\x01\x7f"),
        (r"\u0085\U0001f600", "\u0085😀"),
        (r"\303\274", "ü"),
        ("günther 中", "günther 中"),
        (r"\\\"", '\\"'),
    ],
)
def test_an_id_is_read_as_go_writes_it(written: str, conversation_id: str) -> None:
    for space in ("", " "):
        assert _request(f'conversation_id:{space}"{written}"') == conversation_id
        assert _request(f'conversation_id:{space}"{written}"  inputs:{{}}') == conversation_id


@pytest.mark.parametrize(
    "text",
    [
        r'inputs:{content:{text:{text:"conversation_id:\"other\" "}}}',
        'inputs:{text:"x"} conversation_id:"other"',
        ' conversation_id:"other"',
        'conversation_id:"torn',
        r'conversation_id:"torn\"',
        'conversation_id:"a"b',
        r'conversation_id:"\q"',
        r'conversation_id:"\Uffffffff"',
        r'conversation_id:"\ud800"',
        r'conversation_id:"\xff"',
        "",
    ],
)
def test_what_a_user_wrote_names_no_conversation(text: str) -> None:
    assert _request(text) is None


def test_the_words_of_a_user_stand_behind_the_id() -> None:
    text = r'conversation_id:"mine" inputs:{text:"\" conversation_id:\"other\" "}'
    assert _request(text) == "mine"
    assert _request('conversation_id:"mine" ' + 'conversation_id:"other" ' * 3) == "mine"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_id_comes_back(conversation_id: str) -> None:
    """Written as protobuf-go does: it escapes control characters, quotes and backslashes."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    written = "".join(
        escapes.get(c)
        or (f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else None)
        or (f"\\u{ord(c):04x}" if "\x80" <= c <= "\x9f" else c)
        for c in conversation_id
    )
    assert _request(f'conversation_id:"{written}" inputs:{{}}') == conversation_id


# --- other lines ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "error", "event", "reason"),
    [
        (
            "Failed to log streamed message to event log",
            'eventlog: insert conversation: ERROR: duplicate key value violates unique constraint "'
            'conversation_log_pkey" (SQLSTATE 23505)',
            "append-failed",
            "23505",
        ),
        (
            "Failed to log streamed message to event log",
            "eventlog: begin tx: database is locked (5) (SQLITE_BUSY)",
            "append-failed",
            "SQLITE_BUSY",
        ),
        (
            "Failed to log completion event to event log",
            "eventlog: begin tx: sql: database is closed",
            "end-not-logged",
            "database is closed",
        ),
        (
            "Failed to mark completion state in event log",
            "the words of a stranger",
            "end-not-logged",
            "other",
        ),
        (
            "Stream failed",
            "failed to log inputs: eventlog: begin tx: database is locked (5) (SQLITE_BUSY)",
            "failed",
            "SQLITE_BUSY",
        ),
        (
            "Stream failed",
            "harness execution failed: no input messages queued for execution turn",
            "failed",
            "no input messages queued",
        ),
        (
            "Stream failed",
            "rpc error: code = Internal desc = the words of a stranger",
            "failed",
            "Internal",
        ),
        ("Starting AX server", None, "started", None),
        ("Deleting conversation...", None, "other", "deleted"),
        ("Suspending SubstrATE actor", None, "other", None),
        ("Failed to parse harness config for logging", "proto: syntax error", "other", None),
    ],
)
def test_a_message_has_a_class(
    message: str, error: str | None, event: str, reason: str | None
) -> None:
    attributes = {"conversation_id": "c"} if event != "started" else {}
    found = read_event(_record(message, **attributes, **({"error": error} if error else {})))
    assert found == {
        "at": datetime(2026, 7, 22, 12, 0, 0, 123456),
        "level": "INFO",
        "event": event,
        "conversation_id": attributes.get("conversation_id"),
        "reason": reason,
    }


@pytest.mark.parametrize(
    ("line", "event", "conversation_id"),
    [
        ("2026/05/22 10:00:00 INFO Executing... conversation_id=c-1", "request", "c-1"),
        (r'2026/05/22 10:00:00 INFO Executing... conversation_id="a b\"c"', "request", 'a b"c'),
        ("2026/05/22 10:00:00 INFO Deleting conversation... conversation_id=c", "other", "c"),
        ("2026/05/22 10:00:00 Starting AX server at 127.0.0.1:1...", "started", None),
        ("2026/05/22 10:00:00 Warning: conversation_id=c", "other", None),
    ],
)
def test_a_plain_line_is_no_clock(line: str, event: str, conversation_id: str | None) -> None:
    """G3's lines tell a time of an unknown zone."""
    found = read_event(line.encode())
    assert (found["at"], found["event"]) == (None, event)
    assert found["conversation_id"] == conversation_id


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("2026-07-22T12:00:00Z", datetime(2026, 7, 22, 12)),
        ("2026-07-22T14:00:00.5+02:00", datetime(2026, 7, 22, 12, 0, 0, 500000)),
        ("2026-07-22T06:30:00-05:30", datetime(2026, 7, 22, 12)),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59-12:00", None),
        ("2026-07-22T12:00:00", None),
        ("yesterday", None),
        (1234567890, None),
        (None, None),
    ],
)
def test_a_time_is_utc_or_unknown(time: Any, at: datetime | None) -> None:
    assert read_event(_record("x", time=time))["at"] == at


# --- files ---------------------------------------------------------------------------------------


def _load(case: Case, path: Path, lines: list[bytes]) -> tuple[Any, ...]:
    path.write_bytes(b"\n".join(lines))
    load_witness(case, path, SERVER_LOG)
    columns = "read, parsed, rejected, notes, incomplete"
    return case.rows(f"select {columns} from sources where kind = 'server-log'")[0]


def test_another_program_writes_to_the_same_place(case: Case, tmp_path: Path) -> None:
    lines = [
        b"Setting up Antigravity SDK, this may take a while...",
        _record("Starting AX server"),
        b"panic: runtime error: index out of range",
        b"\tmain.go:7 +0x1d",
        b'{"not": "a record"}',
    ]
    assert _load(case, tmp_path / "server.log", lines) == (
        5,
        1,
        4,
        ["4 lines of server-log are not used (not a record of AX): 1, 3, 4, 5."],
        [],
    )


def test_a_record_that_cannot_be_read_leaves_a_doubt(case: Case, tmp_path: Path) -> None:
    lines = [
        _record("Starting AX server"),
        b"downloading ... " + _record("Executing request"),
        b'{"msg": ' + b"[" * 100_000,
        _record("x", error="\udcff".encode(errors="replace").decode()).replace(b"?", b"\xff"),
        _record("Failed to log streamed message to event log")[:-10],
    ]
    assert _load(case, tmp_path / "server.log", lines) == (
        5,
        1,
        4,
        [],
        [
            "1 line of server-log is not used (a record behind other text): 2.",
            "3 lines of server-log are not used (not JSON): 3, 4, 5.",
        ],
    )


def test_a_file_of_something_else_is_refused(case: Case, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"server\.log holds no line of an AX server log\."):
        _load(case, tmp_path / "server.log", [b'{"log": "x", "stream": "stdout"}', b"hello"])
    assert case.rows("select * from sources") == []


@pytest.mark.parametrize("log", [log for log in ax_logs.sqlite_logs() if log.server_logs])
def test_every_line_of_a_real_server_is_understood(log: Any, case: Case) -> None:
    """Every generation names its conversations; only the lines of other programs are left out."""
    for path in log.server_logs:
        load_witness(case, path, SERVER_LOG)
    doubts = case.rows("select source, incomplete from sources where len(incomplete) > 0")
    assert doubts == []
    asked = {
        name
        for (name,) in case.rows(
            "select conversation_id from server_events where event = 'request'"
        )
    }
    assert asked - {None} <= set(log.truth["conversations"])
    assert len(asked) > 5


@given(st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)))
def test_any_bytes_are_an_event_or_a_reason(line: bytes) -> None:
    found = None
    with suppress(LineError):
        found = read_event(line)
    assert found is None or found["event"] in ("request", "other", "started")
