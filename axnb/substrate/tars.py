"""Members of the tars in a snapshot, one after the other, at a bounded cost.

`durable-dir.tar` (`<volume>/…`), `rootfs-upper.tar` (`<container>/fs/…`, an overlay's upper layer)
and `multitar.img` (tars, one a file system of memory). Only headers are read; nothing is unpacked.
The standard library reads a long name or a pax record of any length into memory and stops at the
first end; so this is a reader of our own. Format: POSIX pax, GNU long names and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from axnb.substrate.encoding import Piece
from axnb.substrate.errors import TarError

_BLOCK = 512

#: A stub in `multitar.img`: u64 little-endian size, then offsets into `pages.img`.
_STUB = 32

Kind = Literal[
    "file", "directory", "symlink", "hardlink", "whiteout", "character", "block", "fifo", "other"
]
_KINDS: dict[bytes, Kind] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hardlink",
    b"2": "symlink",
    b"3": "character",
    b"4": "block",
    b"5": "directory",
    b"6": "fifo",
}
_USED_RECORDS = ("path", "linkpath", "size")

#: Kinds that have a body.
_WITH_BODY = ("file", "other")


@dataclass(frozen=True)
class TarLimits:
    """What a list of members may cost."""

    max_members: int = 1_000_000
    #: Bytes of one member's extended header; a path has 4 KiB at most.
    max_extended: int = 1 << 20


@dataclass(frozen=True)
class Member:
    """A member of a tar. Names are strangers' text; bytes that are no UTF-8 are surrogates."""

    name: str
    kind: Kind
    #: Bytes of the file itself; of `multitar.img` as the stub says.
    size: int
    #: Permission bits, with setuid, setgid and sticky.
    mode: int
    uid: int
    gid: int
    link: str
    #: Where its header begins in the restored tar.
    offset: int

    @property
    def risks(self) -> tuple[str, ...]:
        """Why it is not to be restored blindly: `absolute`, `leaves-tree`, `link-leaves-tree`,
        `setuid`, `setgid`, `device`, `fifo`, `control-character`, `unknown-type`.

        A whiteout (a character device 0:0) is how an overlay says that a file was deleted.
        """
        found = {
            "absolute": self.name.startswith("/"),
            "leaves-tree": _depth(self.name) is None,
            "link-leaves-tree": self._link_leaves(),
            "setuid": bool(self.mode & 0o4000) and self.kind != "symlink",
            # Of a directory it only says whose group new files are in.
            "setgid": bool(self.mode & 0o2000) and self.kind not in ("symlink", "directory"),
            "device": self.kind in ("character", "block"),
            "fifo": self.kind == "fifo",
            "control-character": any(ord(c) < 32 or ord(c) == 127 for c in self.name + self.link),
            "unknown-type": self.kind == "other",
        }
        return tuple(risk for risk, holds in found.items() if holds)

    def _link_leaves(self) -> bool:
        if self.kind == "hardlink":
            # A hard link names a member from the root of the tar.
            return self.link.startswith("/") or _depth(self.link) is None
        if self.kind == "symlink":
            folder = self.name.rstrip("/").rpartition("/")[0]
            return self.link.startswith("/") or _depth(f"{folder}/{self.link}") is None
        return False


def _depth(path: str) -> int | None:
    """Levels below the root at the end of a path; None if it is above it at any point."""
    depth = 0
    for segment in path.split("/"):
        depth += -1 if segment == ".." else segment not in ("", ".")
        if depth < 0:
            return None
    return depth


def members(
    pieces: Iterable[Piece], *, is_multitar: bool = False, limits: TarLimits | None = None
) -> Iterator[Member]:
    """Yield the members of a restored tar, in order.

    `is_multitar` goes on behind the end of a tar to the next one, and takes sizes from stubs.
    Raises TarError: `truncated`, `not-a-tar`, `checksum`, `bad-number`, `bad-record`,
    `too-many-members`, `extended-too-long`, `trailing-bytes`. A tar without an end (two blocks of
    zeros) is truncated. An ObjectError of the pieces passes through.
    """
    return _Reader(_Cursor(pieces), is_multitar, limits or TarLimits()).members()


