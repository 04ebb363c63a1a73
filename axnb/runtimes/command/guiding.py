"""Asking a person to do a step by hand."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from typing import Protocol

from axnb.runtimes import NotRunError

#: What a person writes before the words of a refusal, instead of an answer.
REFUSED = "error:"

_STOPPED = "a person stopped the drill."


class Ask(Protocol):
    """Asks a person to do something, and returns once it is done.

    With `wants_text` the person is to hand over what a user sees; that is returned. Raises
    NotRunError if the person does not want to go on.
    """

    def __call__(self, sentence: str, *, wants_text: bool = False) -> str:
        """Ask; the text, or an empty one."""


class Terminal:
    """Asks on the terminal: Enter when it is done, the end of input (Ctrl-D) to stop."""

    def __init__(self) -> None:
        """Raises NotRunError where nobody sits at a terminal."""
        if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
            raise NotRunError(
                "a guided drill needs a person: run it in a terminal or in its notebook, or give "
                "a command for every step."
            )
        self._input = sys.stdin.fileno()
        self._woken, self._wake = os.pipe()

    def __call__(self, sentence: str, *, wants_text: bool = False) -> str:
        """Ask, and read a line; NotRunError at the end of input or after `stop`."""
        with suppress(ImportError, OSError):
            import termios

            # A second Enter on the step before says nothing of this one.
            termios.tcflush(self._input, termios.TCIFLUSH)
        what = (
            "What the user sees, on one line: " if wants_text else "Press Enter when it is done: "
        )
        print(f"\n{sentence}\n{what}", end="", file=sys.stderr, flush=True)
        line = b""
        while not line.endswith(b"\n"):
            # The thread that asks must not wait for a person after the drill was broken off.
            ready, _, _ = select.select([self._input, self._woken], [], [])
            piece = b"" if self._woken in ready else os.read(self._input, 4096)
            if not piece:
                raise NotRunError(_STOPPED)
            line += piece
        return line.decode("utf-8", "replace").strip() if wants_text else ""

    def stop(self) -> None:
        """Ask for nothing more, also in the thread that waits for an answer."""
        os.write(self._wake, b"!")
