"""The incomplete conversation: there, an attempt to resume, and back.

By migrated copies, and by the file as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from axnb.ax.versions import GENERATIONS, Generation
from axnb.drills.migration.asking import Served
from axnb.drills.migration.damage import Damage, damages
from axnb.drills.migration.ground import Ground
from axnb.drills.migration.logs import ScratchLog
from axnb.drills.migration.options import SERVED, way_back
from axnb.drills.migration.reading import Conversation, ReadLog
from axnb.drills.migration.specimens import specimen as specimen_rows
from axnb.drills.migration.stages import Journey, Journeys, Stage
from axnb.drills.steps import Check, Evidence
from axnb.result import Verdict
from axnb.text import count

#: The stages of a journey, in order.
STAGES = ("log", "migrated", "asked", "back", "asked-again")

_MOST_SHOWN = 20

_EXPECTED = {
    "numbers": "no step number is lost or given twice, and new ones follow the last",
    "owner": "each conversation keeps its owner at every stage",
    "calls": "the calls and results are the same ones at every stage",
    "effects": "no tool is asked, and no other conversation changes",
    "state": "each server does what the state at its stage foretells; nothing else ends a turn",
}
_UNMIGRATED = "what the new version leaves in the file, without a migration, is known"


@dataclass
class Rolled:
    """What came of it."""

    journeys: list[Journey] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)


@dataclass(frozen=True)
class Start:
    """What the rehearsals start from: a copy of the log in which a conversation is interrupted."""

    #: Nobody serves it.
    log: str
    #: The same, to be served as it is.
    unmigrated: str
    ids: tuple[str, ...]
    #: The conversation of the drill's own; empty where the log has interrupted ones.
    specimen: str = ""


def older(read: ReadLog, target: Generation) -> Generation:
    """The version that a rollback goes back to: the newest in the log that is not the target."""
    names = ["G5b" if name == "G5|G5b" else name for name in read.generations]
    others = [name for name in names if name != target.name] or names or [read.newest]
    return GENERATIONS[others[-1]]


def start(ground: Ground, asked: Sequence[Conversation]) -> Start:
    """A copy of the log, with an interrupted conversation of the drill's own if it has none."""
    log = ground.store.copy(ground.raw, "start")
    ids = tuple(c.conversation_id for c in asked if c.state == "interrupted")
    specimen = "" if ids else _write_specimen(ground, log)
    ids = ids or ((specimen,) if specimen else ())
    return Start(log, ground.store.copy(log, "unmigrated"), ids, specimen)


def _write_specimen(ground: Ground, log: str) -> str:
    """Put an interrupted conversation into a copy, in the words of the older version; its id.

    Empty where that version has another column.
    """
    old = older(ground.read, ground.target)
    if old.step_column != ScratchLog(log).column:
        return ""
    name = "axnb-specimen"
    while name in ground.read.find():
        name += "-"
    rows = specimen_rows(old, "interrupted", name, ground.harnesses[0].id)
    ScratchLog(log).append(name, rows)
    return name


def roll_back(ground: Ground, begun: Start, unmigrated: Served) -> Rolled:
    """Rehearse both ways. `unmigrated` is a copy of the start that the target served as it is."""
    rolled, old = Rolled(), older(ground.read, ground.target)
    if (why := _no_way(old, begun)) is not None:
        for check, expected in _EXPECTED.items():
            ground.tell("rollback", check, Check(expected, why, "not-run"))
    else:
        _migrated(ground, begun, old, rolled)
    _by_the_file(ground, begun, unmigrated, old, rolled)
    return rolled


def _no_way(old: Generation, begun: Start) -> str | None:
    if old.name not in SERVED:
        return f"axnb serves no log of {old.name}: what it would do on the way back is not known"
    if way_back(old.name) is None:
        return f"there is no migration back to {old.name}: a rollback is a restore of the backup"
    if not begun.ids:
        return f"the log has no interrupted conversation, and its column takes none of {old.name}"
    return None


def _migrated(ground: Ground, begun: Start, old: Generation, rolled: Rolled) -> None:
    found = Journeys(ground.harnesses, begun.ids)
    served, lost, error, verdict = _travel(ground, begun, old, found)
    if error:
        for check, expected in _EXPECTED.items():
            ground.tell("rollback", check, Check(expected, error, verdict))
        return
    rolled.journeys = found.journeys(begun.specimen, is_exact=not lost)
    for check, wrong in _CHECKS.items():
        ground.tell("rollback", check, _judged(check, rolled.journeys, wrong, served))
    for journey in rolled.journeys:
        before, replies = journey.stages["migrated"].rows, journey.replies["new"]
        new = ground.target
        rolled.damages += damages(journey.conversation_id, "migrated", before, replies, new, old)


def _travel(
    ground: Ground, begun: Start, old: Generation, found: Journeys
) -> tuple[list[Served], bool, str, Verdict]:
    """There and back: the servers, whether something was lost that a version cannot hold, and why
    it broke off, with what that means."""
    new, ids = ground.target, list(begun.ids)
    found.look("log", begun.log, old)
    there = ground.carry(begun.log, "rollback-new", new)
    if there.error:
        return [], False, f"the migration to {new.name} broke off: {there.error}", there.verdict
    found.look("migrated", there.log, new)
    first = ground.bench.serve("rollback-new", there.log, new, ids)
    if first.error:
        return [first], False, f"the server of {new.name} broke off: {first.error}", "failed"
    found.tell("new", first.replies)
    found.look("asked", there.log, old)
    back = ground.carry(there.log, "rollback-old", old)
    if back.error:
        told = f"the migration back to {old.name} broke off: {back.error}"
        return [first], False, told, back.verdict
    found.look("back", back.log, old)
    second = ground.bench.serve("rollback-old", back.log, old, ids)
    if second.error:
        return (
            [first, second],
            False,
            f"the server of {old.name} broke off: {second.error}",
            "failed",
        )
    found.tell("old", second.replies)
    found.look("asked-again", back.log, old)
    return [first, second], bool(there.losses or back.losses), "", "ok"


