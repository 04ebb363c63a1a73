"""The first row after a restore: which conversations it is tried on, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from axnb.backups.model import Flaw
from axnb.text import cut_middle, safe

REFUSED = "{place} refuses the first row after the restore ({what}): {why}."

_NEW = "axnb-first-write"


@dataclass(frozen=True)
class NewRow:
    """A row that is tried."""

    conversation: str
    #: The number before it.
    last: int
    is_new: bool = False

    @property
    def what(self) -> str:
        """What it is to the log."""
        return "of a new conversation" if self.is_new else "of a logged conversation"

    @property
    def shown(self) -> str:
        """Its conversation and number, to be shown."""
        return f"{cut_middle(safe(self.conversation), 60)} step {self.last + 1}"


def new_rows(known: Sequence[tuple[Any, Any]]) -> list[NewRow]:
    """A row of each of some conversations (id, last number), and of one that is not there."""
    rows = [NewRow(str(name), last) for name, last in known if isinstance(last, int)]
    return [*rows, NewRow(_NEW, 0, is_new=True)]


def unlike(
    place: str, row: NewRow, number: int, found: Sequence[tuple[Any, Any]], payload: str
) -> Flaw | None:
    """What a row that was accepted is not, when it is read back."""
    # SQLite counts on in floating point behind its largest integer.
    if not isinstance(number, int) or number != row.last + 1:
        why = f"it gets the number {number} after {row.last}"
    elif not found:
        why = "it was accepted, and is not there"
    elif [(step, _text(stored)) for step, stored in found] != [(number, payload)]:
        why = "it was accepted, and is stored otherwise"
    else:
        return None
    return Flaw(
        "first-write", "error", REFUSED.format(place=place, what=row.what, why=why), (row.shown,)
    )


def _text(stored: Any) -> Any:
    """A payload as text, also where the column keeps bytes: that is another flaw."""
    return stored.decode(errors="replace") if isinstance(stored, bytes) else stored


def together(flaws: Iterable[Flaw | None]) -> list[Flaw]:
    """One flaw for the rows that are refused for the same reason."""
    rows: dict[Flaw, list[str]] = {}
    for flaw in flaws:
        if flaw is not None:
            rows.setdefault(replace(flaw, evidence=()), []).extend(flaw.evidence)
    return [replace(flaw, evidence=tuple(shown)) for flaw, shown in rows.items()]
