"""What is expected of the log and of the snapshot beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from axnb.drills.resume.evidence import object_evidence, output_evidence, row_evidence
from axnb.drills.resume.replay import all_outputs
from axnb.drills.resume.seen import Seen
from axnb.drills.steps import Check, Evidence
from axnb.text import count


def check_state(seen: Seen) -> Check:
    """Terminal execution state: every turn of the conversation has an end."""
    expected = "every turn ends COMPLETED"
    rows = seen.log.rows
    if not rows:
        return Check(expected, "the log has no row of the conversation", "failed")
    last = rows[-1]
    evidence = (row_evidence(seen, last.step, last.digest),)
    if not seen.log.readable:
        told = f"no server of {seen.observation.generation} can read the conversation"
        return Check(expected, told, "failed", evidence)
    ends = [row for row in rows if row.mark == "end"]
    odd = [row for row in ends if row.state != "STATE_COMPLETED"]
    inputs = sum(row.mark == "input" for row in rows)
    if odd:
        told = f"step {odd[0].step} ends a turn as {_state(odd[0].state)}"
        return Check(
            expected, told, "failed", tuple(row_evidence(seen, r.step, r.digest) for r in odd)
        )
    if last.state != "STATE_COMPLETED":
        told = f"the last state is {_state(last.state)} (step {last.step}): the turn has no end"
        return Check(expected, told, "failed", evidence)
    if len(ends) != inputs:
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
    wrong += [(lost, ()) for lost in (*_lost_content(seen), *_forged(seen))]
    evidence = tuple(row_evidence(seen, row.step, row.digest) for row in log.rows)
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


def _forged(seen: Seen) -> Iterator[str]:
    """Inputs that nobody sent, owners that nobody named, calls that nobody made."""
    logged = [part.value for row in seen.log.rows if row.mark == "input" for part in row.parts]
    sent = [answer.sent for answer in (seen.first, seen.interruption.answer, seen.next)]
    # What was refused may not be logged; what was answered is.
    least = 3 if seen.next.error is None else 2
    if logged != sent[: max(least, len(logged))]:
        yield "its inputs are not those that were sent"
    if len(owners := {row.owner for row in seen.log.rows if row.owner}) > 1:
        yield f"it names {len(owners)} owners"
    if seen.results and len(seen.calls) != len(seen.results):
        results = count(len(seen.results), "result")
        yield f"{count(len(seen.calls), 'call')} and {results} of the task"


def _changed(seen: Seen) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Rows of before the interruption that are gone or another."""
    now = {row.step: row.digest for row in seen.log.rows}
    found: list[tuple[str, tuple[Evidence, ...]]] = []
    for row in seen.before.rows:
        was = row_evidence(seen, row.step, row.digest)
        if row.step not in now:
            found.append((f"step {row.step} was there and is gone", (was,)))
        elif now[row.step] != row.digest:
            evidence = (was, row_evidence(seen, row.step, now[row.step]))
            found.append((f"step {row.step} was changed", evidence))
    return found


def _not_logged(seen: Seen) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Outputs that a client got and the log does not have under their number."""
    kinds = {row.step: {part.kind for part in row.parts} for row in seen.log.rows}
    found: list[tuple[str, tuple[Evidence, ...]]] = []
    for output in all_outputs(seen):
        if output.number == 0:
            found.append(
                (f"a client got a {output.kind} that is not logged", (output_evidence(output),))
            )
        elif output.kind not in kinds.get(output.number, ()):
            sentence = f"a client got a {output.kind} as step {output.number}, which is not there"
            found.append((sentence, (output_evidence(output),)))
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
    evidence = [object_evidence(newest.key, newest.digest)]
    if not isinstance(newest.state.get("turns"), int):
        told = "the newest snapshot is whole; what it holds of the conversation nobody can read"
        return Check(expected, told, "inconclusive", tuple(evidence))
    wrong = list(_drifted(seen, newest.state))
    if seen.point == 7:
        taken, restored = observation.taken, observation.restored
        if taken is None or restored is None:
            wrong.append("the actor was not restored from a snapshot")
        elif (taken.key, taken.digest) != (restored.key, restored.digest):
            wrong.append(
                "the actor was restored from another snapshot than the one of its eviction"
            )
        evidence += [object_evidence(s.key, s.digest) for s in (taken, restored) if s is not None]
    if wrong:
        return Check(expected, "; ".join(wrong), "failed", tuple(evidence))
    observed = f"it holds {count(seen.log.completed, 'turn')}, as the log does"
    if seen.point == 7:
        observed += "; the actor was restored from the snapshot of its eviction"
    return Check(expected, observed, "ok", tuple(evidence))


def _drifted(seen: Seen, state: Mapping[str, Any]) -> Iterator[str]:
    """How the state in a snapshot differs from the log, and from the actor that it is of."""
    held, completed = state["turns"], seen.log.completed
    if held != completed:
        which = "ahead of" if held > completed else "behind"
        yield f"it is {which} the log: {held} and {completed} turns completed"
    actor = seen.observation.actor
    if actor is not None and actor["turns"] == held and actor["digest"] != state.get("digest"):
        yield "it holds another state than the actor has"


def _state(name: str) -> str:
    return name.removeprefix("STATE_")
