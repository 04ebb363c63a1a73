"""A process beside this one that converts rows, or reads them back."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError
from axnb.migrating.converting import Job, Reading


class Worker:
    """A process that does a job of `converting`; it is ended with the `with` block."""

    def __init__(self, job: Job | Reading) -> None:
        self._job = job

    def __enter__(self) -> Worker:
        command = [sys.executable, "-m", "axnb.migrating.converting"]
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
        assert self._process.stdout is not None
        self._out = self._process.stdout
        with self._process.stdin as stdin:
            pickle.dump(self._job, stdin)
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._process.kill()
        self._process.wait()

    def read(self) -> Any:
        """The next thing that it hands on. Raises AxnbError if it has ended too early."""
        try:
            return pickle.load(self._out)  # noqa: S301
        except (EOFError, pickle.UnpicklingError):
            raise AxnbError("a process that converts rows has ended too early.") from None
