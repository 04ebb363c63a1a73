"""How an unfinished turn goes on under the policies that AX does not have."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from axnb.ax import schemas
from axnb.ax.versions import GENERATIONS, Generation
from axnb.runtimes import Policy
from axnb.runtimes.client import Client
from axnb.runtimes.embedded import history
from tests import ax_logs
from tests.runtimes.driver import InProcess, rows, write_config
from tests.runtimes.scripted import Scripted

TASK = "Reserve seat 12A as op-1"
ARGUMENTS = {"operation_id": "op-1", "item": "seat 12A"}
THOUGHT = ["thought", "A reservation is needed."]
CALL = ["call", "call_1", "reserve", ARGUMENTS]
RESULT = ["result", "call_1", "reserve", {"reservation": "R-1"}]
TEXT = ["text", "Reserved seat 12A: R-1."]

ALL = [GENERATIONS[name] for name in ("G5", "G5b", "G6", "G7", "G8")]
G8 = GENERATIONS["G8"]

Start = Callable[..., InProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers on one log; the harness is a custom one, and the default."""
    with ExitStack() as stack:

        def one(harness: Scripted, policy: Policy, **more: Any) -> InProcess:
            config = write_config(
                tmp_path, harness.generation, custom={"drill": harness.endpoint}, **more
            )
            return stack.enter_context(InProcess(config, harness.generation, policy))

        yield one


@pytest.fixture
def play() -> Iterator[Callable[[Generation], Scripted]]:
    """Harnesses of a generation."""
    with ExitStack() as stack:
        yield lambda generation: stack.enter_context(Scripted(generation))


Play = Callable[[Generation], Scripted]


def interrupted(server: InProcess, harness: Scripted, *acts: Any, config: bytes = b"") -> None:
    """Let the task's turn end without an end, after some acts."""
    harness.own[TASK] = [*acts, ["abort"]]
    got = server.client.say("c", TASK, config=config)
    assert got.error is not None
    assert got.error.startswith("INTERNAL: ")


@pytest.mark.parametrize("generation", ALL, ids=lambda g: g.name)
@pytest.mark.parametrize("policy", ["requeue", "read-before-retry"])
def test_a_restarted_turn_sends_again_and_logs_only_what_is_new(
    generation: Generation, policy: Policy, start: Start, play: Play, tmp_path: Path
) -> None:
    harness = play(generation)
    server = start(harness, policy)
    given = {"model": "m", "axnb": {"retry": "barrier"}}
    interrupted(server, harness, THOUGHT, CALL, config=json.dumps(given).encode())
    before = rows(tmp_path / "log.sqlite", generation, "c")
    harness.own[TASK] = [THOUGHT, CALL, RESULT, TEXT]
    got = server.client.say("c")
    text = f"text:{TEXT[1]}"
    kinds = ["thought", "tool_call", "tool_result", text]
    assert got.as_recorded() == {
        "outputs": [[number, [kind]] for number, kind in enumerate(kinds, start=2)],
        "error": None,
    }
    after = rows(tmp_path / "log.sqlite", generation, "c")
    assert after[:3] == before
    assert len(after) == 6
    again = harness.starts[1]
    assert (again.count, again.text) == (1, TASK)
    attempt = {"attempt": 2, "lookup": policy == "read-before-retry"}
    assert json.loads(again.config) == {"model": "m", "axnb": {"retry": "barrier", **attempt}}


def test_the_same_is_logged_as_without_the_interruption(
    start: Start, play: Play, tmp_path: Path
) -> None:
    harness = play(G8)
    server = start(harness, "requeue")
    interrupted(server, harness, THOUGHT, CALL)
    harness.own[TASK] = [THOUGHT, CALL, RESULT, TEXT]
    server.client.say("c")
    server.client.say("whole", TASK)
    log = tmp_path / "log.sqlite"
    whole = [
        (number, payload.replace('"whole"', '"c"')) for number, payload in rows(log, G8, "whole")
    ]
    assert rows(log, G8, "c") == whole


