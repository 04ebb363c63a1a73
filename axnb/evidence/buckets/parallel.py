"""Do the same for many, several at a time, and hand on in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Wanted = TypeVar("_Wanted")
_Found = TypeVar("_Found")

#: Jobs that may wait for a thread, a thread.
_AHEAD = 8


def in_order(
    work: Callable[[_Wanted], _Found],
    wanted: Iterable[_Wanted],
    threads: int,
    stop: Callable[[], None] | None = None,
) -> Iterator[_Found]:
    """What `work` returns for each that is wanted, in their order; a bounded number ahead.

    `stop` is called at the end, also where that comes early, before the work at hand is waited for.
    """
    waiting: deque[Future[_Found]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="axnb-bucket")
    try:
        for one in wanted:
            waiting.append(pool.submit(work, one))
            if len(waiting) >= threads * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if stop:
            stop()
        pool.shutdown(cancel_futures=True)
