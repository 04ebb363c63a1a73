"""One rehearsal from its preparation to its end, and what it showed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from axnb.drills.resume.seen import Log, Read, Seen, read
from axnb.errors import AxnbError
from axnb.runtimes import Interruption, NotRunError, Policy, Rehearsal, Runtime, Task
from axnb.settings import Settings


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
    """A rehearsal that was done, or why it was not."""

    job: Job
    seen: Seen | None = None
    #: Why it was not run, or broke off: a sentence.
    told: str = ""
    #: Is this point none of the runtime's?
    is_not_run: bool = False
    #: What could not be cleaned up: a sentence.
    left: str = ""


def rehearse(runtime: Runtime, job: Job, scratch: Path, settings: Settings) -> Rehearsed:
    """Do one rehearsal. What goes wrong in it is told and never raised; all its processes end."""
    folder = scratch / f"{job.policy}-{job.point}-{job.task.conversation_id}"
    folder.mkdir(parents=True)
    try:
        rehearsal = runtime.open(job.point, job.task, job.policy, folder, job.chance)
    except NotRunError as err:
        return Rehearsed(job, told=str(err), is_not_run=True)
    except AxnbError as err:
        return Rehearsed(job, told=str(err))
    done = _done(runtime, rehearsal, job, settings)
    try:
        rehearsal.close()
    except AxnbError as err:
        return replace(done, left=str(err))
    return done


def _done(runtime: Runtime, rehearsal: Rehearsal, job: Job, settings: Settings) -> Rehearsed:
    try:
        return Rehearsed(job, _through(runtime, rehearsal, job, settings))
    except NotRunError as err:
        return Rehearsed(job, told=str(err), is_not_run=True)
    except AxnbError as err:
        return Rehearsed(job, told=str(err))
    except BaseException:
        rehearsal.close()
        raise


def _through(runtime: Runtime, rehearsal: Rehearsal, job: Job, settings: Settings) -> Seen:
    first = rehearsal.prepare()
    interruption = rehearsal.interrupt()
    conversation_id = job.task.conversation_id
    before = read(interruption.log, conversation_id, interruption.generation, settings)
    taken_over = _taken_over(interruption, conversation_id, settings)
    is_ours = runtime.program.kind != "command"
    if not is_ours:
        # Others work there, too: what was read a moment ago may be somebody else's by now.
        again = read(interruption.log, conversation_id, interruption.generation, settings)
        _check_unchanged(before, again)
    resumed, following = rehearsal.resume()
    observation = rehearsal.observe()
    found = read(
        observation.log,
        conversation_id,
        observation.generation,
        settings,
        observation.bucket or "",
        is_ours=is_ours,
    )
    seen = Seen(
        point=job.point,
        policy=job.policy,
        task=job.task,
        first=first,
        interruption=interruption,
        before=before.log,
        resumed=resumed,
        next=following,
        observation=observation,
        log=found.log,
        taken_over=taken_over,
        torn=found.torn,
        reversal=None,
    )
    # What the drill caused, it undoes; only then is the tool read for the last time.
    try:
        return replace(seen, reversal=rehearsal.reverse())
    except AxnbError as err:
        return replace(seen, not_reversed=str(err))


def _taken_over(interruption: Interruption, conversation_id: str, settings: Settings) -> Log | None:
    """The log as the next version reads it, where that is another and takes nothing over."""
    generation = interruption.read_next_by
    if generation in ("", interruption.generation):
        return None
    return read(interruption.log, conversation_id, generation, settings).log


def _check_unchanged(before: Read, again: Read) -> None:
    """Raises AxnbError if the conversation changed between the interruption and the resume."""
    if before.log.rows != again.log.rows:
        raise AxnbError(
            "the conversation changed between the interruption and the resume: somebody else "
            "goes on with it; nothing was resumed, rehearse again."
        )
