"""One rehearsal from its preparation to its end, and what it showed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

from axnb.drills.resume.seen import Log, Read, Seen, read
from axnb.errors import AxnbError
from axnb.runtimes import (
    CANCELLED,
    Interruption,
    NotRunError,
    Policy,
    Rehearsal,
    Reversal,
    Runtime,
    Task,
)
from axnb.settings import Settings

Phase = Literal["open", "prepare", "interrupt", "resume", "observe"]
Found = TypeVar("Found")

#: Points at which it is the client that goes away: the turn may well come to its end.
_CLIENT_LEAVES = (5, CANCELLED)


@dataclass(frozen=True)
class Job:
    """One rehearsal that is to be done."""

    point: int
    policy: Policy
    task: Task
    #: By which the place and the moment of the interruption are drawn; None: the usual ones.
    chance: Random | None = None


@dataclass(frozen=True)
class Rehearsed:
    """A rehearsal that was done, or how far it came."""

    job: Job
    seen: Seen | None = None
    #: Why it was not run, or broke off: a sentence.
    told: str = ""
    #: Where it broke off; `open` where it never began.
    phase: Phase = "open"
    #: Is this point none of the runtime's?
    is_not_run: bool = False
    #: Did a person break it off, once the task was sent?
    is_stopped: bool = False
    #: The effects were undone, and the tool was read back; None where they were not.
    reversal: Reversal | None = None
    #: Why they could not be; empty where they were, or there was nothing to undo.
    not_reversed: str = ""
    #: What could not be cleaned up: a sentence.
    left: str = ""

    @property
    def may_have_effects(self) -> bool:
        """Was the task sent, so that its effect may exist?"""
        return self.phase in ("interrupt", "resume", "observe") or self.seen is not None


@dataclass
class Stage:
    """How far a rehearsal has come."""

    stopped: threading.Event
    phase: Phase = "open"

    def do(self, phase: Phase, step: Callable[[], Found]) -> Found:
        """Do the next step. Raises AxnbError if the drill was broken off."""
        if self.stopped.is_set():
            raise AxnbError("the drill was stopped.")
        self.phase = phase
        return step()


@dataclass(frozen=True)
class Rehearsing:
    """What all rehearsals of a drill share."""

    runtime: Runtime
    scratch: Path
    settings: Settings
    #: Set when the drill is broken off: nothing more is done but to undo.
    stopped: threading.Event = field(default_factory=threading.Event)

    def rehearse(self, job: Job) -> Rehearsed:
        """Do one rehearsal. What goes wrong in it is told and never raised; its processes end."""
        folder = self.scratch / f"{job.policy}-{job.point}-{job.task.conversation_id}"
        stage = Stage(self.stopped)
        try:
            folder.mkdir(parents=True)
            rehearsal = self.runtime.open(job.point, job.task, job.policy, folder, job.chance)
        except Exception as err:
            return self._broken(job, stage, err)
        done = self._done(rehearsal, job, stage)
        if done.may_have_effects:
            # Whatever became of the rehearsal: what the drill caused, it undoes.
            done = self._undone(done, rehearsal)
        try:
            rehearsal.close()
        except Exception as err:
            return replace(done, left=self._words(err))
        return done

    def _done(self, rehearsal: Rehearsal, job: Job, stage: Stage) -> Rehearsed:
        try:
            seen = self._through(rehearsal, job, stage)
        except Exception as err:
            return self._broken(job, stage, err)
        return Rehearsed(job, seen, phase=stage.phase)

    def _through(self, rehearsal: Rehearsal, job: Job, stage: Stage) -> Seen:
        first = stage.do("prepare", rehearsal.prepare)
        if first.error is not None:
            raise AxnbError("the ordinary turn before the task failed.")
        cut = stage.do("interrupt", rehearsal.interrupt)
        before = self._read(job, cut.log, cut.generation)
        _check_interrupted(job.point, before.log)
        taken_over = self._taken_over(job, cut)
        if not self._is_ours:
            # Others work there, too: what was read a moment ago may be somebody else's by now.
            _check_unchanged(before, self._read(job, cut.log, cut.generation))
        resumed, following = stage.do("resume", rehearsal.resume)
        observation = stage.do("observe", rehearsal.observe)
        found = self._read(job, observation.log, observation.generation, observation.bucket or "")
        return Seen(
            point=job.point,
            policy=job.policy,
            task=job.task,
            first=first,
            interruption=cut,
            before=before.log,
            resumed=resumed,
            next=following,
            observation=observation,
            log=found.log,
            torn=found.torn,
            taken_over=taken_over,
        )

    @property
    def _is_ours(self) -> bool:
        """Is nobody else at work where the rehearsals are?"""
        return self.runtime.program.kind != "command"

    def _read(self, job: Job, log: str, generation: str, bucket: str = "") -> Read:
        conversation_id = job.task.conversation_id
        return read(log, conversation_id, generation, self.settings, bucket, is_ours=self._is_ours)

    def _taken_over(self, job: Job, cut: Interruption) -> Log | None:
        """The log as the next version reads it, where that is another and takes nothing over."""
        if cut.read_next_by in ("", cut.generation):
            return None
        return self._read(job, cut.log, cut.read_next_by).log

    def _broken(self, job: Job, stage: Stage, err: Exception) -> Rehearsed:
        # Once the task was sent, nothing of it is "not run".
        is_early = stage.phase in ("open", "prepare")
        is_refused = isinstance(err, NotRunError)
        return Rehearsed(
            job,
            told=self._words(err),
            phase=stage.phase,
            is_not_run=is_refused and is_early,
            is_stopped=(is_refused or stage.stopped.is_set()) and not is_early,
        )

    def _undone(self, done: Rehearsed, rehearsal: Rehearsal) -> Rehearsed:
        try:
            return replace(done, reversal=rehearsal.reverse())
        except Exception as err:
            return replace(done, not_reversed=self._words(err))

    def _words(self, err: Exception) -> str:
        """A sentence, the same in every run; of a fault that nobody expected its kind alone, since
        its words may hold a payload."""
        if isinstance(err, AxnbError):
            return str(err).replace(str(self.scratch), "…")
        return f"it broke off by a fault that axnb does not know ({type(err).__name__})."


def _check_interrupted(point: int, log: Log) -> None:
    """Raises AxnbError if the task's turn had its end before anything cut it."""
    marks = [row.mark for row in log.rows]
    is_over = marks.count("input") > 1 and marks.count("end") >= marks.count("input")
    if is_over and point not in _CLIENT_LEAVES:
        raise AxnbError("the task was over before it was interrupted: this proves nothing.")


def _check_unchanged(before: Read, again: Read) -> None:
    """Raises AxnbError if the conversation changed between the interruption and the resume."""
    if before.log.rows != again.log.rows:
        raise AxnbError(
            "the conversation changed between the interruption and the resume: somebody else "
            "goes on with it; nothing was resumed, rehearse again."
        )