def _judged(
    check: str, journeys: Sequence[Journey], wrong: Callable[[Journey], str], served: list[Served]
) -> Check:
    expected = _EXPECTED[check]
    found: list[Evidence] = [
        {"conversation_id": journey.conversation_id, "what": what}
        for journey in journeys
        if (what := wrong(journey))
    ]
    if check == "effects":
        found += [
            {"conversation_id": name, "what": "it changed, and nobody asked about it"}
            for one in served
            for name in one.changed
        ]
        if requests := sum(one.tool_requests for one in served):
            found.insert(0, {"conversation_id": "", "what": f"{requests} requests to the tool"})
    if found:
        told = f"{found[0]['conversation_id']}: {found[0]['what']}"
        return Check(expected, told, "failed", tuple(found[:_MOST_SHOWN]))
    told = f"so it is with {count(len(journeys), 'interrupted conversation')}"
    if any(journey.is_specimen for journey in journeys):
        told += ", the drill's own: the log has none"
    return Check(expected, told, "ok")


def _numbers(journey: Journey) -> str:
    stages = [journey.stages[name] for name in STAGES]
    for name, stage in zip(STAGES, stages, strict=True):
        if len(set(stage.steps)) < len(stage.steps):
            return f"a number stands twice ({name})"
    for kept, then in ((0, 1), (2, 3)):
        if stages[kept].steps != stages[then].steps:
            return f"the numbers are others after a migration ({STAGES[then]})"
    for before, after in ((1, 2), (3, 4)):
        old, new = stages[before].steps, stages[after].steps
        last = max(old, default=0)
        added = [step for step in new if step not in old]
        if not set(old) <= set(new):
            return f"a number is lost ({STAGES[after]})"
        if added != list(range(last + 1, last + 1 + len(added))):
            return f"new numbers do not follow step {last} ({STAGES[after]})"
    return ""


def _owner(journey: Journey) -> str:
    owners = [journey.stages[name].owner for name in STAGES]
    named = owners[0] or owners[1]
    for name, owner in zip(STAGES[1:], owners[1:], strict=True):
        if owner != named or not owner:
            return f"{owner or 'nobody'} owns it instead of {named or 'anybody'} ({name})"
    return ""


def _calls(journey: Journey) -> str:
    # What of a result a version cannot hold, the migration lists.
    exact = journey.is_exact
    first = journey.stages["log"].calls(results=exact)
    for name in STAGES[1:]:
        if journey.stages[name].calls(results=exact) != first:
            return f"its calls or results are others ({name})"
    return ""


def _effects(journey: Journey) -> str:
    for server, of in journey.replies.items():
        if not (of.empty.is_untouched and of.input.is_untouched):
            return f"a row that was there is another after the {server} version"
    return ""


def _state(journey: Journey) -> str:
    for server, stage in (("new", "migrated"), ("old", "back")):
        of = journey.replies.get(server)
        if of is None:
            return f"the {server} version was not asked"
        words = journey.stages[stage].foretold
        if of.does != words:
            return f"the {server} version does {', '.join(of.does)}, foretold {', '.join(words)}"
    for kept, then in (("log", "migrated"), ("asked", "back")):
        one, other = journey.stages[kept], journey.stages[then]
        if _ends(one) != _ends(other):
            return f"its turns end elsewhere after a migration ({then})"
    return ""


def _ends(stage: Stage) -> list[tuple[int, int]]:
    return [(row.step, row.state) for row in stage.rows if row.state]


_CHECKS: dict[str, Callable[[Journey], str]] = {
    "numbers": _numbers,
    "owner": _owner,
    "calls": _calls,
    "effects": _effects,
    "state": _state,
}


# --- without a migration -------------------------------------------------------------------------


def _by_the_file(
    ground: Ground, begun: Start, served: Served, old: Generation, rolled: Rolled
) -> None:
    """The file was simply opened by the other version; now the old one opens it again."""
    ids = list(served.replies)
    if served.error or old.name not in SERVED:
        why = served.error or f"axnb serves no log of {old.name}"
        ground.tell("rollback", "without-migration", Check(_UNMIGRATED, why, "not-run"))
        return
    before = ScratchLog(begun.log)
    for name in ids:
        rows = [row.decoded(before.column) for row in before.rows(name)]
        replies = served.replies[name]
        rolled.damages += damages(name, "unmigrated", rows, replies, ground.target, old)
    again = ground.bench.serve("unmigrated-old", begun.unmigrated, old, ids)
    ground.tell("rollback", "without-migration", _told(rolled.damages, again, len(ids)))


def _told(found: Sequence[Damage], again: Served, asked: int) -> Check:
    own = [damage for damage in found if damage.way == "unmigrated"]
    if again.error:
        return Check(_UNMIGRATED, f"the old version broke off: {again.error}", "inconclusive")
    refused = sum(of.input.error is not None for of in again.replies.values())
    where = count(len({damage.conversation_id for damage in own}), "conversation")
    kinds = ", ".join(sorted({damage.kind for damage in own}))
    told = f"damage that stays in {where} of {asked} ({kinds})" if own else "no damage that stays"
    after = f"; back under {again.generation.name}, {refused} of {asked} refuse a new input"
    return Check(_UNMIGRATED, told + after, "ok", tuple(d.as_dict() for d in own[:_MOST_SHOWN]))
