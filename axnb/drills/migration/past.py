"""What a log shows of versions that were changed without a migration, from its rows alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from axnb.case.case import Case, ask
from axnb.drills.migration.reading import ReadLog
from axnb.text import count, cut_middle, safe

#: Shapes of rows that number themselves by `seq`, and those that hold messages or steps.
_BY_SEQ = ("exec", "G5")
_MESSAGES = ("exec", "G5", "G6")
_STEPS = ("G7", "G8", "steps")

_CALLED = {"exec": "G3 or G4", "G5": "G5", "G6": "G6", "G7": "G7", "G8": "G8", "steps": "G7 or G8"}

KINDS = ("renamed-column", "mixed-words", "owner-rebound")


@dataclass(frozen=True)
class Trace:
    """Something that an earlier change of version left in a conversation."""

    conversation_id: str
    #: A word of KINDS.
    kind: str
    first_step: int | None
    last_step: int | None
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The trace as JSON."""
        return {
            "conversation_id": self.conversation_id,
            "kind": self.kind,
            "steps": [self.first_step, self.last_step],
            "sentence": self.sentence,
        }


def traces(case: Case, log: ReadLog) -> list[Trace]:
    """Every trace in a log, by conversation."""
    with case.reading() as session:
        found = ask(session, "words_of_rows", {"source": log.source})
    groups = groupby(found, key=lambda line: str(line["conversation_id"]))
    return [trace for name, lines in groups for trace in _traces(name, log.column, list(lines))]


def _traces(name: str, column: str, lines: Sequence[dict[str, Any]]) -> Iterator[Trace]:
    old = [line for line in lines if line["shape"] in _BY_SEQ]
    if column == "step" and old:
        words = ", ".join(dict.fromkeys(_CALLED[line["shape"]] for line in old))
        first, last = _span(old)
        rows = count(sum(line["rows"] for line in old), "row")
        told = f"{rows} at {_steps(first, last)} in the words of {words}, under the column step: "
        told += "the column was renamed, and the rows were not."
        yield Trace(name, "renamed-column", first, last, told)
    messages = [line for line in lines if line["shape"] in _MESSAGES and line["contents"]]
    steps = [line for line in lines if line["shape"] in _STEPS and line["contents"]]
    if messages and steps:
        first, last = _span(messages)
        contents = count(sum(line["contents"] for line in messages), "content")
        start, _ = _span(steps)
        told = f"{contents} at {_steps(first, last)} in messages, and from step {start} on in "
        told += "steps: no version reads both."
        yield Trace(name, "mixed-words", first, last, told)
    owners = [line for line in lines if line["owner"] and line["shape"] in ("G6", "G7", "G8")]
    by_key = {line["shape"] == "G8": line for line in reversed(owners)}
    if len(by_key) == 2 and by_key[True]["owner"] != by_key[False]["owner"]:
        agent, harness = by_key[True], by_key[False]
        told = (
            f"its harness_id is {_shown(harness['owner'])}, and step {agent['owner_step']} names "
            f"{_shown(agent['owner'])} as its agent_id: bound anew by a version that does not see "
            "the former."
        )
        step = agent["owner_step"]
        yield Trace(name, "owner-rebound", step, step, told)


def _span(lines: Sequence[dict[str, Any]]) -> tuple[int | None, int | None]:
    firsts = [line["first_step"] for line in lines if line["first_step"] is not None]
    lasts = [line["last_step"] for line in lines if line["last_step"] is not None]
    return min(firsts, default=None), max(lasts, default=None)


def _steps(first: int | None, last: int | None) -> str:
    return f"step {first}" if first == last else f"steps {first}-{last}"


def _shown(name: str) -> str:
    return cut_middle(safe(name), 40)


def told(found: Sequence[Trace]) -> Iterator[str]:
    """What the traces come to, a sentence a kind."""
    words = {
        "renamed-column": "with a step column that was renamed, and rows in older words",
        "mixed-words": "with older messages beside newer steps: no version reads all of it",
        "owner-rebound": "bound to another owner by a version that did not see the former",
    }
    for kind in KINDS:
        own = [trace for trace in found if trace.kind == kind]
        if own:
            ids = [cut_middle(safe(trace.conversation_id), 40) for trace in own]
            number = count(len(own), "conversation")
            yield (
                f"Without a migration, earlier: {number} {words[kind]} ({ids[0]}: "
                f"{own[0].sentence.rstrip('.')})."
            )
