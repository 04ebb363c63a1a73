"""Results of drills that answer in words, made by hand: restores that lose, one that is whole, and
a migration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from axnb.result import Result
from tests.report.made import RUN, by_hand, finding, source

Ranges = Sequence[tuple[int, int]]

WORDS = {
    "consistent": "is what was restored sound in itself?",
    "complete": "is all of it there?",
    "usable": "does it work?",
}

#: What a migration drill asks.
MIGRATION = {
    "matrix": "what does each version do with this log?",
    "copy": "is the migrated copy whole?",
    "serve": "does the new version go on from it?",
    "rollback": "can it be taken back?",
    "plan": "what does an operator do?",
}

#: Checks of a restore, each with its word; the failed ones with what shows it.
_CHECKS: Mapping[str, tuple[str, str, str]] = {
    "backup": ("consistent", "the backup is whole", "12,288 bytes, whole"),
    "store": ("consistent", "tables are as AX writes them", "as AX writes them"),
    "rows": ("complete", "each conversation is as in the source", "9 rows of 2 conversations"),
    "loss": ("complete", "nothing was written after the backup", "nothing was"),
    "numbers": ("complete", "no number is handed out again", "none is"),
    "first-write": ("usable", "the store takes the next row", "it takes both"),
    "goes-on": ("usable", "each asked conversation goes on", "3 of 3 conversations went on"),
}
_EVIDENCE: Mapping[str, list[dict[str, Any]]] = {
    "loss": [
        {"kind": "steps", "conversation_id": "orders", "first": 7, "last": 12},
        {
            "kind": "call",
            "conversation_id": "orders",
            "step": 9,
            "tool": "create_ticket",
            "operation_id": None,
            "outcome": "completed",
        },
    ],
    "numbers": [
        {
            "kind": "steps",
            "conversation_id": "orders",
            "first": n,
            "last": n,
            "who": "a client",
            "twice": n < 10,
        }
        for n in range(7, 13)
    ],
    "backup": [{"kind": "torn-page", "severity": "error", "shown_by": ["page 3"]}],
}


def _step(word: str, check: str, verdict: str) -> dict[str, Any]:
    _, expected, observed = _CHECKS[check]
    good = verdict == "ok"
    return {
        "point": word,
        "check": check,
        "expected": expected,
        "observed": observed if good else f"not so: {check}",
        "evidence": [] if good else _EVIDENCE.get(check, []),
        "verdict": verdict,
    }


def called(step: int, operation: str | None = "op-1", outcome: str = "completed") -> dict[str, Any]:
    """A call as the answer of a restore drill has it."""
    return {"step": step, "tool": "charge_card", "operation_id": operation, "outcome": outcome}


def conversation(
    name: str,
    restored: int,
    source: int | None = None,
    lost: Ranges = (),
    cut: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A conversation that loses something."""
    return {
        "conversation_id": name,
        "restored": restored,
        "source": source,
        "lost": [list(of) for of in lost],
        "differs": [],
        "cut": cut,
    }


def pointer(name: str, who: str, steps: Ranges, *calls: Any, twice: bool = False) -> dict[str, Any]:
    """Somebody who remembers numbers."""
    return {
        "conversation_id": name,
        "steps": [list(of) for of in steps],
        "who": who,
        "twice": twice,
        "calls": list(calls),
    }


#: One of each kind: handed out twice, long, gone, remembered by others alone, ahead of its log.
CONVERSATIONS = (
    conversation("orders", 6, 12, [(7, 12)]),
    conversation("long", 99_990, 100_000, [(99_991, 100_000)]),
    conversation("gone", 0, 3, [(1, 3)]),
    conversation("elsewhere", 0),
    conversation("hole", 9, 9, [(4, 5)]),
    conversation("ahead", 8, 8, cut={"relation": "snapshot-ahead", "step": 4}),
)
AGAIN = (
    pointer(
        *("orders", "the log lost.sqlite", [(7, 10)]),
        *(called(8), called(9, "op-2", "unknown"), called(9, "op-3")),
        twice=True,
    ),
    pointer("orders", "a client", [(9, 15)]),
    pointer("elsewhere", "the log lost.sqlite", [(1, 6)], called(2, None)),
)
_BAD = {"loss": "failed", "numbers": "failed", "goes-on": "inconclusive"}
_PHASES = {"take": 0.4, "judge": 0.01, "load": 2.0, "compare": 1.0, "start AX": 0.5}


def _worst(verdicts: Sequence[str]) -> str:
    order = ("failed", "inconclusive", "not-run", "ok")
    return min(verdicts, key=order.index, default="not-run")


