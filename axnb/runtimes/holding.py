"""The drill's side of the named places: who is held where, and letting them go on.

A program that reaches an armed place (`axnb.runtimes.failpoints`) stays there until it is let go or
killed. Whatever is still held when this is closed ends by itself.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from axnb.errors import AxnbError

#: A name, and the facts by which one passage is told from another.
Place: TypeAlias = tuple[str, Mapping[str, Any]]

#: How long a rehearsal waits for a process to come to a place; a hang has to end.
HOLD_SECONDS = 45.0


@dataclass(eq=False)
class Held:
    """A process that is held at a place."""

    name: str
    pid: int
    facts: Mapping[str, Any]
    _line: socket.socket
    _gone: bool = False

    def go(self) -> None:
        """Let it go on; nothing happens if it was killed."""
        if not self._gone:
            self._gone = True
            try:
                self._line.sendall(b"go\n")
            except OSError:
                pass
            finally:
                self._line.close()


class Holds:
    """A listener at which programs say where they are."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._changed = threading.Condition()
        self._held: list[Held] = []
        self._wanted: Callable[[Held], bool] = lambda _: False
        self._closed = False
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def variable(self, names: Iterable[str]) -> str:
        """The value of AXNB_FAILPOINTS for a program that may be held at these places."""
        port = self._listener.getsockname()[1]
        return f"127.0.0.1:{port}/{self._token}/{','.join(names)}"

    def arm(self, name: str, **facts: Any) -> None:
        """Hold who comes to `name` with these facts from now on; all others go on at once."""
        self.arm_any([(name, facts)])

    def arm_any(self, places: Iterable[Place]) -> None:
        """Hold who comes to any of the places from now on; all others go on at once."""
        armed = list(places)

        def wanted(held: Held) -> bool:
            return any(
                held.name == name and all(held.facts.get(k) == v for k, v in facts.items())
                for name, facts in armed
            )

        with self._changed:
            self._wanted = wanted

    def wait(self, seconds: float = HOLD_SECONDS) -> Held:
        """The next process that is held. Raises AxnbError if none comes, or all is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._held or self._closed, seconds)
            if self._closed or not self._held:
                raise AxnbError("no process came to the place where it was to be interrupted.")
            return self._held.pop(0)

    def close(self) -> None:
        """Stop listening, and leave those who are held; whoever waits, waits no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            for held in self._held:
                held._line.close()
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._meet, args=(line,), daemon=True).start()

    def _meet(self, line: socket.socket) -> None:
        try:
            told = json.loads(line.makefile("rb").readline())
        except (OSError, ValueError):
            line.close()
            return
        if not isinstance(told, dict) or told.pop("token", "") != self._token:
            line.close()
            return
        held = Held(told.pop("name"), told.pop("pid"), told, line)
        with self._changed:
            if self._closed:
                line.close()
            elif self._wanted(held):
                self._held.append(held)
                self._changed.notify_all()
                return
        held.go()
