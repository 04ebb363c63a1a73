"""A person does a step of a drill by hand, and says so by a button.

    guide = Guide()
    guide.begin(lambda ask: run(options, ask=ask))
    display(guide.widget)
    result = await guide.finished()

The work has a thread of its own. A click reaches a kernel between two cells, and in a cell that
awaits something; in one that blocks it does not (ipykernel 7.4, tests/lab/test_kernel.py). So
either await the end, or end the cell with the widget and ask for `result` in a later one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from axnb.errors import AxnbError
from axnb.lab import controls, fragments
from axnb.runtimes import NotRunError

if TYPE_CHECKING:
    from axnb.runtimes.command import Ask


class Guide:
    """One sentence at a time, with the buttons Done and Stop. After Stop nothing is asked again."""

    def __init__(self) -> None:
        self._done = controls.button("Done", "I have done it")
        self._stop = controls.button("Stop", "ask for nothing more, and end the drill")
        self._said = widgets.HTML()
        self._text = widgets.Textarea(
            placeholder="what the user sees", layout=widgets.Layout(width="40rem")
        )
        self._turn = Lock()
        self._answered = Event()
        self._stopped = Event()
        self._thread: Thread | None = None
        self._found: Any = None
        self._error: BaseException | None = None
        self._done.on_click(lambda _: self._is_done())
        self._stop.on_click(lambda _: self.stop())
        buttons = controls.row(self._done, self._stop)
        self.widget = widgets.VBox([self._said, self._text, buttons])
        self._offer(False, False)

    def __call__(self, sentence: str, *, wants_text: bool = False) -> str:
        """Show what is to be done, and wait for Done; NotRunError after Stop."""
        with self._turn:
            self._answered.clear()
            self._text.value = ""
            self._say(fragments.status(sentence, ""))
            self._offer(True, wants_text)
            if not self._stopped.is_set():
                self._answered.wait()
            self._offer(False, False)
            if self._stopped.is_set():
                raise NotRunError("a person stopped the drill.")
            self._say(fragments.status("working …"))
            return str(self._text.value).strip() if wants_text else ""

    def begin(self, work: Callable[[Ask], Any]) -> None:
        """Do `work` beside the kernel's thread; it asks by what it is given."""
        if self._thread is not None:
            raise AxnbError("this guide is used already: make another one.")
        self._say(fragments.status("working …"))
        self._thread = Thread(target=self._work, args=(work,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask for nothing more."""
        self._stopped.set()
        self._answered.set()

    async def finished(self) -> Any:
        """Wait for the end of the work without blocking the kernel; what it returned or raised."""
        thread = self._begun()
        try:
            await asyncio.get_running_loop().run_in_executor(None, thread.join)
        except BaseException:
            self.stop()
            raise
        return self.result()

    def result(self) -> Any:
        """What the work returned, or AxnbError while it is not over; raises what it raised."""
        if self._begun().is_alive():
            raise AxnbError("it is not over: do what the guide says, and run this cell again.")
        if self._error is not None:
            raise self._error
        return self._found

    def wait(self) -> Any:
        """Block until the work is over; `result`. Not for a cell: no click would reach it."""
        self._begun().join()
        return self.result()

    def _begun(self) -> Thread:
        if self._thread is None:
            raise AxnbError("nothing was begun.")
        return self._thread

    def _is_done(self) -> None:
        # A second click on a step that is over says nothing of the next one.
        if not self._done.disabled:
            self._answered.set()

    def _work(self, work: Callable[[Ask], Any]) -> None:
        try:
            self._found = work(self)
            self._say(fragments.status("it is over: run the next cell."))
        except BaseException as err:
            self._error = err
            self._say(fragments.failure(err if isinstance(err, Exception) else AxnbError("ended.")))
        finally:
            self._offer(False, False)

    def _offer(self, is_asking: bool, wants_text: bool) -> None:
        self._done.disabled = not is_asking
        self._stop.disabled = self._stopped.is_set()
        self._text.layout.display = None if wants_text else "none"

    def _say(self, piece: str) -> None:
        self._said.value = fragments.page(piece)
