"""Where the servers' logs of these tests are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A private folder, in memory where that is possible.

    The server syncs every row to the disk, as AX does; thousands of rows would wait for it.
    """
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY, prefix="axnb-") as name:
        yield Path(name)
