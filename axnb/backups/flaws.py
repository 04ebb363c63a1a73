"""Flaws that a log can have in either store."""

from __future__ import annotations

from collections.abc import Sequence

from axnb.backups.model import Flaw
from axnb.text import count, cut_middle, safe

#: Rows or names that a flaw shows.
FEW = 5


def empty(place: str) -> Flaw:
    """The flaw of a backup that holds no row."""
    return Flaw("empty", "doubt", f"{place} holds an event log without a row: a backup of nothing.")


def key_missing(place: str, column: str) -> Flaw:
    """The flaw of a table that would take a number twice."""
    return Flaw(
        "key-missing",
        "error",
        f"{place} has no primary key (conversation_id, {column}): two servers can write the same "
        "number, and nothing refuses the second.",
    )


def trigger(place: str, names: tuple[str, ...]) -> Flaw:
    """The flaw of a table on which something runs that AX does not create."""
    return Flaw(
        "trigger", "doubt", f"{place} has triggers or rules on the log that are not AX's.", names
    )


def number_repeated(place: str, keys: Sequence[tuple[object, object]]) -> Flaw:
    """The flaw of numbers that are there twice."""
    return Flaw(
        "number-repeated",
        "error",
        f"{place} has {count(len(keys), 'number')} more than once in a conversation.",
        shown(keys),
    )


def not_utf8(place: str, keys: Sequence[tuple[object, object]]) -> Flaw:
    """The flaw of texts that are none."""
    return Flaw(
        "not-utf8",
        "error",
        f"{place} has {count(len(keys), 'row')} whose text is not UTF-8: AX cannot read them.",
        shown(keys),
    )


def shown(keys: Sequence[tuple[object, object]]) -> tuple[str, ...]:
    """The first of some rows, by conversation and number, to be shown."""
    return tuple(f"{cut_middle(safe(str(name)), 60)} step {step}" for name, step in keys[:FEW])
