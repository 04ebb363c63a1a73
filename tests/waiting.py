"""Waiting for what other processes do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def until(is_so: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Wait until something is so; fail if it never is."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s in vain until {what}")
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Is there a process that is no zombie?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
