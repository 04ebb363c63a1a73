"""Execute a notebook by papermill, so that a signal or a time limit ends it and leaves nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Literal

from axnb import errors
from axnb.errors import AxnbError, NotebookError, VerdictError
from axnb.notebook.cells import Watch
from axnb.notebook.kernel import Kernel
from axnb.notebook.libraries import import_papermill, quiet
from axnb.notebook.parameters import without_fields
from axnb.text import safe

#: What ends the wait for a run. A queue takes it from a thread and from a signal handler alike.
Events = SimpleQueue[Literal["ended", "stopped"]]

#: Seconds that a run has to notice that its kernel is gone.
_PATIENCE = 30

#: Seconds between two looks for a signal, where waiting holds it up.
_GLANCE = 1.0

#: Seconds that the output of a cell may come late, on a machine that is busy.
_LATE_OUTPUT = 60

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def noticed_signals() -> Iterator[Events]:
    """Signals that ask for an end become events, so that no one interrupts a clean-up."""
    events: Events = SimpleQueue()

    def notice(_number: int, _frame: FrameType | None) -> None:
        events.put("stopped")

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            # One that is ignored (nohup) stays ignored.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, notice)
    try:
        yield events
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Limit:
    """A time limit of a whole run, which began when this was made."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that are left, at least none."""
        return max(0.0, self.began + self.seconds - time.monotonic())


def execute(
    notebook: Path,
    output: Path,
    parameters: Mapping[str, Any],
    kernel: Kernel,
    events: Events,
    limit: Limit,
) -> None:
    """Execute `notebook` and write it to `output`.

    It returns when all cells have run, or one has raised VerdictError. Raises the error of axnb
    that a cell raised, NotebookError where the notebook did not come to its end, AxnbError where
    something could not be written, and KeyboardInterrupt after a signal.
    """
    watch = Watch()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            _papermill(notebook, output, parameters, kernel, watch)
        except BaseException as err:
            failed.append(err)
        finally:
            events.put("ended")

    with quiet():
        thread = threading.Thread(target=work, name="axnb-notebook", daemon=True)
        thread.start()
        event = _next(events, limit)
        if event != "ended" or watch.running:
            kernel.kill()
            thread.join(_PATIENCE)
    if event == "stopped":
        raise KeyboardInterrupt
    if event is None:
        raise _unended(f"it took longer than {limit.seconds:g} s and was stopped {watch.since}")
    for err in failed:
        if (error := _translated(err, kernel, watch)) is not None:
            raise error from err
    if not failed and watch.raised_in is not None:
        raise _unended(f"it ended early, in {watch.raised_in}")


def _next(events: Events, limit: Limit) -> str | None:
    """What comes first; None if the time is up before."""
    while left := limit.left:
        try:
            return events.get(timeout=min(left, _GLANCE))
        except Empty:
            continue
    return None


def _papermill(
    notebook: Path, output: Path, parameters: Mapping[str, Any], kernel: Kernel, watch: Watch
) -> None:
    import_papermill().execute_notebook(
        without_fields(notebook),
        without_fields(output),
        parameters=dict(parameters),
        engine_name="nbclient",
        kernel_name="python3",
        language="python",
        progress_bar=False,
        # It writes once, at the end: what is written is published or thrown away as a whole.
        request_save_on_cell_execute=False,
        kernel_manager_class=kernel.manager(lambda: watch.running),
        iopub_timeout=_LATE_OUTPUT,
        shell_timeout_interval=1,
        **watch.hooks(),
    )


def _translated(err: BaseException, kernel: Kernel, watch: Watch) -> AxnbError | None:
    """What a failure means for who has started the run; None for a verdict, which is no failure.

    Of what is not axnb's own only the class is told: a message may hold a payload.
    """
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    if isinstance(err, PapermillExecutionError):
        if _is_own(err):
            kind = getattr(errors, err.ename)
            return None if kind is VerdictError else kind(err.evalue)
        return _unended(f"{safe(err.ename):.60} was raised in {watch.places[err.cell_index]}")
    if isinstance(err, DeadKernelError) or not watch.places:
        return _unended(f"the kernel died ({kernel.fate}) {watch.since}")
    if isinstance(err, TimeoutError):
        return _unended(f"the kernel does not answer {watch.since}")
    if isinstance(err, OSError):
        return AxnbError(f"the notebook cannot be written: {err.strerror}.")
    return _unended(f"{type(err).__name__} was raised {watch.since}")


def _is_own(err: Any) -> bool:
    """Does a cell's error come from axnb? Another class may have the same name."""
    kind = getattr(errors, err.ename, None)
    if not (isinstance(kind, type) and issubclass(kind, AxnbError)):
        return False
    return list(err.traceback) == [safe(f"{err.ename}: {err.evalue}")]


def _unended(why: str) -> NotebookError:
    """A sentence; it may end in a heading, and that in a question mark."""
    return NotebookError(f"nothing was written: {why}" + ("" if why.endswith(("?", ".")) else "."))
