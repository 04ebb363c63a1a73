"""The result of a resume drill, in the form of `axnb.result/1`.

`answer` is `axnb.resume-drill/1`. All but the block `run` is the same for the same rehearsal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from axnb.drills.resume.checks import CHECKS
from axnb.drills.resume.judging import Judged
from axnb.drills.resume.options import ResumeOptions
from axnb.drills.steps import overall, rank
from axnb.result import Result, Verdict
from axnb.runtimes import CANCELLED, POLICIES, NotRunError, Policy, Program, Runtime
from axnb.started import Started
from axnb.text import count

_SCHEMA = "axnb.resume-drill/1"

_MOST_WHY = 8

#: A deployment goes on in its own way, whatever the policy is called.
_THEIRS = "as the deployment itself goes on"


def resume_result(
    options: ResumeOptions, runtime: Runtime, found: Sequence[Judged], started: Started
) -> Result:
    """Everything that was rehearsed, as a result."""
    program = _program(options, runtime)
    points = [list(group) for _, group in groupby(found, key=lambda j: (j.policy, j.point))]
    matrix = [group for group in points if group[0].point != CANCELLED]
    steps = [step for group in matrix for step in _steps(group)]
    policies = [_policy(name, options, points) for name in options.policies]
    verdict: Verdict = overall([policy["verdict"] for policy in policies])
    return Result(
        drill="resume",
        verdict=verdict,
        parameters=_parameters(options, program),
        sources=(),
        examined=tuple(_examined(options, program)),
        why=tuple(_why(points))[:_MOST_WHY],
        measures=_measures(matrix, steps),
        steps=tuple(steps),
        scope=tuple(_scope(options, program, found)),
        answer={
            "schema": _SCHEMA,
            "verdict": verdict,
            "program": {
                "kind": program.kind,
                "name": program.name,
                "generation": program.generation,
                "sha256": program.sha256,
            },
            "policies": policies,
        },
        run=started.block([], program.generation, _again(options)),
    )


def _program(options: ResumeOptions, runtime: Runtime) -> Program:
    try:
        return runtime.program
    except NotRunError:
        return Program(options.runtime, options.target.name, "", "none")


def _steps(group: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """The seven steps of a point; of several repetitions, the worst of each."""
    for name in CHECKS:
        checks = [judged.checks[name] for judged in group]
        shown = min(checks, key=lambda check: rank(check.verdict))
        step = {
            "policy": group[0].policy,
            "point": group[0].point,
            "check": name,
            **shown.as_dict(),
        }
        if len(group) > 1:
            step["runs"] = dict(sorted(Counter(check.verdict for check in checks).items()))
        yield step


def _policy(
    name: Policy, options: ResumeOptions, points: Sequence[Sequence[Judged]]
) -> dict[str, Any]:
    own = [group for group in points if group[0].policy == name]
    cancelled = [group[0] for group in own if group[0].point == CANCELLED]
    told: dict[str, Any] = {
        "policy": name,
        "means": _THEIRS if options.runtime == "command" else POLICIES[name],
        "verdict": overall([judged.verdict for group in own for judged in group]),
        "points": [_point(group) for group in own if group[0].point != CANCELLED],
    }
    for judged in cancelled:
        assert judged.cancellation is not None
        told["cancellation"] = {
            **judged.cancellation.as_dict(),
            "reversal": judged.reversal.as_dict(),
            "timeline": judged.timeline(),
        }
    return told


def _point(group: Sequence[Judged]) -> dict[str, Any]:
    """A point in a word; of several repetitions the worst, and which outcomes there were."""
    shown = min(group, key=lambda judged: rank(judged.verdict))
    told = {
        "point": shown.point,
        "title": shown.title,
        "verdict": shown.verdict,
        "class": shown.effect_class,
        "effects": shown.effects,
        "person": shown.needs_person,
        "why": shown.why,
        "interruption": shown.interruption(),
        "reversal": shown.reversal.as_dict(),
        "timeline": shown.timeline(),
    }
    if len(group) > 1:
        outcomes = Counter((j.verdict, j.effect_class, j.effects) for j in group)
        told["outcomes"] = [
            {"verdict": verdict, "class": found, "effects": effects, "runs": number}
            for (verdict, found, effects), number in sorted(outcomes.items(), key=repr)
        ]
    return told


def _measures(
    matrix: Sequence[Sequence[Judged]], steps: Sequence[dict[str, Any]]
) -> dict[str, int]:
    every = [judged for group in matrix for judged in group]
    verdicts = Counter(step["verdict"] for step in steps)
    return {
        "points": len(matrix),
        "rehearsals": len(every),
        "steps": len(steps),
        "ok": verdicts["ok"],
        "failed": verdicts["failed"],
        "inconclusive": verdicts["inconclusive"],
        "not_run": verdicts["not-run"],
        "effects_doubled": sum(judged.trouble == "doubled" for judged in every),
        "effects_lost": sum(judged.trouble == "lost" for judged in every),
        "effects_unknown": sum(judged.trouble == "unknown" for judged in every),
        "blocked": sum(judged.is_blocked for judged in every),
        "need_person": sum(judged.needs_person for judged in every),
    }


def _why(points: Sequence[Sequence[Judged]]) -> Iterator[str]:
    for policy, groups in groupby(points, key=lambda group: group[0].policy):
        every = [judged for group in groups for judged in group]
        matrix = [judged for judged in every if judged.point != CANCELLED]
        told = list(_sorts(matrix))
        if not told:
            told = [f"{count(len(matrix), 'rehearsal')}: all seven observations are as expected"]
        yield f"{policy}: {'; '.join(told)}."
        yield from _depends(policy, matrix)
        for judged in every:
            if judged.cancellation is not None and judged.cancellation.verdict != "ok":
                yield f"{policy}, cancelled after the commit: {judged.cancellation.observed}."
            if judged.reversal.verdict == "failed":
                where = f"point {judged.point}" if judged.point else "the cancellation"
                yield f"{policy}, {where}: {judged.reversal.observed}."


def _sorts(every: Sequence[Judged]) -> Iterator[str]:
    sorts = {
        "does the effect twice": [j for j in every if j.trouble == "doubled"],
        "leaves the outcome unknown": [j for j in every if j.trouble == "unknown"],
        "never does the task": [j for j in every if j.trouble == "lost"],
        "blocks the conversation": [j for j in every if j.is_blocked],
        "could not be seen": [j for j in every if j.rehearsed.seen is None],
    }
    for what, found in sorts.items():
        if found:
            yield f"{what} at {_points(found)}"
    told = {id(judged) for group in sorts.values() for judged in group}
    if rest := [j for j in every if id(j) not in told and j.verdict != "ok"]:
        yield f"is not as expected at {_points(rest)}"


def _points(found: Sequence[Judged]) -> str:
    numbers = sorted({judged.point for judged in found})
    return f"{'point' if len(numbers) == 1 else 'points'} {', '.join(map(str, numbers))}"


def _depends(policy: str, every: Sequence[Judged]) -> Iterator[str]:
    """What depends on the moment is no flake: it is what the drill is for."""
    for point, group in groupby(every, key=lambda judged: judged.point):
        outcomes = {(j.verdict, j.effect_class, j.effects) for j in group}
        if len(outcomes) > 1:
            kinds = f"{len(outcomes)} kinds"
            yield f"{policy}: the outcome of point {point} hangs on the moment: {kinds}."


def _examined(options: ResumeOptions, program: Program) -> Iterator[str]:
    called = {
        "embedded": "axnb's own AX server",
        "ax": "a real ax serve",
        "command": "a deployment",
    }
    yield f"{called.get(program.kind, 'a deployment')} of {program.generation}, {program.name}"
    tool = "takes a second request for the first" if options.idempotent else "does all it is asked"
    yield f"The tool {tool}; its operation may be repeated as: {options.retry}"


def _scope(options: ResumeOptions, program: Program, found: Sequence[Judged]) -> Iterator[str]:
    if program.kind == "embedded":
        yield "The server is axnb's own, built after the facts of AX: it proves no AX binary."
    yield "One conversation with one effect a point, nothing beside it: no load, no second server."
    if options.repeat == 1:
        yield "Each point was interrupted once, at one moment (--repeat tries others at 1, 3, 4)."
    yield from dict.fromkeys(
        f"{f'Point {j.point}' if j.point else 'The cancellation'} under {j.policy}: "
        f"{j.rehearsed.told}"
        for j in found
        if j.rehearsed.seen is None
    )


def _parameters(options: ResumeOptions, program: Program) -> dict[str, Any]:
    is_ours = options.runtime == "embedded"
    return {
        "runtime": options.runtime,
        "policies": list(options.policies),
        "idempotent": options.idempotent,
        "retry": options.retry,
        # Where a deployment has its log, its settings say.
        "store": "" if options.runtime == "command" else options.store,
        "generation": program.generation,
        "points": list(options.points),
        "snapshots": _bucket(options) if is_ours else _bucket_of_others(options),
        "repeat": options.repeat,
        "seed": options.seed,
    }


def _bucket(options: ResumeOptions) -> str:
    return {"": "folder", None: "none"}.get(options.snapshots, "given")


def _bucket_of_others(options: ResumeOptions) -> str:
    """Of a released AX there is none; of a deployment, what its settings name."""
    command = options.settings.command
    is_named = options.runtime == "command" and command is not None and command.snapshots
    return "given" if is_named else "none"


def _again(options: ResumeOptions) -> list[str]:
    words = ["axnb", "drill", "resume", f"--runtime={options.runtime}"]
    words += [f"--policy={policy}" for policy in options.policies]
    words += ["--idempotent"] if options.idempotent else []
    words += [f"--store={options.store}"] if options.store != "sqlite" else []
    words += [f"--generation={options.target.name}"]
    words += [f"--ax-bin={binary.name}" for binary in options.ax_bin]
    words += [f"--points={','.join(map(str, options.points))}"]
    words += [f"--repeat={options.repeat}", f"--seed={options.seed}"] * (options.repeat > 1)
    return words
