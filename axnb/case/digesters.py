"""Processes that compute canonical digests side by side; few texts are done in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

import axnb
from axnb.case.digesting import HEADER, SIZE, Digests, Texts, digests_of
from axnb.errors import AxnbError

#: Up to so many bytes, to start processes takes longer than to do without.
_FEW_BYTES = 16 << 20
_MOST_PROCESSES = 8

#: It finds the modules where this process finds them, except in whatever folder is the present one.
_PROGRAM = "import sys; sys.path[:] = {!r}; from axnb.case.digesting import main; main()"

Key = TypeVar("Key")


class Digesters:
    """Computes canonical digests of so many bytes of texts; a context manager.

    Its processes start with the first texts and end with the context: after an interrupt at once.
    Raises AxnbError if one of them ends before its time.
    """

    def __init__(self, size: int) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        is_worth_it = size > _FEW_BYTES and (cores or 1) > 1 and bool(sys.executable)
        self._most = min(cores or 1, _MOST_PROCESSES) if is_worth_it else 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Digesters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.communicate()

    def digests(self, pieces: Iterable[tuple[Key, Texts]]) -> Iterator[tuple[Key, Digests]]:
        """The digests of each piece, in their order, each with what it was given with.

        A piece is taken when there is room for it: a few are in memory at a time.
        """
        if not self._most:
            yield from ((key, digests_of(texts)) for key, texts in pieces)
            return
        threads = self._started()
        waiting: deque[tuple[Key, Future[Digests]]] = deque()
        for key, texts in pieces:
            waiting.append((key, threads.submit(self._ask, texts)))
            if len(waiting) > self._most + 1:
                key, answer = waiting.popleft()
                yield key, answer.result()
        for key, answer in waiting:
            yield key, answer.result()

    def _started(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most)
            for _ in range(self._most):
                process = _start()
                self._processes.append(process)
                self._idle.put(process)
        return self._threads

    def _ask(self, texts: Texts) -> Digests:
        process = self._idle.get()
        try:
            return _asked(process, texts)
        finally:
            self._idle.put(process)


def _start() -> subprocess.Popen[bytes]:
    # In a group of its own: the interrupt of a person is for this process, which then ends it.
    path = [*filter(None, sys.path), str(Path(axnb.__file__).parents[1])]
    return subprocess.Popen(  # noqa: S603  nothing of it comes from outside
        [sys.executable, "-P", "-c", _PROGRAM.format(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def _asked(process: subprocess.Popen[bytes], texts: Texts) -> Digests:
    """What the process answers; it takes one piece at a time, so neither waits for the other."""
    pipes: Any = process
    known, digests = b"", b""
    try:
        pipes.stdin.write(HEADER.pack(texts.offsets.nbytes, texts.data.nbytes))
        pipes.stdin.write(texts.offsets)
        pipes.stdin.write(texts.data)
        pipes.stdin.flush()
        known = pipes.stdout.read(len(texts))
        digests = pipes.stdout.read(len(texts) * SIZE)
    except OSError:
        # It no longer reads.
        pass
    if len(known) < len(texts) or len(digests) < len(texts) * SIZE:
        raise AxnbError(
            f"process {process.pid}, which computes digests for axnb, has ended before its time: "
            "look whether the machine has enough memory, and try again."
        )
    return Digests(known, digests)
