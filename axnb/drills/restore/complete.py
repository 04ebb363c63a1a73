"""Is the restored log complete? What it holds is held against its source, and what others know."""

from __future__ import annotations

from collections.abc import Mapping

from axnb.drills.restore.cutting import Cut
from axnb.drills.restore.looking import Call, Looked, Other
from axnb.drills.restore.losing import Loss, Pointer
from axnb.drills.restore.telling import (
    MOST,
    conversations,
    named,
    some,
    step_evidence,
    told_steps,
)
from axnb.drills.steps import Check, Evidence
from axnb.result import Verdict
from axnb.text import count

_NO_SOURCE = "its source was not read"


def check_rows(looked: Looked) -> Check:
    """Every row of the restored log is one of its source's, and none is left out between them."""
    expected = "each conversation is as in the source, from step 1 to where the backup ends"
    if looked.source is None:
        return Check(expected, _NO_SOURCE, "inconclusive")
    told = looked.source.standings
    for what, steps in (
        ("other than in the source", {k: s.differing for k, s in told.items()}),
        ("missing between others", {k: s.holes for k, s in told.items()}),
        ("not in the source", {k: s.extra for k, s in told.items()}),
    ):
        if found := [(key, of) for key, of in steps.items() if of]:
            rows = sum(len(of) for _, of in found)
            where = some([f"{named(key)} {told_steps(of)}" for key, of in found])
            observed = f"{what}: {count(rows, 'row')} of {conversations(len(found))}, {where}"
            return Check(expected, observed, "failed", tuple(step_evidence(found)))
    if unclear := [(key, s.unclear) for key, s in told.items() if s.unclear]:
        rows = sum(len(of) for _, of in unclear)
        where = some([f"{named(key)} {told_steps(of)}" for key, of in unclear])
        observed = f"nobody can compare {count(rows, 'row')}: {where}"
        return Check(expected, observed, "inconclusive", tuple(step_evidence(unclear)))
    if out := _out_of_order(looked.source):
        return Check(expected, out, "failed")
    if looked.source.doubts:
        return Check(expected, looked.source.doubts[0].rstrip("."), "inconclusive")
    rows = sum(extent.rows for extent in looked.extents.values())
    if not rows:
        return Check(expected, "the restored log holds no row", "failed")
    return Check(expected, f"{count(rows, 'row')} of {conversations(len(looked.extents))}", "ok")


def _out_of_order(source: Other) -> str:
    """Does the backup lack a conversation that was written before others that it holds?

    A log in SQLite keeps the order in which rows were committed, so a backup of one moment holds
    all that lies before its end.
    """
    if not source.is_ordered:
        return ""
    kept = max((s.other.last_row for s in source.standings.values() if not s.missing), default=0)
    early = [s for s in source.standings.values() if s.is_gone and s.other.last_row < kept]
    if not early:
        return ""
    where = some([named(standing.conversation_id) for standing in early])
    return f"{conversations(len(early))} written before what it holds are missing: {where}"


def check_loss(looked: Looked, loss: Loss, most: int) -> Check:
    """How much was written after the backup (RPO). A lost tail leaves no gap in a log."""
    allowed = "nothing" if not most else f"at most {count(most, 'step')}"
    expected = f"{allowed} was written after the backup"
    if not loss.is_known:
        told = "nothing tells: a lost tail leaves no gap, and neither source nor cursor is there"
        return Check(expected, told, "inconclusive")
    steps = loss.rpo_steps or 0
    evidence: tuple[Evidence, ...] = tuple(step_evidence(sorted(loss.steps.items())))
    if not steps:
        return Check(expected, "nothing was", "ok" if loss.is_exact else "inconclusive")
    calls = [f"{count(loss.rpo_effects or 0, 'effect')}"] if loss.rpo_effects else []
    calls += [f"{count(loss.unknown_calls or 0, 'call')} of unknown outcome"] * bool(
        loss.unknown_calls
    )
    gone = [f"{conversations(len(loss.gone))} as a whole"] if loss.gone else []
    least = "" if loss.is_exact else "at least "
    where = some([f"{named(key)} {told_steps(of)}" for key, of in sorted(loss.steps.items())])
    told = ", ".join([f"{least}{count(steps, 'step')}", *gone, *calls])
    evidence += tuple(map(call_evidence, loss.calls[:MOST]))
    if steps > most:
        return Check(expected, f"{told}: {where}", "failed", evidence)
    verdict: Verdict = "inconclusive" if loss.calls or not loss.is_exact else "ok"
    return Check(expected, f"{told}: {where}", verdict, evidence)


def call_evidence(call: Call) -> Evidence:
    """A call of a log."""
    return {
        "kind": "call",
        "conversation_id": call.conversation_id,
        "step": call.call_step,
        "tool": call.tool,
        "operation_id": call.operation_id,
        "outcome": call.outcome,
    }


