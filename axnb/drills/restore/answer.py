"""The result of a restore drill, in the form of `axnb.result/1`.

`answer` is `axnb.restore-drill/1`. All but the block `run` is the same for the same evidence: what
a drill has made itself, a backup or a server, is told there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from axnb.backups import Backup
from axnb.drills.restore.again import command_again
from axnb.drills.restore.complete import call_evidence
from axnb.drills.restore.cutting import Cut
from axnb.drills.restore.looking import Call, Looked
from axnb.drills.restore.losing import Loss, Pointer
from axnb.drills.restore.options import RestoreOptions
from axnb.drills.restore.rehearsing import NOT_RTO, Rehearsed
from axnb.drills.restore.telling import MOST, ranges
from axnb.drills.steps import Check, overall
from axnb.recorded import as_evidence, told_checks
from axnb.result import Result
from axnb.started import Started
from axnb.text import count

_SCHEMA = "axnb.restore-drill/1"

#: What each word asks.
WORDS: Mapping[str, str] = {
    "consistent": "is what was restored sound in itself?",
    "complete": "is all of it there?",
    "usable": "does it work?",
}
_MOST_WHY = 8


def restore_result(options: RestoreOptions, done: Rehearsed, started: Started) -> Result:
    """Everything that was rehearsed, as a result."""
    order = list(WORDS)
    checked = sorted(done.checks, key=lambda found: order.index(found[0]))
    steps = tuple({"point": point, "check": name, **c.as_dict()} for point, name, c in checked)
    verdict = overall([check.verdict for _, _, check in done.checks])
    looked = done.looked
    sources, locators = _sources(options, done)
    wounds = _wounds(looked)
    return Result(
        drill="restore",
        verdict=verdict,
        parameters=_parameters(options),
        sources=tuple(sources),
        examined=tuple(_examined(done)),
        why=tuple(_why(done.checks))[:_MOST_WHY],
        measures=_measures(done),
        unresolved=_forgotten(looked, done.loss),
        steps=steps,
        findings=tuple(finding.as_dict() for finding in wounds),
        checks=tuple(told_checks(wounds, has_state=options.snapshots is not None)),
        scope=tuple(_scope(options, done)),
        answer={
            "schema": _SCHEMA,
            "verdict": verdict,
            "points": [
                {"point": word, "title": asks, "verdict": _of(done.checks, word)}
                for word, asks in WORDS.items()
            ],
            "backup": {"kind": done.backup.kind, "how": done.backup.how} if done.backup else None,
            "conversations": list(_conversations(looked, done.loss, done.cuts)) if looked else [],
            "again": [_pointer(p) for p in done.loss.pointers[:MOST]] if done.loss else [],
            "seal": dict(done.seal),
        },
        run=started.block(locators, _asked_as(looked), command_again(options))
        | {
            "rto_seconds": done.rto_seconds,
            "rto_phases": [name for name in done.phases if name not in NOT_RTO],
            "phases": {name: round(seconds, 3) for name, seconds in done.phases.items()},
            "restored": {name: str(value) for name, value in done.facts.items()},
            "backup": _made(done.backup),
        },
    )


def _of(checks: Sequence[tuple[str, str, Check]], word: str) -> str:
    return overall([check.verdict for point, _, check in checks if point == word])


def _sources(options: RestoreOptions, done: Rehearsed) -> tuple[list[dict[str, Any]], list[str]]:
    """What was given and read; the restored log and a backup of our own differ from run to run."""
    found: list[dict[str, Any]] = []
    locators: list[str] = []
    if done.looked is not None:
        given = [s for s in done.looked.answer.sources if s.name != done.looked.restored]
        locators = [source.locator for source in given]
        found = as_evidence([source.as_dict() for source in given], locators)
    if options.backup is not None and done.backup is not None:
        found.append(_given(done.backup, done.looked))
        locators.append(str(options.backup))
    return found, locators


def _given(backup: Backup, looked: Looked | None) -> dict[str, Any]:
    """A backup that was given, with what was read of the log that came out of it."""
    about = looked.about if looked else None
    return {
        "name": "backup",
        "kind": "backup",
        "generations": list(about.generations) if about else [],
        "read": about.read if about else 0,
        "parsed": about.parsed if about else 0,
        "rejected": about.rejected if about else 0,
        "custody": {"mode": "copy", "files": dict(backup.files)},
        "notes": [],
        "incomplete": [],
    }


def _wounds(looked: Looked | None) -> list[Any]:
    """Findings of the restored log; a comparison with others is told by the steps."""
    if looked is None:
        return []
    told = {"AX103", "AX107"}
    return [
        finding
        for finding in looked.answer.findings
        if finding.source == looked.restored and finding.id not in told
    ]


def _made(backup: Backup | None) -> dict[str, Any] | None:
    """A backup that the drill took itself."""
    if backup is None or not backup.is_ours:
        return None
    return {"how": backup.how, "files": {name: dict(told) for name, told in backup.files.items()}}


def _measures(done: Rehearsed) -> dict[str, Any]:
    loss, looked = done.loss, done.looked
    verdicts = [check.verdict for _, _, check in done.checks]
    return {
        "conversations": len(looked.extents) if looked else 0,
        "rows": sum(extent.rows for extent in looked.extents.values()) if looked else 0,
        "rpo_steps": loss.rpo_steps if loss else None,
        "rpo_conversations": loss.rpo_conversations if loss else None,
        "rpo_effects": loss.rpo_effects if loss else None,
        "rpo_calls_unknown": loss.unknown_calls if loss else None,
        "numbers_again": _numbers(loss),
        "steps": len(verdicts),
        "ok": verdicts.count("ok"),
        "failed": verdicts.count("failed"),
        "inconclusive": verdicts.count("inconclusive"),
        "not_run": verdicts.count("not-run"),
    }


def _forgotten(looked: Looked | None, loss: Loss | None) -> dict[str, Any]:
    """Calls that the restored log does not know: to be read back before they are made again."""
    every = [*loss.calls, *(call for p in loss.pointers for call in p.calls)] if loss else []
    found: dict[tuple[Any, ...], Call] = {}
    for call in every:
        if looked is not None and call.source != looked.restored:
            key = (call.conversation_id, call.call_step, call.tool, call.operation_id)
            found.setdefault(key, call)
    return {"count": len(found), "calls": [_told(call) for call in list(found.values())[:MOST]]}


def _told(call: Call) -> dict[str, Any]:
    return {
        "tool": call.tool,
        "operation_id": call.operation_id,
        "source": call.source,
        "conversation_id": call.conversation_id,
        "step": call.call_step,
        "known": "no result" if call.outcome == "unknown" else f"a result: {call.outcome}",
    }


def _numbers(loss: Loss | None) -> int | None:
    """Numbers that were, or will be, handed out twice although somebody remembers them."""
    if loss is None or not loss.is_known:
        return None
    return len({(p.conversation_id, step) for p in loss.pointers for step in p.steps})


def _why(checks: Sequence[tuple[str, str, Check]]) -> Iterator[str]:
    bad = [(word, name, c) for word, name, c in checks if c.verdict in ("failed", "inconclusive")]
    for word, name, check in sorted(bad, key=lambda found: found[2].verdict != "failed"):
        yield f"{word}, {name.replace('-', ' ')}: {check.observed}."
    if not bad:
        run = sum(check.verdict == "ok" for _, _, check in checks)
        yield f"All {count(run, 'check')} are as expected." if run else "Nothing could be checked."


def _examined(done: Rehearsed) -> Iterator[str]:
    if done.backup is not None:
        taken = "that was given" if not done.backup.is_ours else f"taken by {done.backup.how}"
        yield f"A backup {taken}, restored into a runtime of its own"
    if done.looked is not None:
        rows = sum(extent.rows for extent in done.looked.extents.values())
        told = f"{count(len(done.looked.extents), 'conversation')}, {count(rows, 'row')}"
        yield f"It holds {told}, and was served as {done.looked.generation.label}"


def _scope(options: RestoreOptions, done: Rehearsed) -> Iterator[str]:
    missing = []
    if options.source is None:
        missing.append("the source")
    if options.snapshots is None:
        missing.append("snapshots")
    if not options.clients:
        missing.append("client transcripts")
    yield f"Not looked at: {', '.join([*missing, 'ledgers'])}."
    yield "An effect is counted where the log holds its result; the tools were not asked."
    yield from done.scope
    if not options.ax_bin:
        yield "The server is axnb's own, built after the facts of AX: it proves no AX binary."
    if done.looked is not None:
        yield from done.looked.skipped


def _parameters(options: RestoreOptions) -> dict[str, Any]:
    return {
        "source": "given" if options.source else "none",
        "others": len(options.others),
        "backup": "given" if options.backup else "taken",
        "how": options.how or "",
        "target_time": options.target_time or "",
        "snapshots": "given" if options.snapshots else "none",
        "snapshots_backup": "given" if options.snapshots_backup else "taken",
        "expect_last": [f"{e.conversation_id}={e.last}" for e in options.expectations],
        "seal": "given" if options.seal else "none",
        "ax_version": options.ax_version or "",
        "harnesses": [str(harness) for harness in options.harnesses],
        "rpo_steps": options.rpo_steps,
        "asked": options.asked,
    }


def _conversations(
    looked: Looked, loss: Loss | None, cuts: Mapping[str, Cut]
) -> Iterator[dict[str, Any]]:
    """Conversations of which there is something to say: those that lost or lack something."""
    lost = loss.steps if loss else {}
    source = looked.source.standings if looked.source else {}
    remembered = {pointer.conversation_id for pointer in loss.pointers} if loss else set()
    for key in sorted({*looked.extents, *lost, *cuts, *source, *remembered}):
        cut = cuts.get(key)
        if not {key} & {*lost, *remembered} and (cut is None or cut.relation == "fits"):
            continue
        mine = looked.extents.get(key)
        other = source[key].other if key in source else None
        yield {
            "conversation_id": key,
            "restored": mine.last_step if mine else 0,
            "source": other.last_step if other else None,
            "lost": [list(of) for of in ranges(lost.get(key, ()))],
            "differs": [list(of) for of in ranges(source[key].differing)] if key in source else [],
            "cut": cut.as_dict() if cut else None,
        }


def _pointer(pointer: Pointer) -> dict[str, Any]:
    return {
        "conversation_id": pointer.conversation_id,
        "steps": [list(of) for of in ranges(pointer.steps)],
        "who": pointer.who,
        "twice": pointer.is_past,
        "calls": [dict(call_evidence(call)) for call in pointer.calls],
    }


def _asked_as(looked: Looked | None) -> str:
    return looked.generation.label if looked else ""
