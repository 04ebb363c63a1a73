"""Each of the seven checks has a rehearsal that is healthy, and wounds that turn it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.drills.resume import ResumeOptions, run_with
from axnb.drills.resume.checks import CHECKS
from axnb.drills.resume.judging import judged
from axnb.drills.resume.rehearsing import Job, Rehearsed
from axnb.errors import AxnbError
from axnb.result import Result
from axnb.runtimes import (
    Answer,
    Interruption,
    NotRunError,
    Observation,
    Output,
    Reversal,
    Snapshot,
    Task,
)
from tests.drills.fakes import COMPLETED, FakeRuntime, Log, Script, rehearsed


def run_fake(tmp_path: Path, runtime: FakeRuntime, **options: Any) -> Result:
    options.setdefault("policies", ("read-before-retry",))
    return run_with(runtime, ResumeOptions(**options), tmp_path)


def job(point: int, **changes: Any) -> Job:
    """One rehearsal."""
    return Job(point, "read-before-retry", Task(f"drill-{point}", f"op-{point}", **changes))


@pytest.mark.parametrize(("generation", "points"), [("G5", (7,)), ("G6", (3,)), ("G8", (1, 5, 7))])
def test_a_healthy_rehearsal_is_ok(
    tmp_path: Path, generation: str, points: tuple[int, ...]
) -> None:
    runtime = FakeRuntime(generation=GENERATIONS[generation])
    result = run_fake(tmp_path, runtime, points=points)
    assert [step for step in result.steps if step["verdict"] != "ok"] == []
    assert len(result.steps) == 7 * len(points)
    assert result.verdict == "ok"
    assert {point["class"] for point in result.answer["policies"][0]["points"]} == {"reused"}
    assert not any(point["person"] for point in result.answer["policies"][0]["points"])


def _observed(**changes: Any) -> Script:
    return Script(observation=lambda seen: replace(seen, **changes))


def _second_effect(**other: Any) -> Callable[[Observation], Observation]:
    def wound(seen: Observation) -> Observation:
        first = dict((seen.effects or ())[0])
        return replace(seen, effects=(first, {**first, "entry": 2, **other}))

    return wound


def _answered(resumed: Answer | None = None, **changes: Any) -> Script:
    return Script(answers=lambda a, b: (resumed or replace(a, **changes), b))


def _number(step: int, value: str) -> Callable[[Interruption], Interruption]:
    """The client got this number before, for something else."""

    def wound(cut: Interruption) -> Interruption:
        outputs = (*cut.answer.outputs, Output(step, "text", value))
        return replace(cut, answer=replace(cut.answer, outputs=outputs))

    return wound


def _alert_is(**changes: str) -> Script:
    def wound(seen: Observation) -> Observation:
        return replace(seen, alerts=tuple({**alert, **changes} for alert in seen.alerts or ()))

    return Script(observation=wound)


def _effect_is(**changes: str) -> Callable[[Observation], Observation]:
    def wound(seen: Observation) -> Observation:
        return replace(seen, effects=tuple({**effect, **changes} for effect in seen.effects or ()))

    return wound


def _attempts(asked: int, told: int) -> Callable[[Observation], Observation]:
    def wound(seen: Observation) -> Observation:
        (request,) = seen.requests or ()
        return replace(
            seen,
            requests=({**request, "attempt": asked},),
            reported=({**request, "attempt": told},),
        )

    return wound


_OTHER = Snapshot("ax/snapshots/2", "f" * 64, {"turns": 1})

#: Check -> rehearsals in which it alone is not ok.
WOUNDS: dict[str, list[tuple[str, Script]]] = {
    "state": [
        ("failed", Script(log=lambda log: forge(log, "STATE_FAILED"))),
        ("failed", Script(log=lambda log: forge(log, "STATE_CANCELED"))),
        ("failed", Script(log=lambda log: log.add(12, state=COMPLETED))),
    ],
    "log-sequence": [
        ("failed", Script(log=lambda log: cut(log, 2))),
        ("failed", Script(log=lambda log: cut(log, 5))),
        ("failed", Script(log=lambda log: change(log, 4))),
        ("failed", Script(log=lambda log: say(log, 9, "Which", "Whose"))),
        ("failed", Script(log=lambda log: say(log, 9, "antigravity", "evil"))),
    ],
    "snapshot-version": [
        ("failed", _observed(restored=_OTHER)),
        ("failed", _observed(restored=None)),
        ("failed", _observed(newest=None)),
        ("failed", _observed(newest=Snapshot("k", "1" * 64, {"turns": 2}))),
        ("failed", _observed(newest=Snapshot("k", "1" * 64, {"turns": 4}))),
        ("failed", _observed(actor={"turns": 3, "digest": "1" * 64})),
        ("inconclusive", _observed(newest=Snapshot("k", "1" * 64, {}))),
        ("inconclusive", _observed(newest=Snapshot("k", "1" * 64, {"turns": "three"}))),
        ("not-run", _observed(bucket=None)),
    ],
    "side-effect": [
        ("failed", Script(observation=_second_effect())),
        # The same thing under another operation id is the same thing twice.
        ("failed", Script(observation=_second_effect(operation_id="op-other"))),
        ("failed", Script(observation=_effect_is(status="released"))),
        ("failed", Script(observation=_effect_is(item="another seat"))),
    ],
    "retry-count": [
        ("failed", _observed(reported=())),
        ("failed", _observed(requests=())),
        ("failed", _observed(requests=(), reported=())),
        ("failed", Script(interruption=lambda cut: replace(cut, requests=5))),
        ("failed", Script(observation=_attempts(1, 9))),
        ("inconclusive", _observed(requests=None)),
    ],
    "response": [
        ("failed", _answered(outputs=(Output(7, "text", "Reserved: R-9."),))),
        ("failed", Script(interruption=lambda c: replace(c, answer=replace(c.answer, error=None)))),
        # Its number was given anew after a restore: the client has something else under it.
        ("failed", Script(interruption=_number(7, "another life"))),
        ("failed", Script(answers=lambda a, b: (a, replace(b, outputs=())))),
        ("failed", Script(answers=lambda a, b: (replace(a, outputs=a.outputs[:1]), b))),
        ("failed", Script(answers=lambda a, b: (replace(a, outputs=a.outputs * 2), b))),
        ("failed", Script(answers=lambda a, b: (a, replace(b, cancelled=True)))),
        ("failed", Script(answers=lambda a, b: (replace(a, outputs=a.outputs[::-1]), b))),
        ("failed", Script(answers=lambda a, b: (a, replace(b, outputs=a.outputs + b.outputs)))),
    ],
    "alert": [
        ("failed", _observed(alerts=())),
        (
            "failed",
            Script(observation=lambda s: replace(s, alerts=({**s.alerts[0], "state": "firing"},))),
        ),  # type: ignore[index]
        ("inconclusive", _observed(alerts=None)),
    ],
}


def forge(log: Log, state: str) -> None:
    log.execute(
        "update conversation_log set payload = replace(payload, 'STATE_COMPLETED', ?)"
        " where step = 8",
        (state,),
    )


def cut(log: Log, step: int) -> None:
    log.execute("delete from conversation_log where step = ?", (step,))


def say(log: Log, step: int, old: str, new: str) -> None:
    log.execute(
        "update conversation_log set payload = replace(payload, ?, ?) where step = ?",
        (old, new, step),
    )


def change(log: Log, step: int) -> None:
    log.execute(
        "update conversation_log set payload = replace(payload, 'Reserve', 'Release')"
        " where step = ?",
        (step,),
    )


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """One rehearsal in which all is well."""
    return rehearsed(FakeRuntime(), job(7), tmp_path_factory.mktemp("healthy"))


def wounded(healthy: Rehearsed, script: Script, scratch: Path) -> Rehearsed:
    """The same with one wound; one of the log is rehearsed, since it is read anew."""
    seen = healthy.seen
    assert seen is not None
    if script.log is not Script().log:
        return rehearsed(FakeRuntime({7: script}), job(7), scratch)
    resumed, following = script.answers(seen.resumed, seen.next)
    changed = replace(
        seen,
        interruption=script.interruption(seen.interruption),
        observation=script.observation(seen.observation),
        resumed=resumed,
        next=following,
    )
    return replace(healthy, seen=changed)


@pytest.mark.parametrize(
    ("check", "verdict", "script"),
    [
        pytest.param(check, verdict, script, id=f"{check}-{n}")
        for check, wounds in WOUNDS.items()
        for n, (verdict, script) in enumerate(wounds)
    ],
)
def test_a_wound_turns_its_check_alone(
    tmp_path: Path, check: str, verdict: str, script: Script, healthy: Rehearsed
) -> None:
    done = judged(wounded(healthy, script, tmp_path))
    bad = {name: found.verdict for name, found in done.checks.items() if found.verdict != "ok"}
    assert bad == {check: verdict}
    assert done.verdict != "ok"


def test_every_check_has_a_wound() -> None:
    assert list(WOUNDS) == list(CHECKS)


def test_a_row_of_somebody_else_is_not_counted(tmp_path: Path) -> None:
    unreadable = "insert into conversation_log values ('other', 99, '{')"
    script = Script(log=lambda log: log.execute(unreadable))
    assert judged(rehearsed(FakeRuntime({7: script}), job(7), tmp_path)).verdict == "ok"


@pytest.mark.parametrize("reservation", ["R-77", "R", ""])
def test_a_part_of_a_name_is_not_the_name(
    tmp_path: Path, healthy: Rehearsed, reservation: str
) -> None:
    """The ledger has R-77, R or nothing; the log and the user were told of R-7."""
    script = Script(observation=_effect_is(reservation=reservation))
    checks = judged(wounded(healthy, script, tmp_path)).checks
    assert checks["side-effect"].verdict == ("failed" if reservation else "inconclusive")
    assert checks["response"].verdict == "failed"


def test_what_was_never_interrupted_proves_nothing(tmp_path: Path) -> None:
    done = judged(rehearsed(FakeRuntime({7: Script(is_over=True)}), job(7), tmp_path))
    assert {check.verdict for check in done.checks.values()} == {"inconclusive"}
    assert done.why == "the task was over before it was interrupted: this proves nothing."


@pytest.mark.parametrize(
    "wound",
    [
        lambda read_back: replace(read_back, effects=()),
        lambda read_back: replace(
            read_back, effects=({**read_back.effects[0], "operation_id": "op-other"},)
        ),
        lambda read_back: replace(
            read_back, effects=({**read_back.effects[0], "status": "reserved"},)
        ),
    ],
)
def test_a_reversal_that_reads_back_something_else(
    healthy: Rehearsed, wound: Callable[[Reversal], Reversal]
) -> None:
    assert healthy.reversal is not None
    done = judged(replace(healthy, reversal=wound(healthy.reversal)))
    assert {check.verdict for check in done.checks.values()} == {"ok"}
    assert (done.reversal.verdict, done.verdict, done.needs_person) == ("failed", "failed", True)


@pytest.mark.parametrize(
    ("error", "verdict", "told"),
    [
        # A recovery that never comes back is no mere doubt.
        (AxnbError("the actor did not start."), "failed", "the actor did not start."),
        (RecursionError("a payload"), "failed", "a fault that axnb does not know (RecursionError)"),
        (NotRunError("a person stopped it."), "inconclusive", "a person stopped it."),
    ],
)
def test_what_breaks_off_is_told_and_undone(
    tmp_path: Path, error: Exception, verdict: str, told: str
) -> None:
    runtime = FakeRuntime({7: Script(error=error)})
    found = rehearsed(runtime, job(7), tmp_path)
    done = judged(found)
    assert told in found.told
    assert "a payload" not in found.told
    assert {check.verdict for check in done.checks.values()} == {verdict}
    assert (done.reversal.verdict, runtime.closed) == ("ok", 1)
