"""The migration in a copy: is every row there, does it say the same, and who owns it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axnb.drills.migration.content import Difference, differences
from axnb.drills.migration.ground import Carried, Ground
from axnb.drills.migration.options import way_back
from axnb.drills.migration.reading import ReadLog
from axnb.drills.migration.rollback import older
from axnb.drills.steps import Check, Evidence
from axnb.migrating import Migrated
from axnb.text import count

_MOST_SHOWN = 20

_EXPECTED = {
    "rows": "every row of the log is in the copy, once, and no other",
    "content": "every row says in the copy what it says in the log, but for the listed losses",
    "owners": "every readable conversation has its owner in the copy; the default if it had none",
    "losses": "nothing is lost, but for what was accepted",
    "left-as-is": "only rows that nobody can read stay as they are, byte for byte",
    "round-trip": "taken back, every row says what it said, but for the listed losses",
}


def check_copy(ground: Ground, carried: Carried) -> ReadLog | None:
    """Judge a migrated copy; what is in it, or None where there is none."""
    if carried.migrated is None:
        for check in ("rows", "content", "owners", "losses", "left-as-is"):
            told = f"there is no copy: {carried.error}"
            ground.tell("copy", check, Check(_EXPECTED[check], told, carried.verdict))
        return None
    copy = ground.load(carried.log)
    named = ground.owners()
    found = differences(ground.case, ground.read, copy, (carried.target,), named)
    ground.tell("copy", "rows", _rows(ground.read, copy, carried.migrated, found))
    wrong = _wrong_owners(ground.read, copy, named)
    # Whoever lost the owner lost it in a row, too: that is told once.
    lost = {evidence["conversation_id"] for evidence in wrong}
    said = [d for d in found if d.what != "owner" or d.conversation_id not in lost]
    ground.tell("copy", "content", _content("content", ground.read, said))
    ground.tell("copy", "owners", _owners(ground.read, named, wrong))
    ground.tell("copy", "losses", _losses(carried.migrated, ground.options.accept_loss))
    ground.tell("copy", "left-as-is", _left(ground.read, carried.migrated, found))
    return copy


def check_round_trip(ground: Ground, carried: Carried, name: str = "round-trip") -> None:
    """Take the copy back to the version that the log came from, where there is such a way.

    `name` is what the copy is called.
    """
    old = older(ground.read, ground.target)
    if carried.migrated is None or way_back(old.name) is None:
        return
    back = ground.carry(carried.log, name, old)
    if back.migrated is None:
        told = f"the migration back to {old.name} broke off: {back.error}"
        ground.tell("copy", "round-trip", Check(_EXPECTED["round-trip"], told, back.verdict))
        return
    copy = ground.load(back.log, old)
    named = ground.owners()
    found = differences(ground.case, ground.read, copy, (carried.target, old), named)
    ground.tell("copy", "round-trip", _content("round-trip", ground.read, found))


def _rows(log: ReadLog, copy: ReadLog, migrated: Migrated, found: Sequence[Difference]) -> Check:
    expected = _EXPECTED["rows"]
    gone = [d for d in found if d.what in ("missing", "added")]
    read, held = int(log.facts["read"]), int(copy.facts["read"])
    told = f"{count(read, 'row')} in the log, {held:,} in the copy"
    if gone or read != held:
        shown = tuple(d.as_dict() for d in gone[:_MOST_SHOWN])
        first = (
            f"; {gone[0].conversation_id}: step {gone[0].step} is {gone[0].what}" if gone else ""
        )
        return Check(expected, told + first, "failed", shown)
    if (migrated.rows_read, migrated.rows_written) != (read, held):
        told += f"; the migration says {migrated.rows_read:,} and {migrated.rows_written or 0:,}"
        return Check(expected, told, "failed")
    return Check(expected, told, "ok")


def _content(check: str, log: ReadLog, found: Sequence[Difference]) -> Check:
    expected = _EXPECTED[check]
    # Of a round trip no other step tells of rows that are gone, or that nobody reads.
    elsewhere = () if check == "round-trip" else ("missing", "added", "text")
    other = [d for d in found if d.what not in elsewhere]
    wrong = [d for d in other if not d.is_listed]
    if wrong:
        first = wrong[0]
        told = f"{first.conversation_id}, step {first.step}: {first.what}"
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        shown = tuple(d.as_dict() for d in wrong[:_MOST_SHOWN])
        return Check(expected, f"{told} is another{more}", "failed", shown)
    told = f"{count(int(log.facts['read']), 'row')} compared, all say the same"
    if other:
        shown = tuple(d.as_dict() for d in other[:_MOST_SHOWN])
        rows = count(len({(d.conversation_id, d.step) for d in other}), "row")
        told = f"{count(int(log.facts['read']), 'row')} compared; {rows} lost what is listed"
        return Check(expected, told, "ok", shown)
    return Check(expected, told, "ok")


def _wrong_owners(log: ReadLog, copy: ReadLog, named: Mapping[str, str]) -> list[Evidence]:
    found = copy.find()
    wrong: list[Evidence] = []
    for c in log.conversations:
        owner = found[c.conversation_id].owner if c.conversation_id in found else ""
        if c.is_readable and owner != named[c.conversation_id]:
            shown = {"owner": owner, "expected": named[c.conversation_id]}
            wrong.append({"conversation_id": c.conversation_id, **shown})
    return wrong


def _owners(log: ReadLog, named: Mapping[str, str], wrong: Sequence[Evidence]) -> Check:
    expected = _EXPECTED["owners"]
    readable = [c for c in log.conversations if c.is_readable]
    if wrong:
        first = wrong[0]
        told = f"{first['conversation_id']}: {first['owner'] or 'nobody'} owns it"
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        told += f" instead of {first['expected']}{more}"
        return Check(expected, told, "failed", tuple(wrong[:_MOST_SHOWN]))
    new = sum(not c.owner for c in readable)
    told = f"{count(len(readable), 'conversation')}"
    if new:
        given = sorted({named[c.conversation_id] or "nobody" for c in readable if not c.owner})
        told += f", {new} of which had none: {', '.join(given)} now"
    return Check(expected, told, "ok")


def _losses(migrated: Migrated, accepted: Sequence[str]) -> Check:
    expected = _EXPECTED["losses"]
    shown: tuple[Evidence, ...] = tuple(
        {"path": path, "times": number, "accepted": path in accepted}
        for path, number in sorted(migrated.losses.items())
    )
    refused = [f"{e['path']} ({e['times']:,})" for e in shown if not e["accepted"]]
    if refused:
        told = f"{', '.join(refused)}: accept each by --accept-loss, or keep the log where it is"
        return Check(expected, told, "failed", shown)
    told = f"{count(len(shown), 'accepted path')}" if shown else "nothing is lost"
    return Check(expected, told, "ok", shown)


def _left(log: ReadLog, migrated: Migrated, found: Sequence[Difference]) -> Check:
    expected = _EXPECTED["left-as-is"]
    shown: tuple[Evidence, ...] = tuple(
        {"conversation_id": row.conversation_id, "step": row.step, "reason": row.reason}
        for row in migrated.as_it_is_first[:_MOST_SHOWN]
    )
    changed = [d for d in found if d.what == "text"]
    if changed:
        told = f"{changed[0].conversation_id}, step {changed[0].step}: its bytes are others"
        return Check(expected, told, "failed", tuple(d.as_dict() for d in changed[:_MOST_SHOWN]))
    if not migrated.as_it_is:
        return Check(expected, "there is no such row", "ok")
    told = f"{count(migrated.as_it_is, 'row')}, the first: {migrated.as_it_is_first[0].reason}"
    if migrated.as_it_is > int(log.facts["rejected"]):
        told += "; AX of their own version reads some of them"
        return Check(expected, told, "failed", shown)
    return Check(expected, told, "ok", shown)


def check_source(ground: Ground, *, is_unchanged: bool) -> Check:
    """Is the source what it was, and could all of it be read?"""
    expected = "the source is not touched, and all of it could be read"
    facts = ground.read.facts
    if not is_unchanged:
        told = "it is not what it was when the drill began: somebody writes to it"
        return Check(expected, told, "inconclusive")
    if facts["incomplete"]:
        return Check(expected, str(facts["incomplete"][0]), "inconclusive")
    if facts["rejected"]:
        told = f"unchanged; {count(int(facts['rejected']), 'row')} of it could not be read"
        return Check(expected, told, "inconclusive")
    if not facts["read"]:
        return Check(expected, "it holds no rows", "inconclusive")
    return Check(expected, "unchanged, every row read", "ok")