@pytest.mark.parametrize("generation", [GENERATIONS["G5"], GENERATIONS["G6"]], ids=lambda g: g.name)
@pytest.mark.parametrize(
    ("cursor", "numbers", "error"),
    [
        (0, [2, 3, 4, 5], None),
        (3, [4, 5], None),
        (9, [], "OUT_OF_RANGE: the client's last step 9 is beyond the log's, which is 3"),
    ],
)
def test_a_client_gets_what_followed_its_cursor(
    start: Start,
    play: Play,
    generation: Generation,
    cursor: int,
    numbers: list[int],
    error: str | None,
) -> None:
    harness = play(generation)
    server = start(harness, "requeue")
    interrupted(server, harness, THOUGHT, CALL)
    harness.own[TASK] = [THOUGHT, CALL, RESULT, TEXT]
    client = Client(f"127.0.0.1:{server.client.port}", generation)
    answer = client.send("c", cursor=cursor)
    assert [output.number for output in answer.outputs] == numbers
    assert answer.error == error


def test_a_new_input_follows_as_an_ordinary_turn(start: Start, play: Play, tmp_path: Path) -> None:
    harness = play(G8)
    server = start(harness, "requeue")
    interrupted(server, harness, CALL)
    harness.own[TASK] = [CALL, RESULT]
    got = server.client.say("c", "And goodbye", config=b'{"model":"new"}')
    assert got.outputs == [[2, ["tool_call"]], [3, ["tool_result"]], [6, ["text:Goodbye."]]]
    assert got.error is None
    assert [start.text for start in harness.starts] == [TASK, TASK, "And goodbye"]
    assert harness.starts[2].config == b'{"model":"new"}'
    assert len(rows(tmp_path / "log.sqlite", G8, "c")) == 7


def test_a_turn_can_be_interrupted_more_than_once(start: Start, play: Play, tmp_path: Path) -> None:
    harness = play(G8)
    server = start(harness, "requeue")
    interrupted(server, harness)
    harness.own[TASK] = [THOUGHT, CALL, ["abort"]]
    assert server.client.say("c").error is not None
    harness.own[TASK] = [THOUGHT, CALL, RESULT, ["abort"]]
    assert server.client.say("c").error is not None
    harness.own[TASK] = [THOUGHT, CALL, RESULT, TEXT]
    assert server.client.say("c").error is None
    assert [number for number, _ in rows(tmp_path / "log.sqlite", G8, "c")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("again", "step"),
    [
        ([THOUGHT, ["call", "call_1", "reserve", {**ARGUMENTS, "item": "another"}]], 3),
        ([CALL, THOUGHT], 2),
        ([THOUGHT], 3),
        ([], 2),
    ],
    ids=["another call", "another order", "less", "nothing"],
)
def test_a_redo_that_differs_is_refused(
    again: list[Any], step: int, start: Start, play: Play, tmp_path: Path
) -> None:
    harness = play(G8)
    server = start(harness, "requeue")
    interrupted(server, harness, THOUGHT, CALL)
    before = rows(tmp_path / "log.sqlite", G8, "c")
    harness.own[TASK] = [*again, ["end", "STATE_COMPLETED"]]
    got = server.client.say("c", "And goodbye")
    expected = f"FAILED_PRECONDITION: redo differs from what is logged at step {step}"
    assert got.error == expected
    assert rows(tmp_path / "log.sqlite", G8, "c") == before


def test_a_turn_whose_input_cannot_be_read_is_not_restarted(
    start: Start, play: Play, tmp_path: Path
) -> None:
    g6 = GENERATIONS["G6"]
    harness, before = play(G8), play(g6)
    interrupted(start(before, "ax"), before, CALL)
    got = start(harness, "read-before-retry").client.say("c")
    assert got.error == (
        "FAILED_PRECONDITION: the unfinished turn cannot be restarted: its input at step 1"
        " has no content that G8 reads"
    )
    assert harness.starts == []
    assert len(rows(tmp_path / "log.sqlite", G8, "c")) == 2


