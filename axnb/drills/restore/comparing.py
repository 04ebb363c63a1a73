"""How the conversations of a restored log stand to the same ones of another log.

Rows stand under their number; two are the same if they say the same, however they are written.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from axnb.case.case import ask
from axnb.case.differing import ConversationDifference, differing

#: Steps of a conversation that differ and are named; DuckDB lists no more of them.
_EVERY = 999_999


@dataclass(frozen=True)
class Extent:
    """What a log holds of a conversation."""

    rows: int = 0
    #: The highest number; 0 where there is none.
    last_step: int = 0
    #: Where the store wrote the first and the last row of it.
    first_row: int = 0
    last_row: int = 0


@dataclass(frozen=True)
class Standing:
    """A conversation of the restored log (`ours`) beside the same one of another log."""

    conversation_id: str
    ours: Extent
    other: Extent
    #: Numbers that only the other log has, that only ours has, and under which they say different
    #: things; those of which nobody can tell.
    missing: tuple[int, ...] = ()
    extra: tuple[int, ...] = ()
    differing: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()

    @property
    def tail(self) -> tuple[int, ...]:
        """Rows of the other that come after all of ours: what a restore gives up."""
        return tuple(step for step in self.missing if step > self.ours.last_step)

    @property
    def holes(self) -> tuple[int, ...]:
        """Rows of the other that are not in ours, which goes on after them."""
        return tuple(step for step in self.missing if step <= self.ours.last_step)

    @property
    def twice(self) -> tuple[int, ...]:
        """Numbers that both have given out, each in its own way: from the first that differs on,
        also where both say the same there, as two ends of turns do."""
        if not self.differing:
            return ()
        first, last = min(self.differing), min(self.ours.last_step, self.other.last_step)
        # AX leaves no gap; where a row has a number out of all order, only what differs is named.
        if last - first >= min(self.ours.rows, self.other.rows):
            return self.differing
        return tuple(range(first, last + 1))

    @property
    def is_gone(self) -> bool:
        """Has ours nothing of it?"""
        return self.ours.rows == 0


def extents(session: duckdb.DuckDBPyConnection, source: str) -> dict[str, Extent]:
    """What a log holds of each conversation."""
    return {
        found["conversation_id"]: Extent(
            found["rows"], found["last_step"] or 0, found["first_row"], found["last_row"]
        )
        for found in ask(session, "extents", {"source": source})
    }


def standings(session: duckdb.DuckDBPyConnection, ours: str, other: str) -> dict[str, Standing]:
    """Every conversation of two logs of a case, by id."""
    mine, theirs = extents(session, ours), extents(session, other)
    return {
        key: _standing(key, mine.get(key, Extent()), theirs.get(key, Extent()), found)
        for found in differing(session, ours, other, most_steps=_EVERY)
        if (key := found.conversation_id) is not None
    }


def _standing(
    conversation_id: str, ours: Extent, other: Extent, found: ConversationDifference
) -> Standing:
    kinds = (found.only_right_steps, found.only_left_steps, found.different_steps)
    rows = found.only_right + found.only_left + found.different + found.unknown
    unclear = found.unknown_steps
    # Rows without a number are under none.
    unclear += (0,) * (rows - sum(map(len, kinds)) - len(unclear))
    return Standing(conversation_id, ours, other, *kinds, unclear)
