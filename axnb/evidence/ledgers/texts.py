"""Ledgers that are text: CSV, with its columns in the first line, and JSON lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from axnb.errors import SourceError
from axnb.evidence.ledgers.records import Entry, Numbered, as_text, at_path, exact_json
from axnb.evidence.lines import MAX_LINE_BYTES, LineError, LineFile

#: What separates values; the header decides.
_DELIMITERS = ",;\t|"


class JsonLines:
    """An object a line; numbers keep their digits, and what is no text or number is JSON again."""

    columns: Sequence[str] = ()

    def __init__(self, path: Path) -> None:
        self._file = LineFile(path)

    def __enter__(self) -> JsonLines:
        self._file.__enter__()
        self.locator = self._file.locator
        return self

    def __exit__(self, *_: object) -> None:
        self._file.__exit__()

    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size()

    def entries(self, wanted: Sequence[str]) -> Iterator[Numbered]:
        """Lines that are not blank."""
        for number, line in self._file:
            try:
                yield Numbered(number, _object(line, wanted))
            except LineError as err:
                yield Numbered(number, err)

    def inexact(self, wanted: Sequence[str]) -> list[str]:
        """None: digits were kept."""
        return []

    def custody(self) -> dict[str, Any]:
        """Digest and size of what was read."""
        return self._file.custody()


def _object(line: bytes | None, wanted: Sequence[str]) -> Entry:
    if line is None:
        raise LineError("too long")
    try:
        found = exact_json(line)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise LineError("no JSON") from None
    if not isinstance(found, dict):
        raise LineError("no object")
    return {name: as_text(at_path(found, name)) for name in wanted}


class CsvFile:
    """Texts as they stand there; an empty one without quotes is no value."""

    def __init__(self, path: Path) -> None:
        self._file = LineFile(path)

    def __enter__(self) -> CsvFile:
        self._file.__enter__()
        self.locator = self._file.locator
        try:
            self._read_header()
        except BaseException:
            self._file.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.__exit__()

    def _read_header(self) -> None:
        first = next(self._lines(), "").removeprefix("\ufeff")
        self._delimiter = max(_DELIMITERS, key=first.count)
        csv.field_size_limit(MAX_LINE_BYTES)
        try:
            self.columns: Sequence[str] = next(csv.reader([first], delimiter=self._delimiter), [])
        except csv.Error:
            raise SourceError(f"the first line of {self._file.path} names no columns.") from None
        self.columns = [column.strip() for column in self.columns]
        if len({*self.columns}) != len(self.columns):
            raise SourceError(f"{self._file.path} names a column twice in its first line.")

    def _lines(self) -> Iterator[str]:
        """Lines as text; what is no UTF-8 is marked, for the entry that it stands in."""
        return (raw.decode(errors="surrogateescape") for raw in self._file.pieces())

    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size()

    def entries(self, wanted: Sequence[str]) -> Iterator[Numbered]:
        """Lines after the first; a value in quotes may go over several."""
        places = [(name, self.columns.index(name)) for name in wanted if name in self.columns]
        rows = csv.reader(self._lines(), delimiter=self._delimiter, strict=True)
        number = 1
        while True:
            number += 1
            try:
                row = next(rows, None)
                if row is None:
                    return
                if row:
                    yield Numbered(number, self._entry(row, places))
            except LineError as err:
                yield Numbered(number, err)
            except csv.Error:
                yield Numbered(number, LineError("quotes that are not closed"))

    def _entry(self, row: list[str], places: list[tuple[str, int]]) -> Entry:
        if len(row) != len(self.columns):
            raise LineError("another number of values than the first line")
        try:
            "".join(row).encode()
        except UnicodeEncodeError:
            raise LineError("no UTF-8") from None
        return {name: row[place] or None for name, place in places}

    def inexact(self, wanted: Sequence[str]) -> list[str]:
        """None: digits were kept."""
        return []

    def custody(self) -> dict[str, Any]:
        """Digest and size of what was read."""
        return self._file.custody()


def is_json(head: bytes) -> bool:
    """Does a file begin as JSON lines do?"""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
