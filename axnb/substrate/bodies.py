"""One encoded object, read once: the file that it restores to, and all that can be said of it.

What the bytes alone cannot show, two things are looked for. A raised size in a sparse stream: the
file then ends in a hole, which of what Substrate writes only memory of micro-VMs does. Another
sound object in place: the content is not what the name says (`axnb.substrate.contents`), or does
not fit the snapshot's other files (`axnb.substrate.cross`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from axnb.substrate.checkpoint import Head, OnEnv
from axnb.substrate.contents import (
    ODD_MEMBERS,
    ODD_SIZE,
    PAGE,
    PAGED,
    Content,
    Finding,
    Members,
    examine,
    kind_of,
)
from axnb.substrate.encoding import Decoded, Passing, Piece, restored
from axnb.substrate.frames import DEFAULT_LIMITS, Limits

#: A file whose last stretch is a hole and that is no memory of a micro-VM.
ENDS_IN_A_HOLE = "ends-in-a-hole"
#: And the hole begins where no file system has one begin.
RAISED_SIZE = "raised-size"
#: A content that Substrate does not write, and that restores all the same.
ODD_CONTENT = "odd-content"

#: Holes begin at blocks of a file system; the nodes' have 4 KiB.
_BLOCK = 4096

#: Gets each stretch of data (not the holes) with its offset in the file, in order.
Watch = Callable[[int, bytes], None]


@dataclass(frozen=True)
class Body(Decoded):
    """A whole object that was read to its end and is sound, and what its file holds."""

    #: The file's name in the snapshot.
    file: str
    #: Is the last stretch of the file a hole?
    ends_in_hole: bool
    #: Is the content what the name says, and a short class why not.
    content: Content
    content_why: str
    #: Of `checkpoint.img`.
    checkpoint: Head | None
    #: Of tars, as far as they could be read.
    members: Members | None
    #: Kind of another file of the same bundle -> the bytes that this file says it has.
    tells: tuple[tuple[str, int], ...]


def read_body(
    file: str,
    chunks: Iterable[bytes] | bytes,
    limits: Limits = DEFAULT_LIMITS,
    watch: Watch | None = None,
    digest: Callable[[], str] | None = None,
    on_env: OnEnv | None = None,
) -> Body:
    """Read the object of `file` to its end, once; `file` is its name in the snapshot.

    `on_env` gets the environments of a `checkpoint.img`, which are kept nowhere.
    `watch` gets the file's data on the way; what it got is proved only when this returns. `digest`
    gives the SHA-256 of the encoded bytes, where who hands out `chunks` has it anyway. Memory stays
    below 64 MiB whatever the object holds. Raises ObjectError, of the encoding only: damage inside
    of a well-encoded tar or checkpoint is a `content` that is `other`.
    """
    look = _Look(Passing(chunks, limits, digest), watch, on_env)
    found = examine(file, look)
    for _ in look:
        continue
    decoded = look.passing.decoded()
    is_memory = kind_of(file) == "memory-ranges"
    remarks = []
    if look.ends_in_hole and not is_memory:
        remarks.append(ENDS_IN_A_HOLE)
        # No file system keeps a hole that begins within a block.
        remarks += [RAISED_SIZE] if look.hole_at % _BLOCK else []
    if kind_of(file) in PAGED and decoded.size % PAGE:
        found = found if found.content == "other" else Finding("unknown", ODD_SIZE)
    about: dict[str, Any] = {field.name: getattr(decoded, field.name) for field in fields(decoded)}
    remarks += [ODD_CONTENT] if found.why in (ODD_MEMBERS, ODD_SIZE) else []
    about["remarks"] += tuple(remarks)
    return Body(
        **about,
        file=file,
        ends_in_hole=look.ends_in_hole,
        content=found.content,
        content_why=found.why,
        checkpoint=found.checkpoint,
        members=found.members,
        tells=found.tells,
    )


class _Look:
    """The pieces of an object as they pass, which can be looked at ahead."""

    def __init__(self, passing: Passing, watch: Watch | None, on_env: OnEnv | None) -> None:
        self.passing = passing
        self.on_env = on_env
        self.ends_in_hole = False
        #: Where the last hole begins.
        self.hole_at = 0
        self._watch = watch
        self._ahead: deque[Piece] = deque()

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        return self._ahead.popleft() if self._ahead else self._next()

    def start(self, most: int) -> bytes:
        """The first bytes, `most` at most; only before the iteration has begun."""
        size = sum(piece.length for piece in self._ahead)
        while size < most:
            try:
                piece = self._next()
            except StopIteration:
                break
            self._ahead.append(piece)
            size += piece.length
        return b"".join(_first(self._ahead, most))

    def _next(self) -> Piece:
        piece = next(self.passing)
        if piece.data is None and not self.ends_in_hole:
            self.hole_at = piece.offset
        self.ends_in_hole = piece.data is None
        if self._watch and piece.data is not None:
            self._watch(piece.offset, piece.data)
        return piece


def _first(pieces: Iterable[Piece], most: int) -> Iterator[bytes]:
    for chunk in restored(pieces):
        if most <= 0:
            return
        yield chunk[:most]
        most -= len(chunk)
