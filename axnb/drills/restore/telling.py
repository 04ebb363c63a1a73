"""Numbers and conversations in a sentence and as evidence: some of many, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from axnb.text import count, cut_middle, safe

#: Conversations that a sentence names, and entries of one evidence.
_FEW = 3
MOST = 200


def ranges(steps: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as ranges: 7, 8, 9 and 12 are 7 to 9 and 12 to 12."""
    found: list[tuple[int, int]] = []
    for step in sorted(set(steps)):
        if found and found[-1][1] == step - 1:
            found[-1] = (found[-1][0], step)
        else:
            found.append((step, step))
    return found


def told_steps(steps: Iterable[int]) -> str:
    """`step 7`, `steps 7-9 and 12`; the rest of many is counted."""
    found = ranges(steps)
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in found[:4]]
    if len(found) > 4:
        shown.append(f"{len(found) - 4} more")
    is_one = len(found) == 1 and found[0][0] == found[0][1]
    head = ", ".join(shown[:-1])
    return f"{'step' if is_one else 'steps'} {f'{head} and {shown[-1]}' if head else shown[-1]}"


def named(conversation_id: str) -> str:
    """A conversation's id, which a stranger chose."""
    return cut_middle(safe(conversation_id), 40)


def some(sentences: Sequence[str]) -> str:
    """The first of some sentences, and how many more there are."""
    more = f"; {len(sentences) - _FEW} more" if len(sentences) > _FEW else ""
    return "; ".join(sentences[:_FEW]) + more


def conversations(number: int) -> str:
    """`1 conversation`, `2 conversations`."""
    return count(number, "conversation")


def step_evidence(
    found: Iterable[tuple[str, Sequence[int]]], **told: Any
) -> Iterator[dict[str, Any]]:
    """Ranges of numbers of conversations, at most so many as a reader looks at."""
    number = 0
    for conversation_id, steps in found:
        for first, last in ranges(steps):
            if number < MOST:
                yield {
                    "kind": "steps",
                    "conversation_id": conversation_id,
                    "first": first,
                    "last": last,
                    **told,
                }
            number += 1
    if number > MOST:
        yield {"kind": "more", "entries": number - MOST}
