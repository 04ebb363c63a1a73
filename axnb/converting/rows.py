"""Rows on their way from a source to a copy: what a source hands on, and what is written."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

#: Rows in a frame at most, and bytes of their payloads.
FRAME_ROWS = 2_000
FRAME_BYTES = 4 << 20

#: Rows that are read back at once, by one thread.
PART_ROWS = 50_000

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


class Texts(NamedTuple):
    """Texts, one behind the other, and the length of each; they may be no UTF-8."""

    joined: bytes | memoryview
    lengths: array[int]

    @staticmethod
    def of(texts: Sequence[bytes]) -> Texts:
        """Texts as bytes."""
        return Texts(b"".join(texts), array("i", map(len, texts)))

    def ends(self) -> array[int]:
        """Where the first begins, and where each ends."""
        return array("i", accumulate(self.lengths, initial=0))

    def split(self) -> Iterator[bytes]:
        """One by one."""
        return (bytes(self.joined[begin:end]) for begin, end in pairwise(self.ends()))


class UsualRows(NamedTuple):
    """Rows of the classes that AX writes, column by column: a process hands them on sooner so."""

    row: array[int]
    conversation_id: Texts
    step: array[int]
    payload: Texts

    @staticmethod
    def of(
        row: Sequence[int],
        conversation_id: Sequence[bytes],
        step: Sequence[int],
        payload: Sequence[bytes],
    ) -> UsualRows:
        """Columns of the same length."""
        ids, payloads = Texts.of(conversation_id), Texts.of(payload)
        return UsualRows(array("q", row), ids, array("q", step), payloads)

    def one_by_one(self) -> Iterator[UsualRow]:
        """(row, conversation_id, step, payload) with texts as bytes."""
        ids, payloads = self.conversation_id.split(), self.payload.split()
        return zip(self.row, ids, self.step, payloads, strict=True)


class Frame(NamedTuple):
    """Some rows of the copy, in order.

    `usual` are rows of the classes that AX writes; `odd` are all others. `nameless` says that
    servers wrote some of them that did not store the default harness by its name.
    """

    usual: UsualRows
    odd: list[StoredRow]
    nameless: bool = False


class Digest:
    """A digest over keys and texts of rows in order, whichever frames they come in.

    The number of a row says only its order. Each kind of value is a stream of its own.
    """

    def __init__(self) -> None:
        self._streams = tuple(hashlib.sha256() for _ in range(6))

    def copy(self) -> Digest:
        """One that goes on from here by itself."""
        other = Digest()
        other._streams = tuple(stream.copy() for stream in self._streams)
        return other

    def add(self, usual: UsualRows, odd: Sequence[StoredRow] = ()) -> None:
        """Take in some more rows."""
        ids, payloads, lengths, sizes, numbers, others = self._streams
        ids.update(usual.conversation_id.joined)
        payloads.update(usual.payload.joined)
        lengths.update(usual.conversation_id.lengths)
        sizes.update(usual.payload.lengths)
        numbers.update(usual.step)
        for row in odd:
            others.update(repr(row[1:]).encode())

    def digest(self) -> bytes:
        """The sha256 over all of them so far."""
        return hashlib.sha256(b"".join(stream.digest() for stream in self._streams)).digest()


class Part(NamedTuple):
    """Rows that were written one after the other, to be looked for again.

    `begun` is the digest of all rows before them, `digest` that of all up to the last of them.
    """

    first: int
    last: int
    rows: int
    has_odd: bool
    begun: Digest
    digest: bytes


class Written:
    """All rows that were written so far."""

    def __init__(self) -> None:
        self.rows = 0
        self._parts: list[Part] = []
        self._digest = Digest()
        self._begin()

    def _begin(self) -> None:
        self._begun, self._before = self._digest.copy(), self.rows
        self._ends: list[int] = []
        self._has_odd = False

    def add(self, frame: Frame) -> None:
        """Take in rows that come after all others."""
        self._digest.add(frame.usual, frame.odd)
        self._ends += [*frame.usual.row[:1], *frame.usual.row[-1:], *(row.row for row in frame.odd)]
        self._has_odd = self._has_odd or bool(frame.odd)
        self.rows += len(frame.usual.row) + len(frame.odd)
        if self.rows - self._before >= PART_ROWS:
            self._end()

    def _end(self) -> None:
        first, last = min(self._ends), max(self._ends)
        number, digest = self.rows - self._before, self._digest.digest()
        self._parts.append(Part(first, last, number, self._has_odd, self._begun, digest))
        self._begin()

    def parts(self) -> list[Part]:
        """All of them, in order."""
        if self._ends:
            self._end()
        return self._parts

    def digest(self) -> bytes:
        """Over all rows."""
        return self._digest.digest()


def split(rows: Iterable[StoredRow]) -> tuple[UsualRows, list[StoredRow]]:
    """Rows of the classes that AX writes, and all others."""
    usual: list[StoredRow] = []
    odd: list[StoredRow] = []
    for stored in rows:
        (odd if stored[4] else usual).append(stored)
    row, conversation_id, step, payload, _ = zip(*usual, strict=True) if usual else [()] * 5
    return UsualRows.of(row, conversation_id, step, payload), odd


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
    kept: list[Kept] = field(default_factory=list)
    shapes: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)
    #: Conversations that got an owner, by its name, and those in which a row told its own.
    owners: dict[str, set[bytes]] = field(default_factory=dict)
    owned: set[bytes] = field(default_factory=set)

    def lose(self, paths: Iterable[str]) -> None:
        """Count what the target cannot hold."""
        for path in paths:
            known = path in self.losses or len(self.losses) < MANY
            self.losses[path if known else "(other paths)"] += 1

    def name(self, owner: str, conversation_id: bytes) -> None:
        """Note a conversation that got an owner."""
        self.owners.setdefault(owner, set()).add(conversation_id)

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
        self.kept = sorted([*self.kept, *other.kept])[:FEW]
        self.shapes += other.shapes
        self.losses += other.losses
        for owner, conversations in other.owners.items():
            self.owners.setdefault(owner, set()).update(conversations)
        self.owned |= other.owned

    def is_contradicted(self) -> bool:
        """Has a conversation got an owner although a row tells one?"""
        return any(self.owned & conversations for conversations in self.owners.values())
