"""The result of a migration drill, made by hand: it loses, it names owners, and damage stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axnb.ax.versions import GENERATIONS
from axnb.result import Result
from tests.report.made import RUN, by_hand, source

POINTS = ("matrix", "copy", "serve", "rollback", "plan")
CHECKS = ("as-it-is", "losses", "answers", "numbers", "statements")

#: Conversations of the log, with what becomes of each as it is, and of its damage.
LOST, WELL, CUT, BROKEN = "orders", "seats", "cut", "torn"

PLAN = "# --- 1. Freeze the writers\n# do:\n  kubectl scale deployment/ax-server --replicas=0\n"


def cell(works: int = 0, loses: int = 0, fails: int = 0, **more: Any) -> dict[str, Any]:
    """A cell of the matrix."""
    outcome = "fails" if fails else "loses" if loses else "works"
    told = {"outcome": outcome, "works": works, "loses": loses, "fails": fails, "unknown": 0}
    told |= {"how": {"wrong-column": fails} if fails else {}, "contents": 0, "contents_lost": 0}
    return {**told, "owners_lost": 0, "differs": 0, **more}


def row(name: str, origin: str, number: int, **cells: dict[str, Any]) -> dict[str, Any]:
    """A row of the matrix: what is not said of a version fails by its column."""
    versions = {version: cells.get(version) or cell(fails=number) for version in GENERATIONS}
    return {"rows": name, "from": origin, "conversations": number, "versions": versions}


ALL_LOST = cell(loses=3, contents=9, contents_lost=9, owners_lost=2)
PART_LOST = cell(loses=3, contents=90, contents_lost=4)
OWNERS_LOST = cell(loses=3, contents=9, owners_lost=3)

LOG = [
    row("as-it-is", "log", 3, G6=cell(works=3), G7=PART_LOST, G8=ALL_LOST),
    row("migrated", "log", 3, G6=ALL_LOST, G7=OWNERS_LOST, G8=cell(works=3)),
]
MATRIX = [
    row("G3", "specimen", 2, G3=cell(works=2), G4=cell(works=2, differs=2)),
    row("G5+G6", "log", 3, G6=cell(works=3), G7=PART_LOST, G8=ALL_LOST),
]


def under(outcome: str, how: str = "", **more: Any) -> dict[str, Any]:
    """What becomes of a conversation under the target."""
    does = {"empty": "nothing", "input": "new-turn"}
    server = {name: {"does": word, "error": None, "rows_added": 0} for name, word in does.items()}
    told = {"does": does, "harness": "antigravity", "history": "read", "outcome": outcome}
    return {**told, "how": how, "server": server, **more}


def conversation(name: str, state: str, before: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation, which works when it is migrated."""
    told = {"conversation_id": name, "generations": ["G5", "G6"], "state": state, "owner": "drill"}
    told |= {"owner_after": "drill", "owner_expected": "drill", "before": before}
    return {**told, "after": under("works"), "outcome": "works", **more}


def damage(name: str, way: str, kind: str, *steps: int) -> dict[str, Any]:
    """Something that stays after a rollback."""
    sentence = f"step {steps[0]} stays."
    return {
        "conversation_id": name,
        "way": way,
        "kind": kind,
        "steps": list(steps),
        "sentence": sentence,
    }


def journey(name: str, *states: str) -> dict[str, Any]:
    """An interrupted conversation there and back."""
    stages = ("log", "migrated", "asked", "back", "asked-again")
    told = [
        {"stage": stage, "rows": 3, "last_step": 3 + n, "owner": "drill", "state": state}
        for n, (stage, state) in enumerate(zip(stages, states, strict=True))
    ]
    asked = [{"server": "new", "empty": "resumes", "input": "new-turn"}]
    asked.append({"server": "old", "empty": "nothing", "input": "new-turn"})
    return {"conversation_id": name, "specimen": False, "stages": told, "asked": asked}


