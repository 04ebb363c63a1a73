"""A drill that answers in words, as sentences: what it is, how it went, and what shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from axnb.report.drill_words import as_evidence
from axnb.report.matrix_view import SCHEMA as MIGRATION
from axnb.report.matrix_view import in_words, label
from axnb.report.restore_view import STANDS
from axnb.report.view import brief, measured_numbers
from axnb.result import Result
from axnb.text import count

if TYPE_CHECKING:
    from axnb.report.rehearsal_view import RehearsalView

#: What a drill is, in one sentence, and the words that its report uses.
LEADS: Mapping[str, str] = {
    "restore": "Whether the event log can be restored to a new runtime: a backup was restored "
    "where nothing of the source is, and what came out was held against what should be.",
    "migration": "Whether another version can take the log over: a copy was migrated, served and "
    "rolled back, and what was there afterwards was held against what should be.",
    "reconciliation": "What the tools really did of what the log asks for: its calls were held "
    "against the ledgers of the tool systems.",
}
LEAD = "A rehearsal that was really done, in a scratch place: what was there afterwards was held "
LEAD += "against what should be."

GLOSSARIES: Mapping[str, str] = {
    "reconciliation": "A call is matched where the log and a ledger tell of one operation that was "
    "done once. Its result is lost where the ledger has it and the log has not: whoever repeats it "
    "does it twice. It was not done only where the ledger says so, or covers the moment of the "
    "call; elsewhere nobody knows.",
    "migration": "The matrix tells what every AX version makes of the rows of every generation: a "
    "version that loses in silence answers as if all were well, from an empty history or under "
    "another owner. A specimen is a small conversation of the drill's own, written as servers of a "
    "generation write it. A migrated copy says the same in the words of the target. Damage is what "
    "stays in a log, or beside it, when the older version opens it again.",
    "restore": "Consistent: what was restored is sound in itself. Complete: it holds all that its "
    "source, or whoever remembers, tells of. Usable: a store takes the next row, and a server on "
    "it goes on. RPO is what was written after the backup and would be lost; RTO is how long it "
    "takes until a request is answered again. A number is handed out twice where a server went on "
    "from a backup: whoever remembers the first one is misled.",
}

#: Phases of a restore, as a reader says them.
PHASES: Mapping[str, str] = {
    "take": "take the backup",
    "judge": "judge the backup",
    "copy": "copy the backup",
    "recover": "recover to its moment",
    "dump": "dump what was recovered",
    "load": "load it",
    "inspect": "look at the store",
    "write": "try the first write",
    "compare": "read and compare",
    "copy bucket": "copy the bucket",
    "restore bucket": "restore the bucket",
    "start server": "start the store",
    "start AX": "start AX",
    "first answers": "answer the first requests",
}

_WORDS = (("failed", "failed"), ("inconclusive", "inconclusive"), ("not-run", "not run"))


#: Why calls are to be read back: before the word for them, and as a sentence.
_READ_BACK: Mapping[str, tuple[str, str]] = {
    "restore": (
        "the restored log does not know",
        "The log that comes out of the backup does not know these calls, and an agent that goes on "
        "from it may make them again.",
    ),
    "reconciliation": (
        "nobody can tell what became of",
        "Neither the log nor a ledger tells what became of these calls.",
    ),
}


def read_back(result: Result) -> str:
    """Why calls are to be read back, before the word for them: `nobody can tell what became of`."""
    return _READ_BACK.get(result.drill, _READ_BACK["restore"])[0]


def why_read_back(result: Result) -> str:
    """The same as a sentence."""
    return _READ_BACK.get(result.drill, _READ_BACK["restore"])[1]


def reach(looked: RehearsalView) -> str:
    """`10 checks: 2 failed, 1 inconclusive, 7 ok.`"""
    found = [step.verdict for step in looked.steps()]
    told = [(found.count(verdict), word) for verdict, word in (*_WORDS, ("ok", "ok"))]  # type: ignore[arg-type]
    parts = ", ".join(f"{number:,} {word}" for number, word in told if number)
    return f"{count(len(found), 'check')}: {parts}." if found else "Nothing was checked."


def measured(result: Result) -> list[str]:
    """What was measured, a sentence each; what nobody knows is said."""
    if "rpo_steps" in result.measures:
        return [_rpo(result), *_again(result.measures)]
    if result.drill == "reconciliation":
        return [_reconciled(result.measures)]
    if result.answer.get("schema") == MIGRATION:
        return [as_it_is(result), as_migrated(result), *_stays(result)]
    told = [f"{number} {word}" for number, word in measured_numbers(result.measures)]
    return [f"{', '.join(told)}."] if told else []


def _reconciled(found: Mapping[str, Any]) -> str:
    """`9 calls: 8 matched, 1 result lost.`"""
    numbers = {name: number for name, number in found.items() if name != "calls" and number}
    told = [f"{numbers[name]:,} {name.replace('_', ' ')}" for name in reversed(numbers)]
    return f"{count(found.get('calls', 0), 'call')}: {', '.join(told)}." if told else "No calls."


def as_it_is(result: Result) -> str:
    """What the target would do with a log that nobody migrates."""
    target = label(result.answer["target"])
    return f"As it is, under {target}: {in_words(result.answer['unmigrated'])}."


def as_migrated(result: Result) -> str:
    """The same of the migrated copy."""
    if not result.measures.get("rows_copied"):
        return "Migrated: there is no copy."
    return f"Migrated: {in_words(result.answer['migrated'])}."


def _stays(result: Result) -> list[str]:
    """In how many conversations something stays that a rollback does not undo."""
    told = []
    for way, words in (("unmigrated", "without a migration"), ("migrated", "with one")):
        own = {d["conversation_id"] for d in result.answer["damage"] if d["way"] == way}
        told += [f"in {count(len(own), 'conversation')} {words}"] if own else []
    return [f"What a rollback does not undo stays {_listed(told)}."] if told else []


def _rpo(result: Result) -> str:
    found = result.measures
    steps = found["rpo_steps"]
    if not found.get("rows"):
        return "RPO: not known, for nothing was restored."
    if steps is None:
        return "RPO: not known. A lost tail leaves no gap, and neither source nor cursor was given."
    if not steps:
        return "RPO: nothing that its source holds would be lost."
    least = "at least " if result.parameters.get("source") == "none" else ""
    more = [
        count(found[name], noun) + rest
        for name, noun, rest in (
            ("rpo_conversations", "conversation", " as a whole"),
            ("rpo_effects", "effect", ""),
            ("rpo_calls_unknown", "call", " of unknown outcome"),
        )
        if found.get(name)
    ]
    return f"RPO: {least}{_listed([count(steps, 'step'), *more])} would be lost."


def _again(found: Mapping[str, Any]) -> list[str]:
    number = found.get("numbers_again")
    if not number:
        return []
    are = "was, or will be," if number == 1 else "were, or will be,"
    return [f"{count(number, 'number')} that somebody remembers {are} handed out twice."]


def _listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def timed(run: Mapping[str, Any]) -> str:
    """RTO as a sentence, with the phases that took the longest; nothing for another drill."""
    if "rto_seconds" not in run:
        return ""
    seconds = run["rto_seconds"]
    if not isinstance(seconds, (int, float)):
        return "RTO: not known, for no request was answered."
    found = sorted(rto_phases(run).items(), key=lambda phase: -phase[1])
    told = [f"{PHASES.get(name, brief(name, 40))} {as_time(of)}" for name, of in found[:3]]
    most = f" ({', '.join(told)})" if told else ""
    return f"RTO: {as_time(seconds)} on this machine{most}."


def rto_phases(run: Mapping[str, Any]) -> dict[str, float]:
    """The phases that a recovery has to go through, with their seconds."""
    every, names = run.get("phases"), run.get("rto_phases")
    if not isinstance(every, Mapping) or not isinstance(names, list):
        return {}
    return {name: every[name] for name in names if isinstance(every.get(name), (int, float))}


def as_time(seconds: float) -> str:
    """`80 ms`, `1.5 s`, `3 min 20 s`."""
    if seconds < 1:
        return f"{round(seconds * 1000):,} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60):,} min {int(seconds % 60)} s"


def file_names(result: Result) -> dict[str, str]:
    """What a person calls each source: its file or its database, where its custody names one."""
    found = {}
    for source in result.sources:
        custody = source.get("custody") or {}
        called = custody.get("database") or source["name"]
        found[str(source["name"])] = str(next(iter(custody.get("files") or {}), called))
    return found


def plan_lines(plan: str, most: int) -> list[str]:
    """A plan as it is to be read; what had to be escaped to be shown can be pasted by nobody."""
    return [brief(line, 400) for line in plan.rstrip("\n").split("\n")[:most]] if plan else []


# --- evidence ------------------------------------------------------------------------------------


def evidence_lines(evidence: Iterable[Mapping[str, Any]], most: int) -> tuple[str, ...]:
    """Evidence on one line each: `orders steps 7-12, handed out twice, known to a client`."""
    every = list(evidence)
    shown = every[: most - 1] if len(every) > most else every
    more = [f"… {len(every) - len(shown):,} more in result.json"] if len(every) > len(shown) else []
    return (*map(_line, shown), *more)


def _line(one: Mapping[str, Any]) -> str:
    tell = _TOLD.get(str(one.get("kind")))
    try:
        if tell is not None:
            return brief(tell(one), 300)
    except (KeyError, TypeError, ValueError):
        pass  # another drill's evidence of this kind has other keys
    if "severity" in one and "shown_by" in one:
        return brief(_flaw(one), 300)
    if "path" in one and "times" in one:
        told = f"{brief(one['path'], 200)} ({one['times']:,})"
        return f"{told}, accepted" if one.get("accepted") else told
    if "conversation_id" in one:
        return brief(_of_conversation(one), 300)
    return as_evidence([one], 1)[0]


def _whose(one: Mapping[str, Any]) -> str:
    return brief(one["conversation_id"], 60) or "(empty)"


def _of_conversation(one: Mapping[str, Any]) -> str:
    """`orders step 4: owner; listed role`: what is said in a sentence, else name by name."""
    about = {name: one[name] for name in one if name not in ("conversation_id", "step", "steps")}
    where = f"{_whose(one)} step {one['step']}" if one.get("step") is not None else _whose(one)
    said = one.get("sentence") or one.get("what") or one.get("reason")
    if said is not None:
        about = {name: value for name, value in about.items() if name in ("listed",) and value}
    told = [f"{name.replace('_', ' ')} {_joined(value)}" for name, value in about.items()]
    return f"{where}: {'; '.join([*([str(said)] if said is not None else []), *told])}"


def _joined(value: Any) -> str:
    every = value if isinstance(value, list) else [value]
    return brief(", ".join(str(one) for one in every if one is not None), 120)


def _steps(one: Mapping[str, Any]) -> str:
    first, last = one["first"], one["last"]
    which = f"step {first}" if first == last else f"steps {first}-{last}"
    told = [f"{_whose(one)} {which}"]
    told += ["handed out twice" if one["twice"] else "will come again"] if "twice" in one else []
    told += [f"known to {brief(one['who'], 60)}"] if one.get("who") else []
    return ", ".join(told)


def _call(one: Mapping[str, Any]) -> str:
    operation = brief(one["operation_id"], 60) or "(no id)"
    step = "?" if one["step"] is None else one["step"]
    return f"{_whose(one)} step {step}: {brief(one['tool'], 40)} {operation}, {one['outcome']}"


def _asked(one: Mapping[str, Any]) -> str:
    new = [step for step in one["new_steps"] if step is not None]
    came = f"steps {new[0]}-{new[-1]} came" if new else "nothing came"
    error = f", refused: {brief(one['error'], 120)}" if one.get("error") else ""
    return f"{_whose(one)}: {came} after {one['last_step']}{error}; expected: {one['predicted']}"


def _cut(one: Mapping[str, Any]) -> str:
    told = [f"{_whose(one)}: {STANDS.get(one['relation'], brief(one['relation'], 40))}"]
    told += [f"its newest cut is step {one['step']}"] if one["step"] is not None else []
    told += [f"snapshot {brief(one['snapshot'], 80)}"] if one["snapshot"] else []
    told += [f"by {one['how']}"] if one["how"] else []
    return ", ".join(told)


def _flaw(one: Mapping[str, Any]) -> str:
    shown = [brief(text, 80) for text in one["shown_by"][:6]]
    return f"{brief(one['kind'], 40)}{': ' if shown else ''}{', '.join(shown)}"


def _effect(one: Mapping[str, Any]) -> str:
    operation = brief(one["operation_id"], 60) or "(no id)"
    step = f" step {one['step']}" if one["step"] is not None else ""
    whose = f"{_whose(one)}{step}" if one["conversation_id"] is not None else "(no conversation)"
    told = [f"{whose}: {operation} {brief(one['class'].replace('-', ' '), 40)}"]
    told += [f"in the log {brief(one['outcome'], 40)}"] if one["outcome"] else []
    if one["ledger"]:
        entry = f"entry {brief(one['ledger'], 40)} {one['entry']} {brief(one['status'], 40)}"
        told += [entry.rstrip()]
        told += [f"by {brief(one['how'], 80)}"] if one["step"] is not None else []
    return f"{', '.join(told)}; {one['advice'].replace('-', ' ')}"


_TOLD: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "steps": _steps,
    "call": _call,
    "effect": _effect,
    "asked": _asked,
    "cut": _cut,
    "sealed": _whose,
    "would-run": lambda one: f"{_whose(one)}: an empty request {brief(one['does'], 60)}",
    "snapshot": lambda one: f"{brief(one['key'], 120)}: {brief(one['restorable'], 40)}",
    "more": lambda one: f"… {one['entries']:,} more",
}
