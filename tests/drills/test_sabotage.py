"""For each of the seven checks exactly that is broken in a real rehearsal, and it alone turns.

The rehearsal is one of point 7 under `read-before-retry`, which is ok when nothing is broken.
"""

from __future__ import annotations

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from axnb.drills.resume.checks import CHECKS
from axnb.drills.resume.judging import Judged, judged
from axnb.drills.resume.rehearsing import Job, Rehearsing
from axnb.runtimes import Answer, Interruption, Task
from axnb.runtimes.embedded.runtime import EmbeddedRehearsal, EmbeddedRuntime
from axnb.settings import Settings

POINT = 7


class Sabotage:
    """Breaks nothing; a subclass breaks one thing."""

    def before(self, rehearsal: EmbeddedRehearsal, folder: Path) -> None:
        """Before the interruption."""

    def between(self, rehearsal: EmbeddedRehearsal, cut: Interruption, folder: Path) -> None:
        """Between the interruption and the resume."""

    def answers(self, resumed: Answer, following: Answer) -> tuple[Answer, Answer]:
        """What the client says that it got."""
        return resumed, following

    def after(self, folder: Path, task: Task) -> None:
        """After the resume."""


class StateForged(Sabotage):
    def after(self, folder: Path, task: Task) -> None:
        in_log(
            folder,
            "update conversation_log set payload = replace(payload, 'COMPLETED', 'FAILED') "
            "where step = (select max(step) from conversation_log)",
        )


class LogCut(Sabotage):
    def after(self, folder: Path, task: Task) -> None:
        in_log(folder, "delete from conversation_log where step = 5")


class SnapshotSwapped(Sabotage):
    """The snapshot of the first turn lies where that of the eviction lay."""

    def between(self, rehearsal: EmbeddedRehearsal, cut: Interruption, folder: Path) -> None:
        assert rehearsal._taken is not None
        newest = folder / "bucket" / rehearsal._taken.key
        (older,) = [f for f in newest.parent.iterdir() if f != newest]
        shutil.rmtree(newest)
        shutil.copytree(older, newest)


class EffectDoubled(Sabotage):
    def after(self, folder: Path, task: Task) -> None:
        in_ledger(
            folder,
            "insert into effects (operation_id, conversation_id, tool, item, status, reservation, "
            "requested_as) select operation_id, conversation_id, tool, item, status, 'R-other', "
            "requested_as from effects where operation_id = ?",
            task.operation_id,
        )


class RetryHidden(Sabotage):
    """The tool was asked once more than the runtime says."""

    def after(self, folder: Path, task: Task) -> None:
        in_ledger(
            folder,
            "insert into requests (operation_id, conversation_id, tool, item, caller, attempt) "
            "select operation_id, conversation_id, tool, item, caller, 2 from requests "
            "where operation_id = ?",
            task.operation_id,
        )


class AnswerChanged(Sabotage):
    def answers(self, resumed: Answer, following: Answer) -> tuple[Answer, Answer]:
        outputs = tuple(
            replace(output, value="All is well.") if output.kind == "text" else output
            for output in resumed.outputs
        )
        return replace(resumed, outputs=outputs), following


class AlertDropped(Sabotage):
    """Nobody watches."""

    def before(self, rehearsal: EmbeddedRehearsal, folder: Path) -> None:
        assert rehearsal._watchdog is not None
        rehearsal._watchdog.kill()
        rehearsal._setup = replace(rehearsal._setup, alert_seconds=0.5)


SABOTAGES: dict[str, type[Sabotage]] = {
    "state": StateForged,
    "log-sequence": LogCut,
    "snapshot-version": SnapshotSwapped,
    "side-effect": EffectDoubled,
    "retry-count": RetryHidden,
    "response": AnswerChanged,
    "alert": AlertDropped,
}


def in_log(folder: Path, statement: str) -> None:
    _execute(folder / "log.sqlite", statement)


def in_ledger(folder: Path, statement: str, *values: str) -> None:
    _execute(folder.parent / "tools.sqlite", statement, *values)


def _execute(path: Path, statement: str, *values: str) -> None:
    with closing(sqlite3.connect(path, timeout=10)) as file, file:
        assert file.execute(statement, values).rowcount == 1


class Sabotaged(EmbeddedRehearsal):
    """A rehearsal to which one thing is done."""

    sabotage: Sabotage
    folder: Path

    def interrupt(self) -> Interruption:
        self.sabotage.before(self, self.folder)
        cut = super().interrupt()
        self.sabotage.between(self, cut, self.folder)
        return cut

    def resume(self) -> tuple[Answer, Answer]:
        answers = self.sabotage.answers(*super().resume())
        self.sabotage.after(self.folder, self._task)
        return answers


class SabotagedRuntime(EmbeddedRuntime):
    """Its rehearsals are sabotaged, each by what its conversation is named after."""

    def open(self, point: int, task: Task, *rest: Any) -> Sabotaged:
        rehearsal = super().open(point, task, *rest)
        assert isinstance(rehearsal, EmbeddedRehearsal)
        rehearsal.__class__ = Sabotaged
        assert isinstance(rehearsal, Sabotaged)
        name = task.conversation_id.removeprefix("drill-")
        rehearsal.sabotage = SABOTAGES.get(name, Sabotage)()
        rehearsal.folder = rest[1]
        return rehearsal


def sabotaged(scratch: Path) -> dict[str, Judged]:
    """Every sabotage, and one rehearsal without."""
    runtime = SabotagedRuntime(scratch, keep=True)
    rehearsing = Rehearsing(runtime, scratch, Settings())

    def do(name: str) -> Judged:
        task = Task(f"drill-{name}", f"op-{name}", item=f"seat {name}")
        return judged(rehearsing.rehearse(Job(POINT, "read-before-retry", task)))

    names = [*SABOTAGES, "none"]
    try:
        with ThreadPoolExecutor(3) as pool:
            return dict(zip(names, pool.map(do, names), strict=True))
    finally:
        runtime.close()


@pytest.mark.slow
def test_what_is_broken_turns_and_nothing_else(tmp_path: Path) -> None:
    for check, done in sabotaged(tmp_path).items():
        assert done.rehearsed.told == ""
        bad = {name: c.verdict for name, c in done.checks.items() if c.verdict != "ok"}
        assert bad == ({} if check == "none" else {check: "failed"}), check


def test_every_check_is_sabotaged() -> None:
    assert list(SABOTAGES) == list(CHECKS)