class _Reader:
    def __init__(self, data: _Cursor, is_multitar: bool, limits: TarLimits) -> None:
        self._data = data
        self._is_multitar = is_multitar
        self._limits = limits
        self._shared: dict[str, str] = {}

    def members(self) -> Iterator[Member]:
        count = 0
        if not self._data.has_more():
            raise TarError("truncated", 0)
        while (member := self._next()) is not None:
            count += 1
            if count > self._limits.max_members:
                raise TarError("too-many-members", self._data.offset)
            yield member
        self._data.expect_zeros()

    def _next(self) -> Member | None:
        """The next member, or None at the end."""
        fields: dict[str, str] = {}
        while True:
            header = self._header(bool(fields))
            if header is None:
                return None
            offset = self._data.offset - _BLOCK
            kind = header[156:157]
            size = _number(header[124:136], offset)
            if kind in b"LKxg":
                self._extend(kind, size, fields)
                continue
            return self._member(header, size, {**self._shared, **fields}, offset)

    def _header(self, is_inside: bool) -> bytes | None:
        """The next header, over the ends of tars where there may be several."""
        offset = self._data.offset
        header = self._data.take(_BLOCK)
        if not any(header):
            if is_inside:
                raise TarError("bad-record", offset)
            if any(self._data.take(_BLOCK)):
                raise TarError("not-a-tar", offset)
            if not self._is_multitar:
                return None
            self._shared = {}
            begun = self._data.skip_zeros()
            if begun is None:
                return None
            offset = self._data.offset - begun
            header = bytes(begun) + self._data.take(_BLOCK - begun)
        _check_sum(header, offset)
        return header

    def _extend(self, kind: bytes, size: int, fields: dict[str, str]) -> None:
        """Read a long name, a long link, or a pax record for the next member or for all."""
        offset = self._data.offset
        if size > self._limits.max_extended:
            raise TarError("extended-too-long", offset)
        body = self._data.take(size)
        self._data.skip(-size % _BLOCK)
        if kind in b"LK":
            fields["path" if kind == b"L" else "linkpath"] = _name(body)
        else:
            told = _records(body, offset)
            # Others are of no use here, and nothing bounds how many there are.
            used = {key: told[key] for key in _USED_RECORDS if key in told}
            (self._shared if kind == b"g" else fields).update(used)

    def _member(self, header: bytes, size: int, fields: dict[str, str], offset: int) -> Member:
        kind = _KINDS.get(header[156:157], "other")
        if kind == "character" and header[329:345].strip(b"0 \0") == b"":
            kind = "whiteout"
        if "size" in fields:
            size = _decimal(fields["size"], offset)
        name, prefix = _name(header[:100]), _name(header[345:500])
        if prefix and header[257:263] == b"ustar\0":
            name = f"{prefix}/{name}"
        member = Member(
            name=fields.get("path", name),
            kind=kind,
            size=size if kind in _WITH_BODY else 0,
            mode=_number(header[100:108], offset) & 0o7777,
            uid=_number(header[108:116], offset),
            gid=_number(header[116:124], offset),
            link=fields.get("linkpath", _name(header[157:257])),
            offset=offset,
        )
        if kind == "file" and member.name.endswith("/"):
            member = replace(member, kind="directory")
        return self._skip_body(member)

    def _skip_body(self, member: Member) -> Member:
        if member.kind not in _WITH_BODY:
            return member
        stored = member.size
        if self._is_multitar and member.kind == "file" and stored >= _STUB:
            size = int.from_bytes(self._data.take(8), "little")
            member = replace(member, size=size)
            self._data.skip(stored - 8)
        else:
            self._data.skip(stored)
        self._data.skip(-stored % _BLOCK)
        return member


class _Cursor:
    """The bytes of a restored file, read forward; holes cost nothing to skip."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = iter(pieces)
        self._data: bytes | None = b""
        self._left = 0
        self.offset = 0

    def has_more(self) -> bool:
        """Is there another byte?"""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._data, self._left = piece.data, piece.length
        return True

    def take(self, length: int) -> bytes:
        """Exactly `length` bytes, or TarError `truncated`."""
        return b"".join(
            bytes(size) if data is None else data for data, size in self._stretches(length)
        )

    def skip(self, length: int) -> None:
        """Pass over `length` bytes, or TarError `truncated`."""
        while length:
            if not self.has_more():
                raise TarError("truncated", self.offset)
            size = min(length, self._left)
            self._left -= size
            self.offset += size
            length -= size

    def skip_zeros(self) -> int | None:
        """Pass over blocks of zeros; bytes of the block that is not all zeros that were passed too.

        None at the end of the file; TarError `truncated` where it ends inside a block.
        """
        while self.has_more():
            zeros = self._left
            if self._data is not None:
                zeros -= len(self._data[len(self._data) - self._left :].lstrip(b"\0"))
            is_end = zeros < self._left
            self._left -= zeros
            self.offset += zeros
            if is_end:
                return self.offset % _BLOCK
        if self.offset % _BLOCK:
            raise TarError("truncated", self.offset)
        return None

    def expect_zeros(self) -> None:
        """Read to the end of the file; TarError `trailing-bytes` if it is not all zeros."""
        while self.has_more():
            for data, _ in self._stretches(self._left):
                if data is not None and data.count(0) < len(data):
                    raise TarError("trailing-bytes", self.offset)

    def _stretches(self, length: int) -> Iterator[tuple[bytes | None, int]]:
        while length:
            if not self.has_more():
                raise TarError("truncated", self.offset)
            size = min(length, self._left)
            data = self._data
            if data is not None:
                start = len(data) - self._left
                data = data[start : start + size]
            self._left -= size
            self.offset += size
            length -= size
            yield data, size


def _check_sum(header: bytes, offset: int) -> None:
    """The header's sum, taken with the field of the sum as spaces."""
    digits = header[148:156].strip(b" \0")
    if not digits.isdigit() and header[257:262] != b"ustar":
        raise TarError("not-a-tar", offset)
    if sum(header) - sum(header[148:156]) + 8 * 32 != _number(header[148:156], offset):
        raise TarError("checksum" if header[257:262] == b"ustar" else "not-a-tar", offset)


def _number(field: bytes, offset: int) -> int:
    """An octal number, or GNU's binary one for what octal has no room for."""
    if field[0] & 0x80:
        if field[0] != 0x80:
            # Negative numbers, and more than 8 bytes of digits.
            raise TarError("bad-number", offset)
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0") or b"0"
    if not all(0x30 <= digit < 0x38 for digit in digits):
        raise TarError("bad-number", offset)
    return int(digits, 8)


def _decimal(text: str, offset: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise TarError("bad-number", offset)
    return int(text)


def _records(body: bytes, offset: int) -> dict[str, str]:
    """A pax record's entries: `LENGTH KEY=VALUE\\n`. Those without a meaning here are kept too."""
    found = {}
    position = 0
    while position < len(body):
        digits, _, _ = body[position : position + 21].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        entry = body[position : position + length]
        key, sign, value = entry[len(digits) + 1 : -1].partition(b"=")
        if len(entry) < length or not entry.endswith(b"\n") or not sign:
            raise TarError("bad-record", offset)
        found[_text(key)] = _text(value)
        position += length
    return found


def _name(field: bytes) -> str:
    return _text(field.partition(b"\0")[0])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
