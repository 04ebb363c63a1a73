"""What a client that comes back with a cursor is owed: everything after it, once, in order.

A cursor is a step together with what it was: numbers start anew after a restore or a deletion, and
then an old cursor hides new outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from axnb.drills.resume.seen import Log, Seen
from axnb.runtimes import Answer, Output


def missed(log: Log, answers: Iterable[Answer]) -> list[int]:
    """Steps of outputs that the log has and no client ever got."""
    told = {output.number for answer in answers for output in answer.outputs}
    return [step for step in log.outputs if step not in told]


def other(log: Log, outputs: Iterable[Output]) -> Output | None:
    """The first output that a client got and whose step says something else in the log."""
    logged = {(row.step, part.kind): part.value for row in log.rows for part in row.parts}
    for output in outputs:
        place = (output.number, output.kind)
        if place in logged and not _same(logged[place], output.value):
            return output
    return None


def _same(logged: str, got: str) -> bool:
    """Texts are compared as they are, arguments and results by what they say."""
    if logged == got:
        return True
    try:
        return bool(json.loads(logged) == json.loads(got))
    except (ValueError, RecursionError):
        return False


def wrong_replay(steps: Sequence[int], last: int, answer: Answer) -> str | None:
    """What is wrong with an answer to a client that named its last step; None if nothing is.

    `steps` are those of the outputs of the open turn when the client came back, `last` is the last
    step of the log.
    """
    cursor = answer.cursor
    if cursor is None:
        return None
    got = [output.number for output in answer.outputs]
    if cursor > last:
        if answer.error is None:
            return f"the client's cursor {cursor} is beyond step {last}, and nobody said so"
        return None
    if again := [number for number in got if 0 < number <= cursor]:
        return f"steps that the client had came again: {listed(again)}"
    owed = [step for step in steps if step > cursor]
    if absent := [step for step in owed if step not in got]:
        which = "all" if len(absent) == len(owed) else "some"
        return f"{which} of what followed the client's cursor {cursor} is missing: {listed(absent)}"
    return None


def wrong_order(seen: Seen) -> str | None:
    """What is wrong with the order in which a client got its outputs; None if nothing is.

    A turn that is done again may send again what it sent before; nothing else comes twice.
    """
    for answer in seen.answers:
        numbers = [output.number for output in answer.outputs if output.number]
        if numbers != sorted(numbers):
            return f"the client got steps out of order: {listed(numbers)}"
        if len(set(numbers)) < len(numbers):
            return f"the client got steps twice: {listed(numbers)}"
    before = [output.number for a in seen.answers[:3] for output in a.outputs]
    if late := [o.number for o in seen.next.outputs if 0 < o.number <= max(before, default=0)]:
        return f"the next turn sent again what was over: {listed(late)}"
    ended = seen.before.last_end
    if old := [o.number for o in seen.resumed.outputs if 0 < o.number <= ended]:
        return f"the resume sent again what was over: {listed(old)}"
    return None


def listed(steps: Sequence[int]) -> str:
    """Steps as a sentence names them."""
    return ", ".join(map(str, steps))


def all_outputs(seen: Seen) -> Sequence[Output]:
    """Every output that a client got, in order."""
    return [output for answer in seen.answers for output in answer.outputs]
