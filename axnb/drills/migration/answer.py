"""The result of a migration drill, in the form of `axnb.result/1`.

`answer` is `axnb.migration-drill/1`. All but the block `run` is the same for the same evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from axnb.ax.behaviour import Harness
from axnb.ax.versions import Generation
from axnb.drills.migration.asking import Served
from axnb.drills.migration.asking import told as told_reply
from axnb.drills.migration.damage import as_json
from axnb.drills.migration.ground import POINTS, TITLES
from axnb.drills.migration.matrix import cell, row, summary
from axnb.drills.migration.options import SERVED, MigrationDrillOptions
from axnb.drills.migration.past import told as told_past
from axnb.drills.migration.reading import OUTCOMES, Conversation
from axnb.drills.migration.rehearsing import Rehearsed
from axnb.drills.migration.rollback import older
from axnb.drills.steps import overall
from axnb.recorded import as_evidence, told_checks
from axnb.result import Result, Verdict
from axnb.started import Started
from axnb.text import as_argument, as_command, count

_SCHEMA = "axnb.migration-drill/1"

_MOST_WHY = 10

#: Of a migration what differs between two runs, or tells of payloads, is left out.
_NOT_TOLD = ("source", "destination", "custody", "digest")


def migration_result(done: Rehearsed, source: str, started: Started) -> Result:
    """Everything that was rehearsed, as a result."""
    ground, triage = done.ground, done.triage
    options = ground.options
    steps = sorted(ground.steps, key=lambda step: POINTS.index(step["point"]))
    doubts: list[Verdict] = ["inconclusive"] * bool(triage.skipped)
    verdict = overall([*(step["verdict"] for step in steps), *doubts])
    locators = [one.locator for one in triage.sources]
    return Result(
        drill="migration",
        verdict=verdict,
        parameters=_parameters(done),
        sources=tuple(as_evidence([one.as_dict() for one in triage.sources], locators)),
        examined=tuple(_examined(done)),
        why=tuple(_why(done, steps))[:_MOST_WHY],
        measures=_measures(done, steps),
        steps=tuple(steps),
        findings=tuple(finding.as_dict() for finding in triage.findings),
        checks=tuple(told_checks(triage.findings, has_state=bool(done.snapshots))),
        plan=done.plan,
        scope=tuple(_scope(done)),
        answer=_answer(done, verdict, steps),
        run=started.block(locators, ground.target.label, _again(source, options)),
    )


def _parameters(done: Rehearsed) -> dict[str, Any]:
    options = done.ground.options
    return {
        "to": options.target.name,
        "harnesses": [str(harness) for harness in done.ground.harnesses],
        "default_harness": options.default,
        "accept_loss": sorted(options.accept_loss),
        "conversations": options.conversations,
        "snapshots": "given" if options.snapshots else "none",
        "records": len(options.records),
        "ax_bin": [program.name for program in done.programs],
    }


def _answer(
    done: Rehearsed, verdict: Verdict, steps: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    ground, migrated = done.ground, done.carried.migrated if done.carried else None
    told = migrated.as_dict() if migrated else {"error": done.carried.error if done.carried else ""}
    return {
        "schema": _SCHEMA,
        "verdict": verdict,
        "points": _points(steps),
        "target": ground.target.name,
        "back_to": older(ground.read, ground.target).name,
        "generations": list(ground.read.generations),
        "matrix": done.matrix,
        "log": [_row(done, migrated=False), *([_row(done, migrated=True)] if done.copy else [])],
        "unmigrated": _cell(done, migrated=False),
        "migrated": _cell(done, migrated=True),
        "migration": {name: value for name, value in told.items() if name not in _NOT_TOLD},
        "conversations": list(_conversations(done)),
        "rollback": [journey.as_dict() for journey in done.rolled.journeys],
        "damage": as_json(done.rolled.damages),
        "history": [trace.as_dict() for trace in done.traces],
        "snapshots": dict(done.snapshots),
        "programs": [program.as_dict() for program in done.programs],
    }


def _points(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each question of the drill, and its answer."""
    found = {
        point: [step["verdict"] for step in steps if step["point"] == point] for point in POINTS
    }
    return [
        {"point": point, "title": TITLES[point], "verdict": overall(verdicts)}
        for point, verdicts in found.items()
    ]


