"""The resume drill: one task with one effect, interrupted at eight points, by real processes.

After each point seven things are verified (`checks`). The result shows where a policy doubles,
loses or blocks; a happy path proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from axnb.drills.resume.answer import resume_result
from axnb.drills.resume.judging import Judged, judged
from axnb.drills.resume.options import TOOL, ResumeOptions, planned
from axnb.drills.resume.rehearsing import Job, Rehearsing
from axnb.drills.scratch import scratch_folder
from axnb.errors import AxnbError
from axnb.result import Result
from axnb.runtimes import CANCELLED, Policy, Runtime, Task
from axnb.started import Started

if TYPE_CHECKING:
    from axnb.runtimes.command import Ask

__all__ = ["Judged", "ResumeOptions", "run", "run_with"]

#: Operations that a sentence names.
_MOST_TOLD = 10

#: Rehearsals at a time: each has processes that mostly wait for each other.
_AT_ONCE = 4


def run(
    options: ResumeOptions | None = None,
    progress: Callable[[Judged], None] = lambda _: None,
    ask: Ask | None = None,
    begin: Callable[[Sequence[str]], None] = lambda _: None,
    **asked: Any,
) -> Result:
    """Rehearse, and judge what was seen. `progress` hears of each point when it is done.

    `run(policies=["ax"], points=[3])` is short for `run(ResumeOptions(…))`. All is in a scratch
    folder, which is removed unless `keep` names one; every process ends. Raises AxnbError where
    nothing can be rehearsed at all. `ask` asks a person to do what a guided deployment has no
    command for; without it, whoever sits at the terminal is asked. `begin` hears what will be done
    and read before anything is.
    """
    options = options or ResumeOptions(**asked)
    with scratch_folder(options.keep, options.settings.scratch) as scratch:
        runtime = open_runtime(options, scratch, ask)
        begin(planned(options))
        try:
            return run_with(runtime, options, scratch, progress)
        finally:
            runtime.close()


def run_with(
    runtime: Runtime,
    options: ResumeOptions,
    scratch: Path,
    progress: Callable[[Judged], None] = lambda _: None,
) -> Result:
    """The same with a runtime of one's own, such as one that a test sabotages."""
    started = Started()
    jobs = [job for policy in options.policies for job in _jobs(runtime, options, policy)]
    # A person can do one thing at a time, and so can a deployment.
    at_once = _AT_ONCE if options.runtime == "embedded" else 1
    # What axnb itself copies goes with the rest, even if we are killed.
    rehearsing = Rehearsing(runtime, scratch, replace(options.settings, scratch=scratch))

    def do(job: Job) -> Judged:
        done = judged(rehearsing.rehearse(job))
        progress(done)
        return done

    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(do, job) for job in jobs]
        try:
            found = [future.result() for future in futures]
        except BaseException as err:
            rehearsing.stopped.set()
            runtime.stop()
            for future in futures:
                future.cancel()
            if options.runtime == "command":
                _tell_what_is_left(futures, err)
            raise
    return resume_result(options, runtime, found, started)


def _tell_what_is_left(futures: Sequence[Future[Judged]], err: BaseException) -> None:
    """Raises AxnbError with the operations that a broken-off drill could not undo."""
    ended = [future.result() for future in futures if _is_done(future)]
    left = [done.rehearsed.job.task.operation_id for done in ended if done.rehearsed.not_reversed]
    if left:
        told = ", ".join(left[:_MOST_TOLD]) + (", …" if len(left) > _MOST_TOLD else "")
        raise AxnbError(
            f"stopped; what it did may still be there: undo {told} in the tool."
        ) from err


def _is_done(future: Future[Judged]) -> bool:
    wait([future])
    return not future.cancelled() and future.exception() is None


def _jobs(runtime: Runtime, options: ResumeOptions, policy: Policy) -> Iterator[Job]:
    """Every repetition of every point, and the cancellation once."""
    for point in options.points:
        for n in range(options.repeat):
            # Seeded by words, so that one point's draws do not hang on which others run.
            drawn = Random(f"{options.seed}/{policy}/{point}/{n}") if n else None  # noqa: S311
            task = runtime.task_for(_task(options, policy, str(point), n), point, policy)
            yield Job(point, policy, task, drawn)
    task = _task(options, policy, "cancelled", 0)
    yield Job(CANCELLED, policy, runtime.task_for(task, CANCELLED, policy))


def _task(options: ResumeOptions, policy: Policy, point: str, repetition: int) -> Task:
    """Names are the same in every run of one seed, so that results can be compared."""
    name = f"{policy}-{point}" + (f"-{repetition + 1}" if repetition else "")
    return Task(
        conversation_id=f"drill-{name}",
        operation_id=f"op-{options.seed}-{name}",
        tool=TOOL,
        item=f"seat {name}",
        retry=options.retry,
    )


def open_runtime(options: ResumeOptions, scratch: Path, ask: Ask | None = None) -> Runtime:
    """The runtime that is asked for."""
    if options.runtime == "ax":
        from axnb.runtimes.ax import AxRuntime

        return AxRuntime.open_with(
            options.ax_bin,
            scratch,
            idempotent=options.idempotent,
            store=options.store,
            alertmanager=options.alertmanager,
            keep=options.keep is not None,
        )
    if options.runtime == "command":
        from axnb.runtimes.command import CommandRuntime

        return CommandRuntime(
            options.settings,
            scratch,
            confirmed=options.confirmed,
            ask=ask,
            keep=options.keep is not None,
        )
    from axnb.runtimes.embedded.runtime import EmbeddedRuntime

    return EmbeddedRuntime(
        scratch,
        generation=options.target,
        store=options.store,
        idempotent=options.idempotent,
        snapshots=options.snapshots,
        alertmanager=options.alertmanager,
        keep=options.keep is not None,
    )
