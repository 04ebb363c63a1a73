"""The seven observations: what is expected after a recovery, what was observed, and the verdict.

The expectation is the same for every policy and every runtime; only how the operation may be
repeated (`[tools.NAME] retry`) changes it. A check looks at its own subject alone, so that what is
broken in one place turns one step red.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axnb.checks.told import keyed
from axnb.drills.resume.replay import missed, other, wrong_replay
from axnb.drills.resume.seen import Log, Seen, delivered, told_error
from axnb.result import Verdict
from axnb.runtimes import Answer, Output
from axnb.text import count

Evidence = Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """One observation with its verdict."""

    expected: str
    observed: str
    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()


def check_state(seen: Seen) -> Check:
    """Terminal execution state: every turn of the conversation has an end."""
    expected = "every turn ends COMPLETED"
    rows = seen.log.rows
    if not rows:
        return Check(expected, "the log has no row of the conversation", "failed")
    last = rows[-1]
    evidence = (_row(seen, last.step, last.digest),)
    if not seen.log.readable:
        told = f"no server of {seen.observation.generation} can read the conversation"
        return Check(expected, told, "failed", evidence)
    ends = [row for row in rows if row.mark == "end"]
    odd = [row for row in ends if row.state != "STATE_COMPLETED"]
    inputs = sum(row.mark == "input" for row in rows)
    if odd:
        told = f"step {odd[0].step} ends a turn as {_state(odd[0].state)}"
        return Check(expected, told, "failed", tuple(_row(seen, r.step, r.digest) for r in odd))
    if last.state != "STATE_COMPLETED":
        told = f"the last state is {_state(last.state)} (step {last.step}): the turn has no end"
        return Check(expected, told, "failed", evidence)
    if len(ends) < inputs:
        told = f"{count(inputs, 'turn')} began, {len(ends)} ended"
        return Check(expected, told, "failed", evidence)
    ended = "1 turn ends" if len(ends) == 1 else f"{len(ends)} turns end"
    return Check(expected, f"{ended} COMPLETED", "ok", evidence)


def check_log(seen: Seen) -> Check:
    """Log sequence: no hole, nothing rewritten, and what clients were told is there."""
    expected = (
        "steps 1 to N without a hole; the rows of before are unchanged; what clients got is there"
    )
    log = seen.log
    steps = [row.step for row in log.rows]
    told = f"steps 1 to {len(steps)}" if steps == list(range(1, len(steps) + 1)) else ""
    wrong: list[tuple[str, tuple[Evidence, ...]]] = []
    if not told:
        hole = next(n for n, step in enumerate([*steps, -1], 1) if step != n)
        wrong.append((f"there is no step {hole}", ()))
    if log.rejected:
        wrong.append((f"{count(log.rejected, 'row')} cannot be read", ()))
    wrong += _changed(seen)
    wrong += _not_logged(seen)
    wrong += [(lost, ()) for lost in _lost_content(seen)]
    evidence = tuple(_row(seen, row.step, row.digest) for row in log.rows)
    if wrong:
        observed = "; ".join(sentence for sentence, _ in wrong)
        shown = tuple(entry for _, entries in wrong for entry in entries)
        return Check(expected, observed, "failed", shown or evidence)
    before = len(seen.before.rows)
    return Check(expected, f"{told}; {count(before, 'row')} of before unchanged", "ok", evidence)


def _lost_content(seen: Seen) -> Iterator[str]:
    """What servers that read the log decode as empty, or cannot read at all."""
    upgraded = seen.taken_over
    if upgraded is not None and not upgraded.readable:
        yield f"{seen.interruption.read_next_by} cannot read the conversation"
    elif upgraded is not None and upgraded.decoded < upgraded.stored:
        told = f"{upgraded.decoded} of {upgraded.stored} contents"
        yield f"{seen.interruption.read_next_by} reads {told} of before the upgrade"
    if seen.log.decoded < seen.log.stored:
        told = f"{seen.log.decoded} of {seen.log.stored} contents"
        yield f"{seen.observation.generation} reads {told}"


def _changed(seen: Seen) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Rows of before the interruption that are gone or another."""
    now = {row.step: row.digest for row in seen.log.rows}
    found: list[tuple[str, tuple[Evidence, ...]]] = []
    for row in seen.before.rows:
        was = _row(seen, row.step, row.digest)
        if row.step not in now:
            found.append((f"step {row.step} was there and is gone", (was,)))
        elif now[row.step] != row.digest:
            evidence = (was, _row(seen, row.step, now[row.step]))
            found.append((f"step {row.step} was changed", evidence))
    return found


