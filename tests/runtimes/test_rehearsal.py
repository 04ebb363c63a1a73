"""One odd thing does not break a rehearsal: a torn line, a file that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.errors import AxnbError
from axnb.runtimes import Rehearsal, Task
from axnb.runtimes.actor_turn import Journal
from axnb.runtimes.alerts import AlertReceiver, alert, now, post
from axnb.runtimes.embedded.carrying import carry
from axnb.runtimes.embedded.runtime import EmbeddedRehearsal, EmbeddedRuntime
from axnb.runtimes.processes import free_port
from axnb.runtimes.rehearsing import World

TASK = Task("c", "op")
TORN = b'{"operation_id": "op", "conv'


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[int], Rehearsal]]:
    """Opens a rehearsal of a point."""
    runtime = EmbeddedRuntime(tmp_path / "scratch", snapshots=None)

    def opened(point: int) -> Rehearsal:
        (tmp_path / "point").mkdir()
        return runtime.open(point, TASK, "read-before-retry", tmp_path / "point")

    with closing(runtime):
        yield opened


def test_a_request_that_was_cut_is_told(
    opened: Callable[[int], Rehearsal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The actor is killed while it writes that it will ask the tool."""
    rehearsal = opened(2)
    assert isinstance(rehearsal, EmbeddedRehearsal)
    crash, journal = rehearsal._node.crash, tmp_path / "point" / "actor" / "journal.jsonl"

    def crash_in_a_line() -> None:
        crash()
        journal.write_bytes(TORN)

    with closing(rehearsal):
        rehearsal.prepare()
        with monkeypatch.context() as patched:
            patched.setattr(rehearsal._node, "crash", crash_in_a_line)
            interruption = rehearsal.interrupt()
        assert (interruption.requests, interruption.cut_requests) == (0, 1)
        rehearsal.resume()
        found = rehearsal.observe()
    assert journal.read_bytes().startswith(TORN + b"\n")
    assert found.reported is not None
    assert found.requests is not None
    assert [line["operation_id"] for line in found.reported] == ["op"]
    assert len(found.requests) == 1
    assert found.alerts is not None
    assert [(alert["at_resume"], alert["state"]) for alert in found.alerts] == [
        ("firing", "resolved")
    ]
    assert "run" not in found.alerts[0]["labels"]


def test_an_alert_of_a_turn_that_never_ends_is_resolved(tmp_path: Path) -> None:
    """A drill pages nobody for ever, and no watchdog raises it again."""
    (tmp_path / "point").mkdir()
    with AlertReceiver() as receiver:
        runtime = EmbeddedRuntime(tmp_path / "scratch", snapshots=None, alertmanager=receiver.url)
        with closing(runtime):
            rehearsal = runtime.open(3, TASK, "ax", tmp_path / "point")
            rehearsal.prepare()
            alerts = runtime._world.alerts
            known = {"alertname": "AxTurnInterrupted", "conversation_id": "c", "run": alerts.run}
            post(receiver.url, [alert(known, {}, starts_at=now())])
            rehearsal.interrupt()
            (raised,) = alerts.of("c") or ()
            assert raised["labels"]["severity"] == "critical", "what fired before does not count"
            assert [one["status"]["state"] for one in receiver.alerts()] == ["active"] * 2
            rehearsal.close()
            assert [one["status"]["state"] for one in receiver.alerts()] == ["resolved"] * 2


def test_a_request_that_arrived_was_not_cut(opened: Callable[[int], Rehearsal]) -> None:
    with closing(opened(3)) as rehearsal:
        rehearsal.prepare()
        interruption = rehearsal.interrupt()
    assert (interruption.requests, interruption.cut_requests) == (1, 0)


def test_a_line_that_was_torn_stays_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for before in (b"", TORN, b'{"operation_id": "a"}\n'):
        path.write_bytes(before)
        Journal(tmp_path).note({"operation_id": "b"})
        assert json.loads(path.read_bytes().splitlines()[-1]) == {"operation_id": "b"}
        assert path.read_bytes().startswith(before)


def test_a_journal_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").mkdir()
    with pytest.raises(AxnbError, match=r"^the actor's journal cannot be used: Is a directory\.$"):
        Journal(tmp_path).note({})


def test_a_file_that_cannot_be_used_is_one_sentence(
    opened: Callable[[int], Rehearsal], tmp_path: Path
) -> None:
    with closing(opened(3)) as rehearsal:
        (tmp_path / "point" / "ax.yaml").mkdir()
        with pytest.raises(AxnbError, match=r"^a file of the rehearsal cannot be used: Is a dir"):
            rehearsal.prepare()
        (tmp_path / "point" / "actor" / "journal.jsonl").mkdir()
        with pytest.raises(AxnbError, match=r"^a file of the rehearsal cannot be used: Is a dir"):
            rehearsal.observe()


def test_an_actor_that_refuses_says_why(opened: Callable[[int], Rehearsal]) -> None:
    rehearsal = opened(3)
    assert isinstance(rehearsal, EmbeddedRehearsal)
    with closing(rehearsal):
        rehearsal.prepare()
        with pytest.raises(AxnbError, match=r"^the actor refuses: the actor has no bucket"):
            rehearsal._node.suspend()


@pytest.mark.parametrize("where", ["file", "server"])
def test_a_log_that_cannot_be_taken_over_is_one_sentence(tmp_path: Path, where: str) -> None:
    log = str(tmp_path / "log.sqlite")
    if where == "server":
        log = f"postgresql://127.0.0.1:{free_port()}/none"
    with pytest.raises(AxnbError, match=r"^the log that is to be taken over cannot be used: "):
        carry(log, GENERATIONS["G6"], GENERATIONS["G8"])


def test_nobody_waits_beyond_the_end_of_the_run(tmp_path: Path) -> None:
    """A drill that is stopped is not held up by a process that never comes."""
    world = World(tmp_path / "scratch", idempotent=False)
    with ThreadPoolExecutor(1) as pool, closing(world):
        waiting = pool.submit(world.holds().wait, 3600.0)
        world.close()
        with pytest.raises(AxnbError, match="no process came"):
            waiting.result(timeout=60)
