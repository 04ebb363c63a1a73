"""What AX's server printed: requests, and what it could not log.

From G4 on a line is a JSON object, {"time": RFC 3339, "level", "msg", …}; G3 printed plain text
with a time that tells no zone, so it is no clock. A request stands in its line as Go's text form of
the message, whose first field is the conversation's id; the user's own words stand behind it and
are not looked at. No text of a line is kept. Seen in the logs of real servers of G3 to G8.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import orjson

from axnb.evidence.lines import LineError

#: A line of Go's own log: date, time, level, and the message with its attributes.
_PLAIN = re.compile(
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (?:(?P<level>DEBUG|INFO|WARN|ERROR) )?(?P<message>.*)"
)
_PLAIN_ID = re.compile(
    r"(?P<message>(?:Executing|Deleting conversation)\.\.\.) "
    r'conversation_id=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s"=]+))'
)

#: The id in a request, which is its first field; an empty one is not written at all.
_REQUEST_ID = re.compile(r'conversation_id: ?"((?:[^"\\]|\\.)*)"(?: |$)')

_EVENTS = {
    "Executing request": "request",
    "Executing...": "request",
    "Stream failed": "failed",
    "Starting AX server": "started",
}
_NOT_LOGGED = re.compile(r"Failed to (?:log|mark|append|write) .*event log")
_DELETES = "Deleting conversation..."

_LEVEL = re.compile(r"[A-Z]{1,8}(?:[+-]\d{1,3})?")

#: Classes of errors. What none of them fits is `other`: the text of an error may hold payload.
_CODES = (
    re.compile(r"SQLSTATE ([0-9A-Z]{5})\b"),
    re.compile(r"\b(SQLITE_[A-Z_]{2,30})\b"),
    re.compile(
        "(database is closed|no such column|no space left on device|disk I/O error|"
        "conversation_id is required|already in flight|harness ID changed|failed to get harness|"
        "no input messages queued|without HarnessEnd frame|connection refused|context canceled|"
        "context deadline exceeded|harness aborted)"
    ),
    re.compile(r"\bcode = ([A-Z][A-Za-z]{1,20})\b"),
)

_ESCAPE = re.compile(
    rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f"}
_LETTERS |= {b"v": b"\v", b'"': b'"', b"'": b"'", b"\\": b"\\"}


def read_event(line: bytes) -> dict[str, Any]:
    """A line as columns of `server_events`. Raises LineError."""
    if line.startswith(b"{"):
        return _read_record(line)
    found = _PLAIN.fullmatch(line.decode(errors="replace"))
    if found is not None:
        return _read_plain(found["level"] or "", found["message"])
    if b'{"time":' in line:
        raise LineError("a record behind other text")
    raise LineError("not a record of AX", foreign=True)


def _read_record(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise LineError("not JSON") from None
    message = found.get("msg")
    if not isinstance(message, str):
        raise LineError("not a record of AX", foreign=True)
    event, reason = _event(message), None
    conversation_id = found.get("conversation_id")
    if event == "request":
        conversation_id = _requested(found.get("request"))
    elif event != "other":
        reason = _reason(found.get("error")) if event != "started" else None
    elif message == _DELETES:
        reason = "deleted"
    level = found.get("level")
    return {
        "at": _time(found.get("time")),
        "level": level if isinstance(level, str) and _LEVEL.fullmatch(level) else "",
        "event": event,
        "conversation_id": conversation_id if isinstance(conversation_id, str) else None,
        "reason": reason,
    }


def _read_plain(level: str, text: str) -> dict[str, Any]:
    named = _PLAIN_ID.fullmatch(text)
    conversation_id = None
    if named is not None:
        quoted = named["quoted"]
        conversation_id = named["plain"] if quoted is None else _unescaped(quoted)
    message = text if named is None else named["message"]
    started = message.startswith("Starting AX server")
    return {
        "at": None,
        "level": level,
        "event": "started" if started else _event(message),
        "conversation_id": conversation_id,
        "reason": "deleted" if message == _DELETES else None,
    }


def _event(message: str) -> str:
    if _NOT_LOGGED.match(message):
        return "end-not-logged" if "complet" in message else "append-failed"
    return _EVENTS.get(message, "other")


def _requested(request: Any) -> str | None:
    found = _REQUEST_ID.match(request) if isinstance(request, str) else None
    return None if found is None else _unescaped(found[1])


def _unescaped(text: str) -> str | None:
    """A quoted text of Go; None if it is none, or no text."""
    try:
        return _ESCAPE.sub(_character, text.encode()).decode()
    except (ValueError, OverflowError, KeyError):
        return None


def _character(escape: re.Match[bytes]) -> bytes:
    hexadecimal, octal, short, long, letter = escape.groups()
    if hexadecimal is not None or octal is not None:
        return bytes([int(hexadecimal, 16) if octal is None else int(octal, 8)])
    return _LETTERS[letter] if letter is not None else chr(int(short or long, 16)).encode()


def _reason(error: Any) -> str:
    found = (code.search(error) for code in _CODES) if isinstance(error, str) else ()
    return next((str(match[1]) for match in found if match), "other")


def _time(text: Any) -> datetime | None:
    """A time in UTC, without its zone; Go's zero time is none."""
    try:
        found = datetime.fromisoformat(text)
        return (
            found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo and found.year > 1 else None
        )
    except (TypeError, ValueError, OverflowError):
        return None