def _not_logged(seen: Seen) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Outputs that a client got and the log does not have under their number."""
    kinds = {row.step: {part.kind for part in row.parts} for row in seen.log.rows}
    found: list[tuple[str, tuple[Evidence, ...]]] = []
    for output in _all_outputs(seen):
        if output.number == 0:
            found.append((f"a client got a {output.kind} that is not logged", (_output(output),)))
        elif output.kind not in kinds.get(output.number, ()):
            sentence = f"a client got a {output.kind} as step {output.number}, which is not there"
            found.append((sentence, (_output(output),)))
    return found


def check_snapshot(seen: Seen) -> Check:
    """Snapshot version: what a restore would give back is what the log has completed."""
    expected = "the newest whole snapshot holds the turns that the log has completed"
    if seen.point == 7:
        expected += "; the actor was restored from the one of its eviction"
    observation = seen.observation
    if observation.bucket is None:
        return Check(expected, "this runtime has no bucket", "not-run")
    if seen.torn:
        return Check(expected, "; ".join(seen.torn), "failed")
    newest = observation.newest
    if newest is None:
        return Check(expected, "the bucket has no whole snapshot of the conversation", "failed")
    evidence = [_object(newest.key, newest.digest)]
    if "turns" not in newest.state:
        told = "the newest snapshot is whole; what it holds of the conversation nobody can read"
        return Check(expected, told, "inconclusive", tuple(evidence))
    wrong = []
    held, completed = int(newest.state["turns"]), seen.log.completed
    if held != completed:
        which = "ahead of" if held > completed else "behind"
        wrong.append(f"it is {which} the log: {held} and {completed} turns completed")
    if seen.point == 7:
        taken, restored = observation.taken, observation.restored
        if taken is None or restored is None:
            wrong.append("the actor was not restored from a snapshot")
        elif (taken.key, taken.digest) != (restored.key, restored.digest):
            wrong.append(
                "the actor was restored from another snapshot than the one of its eviction"
            )
        evidence += [_object(s.key, s.digest) for s in (taken, restored) if s is not None]
    if wrong:
        return Check(expected, "; ".join(wrong), "failed", tuple(evidence))
    observed = f"it holds {count(held, 'turn')}, as the log does"
    if seen.point == 7:
        observed += "; the actor was restored from the snapshot of its eviction"
    return Check(expected, observed, "ok", tuple(evidence))


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
        *(_row(seen, row.step, row.digest) for row, _ in seen.results),
    )
    if not effects:
        if retry == "barrier" and seen.asks and not seen.results:
            shown = tuple(_row(seen, row.step, row.digest) for row, _ in seen.asks)
            return Check(expected, "no effect, and a person is asked", "ok", shown)
        told = "no effect"
        if seen.results:
            return Check(expected, "no effect, and the log holds a result", "failed", evidence)
        return Check(expected, f"{told}: the task was never done", "failed", evidence)
    number = count(len(effects), "effect")
    if len(effects) > 1 and retry != "read":
        return Check(expected, f"{number} of one operation", "failed", evidence)
    if not seen.results:
        told = f"{number}, and no result in the log: from the log alone it is unknown"
        return Check(expected, told, "inconclusive", evidence)
    reservations = {str(effect["reservation"]) for effect in effects}
    if not any(name in part.value for _, part in seen.results for name in reservations):
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
    evidence = tuple(_request(request) for request in asked)
    times = count(len(asked), "request")
    if most is not None and len(asked) > most:
        return Check(expected, times, "failed", evidence)
    is_again = len(asked) > (seen.interruption.requests or 0) and seen.called_before
    if seen.task.retry == "barrier" and is_again:
        return Check(expected, f"{times}, and no person was asked", "failed", evidence)
    if told is None:
        return Check(expected, f"{times}; the runtime keeps no count", "inconclusive", evidence)
    if not len(asked) <= len(told) <= len(asked) + seen.interruption.cut_requests:
        return Check(expected, f"{times}, the runtime says {len(told)}", "failed", evidence)
    return Check(expected, f"{times}, as the runtime says", "ok", evidence)


def check_response(seen: Seen) -> Check:
    """User-visible response: no false success, then the answer, and a conversation that goes on."""
    expected = "no success is told before there is one; then the user gets the answer"
    outputs = (*seen.interruption.answer.outputs, *seen.resumed.outputs)
    evidence = tuple(_answer(a) for a in (seen.interruption.answer, seen.resumed, seen.next))
    interrupted = seen.interruption.answer
    has_ended_well = interrupted.error is None and not interrupted.cancelled
    if has_ended_well and not delivered(interrupted, "tool_result"):
        return Check(expected, "the cut request ended as if all were well", "failed", evidence)
    for answer in (seen.resumed, seen.next):
        if answer.error is not None:
            what = "the resume" if answer is seen.resumed else "the next request"
            return Check(expected, f"{what} was refused: {told_error(answer)}", "failed", evidence)
    if (changed := other(seen.log, _all_outputs(seen))) is not None:
        told = f"the client's {changed.kind} of step {changed.number} is not what the log holds"
        return Check(expected, told, "failed", (*evidence, _output(changed)))
    if (wrong := wrong_replay(_open_outputs(seen.before), seen.resumed)) is not None:
        return Check(expected, wrong, "failed", evidence)
    if lost := missed(seen.log, (seen.first, interrupted, seen.resumed, seen.next)):
        told = f"no client ever got {'step' if len(lost) == 1 else 'steps'} {_steps(lost)}"
        return Check(expected, told, "failed", evidence)
    if seen.task.retry == "barrier" and any(output.kind == "confirmation" for output in outputs):
        return Check(expected, "the user is asked what happened", "ok", evidence)
    texts = [output.value for output in outputs if output.kind == "text"]
    names = {str(effect["reservation"]) for effect in seen.observation.effects or ()}
    if not any(name in text for text in texts for name in names):
        told = "the task's answer does not name what the tool did"
        return Check(expected, told, "failed", evidence)
    if not any(name in o.value for o in delivered(seen.next, "text") for name in names):
        return Check(expected, "the next turn knows nothing of the task", "failed", evidence)
    return Check(expected, "the user gets the answer, and the next turn knows it", "ok", evidence)


def _open_outputs(log: Log) -> list[int]:
    """Steps of the outputs of the turn that has no end."""
    ends = [row.step for row in log.rows if row.mark == "end"]
    begun = max(ends, default=0)
    return [row.step for row in log.rows if row.step > begun and row.mark not in ("input", "end")]


def _steps(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps))


def check_alert(seen: Seen) -> Check:
    """Operator alert: raised for the interruption, resolved when it is over and not before."""
    expected = "an alert names the conversation, and is resolved once every turn has an end"
    alerts = seen.observation.alerts
    if alerts is None:
        return Check(expected, "this runtime shows no alerts", "inconclusive")
    evidence = tuple(_alert(alert) for alert in alerts)
    if not alerts:
        return Check(expected, "no alert was raised", "failed")
    firing = any(alert["state"] == "firing" for alert in alerts)
    is_over = seen.is_over
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


def _all_outputs(seen: Seen) -> Sequence[Output]:
    answers = (seen.first, seen.interruption.answer, seen.resumed, seen.next)
    return [output for answer in answers for output in answer.outputs]


def _state(name: str) -> str:
    return name.removeprefix("STATE_")


# --- evidence: the same for the same rehearsal, and without a payload ----------------------------


def _row(seen: Seen, step: int, digest: str) -> Evidence:
    # A plain digest of a short payload can be guessed.
    return {"kind": "row", "step": step, "digest": keyed(digest, seen.log.key)}


def _object(key: str, digest: str) -> Evidence:
    # Where a run has put its snapshots differs from run to run.
    head, sign, tail = key.partition("snapshots/")
    return {"kind": "object", "key": sign + tail if sign else head, "sha256": digest}


def _ledger(effect: Mapping[str, Any]) -> Evidence:
    # Not the entry's number: other rehearsals write to the same ledger.
    names = ("operation_id", "status", "reservation")
    return {"kind": "ledger", **{name: effect[name] for name in names if name in effect}}


def evidence_of_effects(effects: Iterable[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    """Entries of the tool's ledger as evidence."""
    return tuple(map(_ledger, effects))


def _request(request: Mapping[str, Any]) -> Evidence:
    names = ("operation_id", "attempt")
    return {"kind": "request", **{name: request[name] for name in names if name in request}}


def _output(output: Output) -> Evidence:
    return {"kind": "output", "number": output.number, "of": output.kind}


def _answer(answer: Answer) -> Evidence:
    return {
        "kind": "answer",
        "request": "empty" if not answer.sent else "input",
        "outputs": [[output.number, output.kind] for output in answer.outputs],
        "error": told_error(answer),
        "cancelled": answer.cancelled,
    }


def _alert(alert: Mapping[str, Any]) -> Evidence:
    labels = {name: alert["labels"][name] for name in sorted(alert["labels"])}
    return {"kind": "alert", "state": alert["state"], "labels": labels}
