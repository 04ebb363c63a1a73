"""Canonical digests of many texts at once, and the process that computes them for another one.

It reads texts and writes digests, piece by piece, until its input ends; it knows nothing of a case
and starts in a tenth of a second. `axnb.case.digesters` starts it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from typing import BinaryIO

from axnb.ax.canonical_quick import quick_digest
from axnb.ax.json_text import PayloadError

#: Bytes of the offsets and of the texts that follow.
HEADER = Struct("=QQ")

#: Bytes of a digest.
SIZE = 32
_NONE = bytes(SIZE)


@dataclass(frozen=True)
class Texts:
    """UTF-8 texts, one after another: as a column of Arrow has them.

    `offsets` are 32-bit whole numbers in the order of this machine, one more than texts: where each
    begins and, with the next one, ends. The first is where `data` begins.
    """

    offsets: memoryview
    data: memoryview

    def __len__(self) -> int:
        return self.offsets.nbytes // 4 - 1


@dataclass(frozen=True)
class Digests:
    """`known` has a byte for each text: is there a canonical form? `digests` has 32 for each; they
    are 0 where there is none."""

    known: bytes
    digests: bytes


def digests_of(texts: Texts) -> Digests:
    """The canonical digest of each text that has a canonical form."""
    offsets, data = texts.offsets.cast("B").cast("i").tolist(), bytes(texts.data)
    base = offsets[0]
    digests: list[bytes] = []
    without: list[int] = []
    for start, end in pairwise(offsets):
        try:
            digests.append(quick_digest(data[start - base : end - base]))
        except PayloadError:
            without.append(len(digests))
            digests.append(_NONE)
    known = bytearray(b"\1" * len(digests))
    for n in without:
        known[n] = 0
    return Digests(bytes(known), b"".join(digests))


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer until nobody asks any more."""
    while header := asked.read(HEADER.size):
        lengths = HEADER.unpack(header)
        offsets, data = (memoryview(asked.read(length)) for length in lengths)
        found = digests_of(Texts(offsets, data))
        answers.write(found.known)
        answers.write(found.digests)
        answers.flush()


def main() -> None:
    """Serve the process that started this one; without it there is nobody to tell of an end."""
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
