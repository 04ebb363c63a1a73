"""Rows on their way from a source to a copy: what a source hands on, and what is written."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: Rows in a frame at most, and bytes of their payloads.
FRAME_ROWS = 2_000
FRAME_BYTES = 4 << 20

#: Rows that stay as they are and are named one by one.
FEW = 20

#: Paths that are told apart; a hostile log could name a new one in every row.
MANY = 200

USUAL = b"text,integer,text"


UsualRow = tuple[int, bytes, int, bytes]


class StoredRow(NamedTuple):
    """A row as its store gives it: texts as bytes.

    `row` orders the rows as they were committed. `classes` are the storage classes of its values
    (`text,integer,blob`), empty for those that AX writes.
    """

    row: int
    conversation_id: Any
    step: Any
    payload: Any
    classes: bytes


class Frame(NamedTuple):
    """Some rows of the copy, in order, with a digest over all that they hold.

    `usual` are rows of the classes that AX writes, as (row, conversation_id, step, payload) with
    texts as bytes; `odd` are all others. `nameless` says that servers wrote some of them that did
    not store the default harness by its name.
    """

    usual: list[UsualRow]
    odd: list[StoredRow]
    digest: bytes
    nameless: bool = False


class Written(NamedTuple):
    """A frame that was written: its first and last row, how many there are, and its digest."""

    first: int
    last: int
    rows: int
    digest: bytes


class Digest:
    """A digest over keys and texts of rows in order, whichever frames they come in.

    The number of a row says only its order. Each kind of value is a stream of its own.
    """

    def __init__(self) -> None:
        self._streams = tuple(hashlib.sha256() for _ in range(6))

    def add(self, usual: list[UsualRow], odd: list[StoredRow]) -> None:
        """Take in some more rows."""
        ids, payloads, lengths, sizes, numbers, others = self._streams
        if usual:
            _, names, steps, texts = zip(*usual, strict=True)
            ids.update(b"".join(names))
            payloads.update(b"".join(texts))
            lengths.update(array("q", map(len, names)))
            sizes.update(array("q", map(len, texts)))
            numbers.update(array("q", steps))
        for row in odd:
            others.update(repr(row[1:]).encode())

    def digest(self) -> bytes:
        """The sha256 over all of them so far."""
        return hashlib.sha256(b"".join(stream.digest() for stream in self._streams)).digest()


def digest(usual: list[UsualRow], odd: list[StoredRow]) -> bytes:
    """The digest of some rows alone."""
    found = Digest()
    found.add(usual, odd)
    return found.digest()


def split(rows: Iterable[StoredRow]) -> tuple[list[UsualRow], list[StoredRow]]:
    """Rows of the classes that AX writes, and all others."""
    usual: list[UsualRow] = []
    odd: list[StoredRow] = []
    for stored in rows:
        if stored[4]:
            odd.append(stored)
        else:
            usual.append(stored[:4])
    return usual, odd


def framed(rows: Iterable[StoredRow]) -> Iterator[list[StoredRow]]:
    """Rows in frames that fit into memory."""
    held: list[StoredRow] = []
    size = 0
    for row in rows:
        held.append(row)
        payload = row[3]
        size += len(payload) if isinstance(payload, bytes) else 0
        if len(held) == FRAME_ROWS or size > FRAME_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


class Kept(NamedTuple):
    """A row that stays as it is: its order, its key for a person, and why."""

    row: int
    conversation_id: str
    step: str
    reason: str


@dataclass
class Tally:
    """What became of the rows so far."""

    rows: int = 0
    converted: int = 0
    as_it_is: int = 0
    renumbered: int = 0
    named: int = 0
    kept: list[Kept] = field(default_factory=list)
    shapes: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)
    #: Conversations that got an owner, by its name.
    owners: dict[str, set[bytes]] = field(default_factory=dict)

    def lose(self, paths: Iterable[str]) -> None:
        """Count what the target cannot hold."""
        for path in paths:
            known = path in self.losses or len(self.losses) < MANY
            self.losses[path if known else "(other paths)"] += 1

    def keep(self, kept: Kept) -> None:
        """Count a row that stays as it is."""
        self.as_it_is += 1
        if len(self.kept) < FEW:
            self.kept.append(kept)

    def add(self, other: Tally) -> None:
        """Take in what another process counted."""
        self.rows += other.rows
        self.converted += other.converted
        self.as_it_is += other.as_it_is
        self.renumbered += other.renumbered
        self.named += other.named
        self.kept = sorted([*self.kept, *other.kept])[:FEW]
        self.shapes += other.shapes
        self.losses += other.losses
        for owner, conversations in other.owners.items():
            self.owners.setdefault(owner, set()).update(conversations)
