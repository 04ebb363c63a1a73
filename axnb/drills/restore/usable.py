"""Is what was restored usable? A server on it was asked to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axnb.drills.restore.asking import Asked, Served
from axnb.drills.restore.cutting import Cut
from axnb.drills.restore.telling import MOST, conversations, named, some
from axnb.drills.resume.seen import told_error
from axnb.drills.steps import Check, Evidence
from axnb.mapping import StateMap
from axnb.text import count
from axnb.triaging import ConversationTriage


def check_goes_on(served: Served) -> Check:
    """Conversations go on under the next number, with their owner, and nothing else is changed."""
    expected = "each asked conversation does what this version does with it, under the next number"
    if served.told:
        return Check(
            expected, served.told.rstrip("."), "not-run" if served.is_not_run else "failed"
        )
    evidence = tuple(map(_evidence, served.asked[:MOST]))
    if bad := [one for one in served.asked if one.trouble]:
        where = some([f"{named(one.conversation_id)}: {one.trouble}" for one in bad])
        return Check(expected, where, "failed", tuple(map(_evidence, bad[:MOST])))
    if served.touched:
        where = some(list(map(named, served.touched)))
        told = f"{conversations(len(served.touched))} changed unasked: {where}"
        return Check(expected, told, "failed", evidence)
    on = sum(one.goes_on for one in served.asked)
    blocked = len(served.asked) - on
    told = f"{on} of {conversations(len(served.asked))} went on"
    told += f", {blocked} {'is' if blocked == 1 else 'are'} refused as before" if blocked else ""
    # A new conversation alone proves that the server writes, and not that one can be resumed.
    is_proof = on > 1
    return Check(expected, told, "ok" if is_proof else "inconclusive", evidence)


def _evidence(asked: Asked) -> Evidence:
    return {
        "kind": "asked",
        "conversation_id": asked.conversation_id,
        "predicted": asked.predicted,
        "error": told_error(asked.answer),
        "last_step": max((row.step or 0 for row in asked.before), default=0),
        "new_steps": [row.step for row in asked.new],
    }


def check_quiet(served: Served, interrupted: Sequence[ConversationTriage]) -> Check:
    """A restored copy does nothing by itself; what it would do on request is told."""
    expected = "nothing runs by itself, and no tool is asked"
    if served.told:
        return Check(expected, "no server ran", "not-run")
    would = [c for c in interrupted if "resumes" in _may_do(c)]
    evidence = tuple(
        {"kind": "would-run", "conversation_id": c.conversation_id, "does": c.next.empty}
        for c in would[:MOST]
    )
    if served.requests:
        told = f"the tool service got {count(served.requests, 'request')}"
        return Check(expected, told, "failed", evidence)
    told = "nothing ran, and the tool service got no request"
    if would:
        told += f"; the next request of {conversations(len(would))} would restart a turn"
    return Check(expected, told, "ok", evidence)


def _may_do(conversation: ConversationTriage) -> set[str]:
    accepted = conversation.next.if_accepted or {}
    return {conversation.next.empty, *accepted.values()}


def check_snapshots(cuts: Mapping[str, Cut], mapped: StateMap) -> Check:
    """The snapshot of each conversation's cut can be restored by the described target."""
    expected = "the target would restore the snapshot of each conversation's cut"
    by_key = {snapshot.key: snapshot for snapshot in mapped.snapshots}
    wanted = {cut.snapshot: key for key, cut in cuts.items() if cut.snapshot in by_key}
    found: dict[str, list[str]] = {}
    for key, conversation_id in wanted.items():
        found.setdefault(by_key[str(key)].restorable, []).append(conversation_id)
    counts = ", ".join(f"{word} {len(of)}" for word, of in sorted(found.items()))
    if not found:
        return Check(expected, "no conversation has a cut with a snapshot", "inconclusive")
    evidence = tuple(
        {"kind": "snapshot", "key": key, "restorable": by_key[str(key)].restorable}
        for key in list(wanted)[:MOST]
    )
    if "refused" in found:
        return Check(expected, counts, "failed", evidence)
    return Check(expected, counts, "inconclusive" if "unknown" in found else "ok", evidence)