def answer(**parts: Any) -> dict[str, Any]:
    """The answer, in the schema of a migration drill."""
    left = [{"conversation_id": BROKEN, "step": "2", "reason": "ends too early: at character 53"}]
    migration = {
        "schema": "axnb.migrate/1",
        "target": "G8",
        "rows_read": 20,
        "rows_written": 20,
        "converted": 18,
        "as_it_is": 1,
        "as_it_is_first": left,
        "renumbered": 1,
        "owners": {"antigravity": 1},
        "losses": {"messages[].role": 2, "session_id": 7},
        "generations": {"G5": 5, "G6": 15},
        "executions": 4,
        "notes": ["the table notes is not carried."],
    }
    whole: dict[str, Any] = {
        "schema": "axnb.migration-drill/1",
        "verdict": "failed",
        "points": [
            {"point": p, "title": f"what of the {p}?", "verdict": "failed" if p == "copy" else "ok"}
            for p in POINTS
        ],
        "target": "G8",
        "back_to": "G6",
        "generations": ["G5", "G6"],
        "matrix": MATRIX,
        "log": LOG,
        "unmigrated": ALL_LOST,
        "migrated": cell(works=3),
        "migration": migration,
        "conversations": [
            conversation(WELL, "finished", under("works"), owner=""),
            conversation(LOST, "finished", under("loses", "7 of 7 contents, its owner")),
            conversation(CUT, "interrupted", under("fails", "wrong-column", server=None)),
            conversation(BROKEN, "unreadable", under("fails", "unreadable"), outcome="unreadable"),
        ],
        "rollback": [journey(CUT, "interrupted", "interrupted", *["finished"] * 3)],
        "damage": [
            damage(CUT, "migrated", "closed-unrun", 4),
            damage(LOST, "unmigrated", "other-words", 9, 10),
            damage(CUT, "unmigrated", "owner-rebound", 5),
            damage(LOST, "unmigrated", "owner-rebound", 9),
        ],
        "history": [
            {
                "conversation_id": LOST,
                "kind": "mixed-words",
                "steps": [1, 3],
                "sentence": "2 contents in messages.",
            }
        ],
        "snapshots": {},
        "programs": [],
    }
    return {**whole, **parts}


def steps(verdicts: Sequence[str] = ("ok", "failed", "ok", "ok", "ok")) -> tuple[Any, ...]:
    """A step a point."""
    shown = [{"path": "messages[].role", "times": 2, "accepted": True}]
    shown.append({"path": "session_id", "times": 7, "accepted": False})
    return tuple(
        {
            "point": point,
            "check": check,
            "expected": "it is as it should be",
            "observed": "it is so" if verdict == "ok" else "session_id (7)",
            "evidence": shown if check == "losses" else [],
            "verdict": verdict,
        }
        for point, check, verdict in zip(POINTS, CHECKS, verdicts, strict=True)
    )


def migration_drill(**parts: Any) -> Result:
    """A migration drill that failed: a path is lost that nobody accepted."""
    whole: dict[str, Any] = {
        "drill": "migration",
        "verdict": "failed",
        "parameters": {"to": "G8", "accept_loss": ["messages[].role"], "default_harness": "drill"},
        "sources": (source(read=20, parsed=19, rejected=1),),
        "examined": ("A log of G5, G6: 4 conversations, 20 rows",),
        "why": ("copy, losses: session_id (7).",),
        "measures": {"conversations": 4, "rows_copied": 20, "loss_paths": 2, "damage_migrated": 1},
        "steps": steps(),
        "plan": PLAN,
        "answer": answer(),
        "run": {**RUN, "again": "axnb drill migration log.sqlite --to=G8"},
    }
    return by_hand(**{**whole, **parts})


def whole_migration() -> Result:
    """One in which all is well."""
    calm = answer(damage=[], history=[], verdict="ok")
    calm["migration"] |= {"losses": {}, "as_it_is": 0, "as_it_is_first": [], "notes": []}
    for point in calm["points"]:
        point["verdict"] = "ok"
    return migration_drill(verdict="ok", steps=steps(("ok",) * 5), answer=calm, why=())


def no_copy() -> Result:
    """One whose migration broke off: nothing was served."""
    told = answer(migration={"error": "the disk is full."}, log=LOG[:1], rollback=[], damage=[])
    for one in told["conversations"]:
        one |= {"after": None, "owner_after": "", "outcome": "unknown"}
    measures = {"conversations": 4, "rows_copied": 0}
    return migration_drill(answer=told, measures=measures)
