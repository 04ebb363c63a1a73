"""The actor, as an AX server speaks to it: real processes, held at named places and killed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest

from axnb.ax import wire
from axnb.ax.versions import GENERATIONS, Generation
from axnb.errors import AxnbError
from axnb.runtimes import content
from axnb.runtimes.actor import Actor, serving
from axnb.runtimes.actor_state import State
from axnb.runtimes.failpoints import VARIABLE
from axnb.runtimes.holding import Held, Holds
from axnb.runtimes.processes import Group, Process, Reaper, free_port, wait_until_answers
from axnb.runtimes.tool_service import Ledger, ToolServer
from axnb.runtimes.tools import ToolClient
from tests.runtimes.programs import reaper, start

__all__ = ["reaper"]

RESERVE = "Reserve seat 12A as op-1"
NAMES = ("actor.started", "actor.before-call", "actor.emitted", "actor.committed", "actor.ended")
ENDED, FAILED = 3, 2


@dataclass
class Turn:
    """What a server got of a turn."""

    outputs: list[tuple[str, str]] = field(default_factory=list)
    end: int | None = None
    error: str = ""


class Ax:
    """The side of an AX server."""

    def __init__(self, port: int, generation: Generation) -> None:
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self._generation = generation

    def __enter__(self) -> Ax:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def start(self, text: str | None, conversation_id: str = "c1", **config: Any) -> Any:
        """Start a turn, half-close, and leave the stream to be read."""
        generation = self._generation
        told: dict[str, Any] = {
            generation.config_key or "": json.dumps({"axnb": config}).encode() if config else b""
        }
        if text is not None:
            told[generation.content_key] = content.encode([content.user_text(text)], generation)
        method = wire.methods(generation)["Connect"]
        request = method.request(
            conversation_id=conversation_id, start=wire.message(generation, "HarnessStart")(**told)
        )
        connect = self._channel.stream_stream(
            method.path, method.serialize_request, method.parse_response
        )
        return connect(iter([request]), timeout=60, wait_for_ready=True)

    def read(self, stream: Any) -> Turn:
        """Read a stream until it ends, or breaks."""
        turn = Turn()
        try:
            for frame in stream:
                items = list(getattr(frame.outputs, self._generation.content_key))
                parts = content.decode(items, self._generation)
                turn.outputs += [(part.kind, part.value or "") for part in parts]
                if frame.WhichOneof("type") == "end":
                    turn.end, turn.error = frame.end.state, frame.end.error.description
        except grpc.RpcError as err:
            turn.error = err.code().name
        return turn

    def turn(self, text: str | None, conversation_id: str = "c1", **config: Any) -> Turn:
        """Start a turn and read it."""
        return self.read(self.start(text, conversation_id, **config))

    def ask(self, method: str, conversation_id: str = "c1") -> dict[str, Any]:
        """Call a method of our own."""
        told = json.dumps({"conversation_id": conversation_id}).encode()
        answer = self._channel.unary_unary(f"/axnb.Actor/{method}")(told, timeout=60)
        found = json.loads(answer)
        assert isinstance(found, dict)
        return found


class Stage:
    """A tool service, and an actor that can be killed and started again."""

    def __init__(self, folder: Path, reaper: Reaper) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.bucket = folder / "bucket"
        self.holds = Holds()
        self._group: Group = reaper.group()
        self._server = ToolServer(Ledger(folder / "tool.sqlite")).start()
        self.tool = ToolClient(self._server.url)
        self.tool_url = self._server.url

    @contextmanager
    def inside(self, generation: str = "G8") -> Iterator[Ax]:
        """The actor in this process, where it is not about processes."""
        port, spoken = free_port(), GENERATIONS[generation]
        actor = Actor(self.home, self.tool_url, str(self.bucket))
        with serving(actor, port, lambda: spoken), Ax(port, spoken) as ax:
            yield ax

    def run(self, *arguments: str, held: tuple[str, ...] = ()) -> Ax:
        """Start the actor as a program; it comes to the places `held`."""
        port = free_port()
        words = ["--port", str(port), "--home", str(self.home), "--tools", self.tool_url]
        words += ["--snapshots", str(self.bucket), *arguments]
        env = {**os.environ, VARIABLE: self.holds.variable(held)}
        self.process: Process = start(
            self._group, "actor", *words, log=self.folder / "log", env=env
        )
        wait_until_answers(port, self.process)
        return Ax(port, GENERATIONS["G8"])

    def state(self, conversation_id: str = "c1") -> State:
        """What is on the actor's disk."""
        return State.parse((self.home / "durable" / conversation_id / "state.json").read_bytes())

    def journal(self) -> list[dict[str, Any]]:
        """Requests that the actor says it made."""
        path = self.home / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def close(self) -> None:
        """End what the reaper does not."""
        self.holds.close()
        self._server.stop()


@pytest.fixture
def stage(tmp_path: Path, reaper: Reaper) -> Iterator[Stage]:
    made = Stage(tmp_path, reaper)
    yield made
    made.close()


