"""The tool service: what is stored when, what is done twice, and what survives SIGKILL."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from axnb.errors import AxnbError
from axnb.runtimes.json_client import call
from axnb.runtimes.processes import Reaper, free_port
from axnb.runtimes.tool_service import Ledger, ToolServer
from axnb.runtimes.tools import ToolClient
from tests.runtimes.programs import reaper, serve

__all__ = ["reaper"]


@pytest.fixture(params=[False, True], ids=["plain", "dedup"])
def dedup(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def tool(tmp_path: Path, dedup: bool) -> Iterator[ToolClient]:
    server = ToolServer(Ledger(tmp_path / "tool.sqlite", dedup=dedup)).start()
    yield ToolClient(server.url)
    server.stop()


def test_an_effect_is_found_by_its_operation(tool: ToolClient) -> None:
    entry = tool.reserve("op/1 ä", "c1", "seat 12A", attempt=2)
    assert entry == {
        "entry": 1,
        "operation_id": "op/1 ä",
        "conversation_id": "c1",
        "tool": "reserve",
        "item": "seat 12A",
        "status": "reserved",
        "reservation": entry["reservation"],
        "requested_as": 1,
    }
    found = tool.lookup("op/1 ä")
    assert found["effects"] == [entry]
    assert [(r["attempt"], r["caller"], r["entry"]) for r in found["requests"]] == [(2, "actor", 1)]
    assert tool.lookup("op/1") == {"effects": [], "requests": []}


def test_a_repetition_has_an_effect_unless_deduplicated(tool: ToolClient, dedup: bool) -> None:
    entries = [tool.reserve("op-1", "c1", "seat 12A", attempt=n) for n in (1, 2, 3)]
    effects = tool.lookup("op-1")["effects"]
    requests = tool.lookup("op-1")["requests"]
    assert [request["attempt"] for request in requests] == [1, 2, 3]
    assert [request["entry"] for request in requests] == [entry["entry"] for entry in entries]
    assert len(effects) == (1 if dedup else 3)
    assert len({effect["reservation"] for effect in effects}) == len(effects)


def test_a_release_is_read_back_and_can_be_repeated(tool: ToolClient) -> None:
    first, second = (tool.reserve(f"op-{n}", "c1", "seat 12A") for n in (1, 2))
    for _ in range(2):
        assert tool.release(first["entry"]) == first | {"status": "released"}
    ledger = tool.ledger()
    assert [effect["status"] for effect in ledger["effects"]] == ["released", "reserved"]
    assert ledger["effects"][1] == second


def test_what_makes_no_sense_is_refused(tool: ToolClient) -> None:
    with pytest.raises(AxnbError, match="status 404"):
        tool.release(7)
    for odd in ({}, [], None, "x", {"operation_id": "o"}):
        with pytest.raises(AxnbError, match="status 400"):
            call("POST", f"{tool._url}/operations", odd)
    with pytest.raises(AxnbError, match="status 400"):
        tool.reserve("op-1", "c1", "seat 12A", attempt=0)
    assert tool.ledger() == {"effects": [], "requests": []}


@pytest.mark.parametrize("dedup", [True], indirect=True)
def test_a_known_operation_is_not_used_for_something_else(tool: ToolClient) -> None:
    tool.reserve("op-1", "c1", "seat 12A")
    with pytest.raises(AxnbError, match="status 400"):
        tool.reserve("op-1", "c1", "seat 12B")
    assert [effect["item"] for effect in tool.ledger()["effects"]] == ["seat 12A"]


def test_requests_at_once_have_one_effect_each(tool: ToolClient, dedup: bool) -> None:
    def reserve() -> None:
        tool.reserve("op-1", "c1", "seat 12A")

    threads = [threading.Thread(target=reserve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = tool.lookup("op-1")
    assert (len(found["requests"]), len(found["effects"])) == (8, 1 if dedup else 8)


def test_a_request_is_stored_before_its_effect(tmp_path: Path) -> None:
    """The effect fails, and the request is there."""
    ledger = Ledger(tmp_path / "tool.sqlite")
    with sqlite3.connect(tmp_path / "tool.sqlite") as other:
        other.execute(
            "CREATE TRIGGER fails BEFORE INSERT ON effects BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    texts = ("operation_id", "conversation_id", "tool", "item", "caller")
    asked = dict.fromkeys(texts, "op-1")
    with pytest.raises(sqlite3.IntegrityError):
        ledger.operate(asked)
    found = ledger.lookup("op-1")
    assert (len(found["requests"]), found["effects"]) == (1, [])


def test_the_program_keeps_what_it_has_acknowledged(reaper: Reaper, tmp_path: Path) -> None:
    ledger = tmp_path / "tool.sqlite"
    group = reaper.group()
    port, process = serve(group, "tools", "--db", ledger, "--dedup", log=tmp_path / "log")
    entry = ToolClient(f"http://127.0.0.1:{port}").reserve("op-1", "c1", "seat 12A")
    process.kill()
    port, _ = serve(group, "tools", "--db", ledger, "--dedup", log=tmp_path / "log")
    tool = ToolClient(f"http://127.0.0.1:{port}")
    assert tool.reserve("op-1", "c1", "seat 12A") == entry
    assert len(tool.lookup("op-1")["requests"]) == 2


def test_nobody_there_is_one_sentence() -> None:
    port = free_port()
    with pytest.raises(AxnbError, match=rf"127.0.0.1:{port}/ledger does not answer: connection re"):
        ToolClient(f"http://user:secret@127.0.0.1:{port}").ledger()
    with pytest.raises(AxnbError) as caught:
        ToolClient(f"ftp://user:secret@127.0.0.1:{port}").ledger()
    assert "secret" not in str(caught.value)
