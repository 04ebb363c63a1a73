"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


def until(is_so: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Wait until something is so; fail if it never is."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s in vain until {what}")
        time.sleep(0.02)
