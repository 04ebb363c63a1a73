"""What a ledger of any kind hands on: its columns, and its entries as texts.

Every value is the text in which the ledger has it, so no amount loses a digit on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from axnb.evidence.lines import LineError

#: An entry: column -> its text, None where it has none.
Entry = dict[str, str | None]


class Numbered(NamedTuple):
    """An entry of a ledger and its place there, from 1; or why it cannot be used."""

    row: int
    entry: Entry | LineError


#: A reader of JSON that keeps a number's digits as they stand there.
exact_json = msgspec.json.Decoder(float_hook=str).decode

_STEPS = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]")


def at_path(found: Any, name: str) -> Any:
    """The value under a name or a path such as `$.data.id`; None if there is none."""
    if not name.startswith("$"):
        return found.get(name)
    for key, index in _STEPS.findall(name):
        if key:
            found = found.get(key) if isinstance(found, dict) else None
        else:
            is_there = isinstance(found, list) and int(index) < len(found)
            found = found[int(index)] if is_there else None
    return found


def as_text(value: Any) -> str | None:
    """A value of JSON as text; what is no text or number is JSON again."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else msgspec.json.encode(value).decode()


class LedgerReader(Protocol):
    """A ledger that is open; a context manager. Methods raise SourceError."""

    @property
    def locator(self) -> str:
        """Where it lies; never a password."""

    @property
    def columns(self) -> Sequence[str]:
        """Its columns; empty where each entry has its own."""

    def __enter__(self) -> LedgerReader: ...

    def __exit__(self, *_: object) -> None: ...

    def size(self) -> int:
        """About how many bytes it has."""

    def entries(self, wanted: Sequence[str]) -> Iterator[Numbered]:
        """All entries, each with the columns that are wanted, or those of them that it has."""

    def inexact(self, wanted: Sequence[str]) -> list[str]:
        """Columns of these that the ledger itself keeps as floating-point numbers."""

    def custody(self) -> dict[str, Any]:
        """Proof of what was read. Raises SourceChangedError if it changed meanwhile."""
