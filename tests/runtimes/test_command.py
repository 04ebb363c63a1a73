"""The runtime `command` on a deployment of real processes, by commands and by hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from axnb.drills.resume import Judged
from axnb.drills.resume.judging import judged
from axnb.drills.resume.rehearsing import Job, Rehearsing
from axnb.runtimes import CANCELLED, Answer, Runtime, Task
from axnb.runtimes.command import CommandRuntime
from axnb.runtimes.processes import Reaper
from axnb.settings import Settings
from axnb.settings_command import CommandSettings
from tests.runtimes.deployment import Deployment
from tests.waiting import until

_TASK = Task("drill", "op")


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """A deployment that is up."""
    folder = tmp_path / "deployment"
    folder.mkdir()
    found = Deployment(folder)
    with Reaper() as reaper:
        up = reaper.group().start(_verb(folder, "up"), log=folder / "up.log")
        assert up.wait(60) == 0, up.last_line()
        yield found


def _verb(folder: Path, verb: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.runtimes.deployment", verb, str(folder), *words)


def _settings(folder: Path, *verbs: str, guided: bool = False) -> Settings:
    conversation, operation = "{conversation}", "{operation}"
    known = {
        "start": _verb(folder, "start", conversation, "{text}"),
        "resume": _verb(folder, "resume", conversation),
        "alert": _verb(folder, "alert", conversation),
        "effects": _verb(folder, "effects", operation),
        "reverse": _verb(folder, "reverse", operation),
    }
    crash, leave = (_verb(folder, verb, operation) for verb in ("crash", "leave"))
    command = CommandSettings(
        log=str(folder / "log.sqlite"),
        generation="v0.2.3",
        guided=guided,
        verbs={verb: known[verb] for verb in verbs or known},
        interrupts={} if guided else {"3": crash, "5": leave, "cancel": leave},
    )
    return Settings(command=command)


def _rehearsed(runtime: Runtime, settings: Settings, point: int, scratch: Path) -> Judged:
    task = runtime.task_for(_TASK, point, "ax")
    try:
        return judged(Rehearsing(runtime, scratch, settings).rehearse(Job(point, "ax", task)))
    finally:
        runtime.close()


def _commanded(deployment: Deployment, point: int, scratch: Path) -> Judged:
    settings = _settings(deployment.folder)
    runtime = CommandRuntime(settings, scratch, confirmed=True)
    assert (runtime.program.kind, runtime.program.generation) == ("command", "G8")
    return _rehearsed(runtime, settings, point, scratch)


def _marks(found: Judged) -> list[str]:
    seen = found.rehearsed.seen
    assert seen is not None, found.rehearsed.told
    return [row.mark for row in seen.log.rows]


def test_a_crash_after_the_commit(deployment: Deployment, tmp_path: Path) -> None:
    found = _commanded(deployment, 3, tmp_path / "s")
    assert _marks(found) == ["input", "text", "end", "input", "thought", "tool_call"]
    seen = found.rehearsed.seen
    assert seen is not None
    assert [output.kind for output in seen.first.outputs] == ["text"]
    assert seen.interruption.answer.error == "start ended with exit code 1"
    assert seen.resumed.error == "resume ended with exit code 1"
    verdicts = {check: told.verdict for check, told in found.checks.items()}
    assert verdicts == {
        "state": "failed",
        "log-sequence": "ok",
        "snapshot-version": "not-run",
        "side-effect": "inconclusive",
        "retry-count": "inconclusive",
        "response": "failed",
        "alert": "ok",
    }
    assert found.reversal.verdict == "ok"
    (entry,) = deployment.effects(seen.task.operation_id)
    assert entry["status"] == "released"


@pytest.mark.slow
@pytest.mark.parametrize("point", [5, CANCELLED])
def test_a_client_that_leaves(deployment: Deployment, point: int, tmp_path: Path) -> None:
    found = _commanded(deployment, point, tmp_path / "s")
    seen = found.rehearsed.seen
    assert seen is not None, found.rehearsed.told
    assert seen.interruption.answer.cancelled
    assert found.effects == 1
    if point == CANCELLED:
        assert found.verdict == "ok"


class _Person:
    """Does by hand what a sentence says."""

    def __init__(self, deployment: Deployment) -> None:
        self._it = deployment
        self.asked: list[str] = []

    def __call__(self, sentence: str, *, wants_text: bool = False) -> str:
        """Do it, and tell what a user sees."""
        word, it = sentence.split(" ")[0], self._it
        self.asked.append(word)
        if word == "Get":
            (it.folder / "gate").touch()
        elif word == "The":
            until(lambda: bool(it.tools.ledger()["effects"]), "there is an effect")
            it.kill("serve")
            it.kill("actor")
            (it.folder / "gate").unlink()
        elif word == "Send":
            return self._send(sentence)
        elif word == "Bring":
            it.up()
            return self._shown(it.send(_conversation(sentence), ""))
        elif word == "Undo":
            for entry in it.tools.ledger()["effects"]:
                it.tools.release(entry["entry"])
        return ""

    def _send(self, sentence: str) -> str:
        text = sentence.partition("“")[2].partition("”")[0]
        return self._shown(self._it.send(_conversation(sentence), text))

    def _shown(self, answer: Answer) -> str:
        if answer.error is not None:
            return f"error: {answer.error}"
        return " ".join(output.value for output in answer.outputs if output.kind == "text")


def _conversation(sentence: str) -> str:
    return next(word for word in sentence.split(" ") if word.startswith("drill-")).strip(".,")


@pytest.mark.slow
def test_a_person_interrupts(deployment: Deployment, tmp_path: Path) -> None:
    settings = _settings(deployment.folder, "start", "resume", "effects", "reverse", guided=True)
    person = _Person(deployment)
    runtime = CommandRuntime(settings, tmp_path / "s", confirmed=True, ask=person)
    found = _rehearsed(runtime, settings, 3, tmp_path / "s")
    assert _marks(found) == ["input", "text", "end", "input", "thought", "tool_call"]
    assert found.interruption().startswith("a person interrupted at point 3")
    assert person.asked == ["Get", "The"]


@pytest.mark.slow
def test_a_person_does_everything(deployment: Deployment, tmp_path: Path) -> None:
    """Only the ledger is read by a command. This person is too late to interrupt."""
    settings = _settings(deployment.folder, "effects", guided=True)
    person = _Person(deployment)
    runtime = CommandRuntime(settings, tmp_path / "s", confirmed=True, ask=person)
    found = _rehearsed(runtime, settings, 3, tmp_path / "s")
    # What was over before proves nothing; what it did is undone all the same.
    assert person.asked == ["Send", "Send", "Undo"]
    assert found.rehearsed.told.startswith("the task was over before it was interrupted")
    assert {check.verdict for check in found.checks.values()} == {"inconclusive"}
    assert found.reversal.verdict == "ok"