def reserved(tool: ToolClient, effect: int = 0) -> list[tuple[str, Any]]:
    """What a reservation looks like to AX."""
    name = tool.lookup("op-1")["effects"][effect]["reservation"]
    task = {"operation_id": "op-1", "item": "seat 12A"}
    return [
        ("thought", "A reservation is needed."),
        ("tool_call", task),
        ("tool_result", {"reservation": name, "status": "reserved", "operation_id": "op-1"}),
        ("text", f"Reserved seat 12A: {name}."),
    ]


def plain(turn: Turn) -> list[tuple[str, Any]]:
    """Outputs with JSON as what it says."""
    return [(k, json.loads(v) if k.startswith("tool") else v) for k, v in turn.outputs]


# --- what it says --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "generation", [pytest.param(n, marks=pytest.mark.slow) for n in ("G5", "G6", "G7")] + ["G8"]
)
def test_the_scripts(stage: Stage, generation: str) -> None:
    with stage.inside(generation) as ax:
        assert ax.turn("Which reservation do I have?").outputs == [
            ("text", "I have no reservation.")
        ]
        assert ax.turn("Remember that my seat is 12A") == Turn(
            [("text", "I will remember that my seat is 12A")], ENDED
        )
        turn = ax.turn(RESERVE)
        assert (plain(turn), turn.end) == (reserved(stage.tool), ENDED)
        name = stage.tool.lookup("op-1")["effects"][0]["reservation"]
        assert ax.turn("Which reservation do I have?").outputs == [
            ("text", f"You have {name} for seat 12A.")
        ]
        assert ax.turn("Reserve").outputs == [("text", "Understood: Reserve")]
        assert ax.turn(None) == Turn([], ENDED)
        state = ax.ask("State")
    assert (state["state"]["turns"], state["state"]["outputs"]) == (5, 8)
    assert (state["busy"], state["restored"]) == (False, None)
    assert [line["operation_id"] for line in stage.journal()] == ["op-1"]


def test_attempts(stage: Stage) -> None:
    """Naively a second effect; with a look-up none, and the same bytes; a turn is counted once."""
    with stage.inside() as ax:
        first = ax.turn(RESERVE)
        state = stage.state()
        assert ax.turn(RESERVE, attempt=2, lookup=True) == first
        assert stage.state() == state
        assert len(stage.tool.lookup("op-1")["requests"]) == len(stage.journal()) == 1
        again = ax.turn(RESERVE, attempt=2, lookup=False)
        assert plain(again) == reserved(stage.tool, 1) != plain(first)
        assert stage.state().turns == 1
        assert ax.turn(RESERVE).end == ENDED
        assert stage.state().turns == 2
    assert [request["attempt"] for request in stage.tool.lookup("op-1")["requests"]] == [1, 2, 1]
    assert [line["attempt"] for line in stage.journal()] == [1, 2, 1]


def test_an_unknown_outcome_of_a_barrier_is_a_question(stage: Stage) -> None:
    with stage.inside() as ax:
        asked = ax.turn(RESERVE, attempt=2, lookup=True, retry="barrier")
        kinds = [kind for kind, _ in asked.outputs]
        assert kinds == ["thought", "tool_call", "confirmation"]
        assert asked.outputs[-1][1] == "Was seat 12A reserved as op-1? The outcome is unknown."
        assert (asked.end, stage.tool.ledger()["requests"]) == (ENDED, [])
        # A first attempt calls; what is found then is used.
        assert ax.turn(RESERVE, retry="barrier").end == ENDED
        found = ax.turn(RESERVE, attempt=2, lookup=True, retry="barrier")
        assert plain(found) == reserved(stage.tool)
        assert len(stage.tool.ledger()["requests"]) == 1


def test_a_tool_that_is_down_fails_the_turn(stage: Stage) -> None:
    stage.tool_url = f"http://127.0.0.1:{free_port()}"
    with stage.inside() as ax:
        turn = ax.turn(RESERVE)
        assert [kind for kind, _ in turn.outputs] == ["thought", "tool_call"]
        assert turn.end == FAILED
        assert "does not answer: connection refused" in turn.error
    assert stage.state().pending == {"operation_id": "op-1", "item": "seat 12A"}
    assert (stage.state().turns, len(stage.journal())) == (0, 1)


def test_the_generation_may_change_while_it_runs(stage: Stage) -> None:
    file = stage.folder / "generation"
    file.write_text("G6\n")
    with stage.run("--generation-file", str(file)) as ax:
        ax._generation = GENERATIONS["G6"]
        assert ax.turn("hello").outputs == [("text", "Understood: hello")]
        file.write_text("v0.2.3")
        ax._generation = GENERATIONS["G8"]
        assert ax.turn("hello").outputs == [("text", "Understood: hello")]


def test_it_is_healthy(stage: Stage) -> None:
    with stage.inside() as ax:
        check = ax._channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=60) == b"\x08\x01"
        with pytest.raises(grpc.RpcError) as refused:
            ax._channel.unary_unary("/axnb.Actor/Other")(b"{}", timeout=60)
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED


# --- who goes away, and when ---------------------------------------------------------------------


