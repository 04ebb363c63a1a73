"""Failures of resuming that people reported elsewhere: the smallest input, and the right answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.drills.resume import ResumeOptions, rehearsing, run_with
from axnb.drills.resume.judging import judged
from axnb.drills.resume.options import planned
from axnb.drills.resume.rehearsing import Job
from axnb.drills.resume.replay import wrong_replay
from axnb.errors import AxnbError
from axnb.loading import load
from axnb.result import EXIT_CODES, Result
from axnb.runtimes import POINTS, Answer, Observation, Output, Task, content
from axnb.testing.logs import LogBuilder, answer, call
from axnb.triaging import Question, triage
from tests.drills.fakes import FakeRehearsal, FakeRuntime, Log, Script, rehearsed
from tests.runtimes.driver import InProcess, write_config
from tests.runtimes.scripted import Scripted

POLICY = "read-before-retry"


def drill(tmp_path: Path, runtime: FakeRuntime, **options: Any) -> Result:
    return run_with(runtime, ResumeOptions(policies=(POLICY,), **options), tmp_path)


def one(tmp_path: Path, script: Script, generation: str = "G8") -> dict[str, tuple[str, str]]:
    """Check -> verdict and what was observed, of one rehearsal."""
    runtime = FakeRuntime({3: script}, GENERATIONS[generation])
    job = Job(3, POLICY, Task("drill-3", "op-3"))
    found = judged(rehearsed(runtime, job, tmp_path))
    return {name: (check.verdict, check.observed) for name, check in found.checks.items()}


# --- a client comes back with a cursor -----------------------------------------------------------


def _replayed(cursor: int, *numbers: int, error: str | None = None) -> Answer:
    outputs = tuple(Output(number, "text", str(number)) for number in numbers)
    return Answer("", outputs, error, cursor=cursor)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (_replayed(2, 3, 4), None),
        (_replayed(2), "all of what followed the client's cursor 2 is missing: 3, 4"),
        (_replayed(2, 1, 2, 3, 4), "steps that the client had came again: 1, 2"),
        (_replayed(2, 3), "some of what followed the client's cursor 2 is missing: 4"),
        (_replayed(9), "the client's cursor 9 is beyond step 4, and nobody said so"),
        (_replayed(9, error="OUT_OF_RANGE: no step 9"), None),
    ],
)
def test_a_cursor_is_accepted_and_ignored(answer: Answer, wrong: str | None) -> None:
    assert wrong_replay([1, 2, 3, 4], 4, answer) == wrong


def test_a_cursor_that_is_ignored_fails_the_response(tmp_path: Path) -> None:
    """The client has step 5 and gets it again, as it does from every released AX."""

    def ignored(resumed: Answer, following: Answer) -> tuple[Answer, Answer]:
        outputs = (Output(5, "tool_call", '{"operation_id":"op-3"}'), *resumed.outputs)
        return replace(resumed, outputs=outputs, cursor=5), following

    found = one(tmp_path, Script(answers=ignored), "G6")
    assert found["response"] == ("failed", "steps that the client had came again: 5")
    assert {name for name, (verdict, _) in found.items() if verdict != "ok"} == {"response"}


def test_an_old_cursor_hides_what_is_new(tmp_path: Path) -> None:
    """Numbers began anew: the client had something else under step 7, and would skip it."""

    def before(resumed: Answer, following: Answer) -> tuple[Answer, Answer]:
        return replace(
            resumed, outputs=(*resumed.outputs, Output(7, "text", "of before"))
        ), following

    found = one(tmp_path, Script(answers=before))
    assert found["response"] == ("failed", "the client's text of step 7 is not what the log holds")


# --- work that is done again ---------------------------------------------------------------------


@pytest.mark.parametrize("other", [{}, {"operation_id": "op-new"}])
def test_a_finished_step_runs_again(tmp_path: Path, other: dict[str, str]) -> None:
    """Executions are counted by business key: another operation id does not make it another."""

    def twice(seen: Observation) -> Observation:
        first = dict((seen.effects or ())[0])
        return replace(seen, effects=(first, {**first, "entry": 2, **other}))

    found = one(tmp_path, Script(observation=twice))
    assert found["side-effect"] == ("failed", "2 effects of one operation")


class _ByChance(FakeRuntime):
    """Repetitions differ: whether the effect is there hangs on which write came first."""

    def open(
        self, point: int, task: Task, policy: Any, scratch: Path, chance: Random | None = None
    ) -> FakeRehearsal:
        script = Script() if chance is None else Script(observation=_lost)
        return FakeRehearsal(self, point, task, scratch, script)


def _lost(seen: Observation) -> Observation:
    return replace(seen, effects=())


def test_what_depends_on_the_moment_is_told(tmp_path: Path) -> None:
    result = drill(tmp_path, _ByChance(), points=(3,), repeat=2)
    (point,) = result.answer["policies"][0]["points"]
    assert [(o["class"], o["effects"], o["runs"]) for o in point["outcomes"]] == [
        ("not-executed", 0, 1),
        ("reused", 1, 1),
    ]
    (step,) = [step for step in result.steps if step["check"] == "side-effect"]
    assert (step["verdict"], step["runs"]) == ("failed", {"failed": 1, "ok": 1})
    assert any("hangs on the moment" in sentence for sentence in result.why)


def test_naming_all_points_is_naming_none() -> None:
    named = ResumeOptions(points=tuple(POINTS))
    assert planned(named) == planned(ResumeOptions())
    assert "points 1, 2, 3, 4, 5, 6, 7, 8, and once cancel it" in planned(named)[0]


# --- somebody else is at work, and what breaks off -----------------------------------------------


def test_what_changed_in_between_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stale list of pending work: the owner is another by the time of the resume."""
    runtime = FakeRuntime(kind="command")
    changed: list[str] = []
    honest = rehearsing.read

    def reading(log: str, *rest: Any, **options: Any) -> Any:
        found = honest(log, *rest, **options)
        if not changed:
            # As it is read, another server appends.
            Log(Path(log), GENERATIONS["G8"], "drill-3").add(6, content.said("of another"))
            changed.append(log)
        return found

    monkeypatch.setattr(rehearsing, "read", reading)
    job = Job(3, POLICY, Task("drill-3", "op-3"))
    found = rehearsed(runtime, job, tmp_path)
    assert found.seen is None
    assert "somebody else goes on with it; nothing was resumed" in found.told
    assert runtime.closed == 1