def restore_result(
    conversations: Sequence[Mapping[str, Any]] = CONVERSATIONS,
    again: Sequence[Mapping[str, Any]] = AGAIN,
    bad: Mapping[str, str] = _BAD,
    **parts: Any,
) -> Result:
    """A restore drill in which some checks are not ok."""
    steps = tuple(
        _step(word, check, bad.get(check, "ok")) for check, (word, _, _) in _CHECKS.items()
    )
    verdict = _worst([step["verdict"] for step in steps])
    answer = {
        "schema": "axnb.restore-drill/1",
        "verdict": verdict,
        "points": [
            {
                "point": word,
                "title": asks,
                "verdict": _worst([s["verdict"] for s in steps if s["point"] == word]),
            }
            for word, asks in WORDS.items()
        ],
        "backup": {"kind": "sqlite", "how": "given"},
        "conversations": list(conversations),
        "again": list(again),
        "seal": {},
    }
    calls = [
        {
            **{name: call[name] for name in ("tool", "operation_id", "step")},
            "source": "log-2",
            "conversation_id": told["conversation_id"],
            "known": "no result" if call["outcome"] == "unknown" else "a result: completed",
        }
        for told in again
        for call in told["calls"]
    ]
    whole: dict[str, Any] = {
        "drill": "restore",
        "verdict": verdict,
        "steps": steps,
        "sources": (
            source(custody={"files": {"log.sqlite": {"size": 9, "sha256": "ab" * 32}}}),
            source(
                name="log-2", custody={"files": {"lost.sqlite": {"size": 9, "sha256": "cd" * 32}}}
            ),
        ),
        "examined": ("A backup that was given, restored into a runtime of its own",),
        "why": ("complete, loss: 21 steps.",) if conversations else ("All is as expected.",),
        "measures": {
            "conversations": 4,
            "rows": 100_013,
            "rpo_steps": 21 if conversations else 0,
            "rpo_conversations": 1 if conversations else 0,
            "rpo_effects": 2 if conversations else 0,
            "rpo_calls_unknown": 1 if conversations else 0,
            "numbers_again": 15 if again else 0,
            "steps": len(steps),
        },
        "unresolved": {"count": len(calls), "calls": calls},
        "answer": answer,
        "parameters": {"source": "given", "rpo_steps": 0},
        "scope": ("Not looked at: snapshots, ledgers.",),
        "run": {
            **RUN,
            "locators": ["log.sqlite", "lost.sqlite"],
            "again": "axnb drill restore log.sqlite lost.sqlite --backup=backup.sqlite --json",
            "phases": _PHASES,
            "rto_phases": ["judge", "load", "start AX"],
            "rto_seconds": 2.51,
        },
    }
    return by_hand(**{**whole, **parts})


def whole_restore(**parts: Any) -> Result:
    """A restore that loses nothing."""
    return restore_result((), (), {}, **parts)


def bad_backup() -> Result:
    """A backup of which nothing came out."""
    bad = {"backup": "failed", **dict.fromkeys([*_CHECKS][1:], "not-run")}
    unknown = dict.fromkeys(("rpo_steps", "rpo_conversations", "rpo_effects", "numbers_again"))
    run = {**RUN, "phases": {"take": 0.0}, "rto_phases": [], "rto_seconds": None, "again": ""}
    measures = {"conversations": 0, "rows": 0, **unknown}
    return restore_result((), (), bad, measures=measures, run=run, sources=())


def wounded_restore() -> Result:
    """All is well but for a wound that the log had before."""
    wound = finding(id="AX110", name="interrupted-turn", severity="error")
    return whole_restore(findings=(wound,))


def migration_result(**parts: Any) -> Result:
    """A drill with other words and a plan, and with nothing else that a view knows."""
    steps = [
        {
            "point": word,
            "check": f"{word}-check",
            "expected": "it is so",
            "observed": "it is so",
            "evidence": [{"kind": "row", "step": 3, "digest": "ab" * 32}],
            "verdict": "failed" if word == "rollback" else "ok",
        }
        for word in MIGRATION
    ]
    points = [
        {"point": step["point"], "title": asks, "verdict": step["verdict"]}
        for step, asks in zip(steps, MIGRATION.values(), strict=True)
    ]
    whole: dict[str, Any] = {
        "drill": "migration",
        "verdict": "failed",
        "steps": tuple(steps),
        "measures": {"conversations": 32, "losses": 0, "steps": 5},
        "answer": {"schema": "axnb.some-drill/1", "points": points},
        "parameters": {"target": "G8"},
        "plan": "-- 1. Freeze the writers.\naxnb migrate log.sqlite new.sqlite --to G8\n",
        "run": {**RUN, "again": ""},
    }
    return by_hand(**{**whole, **parts})