def test_a_cancelled_stream_does_not_stop_a_turn(stage: Stage) -> None:
    with stage.run(held=NAMES) as ax:
        stage.holds.arm_any([("actor.emitted", {}), ("actor.ended", {})])
        stream = ax.start(RESERVE)
        held = stage.holds.wait()
        assert held.name == "actor.emitted"
        stream.cancel()
        assert ax.read(stream).error == "CANCELLED"
        held.go()
        ended = stage.holds.wait()
        assert ended.name == "actor.ended"
        ended.go()
        assert (stage.state().turns, stage.state().outputs) == (1, 4)
        assert len(stage.tool.lookup("op-1")["effects"]) == 1


def test_a_second_start_waits_for_the_first(stage: Stage) -> None:
    with stage.run(held=NAMES) as ax:
        stage.holds.arm("actor.committed")
        first = ax.start(RESERVE)
        held = stage.holds.wait()
        stage.holds.arm("actor.started")
        second = ax.start("Which reservation do I have?")
        # Another conversation does not wait, and the actor says who is busy.
        other = ax.start("hello", "c2")
        started = stage.holds.wait()
        started.go()
        assert ax.read(other).outputs == [("text", "Understood: hello")]
        assert (ax.ask("State")["busy"], ax.ask("State", "c2")["busy"]) == (True, False)
        held.go()
        assert plain(ax.read(first)) == reserved(stage.tool)
        stage.holds.wait().go()
        assert ax.read(second).outputs[0][1].startswith("You have R-")


def kill_at(stage: Stage, name: str, ax: Ax) -> Held:
    """Kill the actor when it comes to a place of a reservation."""
    stage.holds.arm(name)
    stream = ax.start(RESERVE)
    held = stage.holds.wait()
    stage.process.kill()
    held.go()
    assert ax.read(stream).error == "UNAVAILABLE"
    return held


@pytest.mark.parametrize(
    ("name", "outputs", "pending", "requests", "turns"),
    [
        pytest.param("actor.started", 0, False, 0, 0, marks=pytest.mark.slow),
        pytest.param("actor.before-call", 1, False, 0, 0, marks=pytest.mark.slow),
        ("actor.emitted", 2, True, 0, 0),
        ("actor.committed", 2, True, 1, 0),
        pytest.param("actor.ended", 4, False, 1, 1, marks=pytest.mark.slow),
    ],
)
def test_what_a_killed_actor_leaves(
    stage: Stage, name: str, outputs: int, pending: bool, requests: int, turns: int
) -> None:
    with stage.run(held=NAMES) as ax:
        kill_at(stage, name, ax)
    if name == "actor.started":
        assert not (stage.home / "durable").exists()
    else:
        state = stage.state()
        assert (state.outputs, state.pending is not None, state.turns) == (outputs, pending, turns)
    assert len(stage.tool.lookup("op-1")["requests"]) == len(stage.journal()) == requests
    with stage.inside() as ax:
        redone = ax.turn(RESERVE, attempt=2, lookup=True)
    assert plain(redone) == reserved(stage.tool)
    assert (stage.state().turns, stage.state().outputs) == (1, 4)
    assert len(stage.tool.lookup("op-1")["requests"]) == len(stage.journal()) == 1


# --- snapshots -----------------------------------------------------------------------------------


def test_a_suspended_actor_comes_back_in_the_middle_of_its_turn(stage: Stage) -> None:
    with stage.run(held=NAMES) as ax:
        assert ax.turn("Remember that my seat is 12A").end == ENDED
        first = ax.ask("Suspend")
        stage.holds.arm("actor.committed")
        stream = ax.start(RESERVE)
        stage.holds.wait()
        second = ax.ask("Suspend")
        stage.process.kill()
        assert ax.read(stream).error == "UNAVAILABLE"
    before = stage.state()
    assert (first["state"]["turns"], second["state"]["turns"]) == (1, 1)
    assert (first["state"]["outputs"], second["state"]["outputs"]) == (1, 3)
    assert first["key"] != second["key"]
    stage.home = stage.folder / "another machine"
    with stage.run("--restore", "c1") as ax:
        told = ax.ask("State")
        assert told["restored"] == second
        assert stage.state() == before
        assert State(**told["state"]) == before
        assert plain(ax.turn(RESERVE, attempt=2, lookup=True)) == reserved(stage.tool)
    assert (stage.state().turns, stage.state().outputs) == (2, 5)


def test_without_a_snapshot_it_does_not_start(stage: Stage) -> None:
    with pytest.raises(AxnbError, match=r"ended before it answered \(exit code 4\)"):
        stage.run("--restore", "c1")
    printed = (stage.folder / "log").read_text()
    assert printed.startswith("there is no snapshot from which the actor could be")


def test_a_conversation_of_any_name_has_a_state(stage: Stage) -> None:
    name = "../ä/" + "x" * 300
    with stage.inside() as ax:
        assert ax.turn("hello", name).end == ENDED
        assert ax.ask("State", name)["state"]["turns"] == 1
        assert ax.ask("Suspend", name)["state"]["turns"] == 1
    assert {path.name for path in stage.folder.iterdir()} == {"bucket", "home", "tool.sqlite"}
