"""A file of lines, read once from its beginning to its end, whatever stands in it."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from axnb.errors import UnavailableError

#: Longer lines are counted and not looked into.
MAX_LINE_BYTES = 64 << 20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: Line numbers that a sentence names.
_FEW = 10


class LineError(ValueError):
    """A line cannot be read; `reason` is a short class, never a piece of the line.

    `foreign` lines belong to another program that writes to the same place.
    """

    def __init__(self, reason: str, *, foreign: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.foreign = foreign


class LineFile:
    """A file of lines; a context manager. Raises UnavailableError if it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digest = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> LineFile:
        try:
            self.locator = os.fsencode(self.path.resolve()).decode(errors="backslashreplace")
            self._file: IO[bytes] = self.path.open("rb")
        except (OSError, RuntimeError) as err:
            raise self._unreadable(err) from err
        except ValueError as err:
            raise UnavailableError("a path with a NUL in it names no file.") from err
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def size(self) -> int:
        """How many bytes it has; of a pipe nobody knows, and it may be many."""
        status = os.fstat(self._file.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else sys.maxsize

    def __iter__(self) -> Iterator[tuple[int, bytes | None]]:
        """Lines that are not blank, each with its number; None for one that is too long."""
        number = 0
        try:
            while raw := self._read():
                number += 1
                line: bytes | None = raw
                while len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
                    line, raw = None, self._read()
                line = line and line.removeprefix(_BYTE_ORDER_MARK).strip()
                if line != b"":
                    yield number, line
        except OSError as err:
            raise self._unreadable(err) from err

    def pieces(self) -> Iterator[bytes]:
        """Lines as they stand there, blank ones too; one that is too long comes in pieces."""
        try:
            while raw := self._read():
                yield raw
        except OSError as err:
            raise self._unreadable(err) from err

    def _read(self) -> bytes:
        raw = self._file.readline(MAX_LINE_BYTES + 1)
        self._digest.update(raw)
        self._size += len(raw)
        return raw

    def _unreadable(self, err: Exception) -> UnavailableError:
        why = getattr(err, "strerror", None) or "its links lead in a circle"
        return UnavailableError(f"{self.path} cannot be read: {why}.")

    def custody(self) -> dict[str, Any]:
        """Digest and size of what was read."""
        digest = self._digest.hexdigest()
        name = os.path.basename(self.locator)
        files = {name: {"size": self._size, "sha256": digest}}
        return {"sha256": digest, "bytes": self._size, "files": files}


class RejectedLines:
    """Lines that could not be read, by reason, for the sentences that name them."""

    def __init__(self) -> None:
        self.count = 0
        self._found: dict[tuple[bool, str], list[int]] = {}
        self._counts: dict[tuple[bool, str], int] = {}

    def add(self, number: int, error: LineError) -> None:
        """Count a line, and keep its number if it is among the first."""
        key = error.foreign, error.reason
        self.count += 1
        self._counts[key] = self._counts.get(key, 0) + 1
        numbers = self._found.setdefault(key, [])
        if len(numbers) < _FEW:
            numbers.append(number)

    def sentences(self, source: str, *, foreign: bool) -> list[str]:
        """A sentence a reason, about lines of another program or about all others."""
        return [
            _sentence(source, reason, numbers, self._counts[is_foreign, reason])
            for (is_foreign, reason), numbers in self._found.items()
            if is_foreign == foreign
        ]


def _sentence(source: str, reason: str, numbers: list[int], count: int) -> str:
    words = "line of {} is" if count == 1 else "lines of {} are"
    more = f", … {count - len(numbers):,} more" if count > len(numbers) else ""
    listed = ", ".join(map(str, numbers))
    return f"{count:,} {words.format(source)} not used ({reason}): {listed}{more}."
