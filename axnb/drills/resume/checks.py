"""The seven observations: what is expected after a recovery, what was observed, and the verdict.

The expectation is the same for every policy and every runtime; only how the operation may be
repeated (`[tools.NAME] retry`) changes it. A check looks at its own subject alone, so that what is
broken in one place turns one step red.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from axnb.drills.resume.evidence import (
    RELEASED,
    alert_evidence,
    answer_evidence,
    evidence_of_effects,
    output_evidence,
    request_evidence,
    row_evidence,
)
from axnb.drills.resume.log_checks import check_log, check_snapshot, check_state
from axnb.drills.resume.replay import (
    all_outputs,
    listed,
    missed,
    other,
    wrong_order,
    wrong_replay,
)
from axnb.drills.resume.seen import Log, Seen, delivered, reservation_of, told_error
from axnb.drills.steps import Check
from axnb.text import count


def check_effect(seen: Seen) -> Check:
    """External side effect, by reading the tool system."""
    retry = seen.task.retry
    expected = {
        "read": "the operation was done, once or more often, and the log holds its result",
        "barrier": "exactly one effect whose result the log holds; or none, and a person is asked",
    }.get(retry, "exactly one effect, and the log holds its result")
    effects = seen.observation.effects
    if effects is None:
        return Check(expected, "the tool system cannot be read", "inconclusive")
    evidence = (
        *evidence_of_effects(effects),
        *(row_evidence(seen, row.step, row.digest) for row, _ in seen.results),
    )
    if not effects:
        if retry == "barrier" and seen.asks and not seen.results:
            shown = tuple(row_evidence(seen, row.step, row.digest) for row, _ in seen.asks)
            return Check(expected, "no effect, and a person is asked", "ok", shown)
        if seen.results:
            return Check(expected, "no effect, and the log holds a result", "failed", evidence)
        return Check(expected, "no effect: the task was never done", "failed", evidence)
    number = count(len(effects), "effect")
    if any(effect["status"] == RELEASED for effect in effects):
        return Check(expected, f"{number}, undone already by somebody", "failed", evidence)
    if any(effect.get("item", seen.task.item) != seen.task.item for effect in effects):
        return Check(expected, f"{number}, and of something else", "failed", evidence)
    if len(effects) > 1 and retry != "read":
        return Check(expected, f"{number} of one operation", "failed", evidence)
    if not seen.results:
        told = f"{number}, and no result in the log: from the log alone it is unknown"
        return Check(expected, told, "inconclusive", evidence)
    told_of = {reservation_of(part) for _, part in seen.results}
    if not all(told_of) or not all(effect["reservation"] for effect in effects):
        told = f"{number}, and a result that does not say which"
        return Check(expected, told, "inconclusive", evidence)
    if not told_of <= {effect["reservation"] for effect in effects}:
        told = f"{number}, and the log holds the result of another"
        return Check(expected, told, "failed", evidence)
    return Check(expected, f"{number}, and the log holds its result", "ok", evidence)


def check_retries(seen: Seen) -> Check:
    """Retry count: what the tool was asked, against what the runtime says that it asked."""
    most = {"write": 1, "barrier": 1}.get(seen.task.retry)
    often = "as often as it likes" if most is None else "once at most"
    if seen.task.retry == "barrier":
        often += ", after an unknown outcome by a person alone"
    expected = f"the tool is asked {often}, and as often as the runtime says"
    asked, told = seen.observation.requests, seen.observation.reported
    if asked is None:
        return Check(expected, "nobody can tell how often the tool was asked", "inconclusive")
    evidence = tuple(request_evidence(request) for request in asked)
    times = count(len(asked), "request")
    if most is not None and len(asked) > most:
        return Check(expected, times, "failed", evidence)
    is_again = len(asked) > (seen.interruption.requests or 0) and seen.called_before
    if seen.task.retry == "barrier" and is_again:
        return Check(expected, f"{times}, and no person was asked", "failed", evidence)
    if len(asked) < (seen.interruption.requests or 0):
        return Check(expected, f"{times}, and there were more before", "failed", evidence)
    if seen.observation.effects and not asked:
        return Check(expected, f"{times}, and an effect", "failed", evidence)
    if told is None:
        return Check(expected, f"{times}; the runtime keeps no count of its own", "ok", evidence)
    missing = Counter(map(_attempt, told)) - Counter(map(_attempt, asked))
    hidden = Counter(map(_attempt, asked)) - Counter(map(_attempt, told))
    if hidden or missing.total() > seen.interruption.cut_requests:
        return Check(expected, f"{times}, the runtime says {len(told)}", "failed", evidence)
    return Check(expected, f"{times}, as the runtime says", "ok", evidence)


def _attempt(request: Mapping[str, Any]) -> tuple[Any, Any]:
    return request.get("operation_id"), request.get("attempt")


def check_response(seen: Seen) -> Check:
    """User-visible response: no false success, then the answer, and a conversation that goes on."""
    expected = "no success is told before there is one; then the user gets the answer"
    outputs = (*seen.interruption.answer.outputs, *seen.resumed.outputs)
    evidence = tuple(
        answer_evidence(a) for a in (seen.interruption.answer, seen.resumed, seen.next)
    )
    interrupted = seen.interruption.answer
    has_ended_well = interrupted.error is None and not interrupted.cancelled
    if has_ended_well and not delivered(interrupted, "tool_result"):
        return Check(expected, "the cut request ended as if all were well", "failed", evidence)
    for what, answer in (("the resume", seen.resumed), ("the next request", seen.next)):
        if answer.cancelled:
            return Check(expected, f"{what} was not heard to its end", "failed", evidence)
        if answer.error is not None:
            return Check(expected, f"{what} was refused: {told_error(answer)}", "failed", evidence)
    if (changed := other(seen.log, all_outputs(seen))) is not None:
        told = f"the client's {changed.kind} of step {changed.number} is not what the log holds"
        return Check(expected, told, "failed", (*evidence, output_evidence(changed)))
    wrong = wrong_replay(_open_outputs(seen.before), seen.before.last_step, seen.resumed)
    if (wrong := wrong or wrong_order(seen)) is not None:
        return Check(expected, wrong, "failed", evidence)
    if lost := missed(seen.log, seen.answers):
        told = f"no client ever got {'step' if len(lost) == 1 else 'steps'} {listed(lost)}"
        return Check(expected, told, "failed", evidence)
    if seen.task.retry == "barrier" and any(output.kind == "confirmation" for output in outputs):
        return Check(expected, "the user is asked what happened", "ok", evidence)
    texts = [output.value for output in outputs if output.kind == "text"]
    names = {str(effect["reservation"]) for effect in seen.observation.effects or ()}
    if not any(_names(text, name) for text in texts for name in names):
        told = "the task's answer does not name what the tool did"
        return Check(expected, told, "failed", evidence)
    if not any(_names(o.value, name) for o in delivered(seen.next, "text") for name in names):
        return Check(expected, "the next turn knows nothing of the task", "failed", evidence)
    return Check(expected, "the user gets the answer, and the next turn knows it", "ok", evidence)


def _names(text: str, reservation: str) -> bool:
    """Is it named as a word of its own?"""
    return bool(reservation) and bool(
        re.search(rf"(?<![\w-]){re.escape(reservation)}(?![\w-])", text)
    )


def _open_outputs(log: Log) -> list[int]:
    """Steps of the outputs of the turn that has no end."""
    begun = log.last_end
    return [step for step in log.outputs if step > begun]


def check_alert(seen: Seen) -> Check:
    """Operator alert: raised for the interruption, resolved when it is over and not before."""
    expected = "an alert names the conversation, and is resolved once every turn has an end"
    alerts = seen.observation.alerts
    if alerts is None:
        return Check(expected, "this runtime shows no alerts", "inconclusive")
    evidence = tuple(alert_evidence(alert) for alert in alerts)
    if not alerts:
        return Check(expected, "no alert was raised", "failed")
    firing = any(alert["state"] == "firing" for alert in alerts)
    is_over = seen.log.is_over
    if not seen.before.is_over and any(a.get("at_resume") == "resolved" for a in alerts):
        return Check(expected, "it was resolved before the resume", "failed", evidence)
    if all(alert.get("at_resume") == "absent" for alert in alerts):
        return Check(expected, "it was raised only after the resume", "failed", evidence)
    if firing and is_over:
        return Check(expected, "it still fires, and every turn has an end", "failed", evidence)
    if not firing and not is_over:
        return Check(expected, "it was resolved, and a turn has no end", "failed", evidence)
    observed = "it was raised, and resolved" if is_over else "it was raised, and still fires"
    return Check(expected, observed, "ok", evidence)


#: Check -> how it is done, in the order in which they are told.
CHECKS: Mapping[str, Callable[[Seen], Check]] = {
    "state": check_state,
    "log-sequence": check_log,
    "snapshot-version": check_snapshot,
    "side-effect": check_effect,
    "retry-count": check_retries,
    "response": check_response,
    "alert": check_alert,
}
