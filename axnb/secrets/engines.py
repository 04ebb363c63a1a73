"""What finds candidates in a lot of bytes: hyperscan where it is installed, else Arrow's RE2.

An engine knows where a secret may be, and no more; `matching` judges. So both find the same: each
points at every place at which one of the expressions matches, or at more. Measured on 256 MB of
memory pages (random bytes, text, zeros): see tests/benchmarks/secrets.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from threading import Lock
from typing import Any, Protocol

from axnb.errors import UsageError
from axnb.secrets import patterns
from axnb.secrets.matching import Candidate, Group

#: Expressions of which a match ends where the sign does; case does not matter.
_SIGNS: tuple[tuple[Group, bytes, bool], ...] = (
    ("assigned", patterns.ASSIGNED, True),
    ("assigned", patterns.SIGNED, True),
    ("paired", patterns.PAIRED, True),
    ("header", patterns.HEADER, True),
    ("userinfo", patterns.USERINFO, False),
    ("masked", patterns.MASKED_TRIGGER, False),
    ("jwt", patterns.JWT_MIDDLE, False),
)

#: How matches of these begin, in small letters, and what they must be from there on.
_ANCHORED: tuple[tuple[Group, tuple[bytes, ...], bytes], ...] = (
    ("assigned", patterns.NAME_STARTS, patterns.ASSIGNED_FROM_START),
    ("paired", patterns.NAME_STARTS, patterns.PAIRED_FROM_START),
    ("assigned", (b"signature=", b"sig="), rb"sig(?:nature)?="),
    ("header", (b"bearer ", b"basic "), patterns.HEADER),
    ("userinfo", (b"@",), b"@"),
    ("jwt", (b".eyj",), rb"\.eyJ[0-9A-Za-z_-]{6}"),
)

#: No match of an expression is longer.
_LONGEST = 320


class Engine(Protocol):
    """Finds candidates."""

    name: str
    #: Bytes that are best looked at together: some engines take their time to begin.
    window: int

    def candidates(self, data: bytes) -> list[Candidate]:
        """Where in `data` a secret may be."""

    def rows(self, values: Any, offsets: Any) -> list[int]:
        """Of rows that lie one behind the other in `values`, row n from `offsets[n]` to
        `offsets[n + 1]`, the numbers of those that may hold a secret, in order."""


@cache
def engine(name: str | None = None) -> Engine:
    """The engine of a name, or the best one that is here: `hyperscan`, else `re2`.

    It is compiled once a process. Raises UsageError where hyperscan is asked for and missing.
    """
    if name != "re2":
        # A processor without SSE4.2 has no use for it.
        with suppress(ImportError, OSError, RuntimeError):
            return _Hyperscan()
    if name == "hyperscan":
        raise UsageError("hyperscan is not installed here: install axnb[secrets].")
    return _Re2()


def _tokens() -> Iterator[tuple[bytes, int]]:
    """Expressions of tokens, each with the length of its matches."""
    for token in patterns.TOKENS:
        sign, count = token.sure
        for prefix in token.prefixes:
            yield re.escape(prefix) + sign + b"{%d}" % count, len(prefix) + count


class _Hyperscan:
    name = "hyperscan"
    window = 1 << 20

    def __init__(self) -> None:
        import hyperscan

        known = [
            *((text, "token", length, 0) for text, length in _tokens()),
            *((text, group, 0, int(caseless)) for group, text, caseless in _SIGNS),
        ]
        self._known: list[tuple[Group, int]] = [(group, length) for _, group, length, _ in known]
        self._database = hyperscan.Database()
        self._database.compile(
            expressions=[text for text, *_ in known],
            ids=list(range(len(known))),
            flags=[
                hyperscan.HS_FLAG_DOTALL | (hyperscan.HS_FLAG_CASELESS if caseless else 0)
                for *_, caseless in known
            ],
        )
        #: A database has one scratch, for one scan at a time.
        self._lock = Lock()

    def _ends(self, data: Any) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        add = found.append

        def keep(number: int, _from: int, end: int, _flags: int, _context: Any) -> None:
            add((end, number))

        with self._lock:
            self._database.scan(data, match_event_handler=keep)
        return found

    def candidates(self, data: bytes) -> list[Candidate]:
        known = self._known
        return [(end - known[n][1], known[n][0]) for end, n in self._ends(data)]

    def rows(self, values: Any, offsets: Any) -> list[int]:
        import numpy as np

        first, last = int(offsets[0]), int(offsets[-1])
        ends = [end for end, _ in self._ends(memoryview(values)[first:last])]
        # A match may begin in one row and end in the next: then it is none of either.
        last_bytes = np.array(ends, np.int64) + (first - 1)
        found = np.searchsorted(offsets, last_bytes, side="right") - 1
        return [int(row) for row in np.unique(found)]


class _Re2:
    """Arrow's RE2 says which windows of the bytes, or which rows, hold a candidate; then Python's
    own expressions say where."""

    name = "re2"
    window = 8 << 20
    _WINDOW = 8 << 10

    def __init__(self) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        self._np, self._pa, self._pc = np, pa, pc
        signs = [b"(?i:%s)" % text if caseless else text for _, text, caseless in _SIGNS]
        every = [*(text for text, _ in _tokens()), *signs]
        self._any = _loose(b"|".join(b"(?:%s)" % text for text in every)).decode("ascii")
        literals = (prefix for token in patterns.TOKENS for prefix in token.prefixes)
        self._literal = re.compile(patterns.any_of(literals))
        self._masked = re.compile(patterns.MASKED_TRIGGER)
        self._anchored = [
            (group, starts, re.compile(text, re.IGNORECASE | re.DOTALL))
            for group, starts, text in _ANCHORED
        ]

    def candidates(self, data: bytes) -> list[Candidate]:
        found: set[Candidate] = set()
        for start, end in self._regions(data):
            literal = self._literal.search(data, start, end)
            while literal is not None:
                place = literal.start()
                found.add((place, "token"))
                if masked := self._masked.match(data, place):
                    found.add((masked.end(), "masked"))
                # Another may begin in this one: `xapp-` and `-----BEGIN`.
                literal = self._literal.search(data, place + 1, end)
            small = data[start:end].lower()
            for group, starts, sign in self._anchored:
                for place in _places(small, starts):
                    if match := sign.match(data, start + place):
                        found.add((match.end(), group))
        return sorted(found)

    def rows(self, values: Any, offsets: Any) -> list[int]:
        return list(map(int, self._np.flatnonzero(self._holds(values, self._np.asarray(offsets)))))

    def _regions(self, data: bytes) -> list[tuple[int, int]]:
        """Where a match may be, with what stands around it."""
        np, size, window = self._np, len(data), self._WINDOW
        places = [(n, min(n + window, size)) for n in range(0, size, window)]
        edges = np.arange(0, size + window, window, dtype=np.int64).clip(max=size)
        # A match may lie over an edge: what is around each of them is one row more.
        over = range(window, size, window)
        around = [(max(0, edge - _LONGEST), min(edge + _LONGEST, size)) for edge in over]
        ends = np.cumsum([end - start for start, end in around], dtype=np.int64) + size
        values = b"".join((data, *(data[start:end] for start, end in around)))
        held = self._holds(values, np.concatenate([edges, ends]))
        found = [(places + around)[n] for n in map(int, np.flatnonzero(held))]
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            start, end = max(0, start - _LONGEST), end + _LONGEST
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _holds(self, values: Any, offsets: Any) -> Any:
        """For each row, does any expression match in it?"""
        pa = self._pa
        rows = len(offsets) - 1
        if rows <= 0:
            return self._np.zeros(0, bool)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
        large = offsets.dtype.itemsize == 8
        array = pa.Array.from_buffers(pa.large_binary() if large else pa.binary(), rows, buffers)
        found = self._pc.match_substring_regex(array, self._any)
        return found.to_numpy(zero_copy_only=False)


def _loose(text: bytes) -> bytes:
    """An expression that matches more, and that RE2 is ready for in a third of the time."""
    text = re.sub(rb"\{0,[0-9]+\}", b"*", text)
    text = re.sub(rb"\{1,[0-9]+\}", b"+", text)
    return re.sub(rb"\{[0-9]{2}\}", b"{8}", text)


def _places(data: bytes, words: tuple[bytes, ...]) -> Iterator[int]:
    """Where any of the words is."""
    for word in words:
        place = data.find(word)
        while place >= 0:
            yield place
            place = data.find(word, place + 1)


def candidate_rows(engine: Engine, array: Any) -> list[int]:
    """The rows of an Arrow array of texts or bytes that may hold a secret."""
    import numpy as np
    import pyarrow as pa

    if not len(array) or array.buffers()[2] is None:
        return []
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    offsets = np.frombuffer(array.buffers()[1], np.int64 if is_large else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    return [] if offsets[0] == offsets[-1] else engine.rows(array.buffers()[2], offsets)


@lru_cache(maxsize=64)
def operator_pattern(text: str) -> re.Pattern[bytes]:
    """The expression of an operator, over bytes. Raises re.error."""
    return re.compile(text.encode(), re.DOTALL)
