"""Asking a person to do a step by hand."""

from __future__ import annotations

import sys
from typing import Protocol

from axnb.runtimes import NotRunError

#: What a person writes before the words of a refusal, instead of an answer.
REFUSED = "error:"


class Ask(Protocol):
    """Asks a person to do something, and returns once it is done.

    With `wants_text` the person is to hand over what a user sees; that is returned. Raises
    NotRunError if the person does not want to go on.
    """

    def __call__(self, sentence: str, *, wants_text: bool = False) -> str:
        """Ask; the text, or an empty one."""


def ask_in_terminal(sentence: str, *, wants_text: bool = False) -> str:
    """Ask on the terminal: Enter when it is done, the end of input (Ctrl-D) to stop."""
    print(f"\n{sentence}", file=sys.stderr)
    prompt = "What the user sees, on one line: " if wants_text else "Press Enter when it is done: "
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise NotRunError("a person stopped the drill.")
    return line.strip() if wants_text else ""


def the_asker() -> Ask:
    """The terminal's. Raises NotRunError where nobody sits at one."""
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        raise NotRunError(
            "a guided drill needs a person: run it in a terminal or in its notebook, or give a "
            "command for every step."
        )
    return ask_in_terminal
