"""Results of a resume drill made by hand: policies that double, lose, block, and one that is ok."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from axnb.result import Result
from axnb.runtimes import POINTS, POLICIES
from tests.report.made import RUN, by_hand

CHECKS = (
    *("state", "log-sequence", "snapshot-version", "side-effect", "retry-count"),
    *("response", "alert"),
)

#: Of a policy and a point: a letter a check (ok, failed, inconclusive, not-run), then what became
#: of the effect, how many there are, and whether a person is needed.
_MADE: Mapping[str, Mapping[int, tuple[str, str, int | None, bool]]] = {
    "ax": {
        1: ("xoooxxo", "not-executed", 0, True),
        2: ("xoooxxo", "not-executed", 0, True),
        3: ("xoo?oxo", "uncertain", 1, True),
        4: ("xoo?oxo", "uncertain", 1, True),
        5: ("ooooooo", "executed", 1, False),
        6: ("xoo?oxx", "uncertain", 1, True),
        7: ("-------", "", None, False),
        8: ("xoo?oxo", "uncertain", 1, True),
    },
    "requeue": {
        1: ("ooooooo", "executed", 1, False),
        2: ("ooooooo", "executed", 1, False),
        3: ("oooxooo", "re-executed", 2, True),
        4: ("oooxooo", "re-executed", 2, True),
        5: ("ooooooo", "executed", 1, False),
        6: ("oooxxoo", "re-executed", 2, True),
        7: ("-------", "", None, False),
        8: ("oxoxooo", "re-executed", 2, True),
    },
    "read-before-retry": {
        1: ("ooooooo", "executed", 1, False),
        2: ("ooooooo", "executed", 1, False),
        3: ("ooooooo", "reused", 1, False),
        4: ("ooooooo", "reused", 1, False),
        5: ("ooooooo", "executed", 1, False),
        6: ("ooooooo", "reused", 1, False),
        7: ("-------", "", None, False),
        8: ("ooooooo", "reused", 1, False),
    },
}
_WORDS = {"o": "ok", "x": "failed", "?": "inconclusive", "-": "not-run"}

_OBSERVED = {
    "state": ("the turn has an end", "the turn is pending"),
    "log-sequence": ("steps 1 to 9, without a gap or a double", "steps 1 to 9, step 7 twice"),
    "snapshot-version": ("the snapshot that was taken last", "no actor was restored"),
    "side-effect": (
        "exactly one effect, whose result the log holds",
        "1 effect, and no result in the log",
    ),
    "retry-count": ("as many requests as the runtime tells of: 1", "2 requests; it tells of 1"),
    "response": (
        "an empty request is answered",
        "FAILED_PRECONDITION: no input messages queued, or stuck in an inconsistent state",
    ),
    "alert": ("AxTurnInterrupted, with the conversation", "no alert names the conversation"),
}

_TIMELINE: tuple[tuple[str, str, int | None, str], ...] = (
    ("client", "asks: Reserve seat 12A as op-7f3a21", None, "input"),
    ("server", "logs the input", 4, "input"),
    ("actor", "thinks: A reservation is needed.", 5, "thought"),
    ("actor", "calls reserve with op-7f3a21", 6, "call"),
    ("tool", "reserves seat 12A: entry 1", None, "effect"),
    ("drill", "SIGKILL of server and actor, held at actor.committed", None, "kill"),
    ("watchdog", "raises AxTurnInterrupted", None, "alert"),
    ("client", "resumes with an empty request", None, "resume"),
    ("server", "answers: no input messages queued", None, "error"),
    ("client", "asks: Which reservation do I have?", None, "input"),
    ("server", "answers: no input messages queued", None, "error"),
    ("drill", "releases entry 1 and reads the ledger back", None, "reverse"),
)


_REVERSED = {
    "expected": "no effect of the task is left",
    "observed": "entry 1 is released",
    "evidence": [{"kind": "ledger", "entry": 1, "status": "released"}],
    "verdict": "ok",
}


def _events(*told: tuple[str, str, int | None, str]) -> list[dict[str, Any]]:
    return [{"who": w, "what": what, "step": step, "mark": mark} for w, what, step, mark in told]


def _step(policy: str, point: int, check: str, letter: str) -> dict[str, Any]:
    expected, other = _OBSERVED[check]
    verdict = _WORDS[letter]
    observed = {"ok": expected, "not-run": "no bucket: nothing was restored"}.get(verdict, other)
    evidence: list[dict[str, Any]] = []
    if verdict != "not-run":
        evidence = {
            "side-effect": [
                {"kind": "ledger", "operation_id": "op-7f3a21", "status": "reserved", "entry": 1},
                {"kind": "row", "step": 6, "digest": "3f" * 32},
            ],
            "snapshot-version": [{"kind": "object", "key": "c1/7/manifest", "sha256": "a1" * 32}],
            "alert": [{"kind": "alert", "name": "AxTurnInterrupted", "state": "firing"}],
            "response": [{"kind": "answer", "error": observed}] if verdict == "failed" else [],
        }.get(check, [{"kind": "row", "step": 7, "digest": "5c" * 32}])
    return {
        "policy": policy,
        "point": point,
        "check": check,
        "expected": expected,
        "observed": observed,
        "evidence": evidence,
        "verdict": verdict,
    }


def _verdict(words: Iterable[str]) -> str:
    found = set(words)
    return next(w for w in ("failed", "inconclusive", "not-run", "ok") if w in found)


def _point(policy: str, point: int) -> dict[str, Any]:
    letters, became, effects, person = _MADE[policy][point]
    ran = became != ""
    return {
        "point": point,
        "title": POINTS[point],
        "verdict": _verdict(_WORDS[letter] for letter in letters),
        "class": became or None,
        "effects": effects,
        "person": person,
        "why": _WHY[became],
        "interruption": "SIGKILL of server and actor, held at actor.committed" if ran else None,
        "reversal": _REVERSED if ran else None,
        "timeline": _events(*_TIMELINE) if ran else [],
    }


_WHY = {
    "not-executed": "nothing was done; every later request is refused",
    "uncertain": "an effect exists and the log does not know it; every later request is refused",
    "re-executed": "the tool was asked again: 2 effects of one operation",
    "reused": "the effect of before was found by its operation id, and not repeated",
    "executed": "the task was done once, by the resume",
    "": "",
}


def _policy(policy: str) -> dict[str, Any]:
    points = [_point(policy, point) for point in POINTS]
    is_known = policy != "ax"
    return {
        "policy": policy,
        "means": POLICIES[policy],  # type: ignore[index]
        "verdict": _verdict(point["verdict"] for point in points),
        "points": points,
        "cancellation": {
            "expected": "a stopped stream is no reversed effect: the ledger has it still",
            "observed": "entry 1 is reserved after the client left",
            "evidence": [{"kind": "ledger", "entry": 1, "status": "reserved"}],
            "verdict": "ok" if is_known else "inconclusive",
            "reversal": _REVERSED,
            "timeline": _events(("client", "goes away", None, "kill"), *_TIMELINE[-1:]),
        },
    }


def drill_result(*policies: str, **parts: Any) -> Result:
    """A drill of some policies; of all three if none is named."""
    names = policies or tuple(_MADE)
    steps = tuple(
        _step(policy, point, check, letter)
        for policy in names
        for point in POINTS
        for check, letter in zip(CHECKS, _MADE[policy][point][0], strict=True)
    )
    made = [_policy(policy) for policy in names]
    answer = {
        "schema": "axnb.resume-drill/1",
        "program": {
            "kind": "embedded",
            "generation": "G8",
            "sha256": "0123456789abcdef" * 4,
            "name": "axnb.runtimes.embedded",
        },
        "policies": made,
    }
    became = [point["class"] for policy in made for point in policy["points"]]
    whole = {
        "drill": "resume",
        "verdict": _verdict(policy["verdict"] for policy in made),
        "parameters": _parameters(names),
        "steps": steps,
        "measures": {
            "points": len(POINTS) * len(names),
            "steps": len(steps),
            "failed": sum(step["verdict"] == "failed" for step in steps),
            "inconclusive": sum(step["verdict"] == "inconclusive" for step in steps),
            "not_run": sum(step["verdict"] == "not-run" for step in steps),
            "effects_doubled": became.count("re-executed"),
            "effects_lost": became.count("not-executed"),
            "effects_unknown": became.count("uncertain"),
        },
        "answer": answer,
        "why": (
            "ax leaves 4 effects unknown and blocks 6 of 8 conversations.",
            "requeue doubles 4 effects: the tool is not idempotent.",
        ),
        "scope": (
            "Not looked at: PostgreSQL, a bucket on S3, a real AX server.",
            "An embedded program never counts as AX.",
        ),
        "run": {**RUN, "locators": [], "again": "axnb drill resume --json"},
    }
    return by_hand(**{**whole, **parts})


def healthy_drill() -> Result:
    """All is well at each point that was asked for."""
    points = [point for point in POINTS if point != 7]
    whole = drill_result("read-before-retry")
    answer = dict(whole.answer)
    (policy,) = answer["policies"]
    kept = [point for point in policy["points"] if point["point"] in points]
    answer["policies"] = [{**policy, "verdict": "ok", "points": kept}]
    steps = tuple(step for step in whole.steps if step["point"] in points)
    return drill_result(
        "read-before-retry",
        verdict="ok",
        steps=steps,
        answer=answer,
        why=("Each effect exists once, and the log has its result.",),
        parameters={**whole.parameters, "points": points},
        measures={"points": len(points), "steps": len(steps), "failed": 0, "inconclusive": 0},
    )


def _parameters(policies: Iterable[str]) -> dict[str, Any]:
    return {
        "runtime": "embedded",
        "policies": list(policies),
        "idempotent": False,
        "generation": "G8",
        "store": "sqlite",
        "retry": "write",
        "snapshots": "folder",
        "points": list(POINTS),
        "repeat": 1,
        "seed": 0,
    }