def _cell(done: Rehearsed, *, migrated: bool) -> dict[str, Any]:
    """This log's own conversations under the target, before or after the migration."""
    return cell(_readable(done, migrated=migrated), done.ground.target, done.ground.harnesses)


def _row(done: Rehearsed, *, migrated: bool) -> dict[str, Any]:
    """The same under every version, as a row of the matrix."""
    name = "migrated" if migrated else "as-it-is"
    return row(name, "log", _readable(done, migrated=migrated), done.ground.harnesses)


def _readable(done: Rehearsed, *, migrated: bool) -> list[Conversation]:
    readable = [c for c in done.ground.read.conversations if c.is_readable]
    if not migrated:
        return readable
    known = done.copy.find() if done.copy else {}
    return [known[c.conversation_id] for c in readable if c.conversation_id in known]


def _conversations(done: Rehearsed) -> Iterator[dict[str, Any]]:
    ground, known = done.ground, done.copy.find() if done.copy else {}
    named = ground.owners()
    for c in ground.read.conversations:
        after = known.get(c.conversation_id)
        outcome = after.outcome(ground.target, ground.harnesses).word if after else "unknown"
        yield {
            "conversation_id": c.conversation_id,
            "generations": list(c.generations),
            "state": c.state,
            "owner": c.owner or c.agent,
            "owner_after": after.owner if after else "",
            "owner_expected": named[c.conversation_id] if c.is_readable else c.owner,
            "before": _under(c, ground.target, ground.harnesses, done.unmigrated),
            "after": after and _under(after, ground.target, ground.harnesses, done.migrated),
            "outcome": outcome if c.is_readable else "unreadable",
        }


def _under(
    c: Conversation, target: Generation, harnesses: Sequence[Harness], served: Served | None
) -> dict[str, Any]:
    """What the rows foretell of a conversation under the target, and what its server did."""
    answer = c.next(target, harnesses)
    replies = served.replies.get(c.conversation_id) if served else None
    return {
        "does": {"empty": answer.empty, "input": answer.input},
        "harness": answer.harness,
        "history": answer.history,
        **c.outcome(target, harnesses).as_dict(),
        "server": replies
        and {"empty": told_reply(replies.empty), "input": told_reply(replies.input)},
    }


