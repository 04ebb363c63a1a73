"""What is left of a version in a log that goes back to the version before, conversation by
conversation: damage that no rollback undoes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axnb.ax import rows
from axnb.ax.rows import READS_SHAPE
from axnb.ax.versions import GENERATIONS, Generation
from axnb.drills.migration.asking import Replies
from axnb.drills.migration.logs import LoggedRow
from axnb.text import count

_PENDING = rows.STATES.index("STATE_PENDING")


@dataclass(frozen=True)
class Damage:
    """Something that stays."""

    conversation_id: str
    #: `migrated` or `unmigrated`.
    way: str
    #: `owner-rebound`, `other-words`, `closed-unrun`, `turn-unread` or `left-behind`.
    kind: str
    steps: tuple[int, ...]
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The damage as JSON."""
        return {
            "conversation_id": self.conversation_id,
            "way": self.way,
            "kind": self.kind,
            "steps": list(self.steps),
            "sentence": self.sentence,
        }


def damages(
    conversation_id: str,
    way: str,
    before: Sequence[LoggedRow],
    replies: Replies,
    new: Generation,
    old: Generation,
) -> Iterator[Damage]:
    """What a server of `new` left in a conversation for one of `old`."""
    steps = tuple(row.step for row in replies.added)
    if way == "unmigrated":
        yield from _unmigrated(conversation_id, before, replies.added, new, old)
    if replies.empty.does == "appends-then-fails" or replies.input.does == "appends-then-fails":
        told = "a request failed and left its input behind: the turn has no end."
        yield Damage(conversation_id, way, "left-behind", steps, told)
    ends = [row.step for row in replies.empty.added if row.is_end]
    if ends and _is_open(before):
        outputs = len(replies.empty.added) - len(ends)
        told = (
            f"step {ends[0]} ends the interrupted turn, which never ran to its end: "
            f"{count(outputs, 'output')} came with it."
        )
        yield Damage(conversation_id, way, "closed-unrun", tuple(ends), told)


def _unmigrated(
    conversation_id: str,
    before: Sequence[LoggedRow],
    added: Sequence[LoggedRow],
    new: Generation,
    old: Generation,
) -> Iterator[Damage]:
    foreign = [row for row in added if row.shape and not _is_read(row, old) and row.parts]
    if foreign:
        steps = tuple(row.step for row in foreign)
        told = (
            f"{count(len(foreign), 'row')} from step {steps[0]} on in the words of {new.name}: "
            f"{old.name} reads none of that."
        )
        yield Damage(conversation_id, "unmigrated", "other-words", steps, told)
    owner = next((row.owner for row in before if row.owner), "")
    bound = next((row for row in added if row.owner), None)
    if bound is not None and owner and bound.owner != owner:
        told = (
            f"step {bound.step} binds it to {bound.owner}; {owner} owns it, and {new.name} "
            "refuses that from there on."
        )
        yield Damage(conversation_id, "unmigrated", "owner-rebound", (bound.step,), told)


def _is_read(row: LoggedRow, generation: Generation) -> bool:
    """Does a server of a generation decode what such a row holds?"""
    return GENERATIONS[READS_SHAPE[row.shape]].content_key == generation.content_key


def _is_open(before: Sequence[LoggedRow]) -> bool:
    states = [row.state for row in before if row.state]
    return bool(states) and states[-1] == _PENDING


def as_json(found: Sequence[Damage]) -> list[Mapping[str, Any]]:
    """Damages as JSON, in order."""
    ordered = sorted(found, key=lambda d: (d.way, d.conversation_id, d.steps, d.kind))
    return [damage.as_dict() for damage in ordered]