def refuse_row(log: Path, number: int) -> None:
    """Let the store refuse one number."""
    with closing(sqlite3.connect(log)) as connection:
        connection.execute(
            "create trigger refuse before insert on conversation_log"
            f" when new.step = {number} begin select raise(abort, 'refused'); end"
        )


def test_an_output_that_cannot_be_logged_ends_the_turn(
    start: Start, play: Play, tmp_path: Path
) -> None:
    harness = play(G8)
    server = start(harness, "requeue")
    refuse_row(tmp_path / "log.sqlite", 3)
    harness.own[TASK] = [THOUGHT, CALL, RESULT, TEXT]
    got = server.client.say("c", TASK)
    assert got.outputs == [[2, ["thought"]]]
    assert got.error == (
        "UNKNOWN: failed to log output: eventlog: insert conversation:"
        " constraint failed: refused (1811)"
    )
    assert len(rows(tmp_path / "log.sqlite", G8, "c")) == 2


def test_under_ax_it_is_only_a_warning(start: Start, play: Play, tmp_path: Path) -> None:
    harness = play(G8)
    server = start(harness, "ax")
    refuse_row(tmp_path / "log.sqlite", 3)
    harness.own[TASK] = [THOUGHT, CALL, RESULT, TEXT]
    got = server.client.say("c", TASK)
    assert got.outputs == [
        [2, ["thought"]],
        [0, ["tool_call"]],
        [0, ["tool_result"]],
        [0, [f"text:{TEXT[1]}"]],
    ]
    assert got.error is None
    printed = server.printed.getvalue()
    assert printed.count("Failed to log streamed message to event log") == 3
    assert printed.count("Failed to mark completion state in event log") == 1


def test_under_ax_an_unfinished_turn_gets_the_new_configuration(start: Start, play: Play) -> None:
    harness = play(G8)
    server = start(harness, "ax")
    interrupted(server, harness, CALL, config=b'{"model":"old"}')
    assert server.client.say("c", config=b'{"model":"new"}').error is None
    assert [(start.count, start.config) for start in harness.starts[1:]] == [
        (0, b'{"model":"new"}')
    ]


def test_an_actor_is_suspended_before_its_client_is_told_of_the_end(
    start: Start, play: Play
) -> None:
    harness = play(G8)
    server = start(harness, "ax", suspend=True)
    server.client.say("a", "Say hello")
    assert harness.suspended == ["a"]
    interrupted(server, harness, CALL)
    assert harness.suspended == ["a", "c"]
    # A restarted turn and a new one are two executions; AX closes both at the end.
    server.client.say("c", "Say hello")
    assert harness.suspended == ["a", "c", "c", "c"]


def test_no_actor_is_suspended_unless_the_configuration_says_so(start: Start, play: Play) -> None:
    harness = play(G8)
    start(harness, "ax").client.say("a", "Say hello")
    assert harness.suspended == []


_LOGS = [log.name for log in ax_logs.written_logs(("g5", "g6", "g8")) if log.sqlite.exists()]


@pytest.mark.parametrize("name", _LOGS)
def test_every_recorded_row_is_read_as_it_was_sent(name: str) -> None:
    """What a redo is compared with says what the row says."""
    log = ax_logs.RealLog(ax_logs.ROOT / name)
    generation = GENERATIONS[log.truth["written_by"]["generation"]]
    event = schemas.event(generation)
    with closing(sqlite3.connect(f"file:{log.sqlite}?immutable=1", uri=True)) as connection:
        query = f"select {generation.step_column}, cast(payload as blob) from conversation_log"
        found = history.read(connection.execute(query).fetchall(), generation)
    for row in found.rows:
        items = row.event.get(generation.content_key, [])
        read = history.message(row, generation)
        assert read.DESCRIPTOR is event
        assert len(getattr(read, generation.content_key)) == len(items)
