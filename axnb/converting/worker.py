"""A process beside this one that converts rows, or looks for owners."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from axnb.converting.process import Job, Search
from axnb.errors import AxnbError

#: Things that a process may be ahead by: it goes on while another one is listened to.
_AHEAD = 16

_ENDED = object()


class Worker:
    """A process that does a job of `process`; it is ended with the `with` block."""

    def __init__(self, job: Job | Search) -> None:
        self._job = job
        self._found: Queue[Any] = Queue(_AHEAD)
        self._is_over = threading.Event()

    def __enter__(self) -> Worker:
        command = [sys.executable, "-m", "axnb.converting.process"]
        # Wherever this process has come to since, the other one finds the same axnb.
        paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert self._process.stdin is not None
        with self._process.stdin as stdin:
            pickle.dump(self._job, stdin)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._process.kill()
        self._process.wait()
        # Whoever waits for room finds some, and ends.
        while self._listener.is_alive():
            try:
                self._found.get(timeout=0.01)
            except Empty:
                continue
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        found: Any = None
        while found is not _ENDED and not self._is_over.is_set():
            try:
                found = pickle.load(self._process.stdout)  # noqa: S301 - our own process
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                found = _ENDED
            self._found.put(found)

    def read(self) -> Any:
        """The next thing that it hands on. Raises AxnbError if it has ended too early."""
        found = self._found.get()
        if found is _ENDED:
            raise AxnbError("a process that converts rows has ended too early.")
        return found
