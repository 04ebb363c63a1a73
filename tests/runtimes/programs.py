"""Programs of a rehearsal, started as it starts them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from axnb.runtimes.processes import Group, Process, Reaper, free_port, wait_until_answers


@pytest.fixture
def reaper(tmp_path: Path) -> Iterator[Reaper]:
    """A reaper that leaves the test's folder alone."""
    with Reaper(None) as made:
        yield made


def start(
    group: Group, module: str, *arguments: str | Path, log: Path, env: dict[str, str] | None = None
) -> Process:
    """Start a program of `axnb.runtimes`."""
    command = [sys.executable, "-m", f"axnb.runtimes.{module}", *map(str, arguments)]
    return group.start(command, log=log, env=env)


def serve(
    group: Group, module: str, *arguments: str | Path, log: Path, env: dict[str, str] | None = None
) -> tuple[int, Process]:
    """Start one that serves on a port, and wait until it answers."""
    port = free_port()
    process = start(group, module, "--port", str(port), *arguments, log=log, env=env)
    wait_until_answers(port, process)
    return port, process