def check_numbers(loss: Loss) -> Check:
    """A restored server hands out the lost numbers again; who remembers them is misled."""
    expected = "no number that somebody remembers is handed out again"
    past = [pointer for pointer in loss.pointers if pointer.is_past]
    future = [pointer for pointer in loss.pointers if not pointer.is_past]
    if past:
        calls = sum(len(pointer.calls) for pointer in past)
        behind = f"; {count(calls, 'call')} stand{'s' if calls == 1 else ''} behind them"
        told = f"handed out twice: {_told(past)}{behind if calls else ''}"
        return Check(expected, told, "failed", _pointed([*past, *future]))
    if future:
        return Check(expected, f"will come again: {_told(future)}", "failed", _pointed(future))
    if not loss.is_known:
        return Check(expected, "nobody tells which numbers there were", "inconclusive")
    if loss.rpo_steps:
        told = f"{count(loss.rpo_steps, 'number')} will come again, and no cursor or call tells"
        return Check(expected, told, "inconclusive")
    return Check(expected, "none is", "ok" if loss.is_exact else "inconclusive")


def _told(pointers: list[Pointer]) -> str:
    named_steps: dict[str, list[str]] = {}
    for pointer in pointers:
        where = f"{named(pointer.conversation_id)} {told_steps(pointer.steps)}"
        named_steps.setdefault(where, []).append(pointer.who)
    return some(
        [f"{where} ({', '.join(dict.fromkeys(who))})" for where, who in named_steps.items()]
    )


def _pointed(pointers: list[Pointer]) -> tuple[Evidence, ...]:
    found: list[Evidence] = []
    for pointer in pointers:
        of = [(pointer.conversation_id, pointer.steps)]
        found += step_evidence(of, who=pointer.who, twice=pointer.is_past)
        found += [call_evidence(call) for call in pointer.calls]
    return tuple(found[:MOST])


def check_seal(looked: Looked) -> Check | None:
    """The restored log beside what a former drill sealed; None where no seal was given."""
    sealed = looked.seal
    if sealed is None:
        return None
    expected = "every sealed conversation is there as it was, or goes on after it"
    if not sealed:
        return Check(expected, "the seal is empty", "inconclusive")
    found: dict[str, list[str]] = {"missing": [], "shorter": [], "other": [], "longer": []}
    for key, told in sealed.items():
        mine = looked.sealed.get(key)
        if mine is None:
            found["missing"].append(key)
        elif mine.rows != told["rows"]:
            found["shorter" if mine.rows < told["rows"] else "longer"].append(key)
        elif mine.digest is None or mine.digest.hex() != told["digest"]:
            found["other"].append(key)
    for what, of in found.items():
        if of:
            observed = f"{what} than sealed: " if what != "missing" else "missing: "
            observed += f"{conversations(len(of))}, {some(list(map(named, of)))}"
            evidence = tuple({"kind": "sealed", "conversation_id": key} for key in of[:MOST])
            # Of one that has gone on only its beginning was sealed, and nothing compares that.
            verdict: Verdict = "inconclusive" if what == "longer" else "failed"
            return Check(expected, observed, verdict, evidence)
    return Check(expected, f"{conversations(len(sealed))} as sealed", "ok")


def check_cut(cuts: Mapping[str, Cut], *, is_faithful: bool) -> Check:
    """Log and bucket fit: for each conversation there is a prefix of the log with a snapshot.

    In a faithful copy a snapshot that no restore takes is a wound that the bucket had before.
    """
    expected = "each conversation has a snapshot that fits the end of its log, or an earlier step"
    by: dict[str, list[Cut]] = {}
    for cut in cuts.values():
        by.setdefault(cut.relation, []).append(cut)
    counts = ", ".join(f"{name.replace('-', ' ')} {len(of)}" for name, of in sorted(by.items()))
    lost = [c for c in by.get("unrecoverable", ()) if not (c.is_refused and is_faithful)]
    bad = [*lost, *by.get("snapshot-ahead", ())]
    if bad:
        where = some([_about(cut) for cut in bad])
        return Check(
            expected, f"{counts}: {where}", "failed", tuple(map(_cut_evidence, bad[:MOST]))
        )
    behind = [*by.get("log-ahead", ()), *by.get("none", ())]
    # Of an unfaithful copy nobody knows whether a snapshot was there.
    unclear = [c for c in behind if c.calls or (c.relation == "none" and not is_faithful)]
    unclear += by.get("unknown", ())
    if unclear or not cuts:
        where = some([_about(cut) for cut in unclear]) if unclear else "nothing to compare"
        evidence = tuple(map(_cut_evidence, unclear[:MOST]))
        return Check(expected, f"{counts}: {where}" if counts else where, "inconclusive", evidence)
    return Check(expected, counts, "ok")


def _about(cut: Cut) -> str:
    name = named(cut.conversation_id)
    if cut.relation == "unknown":
        return f"{name}: nothing tells where its snapshot stands"
    first, last = cut.apart or (0, None)
    where = f"steps from {first} on" if last is None else f"steps {first}-{last}"
    if cut.relation in ("log-ahead", "none"):
        return f"{name}: its harness would not know {where}, with {count(cut.calls, 'call')}"
    back = f"; an older snapshot fits step {cut.step}" if cut.snapshot else ""
    return (
        f"{name}: the log lacks {where}{back}"
        if cut.relation == "snapshot-ahead"
        else (f"{name}: no snapshot of it fits")
    )


def _cut_evidence(cut: Cut) -> Evidence:
    return {"kind": "cut", "conversation_id": cut.conversation_id, **cut.as_dict()}
