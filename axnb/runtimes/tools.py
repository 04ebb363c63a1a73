"""The tool system of a drill: asking it, and its program (`axnb.runtimes.tool_service`)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from axnb.errors import AxnbError
from axnb.runtimes.json_client import call


class ToolClient:
    """Asks a tool service. Every method raises AxnbError if it cannot be asked, or refuses."""

    def __init__(self, url: str, *, seconds: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._seconds = seconds

    def reserve(
        self,
        operation_id: str,
        conversation_id: str,
        item: str,
        *,
        tool: str = "reserve",
        caller: str = "actor",
        attempt: int = 1,
    ) -> dict[str, Any]:
        """Ask for an effect; its entry: `{entry, operation_id, conversation_id, tool, item, status,
        reservation, requested_as}`."""
        body = {
            "operation_id": operation_id,
            "conversation_id": conversation_id,
            "tool": tool,
            "item": item,
            "caller": caller,
            "attempt": attempt,
        }
        return _object(self._call("POST", "operations", body))

    def lookup(self, operation_id: str) -> dict[str, Any]:
        """What the service knows of an operation: `{"effects": […], "requests": […]}`."""
        return _object(self._call("GET", f"operations/{quote(operation_id, safe='')}"))

    def release(self, entry: int) -> dict[str, Any]:
        """Undo an effect; its entry afterwards."""
        return _object(self._call("POST", f"entries/{entry}/release"))

    def ledger(self) -> dict[str, Any]:
        """All effects and requests."""
        return _object(self._call("GET", "ledger"))

    def token(self) -> str:
        """The token that the service was started with: whose it is."""
        return str(_object(self._call("GET", "token")).get("token", ""))

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        return call(method, f"{self._url}/{path}", body, seconds=self._seconds)


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise AxnbError("the answer is not a tool service's.")
    return answer


def main(arguments: list[str]) -> int:
    """Serve a ledger until the end of the process."""
    from axnb.runtimes.tool_service import Ledger, ToolServer

    parser = argparse.ArgumentParser(prog="tools", description="The tool service of a drill.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--db", type=Path, required=True, help="the ledger, a SQLite file")
    parser.add_argument("--dedup", action="store_true", help="no second effect of an operation id")
    parser.add_argument("--token", default="", help="is told to whoever asks whose it is")
    asked = parser.parse_args(arguments)
    ToolServer(Ledger(asked.db, dedup=asked.dedup), asked.port, asked.token).serve_forever()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
