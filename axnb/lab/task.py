"""Slow work beside the kernel's own thread: it shows progress, and can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from axnb.errors import AxnbError
from axnb.lab import fragments
from axnb.text import safe

if TYPE_CHECKING:
    from ipywidgets import HTML, Button


class StoppedError(AxnbError):
    """A person stopped the work."""


class Task:
    """One piece of work at a time, with a button that begins it, one that stops it, and a status.

    `work` gets a function that it calls with a sentence when it has come further; that function
    raises StoppedError once a person wants it to stop. `interrupt`, if there is one, is called
    besides, to break off a query that is running.
    """

    def __init__(
        self,
        start: Button,
        stop: Button,
        status: HTML,
        work: Callable[[Callable[[str], None]], str],
        interrupt: Callable[[], None] | None = None,
    ) -> None:
        self._start, self._stop, self._status = start, stop, status
        self._work, self._interrupt = work, interrupt
        self._wanted = Event()
        start.on_click(self.begin)
        stop.on_click(self.end)
        stop.disabled = True

    def begin(self, _: Any = None) -> None:
        """Begin, unless it is running already."""
        if self._start.disabled:
            return
        self._start.disabled, self._stop.disabled = True, False
        self._wanted.clear()
        self._say("working …")
        Thread(target=self._run, daemon=True).start()

    def end(self, _: Any = None) -> None:
        """Ask the work to stop."""
        self._wanted.set()
        self._stop.disabled = True
        if self._interrupt is not None:
            self._interrupt()

    def _run(self) -> None:
        try:
            self._say(self._work(self._progress))
        except AxnbError as err:
            self._say(str(err), "failed")
        except Exception as err:
            # A query that is broken off fails in its own words; others may hold a payload.
            told = "stopped; nothing was changed." if self._wanted.is_set() else _fault(err)
            self._say(told, "failed")
        finally:
            self._start.disabled, self._stop.disabled = False, True

    def _progress(self, sentence: str) -> None:
        if self._wanted.is_set():
            raise StoppedError("stopped; nothing was changed.")
        self._say(sentence)

    def _say(self, sentence: str, kind: str = "dim") -> None:
        sign = "✗ " if kind == "failed" else ""
        self._status.value = fragments.page(fragments.sentence(f"{sign}{safe(sentence)}", kind))


def _fault(err: Exception) -> str:
    return f"could not go on ({type(err).__name__}); this is a fault of axnb."