def _measures(done: Rehearsed, steps: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    read, migrated = done.ground.read, done.carried.migrated if done.carried else None
    before, after = _cell(done, migrated=False), _cell(done, migrated=True)
    verdicts = Counter(step["verdict"] for step in steps)
    states = Counter(c.state for c in read.conversations)
    ways = Counter(damage.way for damage in done.rolled.damages)
    return {
        "conversations": len(read.conversations),
        "unreadable": states["unreadable"],
        "interrupted": states["interrupted"],
        "asked": len(done.asked),
        "rows": int(read.facts["read"]),
        "rows_copied": (migrated.rows_written or 0) if migrated else 0,
        "left_as_is": migrated.as_it_is if migrated else 0,
        "losses": sum(migrated.losses.values()) if migrated else 0,
        "loss_paths": len(migrated.losses) if migrated else 0,
        **{f"{word}_unmigrated": before[word] for word in OUTCOMES},
        **{f"{word}_migrated": after[word] for word in OUTCOMES},
        "contents_lost_unmigrated": before["contents_lost"],
        "owners_lost_unmigrated": before["owners_lost"],
        "damage_migrated": ways["migrated"],
        "damage_unmigrated": ways["unmigrated"],
        "steps": len(steps),
        "ok": verdicts["ok"],
        "failed": verdicts["failed"],
        "inconclusive": verdicts["inconclusive"],
        "not_run": verdicts["not-run"],
    }


def _examined(done: Rehearsed) -> Iterator[str]:
    ground, read = done.ground, done.ground.read
    words = ", ".join(read.generations) or "no generation"
    rows = count(int(read.facts["read"]), "row")
    yield f"A log of {words}: {count(len(read.conversations), 'conversation')}, {rows}"
    yield f"Migrated to {ground.target.label} in a copy, and served there by axnb's own AX server"
    for program in done.programs:
        of = program.binary.generation.label if program.binary else program.error
        yield f"{program.name}: {of}"
    yield f"Harnesses: {', '.join(map(str, ground.harnesses))}; the first is the default"


def _why(done: Rehearsed, steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    target = done.ground.target.label
    for verdict in ("failed", "inconclusive"):
        for step in steps:
            if step["verdict"] == verdict:
                yield f"{step['point']}, {step['check']}: {step['observed'].rstrip('.')}."
    yield f"Without a migration, under {target}: {summary(_cell(done, migrated=False))}."
    if done.copy is not None:
        yield f"Migrated, under {target}: {summary(_cell(done, migrated=True))}."
    yield from told_past(done.traces)
    for way, words in (("unmigrated", "without a migration"), ("migrated", "with a migration")):
        own = [damage for damage in done.rolled.damages if damage.way == way]
        if own:
            kinds = ", ".join(sorted({damage.kind for damage in own}))
            where = count(len({damage.conversation_id for damage in own}), "conversation")
            yield f"A rollback {words} does not undo what stays in {where}: {kinds}."
    if any(step["verdict"] == "not-run" for step in steps):
        points = sorted({step["point"] for step in steps if step["verdict"] == "not-run"})
        yield f"Not everything could be rehearsed: {', '.join(points)}."


def _scope(done: Rehearsed) -> Iterator[str]:
    ground, read = done.ground, done.ground.read
    old = older(read, ground.target)
    if not done.programs:
        yield "The servers are axnb's own: this proves no AX binary (--ax-bin)."
    if old.name not in SERVED:
        yield f"axnb serves no log of {old.name}: the way back to it was not rehearsed."
    unreadable = sum(not c.is_readable for c in read.conversations)
    if unreadable:
        number = count(unreadable, "conversation")
        yield f"{number} of the source cannot be read by the version that wrote it; not asked."
    unnamed = sum(c.is_readable and not c.can_be_asked for c in read.conversations)
    if unnamed:
        yield f"{count(unnamed, 'conversation')} of an id that no request can name; not asked."
    if done.left_out > unnamed:
        number = count(done.left_out - unnamed, "conversation")
        yield f"{number} not asked about (--conversations), of every kind some were."
    assumed = [h.id for h in ground.harnesses if h.accepts and h not in ground.options.declared]
    if assumed:
        yield (
            f"Taken to accept an empty start: {', '.join(assumed)} (--harness ID=refuses says "
            "otherwise)."
        )
    if done.triage.findings:
        number = count(len(done.triage.findings), "finding")
        yield f"{number} of the source itself, as it was: listed, not counted against the drill."
    yield from done.triage.skipped
    if not done.snapshots:
        yield "Snapshots were not looked at (--snapshots)."
    yield "What harnesses remember of a conversation is no part of the log, and was not tried."
    yield (
        "How a turn goes on that the upgrade itself cuts: axnb drill resume --points 8, under each "
        "of its policies."
    )


def _again(source: str, options: MigrationDrillOptions) -> list[str]:
    words = ["axnb", "drill", "migration", _named(source), f"--to={options.target.name}"]
    words += [f"--harness={text}" for text in options.harnesses]
    words += [f"--default-harness={options.default_harness}"] if options.default_harness else []
    words += [f"--accept-loss={path}" for path in options.accept_loss]
    words += [f"--ax-bin={path.name}" for path in options.ax_bin]
    words += [f"--conversations={options.conversations}"]
    return as_command(*words) or []


def _named(source: str) -> str:
    """A source by the name of its file; a DSN may hold a password."""
    return "AX_EVENTLOG_DSN" if "://" in source or "=" in source else as_argument(source)
