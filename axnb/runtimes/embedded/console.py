"""What AX prints: one JSON object a line, as Go's slog writes it.

AX prints whole requests, with all that users wrote. A rehearsal has no reason to: of a request only
the conversation's id is printed.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any, TextIO


class Console:
    """Writes records to a stream; any thread may use it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stdout
        self._lock = threading.Lock()

    def info(self, message: str, **attributes: Any) -> None:
        """Something happened as it should."""
        self._write("INFO", message, attributes)

    def warn(self, message: str, **attributes: Any) -> None:
        """Something was lost, and AX goes on."""
        self._write("WARN", message, attributes)

    def error(self, message: str, **attributes: Any) -> None:
        """A request failed."""
        self._write("ERROR", message, attributes)

    def _write(self, level: str, message: str, attributes: dict[str, Any]) -> None:
        record = {"time": _now(), "level": level, "msg": message, **attributes}
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            print(line, file=self._stream, flush=True)


def _now() -> str:
    """The time as RFC3339Nano in UTC: zeros at its end are not written."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    fraction = f"{nanoseconds:09}".rstrip("0")
    return f"{moment}.{fraction}Z" if fraction else f"{moment}Z"


def requested(conversation_id: str) -> str:
    """A request as AX prints it (protobuf's text format), with its id only."""
    quoted = json.dumps(conversation_id, ensure_ascii=False)
    return f"conversation_id:{quoted}" if conversation_id else ""
