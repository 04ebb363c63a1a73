"""How a verb that has started something, or writes something, is stopped from outside."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_in_order() -> Iterator[None]:
    """SIGTERM ends a verb as Ctrl-C does: what it has started and written goes with it."""

    def stop(number: int, _: object) -> None:
        # Once is enough: what is being cleaned up is not interrupted again.
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
