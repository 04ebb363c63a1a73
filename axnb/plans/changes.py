"""What a plan changes in one conversation: rows moved aside, an owner bound, an end added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from axnb.ax import protojson
from axnb.ax.behaviour import History, Target, predict
from axnb.ax.protojson import Members
from axnb.ax.rows import STATES, Row, write
from axnb.ax.versions import G5_OR_G5B, GENERATIONS
from axnb.plans.log import Fingerprint, LogRow, fingerprint

_PENDING = STATES.index("STATE_PENDING")

#: Rows without a number sort before all others, rows whose number is text or bytes after them.
_NUMBERS_END = 2**62 - 1


@dataclass(frozen=True)
class Terminal:
    """The row that ends an interrupted turn."""

    step: int
    state: str
    payload: str


@dataclass(frozen=True)
class Binding:
    """The row that gets the owner under the key of the asked generation, at its very start."""

    row: LogRow
    owner: str
    member: str


@dataclass(frozen=True)
class Change:
    """The change of one conversation, and the fingerprints of its rows before and after."""

    conversation_id: str
    before: Fingerprint
    after: Fingerprint
    moved: tuple[LogRow, ...] = ()
    binding: Binding | None = None
    terminal: Terminal | None = None

    @property
    def kept(self) -> tuple[LogRow, ...]:
        """Rows whose originals the plan keeps."""
        return (*self.moved, *((self.binding.row,) if self.binding else ()))


class NoChangeError(Exception):
    """The store offers no help; the message is the sentence that says why."""


def find_change(rows: Sequence[LogRow], action: str, target: Target, max_step: int) -> Change:
    """What makes the conversation usable for the asked server.

    Raises NoChangeError with a sentence where nothing in the store does.
    """
    seen = [row for row in rows if row.visible]
    _refuse_unknown(seen)
    moved = [row for row in seen if row.readable is False] if action == "quarantine" else []
    if action == "quarantine" and not moved:
        raise NoChangeError(
            f"{target.generation.label} decodes every row; only the generation that wrote them "
            "does not. Leave the rows where they are."
        )
    left = [row for row in seen if row not in moved]
    binding = _binding(left, target)
    after = [
        row.with_payload("{" + binding.member + (row.payload or "")[1:])
        if binding is not None and row is binding.row
        else row
        for row in left
    ]
    owner = binding.owner if binding else next((r.owner_seen for r in left if r.owner_seen), "")
    terminal = None
    if _needs_end(left, action, target, owner or ""):
        terminal = _terminal(seen, left, target, max_step)
        end = replace(left[-1], step=terminal.step, position=terminal.step, reason="")
        after.append(end.with_payload(terminal.payload))
    if not moved and binding is None and terminal is None:
        raise NoChangeError("nothing in the store has to be changed for that.")
    return Change(
        conversation_id=seen[0].conversation_id,
        before=fingerprint(seen),
        after=fingerprint(after),
        moved=tuple(moved),
        binding=binding,
        terminal=terminal,
    )


def _refuse_unknown(seen: Sequence[LogRow]) -> None:
    if not seen:
        raise NoChangeError("AX's own query does not find its rows: their keys are no text.")
    for row in seen:
        if row.reason == "unreadable key":
            raise NoChangeError("its id is not valid UTF-8, so no statement can name it safely.")
        if row.reason == "damaged":
            raise NoChangeError("a page of the file is damaged; recover the file first.")
        if row.readable is None:
            where = "a row" if row.step is None else f"the row at step {row.step}"
            raise NoChangeError(
                f"axnb did not look into {where} ({row.size:,} bytes), so it does not say whether "
                "AX decodes it; look at it before you move it."
            )


# --- the owner -----------------------------------------------------------------------------------


def _binding(left: Sequence[LogRow], target: Target) -> Binding | None:
    """Bind the owner that the log names first, where the asked server takes another or none."""
    key = target.generation.owner_key
    first = next((row for row in left if row.owner), None)
    if key is None or first is None or first.owner is None:
        return None
    if first.owner == next((row.owner_seen for row in left if row.owner_seen), ""):
        return None
    tree = protojson.parse(first.payload or "")
    head, _, tail = key.partition("_")
    if not isinstance(tree, Members) or {key, head + tail.capitalize()} & {n for n, _ in tree}:
        raise NoChangeError(
            f"the row at step {first.step} has a key {key} that says something else; "
            "a person must decide whose conversation it is."
        )
    if not (first.payload or "").startswith("{"):
        raise NoChangeError(f"the row at step {first.step} does not begin as AX writes it.")
    name = protojson.dump(first.owner)
    return Binding(first, first.owner, f'"{key}":{name},')


# --- the end -------------------------------------------------------------------------------------


def _needs_end(left: Sequence[LogRow], action: str, target: Target, owner: str) -> bool:
    """Would the conversation be stuck in an interrupted turn?"""
    if action.endswith("unblock"):
        return True
    states = [row.state for row in left if row.state]
    pending = bool(states) and states[-1] == _PENDING
    if action == "quarantine":
        return pending
    column = target.generation.step_column
    answer = predict(target, History(column, readable=True, pending=pending, owner=owner))
    return answer.empty == "blocked"


def _terminal(
    seen: Sequence[LogRow], left: Sequence[LogRow], target: Target, max_step: int
) -> Terminal:
    """The end in the words of the generation that wrote the turn.

    G3 clears a pending execution only by COMPLETED under the same exec_id; every later generation
    ends a turn by FAILED as well, which is what happened (recorded answers of real servers).
    """
    if any(row.position > _NUMBERS_END and _number(row) is None for row in left):
        raise NoChangeError("a row whose number is no number sorts after every row added.")
    numbers = [number for row in seen if (number := _number(row)) is not None]
    step = max(numbers, default=0) + 1
    if step > max_step:
        raise NoChangeError(f"no step is left after step {step - 1}: the column takes no more.")
    pending = next((row for row in reversed(left) if row.state == _PENDING), left[-1])
    writer = pending.writer or target.generation.name
    generation = GENERATIONS["G5b" if writer == G5_OR_G5B else writer]
    state = "COMPLETED" if "G3" in (generation.name, target.generation.name) else "FAILED"
    row = Row(
        pending.conversation_id, STATES.index(f"STATE_{state}"), exec_id=pending.exec_id or ""
    )
    return Terminal(step, state, write(row, generation, step))


def _number(row: LogRow) -> int | None:
    """Where the row sorts among numbers; None if it does not."""
    if row.position == row.step or abs(row.position) <= _NUMBERS_END:
        return row.position
    return None