def test_a_database_that_blinks_drops_no_point(tmp_path: Path) -> None:
    """One of three breaks off: all are accounted for, and it is no success."""
    error = AxnbError("the database went away.")
    runtime = FakeRuntime({4: Script(error=error)})
    result = drill(tmp_path, runtime, points=(3, 4, 5))
    assert (result.measures["points"], result.measures["steps"]) == (3, 21)
    counts = ("ok", "failed", "inconclusive", "not_run")
    assert sum(result.measures[name] for name in counts) == 21
    assert {s["verdict"] for s in result.steps if s["point"] == 4} == {"failed"}
    assert {s["observed"] for s in result.steps if s["point"] == 4} == {str(error)}
    assert {s["verdict"] for s in result.steps if s["point"] != 4} == {"ok"}
    assert (result.verdict, EXIT_CODES[result.verdict]) == ("failed", 1)
    assert runtime.closed == 4


# --- what a repair by hand leads to --------------------------------------------------------------

_HI, _CALL = "Reserve it", call("reserve", {"operation_id": "op-1"}, "call_1")
_PLACEHOLDER = answer({"status": "unknown"}, "call_1")


def _left(log: LogBuilder) -> None:
    log.interrupted("c", _HI, _CALL)


def _deleted(log: LogBuilder) -> None:
    log.interrupted("c", _HI)


def _deleted_and_ended(log: LogBuilder) -> None:
    log.turn("c", _HI)


def _answered(log: LogBuilder) -> None:
    log.interrupted("c", _HI, _CALL, _PLACEHOLDER)


def _ended(log: LogBuilder) -> None:
    log.turn("c", _HI, _CALL)


@pytest.mark.parametrize(
    ("repair", "empty", "knows_the_call"),
    [
        (_left, "blocked", True),
        (_deleted, "blocked", False),
        # A result that says nothing: the call is not taken for done.
        (_answered, "blocked", True),
        # The run ends, and nobody will ever ask what became of the call.
        (_deleted_and_ended, "nothing", False),
        # What a plan of axnb proposes: it ends the turn, and the call stays to be read back.
        (_ended, "nothing", True),
    ],
)
def test_a_repair_decides_what_happens_next(
    tmp_path: Path, repair: Callable[[LogBuilder], None], empty: str, knows_the_call: bool
) -> None:
    """What a triage says of each repair is what a server then does."""
    log = LogBuilder("G8")
    repair(log)
    path = tmp_path / "log.sqlite"
    log.write_sqlite(path)
    case = Case()
    load(case, [str(path)])
    (told,) = triage(case, Question.parse("G8", ["antigravity"], [])).conversations
    assert (told.next.empty, bool(told.unresolved)) == (empty, knows_the_call)
    g8 = GENERATIONS["G8"]
    with Scripted(g8) as harness:
        config = write_config(tmp_path, g8, built_in=harness.endpoint)
        with InProcess(config, g8) as server:
            resumed = server.client.say("c")
            followed = server.client.say("c", "And now?")
    assert (resumed.error is None, followed.error is None) == (empty == "nothing",) * 2
