"""Slow work beside the kernel's own thread: it shows progress, and can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from axnb.errors import AxnbError
from axnb.lab import fragments

if TYPE_CHECKING:
    from ipywidgets import HTML, Button


class StoppedError(AxnbError):
    """A person stopped the work."""

    def __init__(self) -> None:
        super().__init__("stopped; what was shown stays.")


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
        self._is_allowed = True
        self._thread: Thread | None = None
        self._lock = Lock()
        start.on_click(self.begin)
        stop.on_click(self.end)
        stop.disabled = True

    def allow(self, is_allowed: bool) -> None:
        """Is there anything to begin?"""
        with self._lock:
            self._is_allowed = is_allowed
            self._start.disabled = self._thread is not None or not is_allowed

    def begin(self, _: Any = None) -> None:
        """Begin, unless it is running already."""
        if self._start.disabled:
            return
        self._start.disabled, self._stop.disabled = True, False
        self._wanted.clear()
        self._say(fragments.status("working …"))
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self, _: Any = None) -> None:
        """Ask the work to stop; again, if a query had not quite begun."""
        self._wanted.set()
        if self._interrupt is not None:
            self._interrupt()

    def wait(self) -> None:
        """Wait until nothing is running."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        try:
            self._say(fragments.status(self._work(self._progress)))
        except AxnbError as err:
            self._say(fragments.failure(err))
        except Exception as err:
            # A query that is broken off fails in its own words.
            self._say(fragments.failure(StoppedError() if self._wanted.is_set() else err))
        finally:
            with self._lock:
                self._thread = None
                self._start.disabled, self._stop.disabled = not self._is_allowed, True

    def _progress(self, sentence: str) -> None:
        if self._wanted.is_set():
            raise StoppedError
        self._say(fragments.status(sentence))

    def _say(self, piece: str) -> None:
        self._status.value = fragments.page(piece)
