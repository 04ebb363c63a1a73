"""The server as a program: where it can be held and killed, what it prints, how it refuses."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.evidence.server_log import read_event
from axnb.runtimes.embedded.store import LogError, SqliteStore
from axnb.runtimes.holding import Holds
from tests.runtimes.driver import ROOT, InProcess, Process, rows, write_config
from tests.runtimes.scripted import Scripted

G6, G8 = GENERATIONS["G6"], GENERATIONS["G8"]

#: Places where the append of a tool call is cut, and the rows that are there then.
CUTS = {
    "server.received": 2,
    "server.append.begun": 2,
    "server.append.numbered": 2,
    "server.append.inserted": 2,
    "server.append.committed": 3,
    "server.sent": 3,
}


@pytest.fixture(scope="module")
def harness() -> Iterator[Scripted]:
    """A harness of G8."""
    with Scripted(G8) as scripted:
        yield scripted


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(place, marks=() if place == "server.append.inserted" else pytest.mark.slow)
        for place in CUTS
    ],
)
def test_a_server_is_killed_where_it_is_held(place: str, harness: Scripted, folder: Path) -> None:
    config = write_config(folder, G8, custom={"drill": harness.endpoint})
    name = f"cut-{place}"
    with Holds() as holds:
        holds.arm(place, kind="tool_call")
        environment = {"AXNB_FAILPOINTS": holds.variable(CUTS)}
        with Process(config, G8, environment=environment) as server:
            asking = server.client.ask(name, "Open a ticket for the printer")
            held = holds.wait()
            assert held.name == place
            os.kill(held.pid, 9)
            got = asking.result()
    assert got.error is not None
    assert got.error.startswith("UNAVAILABLE")
    with InProcess(config, G8) as server:
        assert len(rows(folder / "log.sqlite", G8, name)) == CUTS[place]
        # The lock went with the process: the next one appends.
        assert server.client.say(name).error is None
    assert len(rows(folder / "log.sqlite", G8, name)) == CUTS[place] + 1


def test_a_held_turn_lets_others_run(harness: Scripted, folder: Path) -> None:
    config = write_config(folder, G8, custom={"drill": harness.endpoint})
    with Holds() as holds:
        holds.arm("server.received", kind="tool_call")
        environment = {"AXNB_FAILPOINTS": holds.variable(["server.received"])}
        with Process(config, G8, environment=environment) as server:
            asking = server.client.ask("held", "Open a ticket for the printer")
            held = holds.wait()
            assert server.client.say("other", "Say hello").error is None
            held.go()
            assert asking.result().error is None


def test_what_it_prints_reads_as_what_ax_prints_and_tells_no_text(folder: Path) -> None:
    with Scripted(G6) as scripted:
        config = write_config(folder, G6, built_in=scripted.endpoint)
        with InProcess(config, G6) as server:
            server.client.say('odd "id"\n', "Say hello")
            server.client.say("broken", "Break the stream")
            server.client.delete("broken")
        printed = server.printed.getvalue()
    assert "hello" not in printed
    events = [read_event(line.encode()) for line in printed.splitlines()]
    found = [(event["event"], event["conversation_id"], event["reason"]) for event in events]
    assert found == [
        ("started", None, None),
        ("other", None, None),
        ("request", 'odd "id"\n', None),
        ("other", None, None),
        ("other", None, None),
        ("request", "broken", None),
        ("failed", None, "harness aborted"),
        ("other", "broken", None),
        ("other", "broken", "deleted"),
        ("other", "broken", None),
        ("other", None, None),
        ("other", None, None),
    ]
    assert all(event["at"] is not None for event in events)


def test_a_configuration_that_is_no_object_is_warned_of(harness: Scripted, folder: Path) -> None:
    config = write_config(folder, G8, custom={"drill": harness.endpoint})
    for number, given in enumerate((b"not JSON", b"[]", b'{"a":1,"a":2}', b"\xff")):
        with InProcess(config, G8) as server:
            assert server.client.say(f"c{number}", "Say hello", config=given).error is None
            assert harness.starts[-1].config == given
        assert "Failed to parse harness config for logging" in server.printed.getvalue()
        assert "config" not in rows(folder / "log.sqlite", G8, f"c{number}")[0][1]


def test_health(harness: Scripted, folder: Path) -> None:
    config = write_config(folder, G8, custom={"drill": harness.endpoint})
    with InProcess(config, G8) as server:
        check = "/grpc.health.v1.Health/Check"
        assert server.client.unary(check, b"\n\x02AX") is None
        assert server.client.unary(check, b"\n\x02ax") == "NOT_FOUND: unknown service"
        unknown = server.client.unary("/ax.InteractionsService/Gone", b"")
        expected = "UNIMPLEMENTED: unknown method Gone for service ax.InteractionsService"
        assert unknown == expected


def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "axnb.runtimes.embedded", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_that_is_not_there() -> None:
    done = serve("nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'nothing' is none of serve" in done.stderr


@pytest.mark.parametrize("generation", ["G3", "G4", "G9"])
def test_a_generation_that_cannot_be_served(generation: str, folder: Path) -> None:
    done = serve("serve", "--config", str(folder / "ax.yaml"), "--generation", generation)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken(harness: Scripted, folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        path = write_config(folder, G8, custom={"drill": harness.endpoint})
        path.write_text(path.read_text().replace("127.0.0.1:0", f"127.0.0.1:{port}"))
        done = serve("serve", "--config", str(path), "--generation", "v0.2.3")
    assert done.returncode == 2
    assert f"nobody can listen on 127.0.0.1:{port}." in done.stderr


def test_a_log_has_the_modes_and_the_table_of_its_generation(folder: Path) -> None:
    path = folder / "eventlog" / "log.sqlite"
    store = SqliteStore(path, G6)
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o700 == 0o700
    assert store.append("c", lambda number: f"{number}", "input") == 1
    assert store.append("c", lambda number: f"{number}", "end") == 2
    assert store.read("c") == [(1, b"1"), (2, b"2")]
    with pytest.raises(LogError, match=r"query conversation: SQL logic error: no such column: seq"):
        SqliteStore(path, GENERATIONS["G5"]).read("c")
    store.delete("c")
    assert store.append("c", lambda number: f"{number}", "input") == 1
    store.close()
    with pytest.raises(LogError, match="eventlog: begin tx: sql: database is closed"):
        store.append("c", str, "input")


@pytest.mark.parametrize(("content", "text"), [(b"no database" * 99, "file is not a database")])
def test_a_file_that_is_no_log(content: bytes, text: str, folder: Path) -> None:
    (folder / "log.sqlite").write_bytes(content)
    with pytest.raises(LogError, match=f"eventlog: open: {text} \\(26\\)"):
        SqliteStore(folder / "log.sqlite", G8)
