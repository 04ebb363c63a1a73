"""A rehearsal as a line of events, in the order of cause and effect.

Times are not in it: they differ from run to run, and clocks of several processes prove no order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from axnb.drills.resume.seen import LoggedRow, Seen, told_error
from axnb.runtimes import Answer, Reversal

_WORDS = {
    "input": "logs the input",
    "thought": "thinks",
    "tool_call": "calls the tool",
    "tool_result": "tells the tool's result",
    "text": "answers",
    "confirmation": "asks a person",
    "end": "logs the end of the turn",
}
_MARKS = {"tool_call": "call", "tool_result": "result", "confirmation": "question"}


def timeline(seen: Seen, reversal: Reversal | None) -> list[dict[str, Any]]:
    """`{who, what, step, mark}` for each event; the interruption has the mark `kill`."""
    first, task = _split(seen.before.rows)
    after = [row for row in seen.log.rows if row.step > seen.before.last_step]
    resumed, later = _split(after) if seen.resumed.error is None else ([], after)
    requests = len(seen.observation.requests or ())
    early = min(seen.interruption.requests or 0, requests)
    # Where the client leaves, the actor goes on and asks the tool afterwards.
    cut = [_event(_victim(seen), seen.interruption.sentence, "kill")]
    done = [_event("tool", "does the operation", "effect") for _ in range(early)]
    return [
        _event("client", "asks for an ordinary turn", "input"),
        *map(_row, first),
        _event("client", "asks for the task", "input"),
        *map(_row, task),
        *(cut + done if seen.interruption.victims == ("client",) else done + cut),
        *(_event("watchdog", "raises an alert", "alert") for _ in seen.observation.alerts or ()),
        *_asked(seen.resumed, "resumes with an empty request"),
        *(_event("tool", "does the operation", "effect") for _ in range(requests - early)),
        *map(_row, resumed),
        *_asked(seen.next, "asks for the next turn"),
        *map(_row, later),
        *_reversed(reversal),
    ]


def _split(rows: Sequence[LoggedRow]) -> tuple[list[LoggedRow], list[LoggedRow]]:
    """Rows up to the first end of a turn, and those after it."""
    end = next((n for n, row in enumerate(rows, 1) if row.mark == "end"), len(rows))
    return list(rows[:end]), list(rows[end:])


def _victim(seen: Seen) -> str:
    victims = seen.interruption.victims
    return victims[0] if len(victims) == 1 else "drill"


def _asked(answer: Answer, what: str) -> Iterator[dict[str, Any]]:
    yield _event("client", what, "resume" if not answer.sent else "input")
    if (error := told_error(answer)) is not None:
        yield _event("server", f"refuses: {error}", "error")


def _row(row: LoggedRow) -> dict[str, Any]:
    who = "server" if row.mark in ("input", "end") else "actor"
    return _event(who, _WORDS.get(row.mark, row.mark), _MARKS.get(row.mark, row.mark), row.step)


def _reversed(reversal: Reversal | None) -> Iterator[dict[str, Any]]:
    if reversal is not None:
        yield _event("drill", reversal.sentence, "reverse")


def _event(who: str, what: str, mark: str, step: int | None = None) -> dict[str, Any]:
    return {"who": who, "what": what, "step": step, "mark": mark}
