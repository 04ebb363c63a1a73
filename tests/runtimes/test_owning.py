"""Whose port is it: whoever answers on one is not taken for the program that was started."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.errors import AxnbError
from axnb.runtimes import Task
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.ax.node import AxNode
from axnb.runtimes.embedded.node import Node, NodeSetup
from axnb.runtimes.holding import Holds
from axnb.runtimes.owning import is_bound, tells_its_pid
from axnb.runtimes.processes import Reaper, free_port, wait_until_answers
from axnb.runtimes.programs import command
from axnb.runtimes.rehearsing import World
from tests.runtimes.ax_binary import wrapper
from tests.runtimes.programs import reaper

__all__ = ["reaper"]

NODES = ["server", "actor", "ax"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with closing(World(tmp_path_factory.mktemp("world") / "s", idempotent=False)) as made:
        yield made


@contextmanager
def made(world: World, folder: Path, kind: str) -> Iterator[tuple[Node, int]]:
    """A node, and its port of the program."""
    folder.mkdir()
    setup = NodeSetup(world, folder, str(folder / "log.sqlite"), None, "ax", Task("c", "op"))
    with closing(Holds()) as holds:
        if kind == "ax":
            binary = Binary(wrapper(folder / "ax", "G8"), GENERATIONS["G8"], "ax")
            node: Node = AxNode(setup, holds, binary)
        else:
            node = Node(setup, holds, GENERATIONS["G8"])
        yield node, node.actor_port if kind == "actor" else node.port
        node.crash()


@pytest.mark.parametrize("kind", NODES)
def test_a_stranger_on_the_port_of_a_node(world: World, tmp_path: Path, kind: str) -> None:
    """It takes connections and never answers."""
    with made(world, tmp_path / "n", kind) as (node, port):
        stranger = socket.create_server(("127.0.0.1", port))
        with stranger, pytest.raises(AxnbError, match=f"^port {port} is somebody else's"):
            node.start()


@pytest.mark.parametrize("kind", NODES)
def test_another_drill_on_the_port_of_a_node(world: World, tmp_path: Path, kind: str) -> None:
    """It says all that ours would, and is another process."""
    with made(world, tmp_path / "1", kind) as (first, port):
        first.start()
        with made(world, tmp_path / "2", kind) as (second, _):
            setattr(second, "actor_port" if kind == "actor" else "port", port)
            with pytest.raises(AxnbError, match=f"^port {port} is somebody else's"):
                second.start()


def test_a_stranger_on_the_port_of_the_tools(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool service of another drill, whose ledger is not ours."""
    port = int(world.tools_url.rpartition(":")[2])
    monkeypatch.setattr("axnb.runtimes.rehearsing.free_port", lambda: port)
    with pytest.raises(AxnbError, match=f"^port {port} is somebody else's: the tool service"):
        World(tmp_path / "s", idempotent=False)


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_who_is_bound_is_known(reaper: Reaper, tmp_path: Path) -> None:
    port, other = free_port(), free_port()
    words = ["--home", str(tmp_path), "--tools", "http://127.0.0.1:1", "--port", str(port)]
    process = reaper.group().start(command("actor", *words), log=tmp_path / "log")
    wait_until_answers(port, process, tells_its_pid)
    assert is_bound(port, process)
    with socket.create_server(("127.0.0.1", other)):
        assert not is_bound(other, process)
    process.kill()
    assert not is_bound(port, process)
