"""One rehearsal from its preparation to its end, and what it showed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from axnb.case.case import Case
from axnb.drills.resume.seen import Log, Seen, read_log
from axnb.errors import AxnbError
from axnb.loading import load_state
from axnb.mapping import state_map
from axnb.runtimes import (
    Answer,
    Interruption,
    NotRunError,
    Observation,
    Policy,
    Rehearsal,
    Runtime,
    Task,
)
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
    try:
        return Rehearsed(job, _through(rehearsal, job, settings))
    except NotRunError as err:
        return Rehearsed(job, told=str(err), is_not_run=True)
    except AxnbError as err:
        return Rehearsed(job, told=str(err))
    finally:
        rehearsal.close()


def _through(rehearsal: Rehearsal, job: Job, settings: Settings) -> Seen:
    first = rehearsal.prepare()
    interruption = rehearsal.interrupt()
    before = _read(interruption.log, interruption.generation, job, settings)
    resumed, following = rehearsal.resume()
    observation = rehearsal.observe()
    seen = _seen(job, first, interruption, before, (resumed, following), observation, settings)
    # What the drill caused, it undoes; only then is the tool read for the last time.
    try:
        return replace(seen, reversal=rehearsal.reverse())
    except AxnbError as err:
        return replace(seen, not_reversed=str(err))


def _seen(
    job: Job,
    first: Answer,
    interruption: Interruption,
    before: Log,
    answers: tuple[Answer, Answer],
    observation: Observation,
    settings: Settings,
) -> Seen:
    log = _read(observation.log, observation.generation, job, settings)
    seen = Seen(
        point=job.point,
        policy=job.policy,
        task=job.task,
        first=first,
        interruption=interruption,
        before=before,
        resumed=answers[0],
        next=answers[1],
        observation=observation,
        log=log,
        reversal=None,
    )
    if observation.bucket is None:
        return seen
    return replace(seen, torn=tuple(_torn(observation.bucket, settings)))


def _read(log: str, generation: str, job: Job, settings: Settings) -> Log:
    return read_log(log, job.task.conversation_id, generation, settings)


def _torn(bucket: str, settings: Settings) -> Iterator[str]:
    """What is wrong with the snapshots of a bucket, as `axnb map --verify` finds it."""
    case = Case(None, settings)
    try:
        found = load_state(case, [bucket], verify=True)
        yield from found.skipped
        for finding in state_map(case, found.skipped).findings:
            if finding.severity == "error" and finding.snapshot is not None:
                yield f"{finding.id} {finding.name}: {finding.snapshot}"
    finally:
        case.close()
