"""Find secrets in bytes of any length, in bounded memory: the same however they come in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from axnb.secrets import values
from axnb.secrets.beside import Match
from axnb.secrets.engines import Engine, candidate_rows, engine, operator_pattern
from axnb.secrets.matching import matches
from axnb.secrets.patterns import MAX_MATCH
from axnb.settings import Secrets

#: Bytes behind a place that are there when it is judged, and before it: the longest secret, one
#: that lies over it, and what stands beside them.
_BEHIND = 2 * MAX_MATCH
_BEFORE = MAX_MATCH + MAX_MATCH // 2


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret, without its value."""

    kind: str
    #: Of the variable or the key that it stands under, where one is known.
    name: str | None
    #: Of the value, in bytes as they stand.
    offset: int
    length: int
    #: HMAC-SHA256 of the value in one spelling, in hex.
    digest: str
    #: Masked in the middle: some of it is there.
    is_partial: bool


class Scanner:
    """Finds secrets and tells them by a digest that is keyed by `key` (32 bytes).

    `engine` is the name of one, for tests; without it the best one is taken. A scanner may be used
    in several threads.
    """

    def __init__(
        self, key: bytes, settings: Secrets | None = None, engine_name: str | None = None
    ) -> None:
        settings = settings or Secrets()
        self._key = key
        self._engine: Engine = engine(engine_name)
        self._operators = {
            name: operator_pattern(text) for name, text in sorted(settings.patterns.items())
        }
        #: Bytes that are looked at together.
        self.window = self._engine.window
        self._include_excluded = settings.include_excluded

    def scan(self, chunks: Iterable[bytes]) -> Iterator[Hit]:
        """The secrets of one file that comes in chunks of any length, in order."""
        stream = Stream(self)
        offset = 0
        for chunk in chunks:
            yield from stream.feed(offset, chunk)
            offset += len(chunk)
        yield from stream.finish()

    def scan_bytes(self, data: bytes) -> list[Hit]:
        """The secrets of a text."""
        return [self.hit(data, match, 0) for match in self.matches(data)]

    def scan_rows(self, array: Any) -> Iterator[tuple[int, Hit]]:
        """The secrets of an Arrow array of texts or of bytes, each with the number of its row.

        The values are looked at together, and those rows alone once more that may hold one; where
        an operator has expressions, each row.
        """
        rows = range(len(array)) if self._operators else candidate_rows(self._engine, array)
        for row in rows:
            value = array[row].as_buffer()
            if value is not None:
                for hit in self.scan_bytes(value.to_pybytes()):
                    yield row, hit

    def matches(self, data: bytes) -> list[Match]:
        """What is found in `data`, by place."""
        candidates = self._engine.candidates(data)
        if not candidates and not self._operators:
            return []
        return matches(data, candidates, self._operators, include_excluded=self._include_excluded)

    def hit(self, data: bytes, match: Match, base: int) -> Hit:
        """A match in `data`, which begins at `base` of its file."""
        return Hit(
            match.kind,
            match.name,
            base + match.start,
            match.end - match.start,
            values.digest(self._key, data[match.start : match.end], match.kind),
            match.is_partial,
        )


class Stream:
    """One file, fed piece by piece. It holds 9 MiB at most."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._window = scanner.window
        self._parts: list[bytes] = []
        self._held = 0
        #: Where in the file the held bytes begin, and up to where it was judged.
        self._base = 0
        self._judged = 0

    def feed(self, offset: int, data: bytes) -> list[Hit]:
        """Take the bytes at `offset`; the secrets that are certain by now.

        Offsets ascend. Where bytes are left out (a hole), what was before ends there.
        """
        found: list[Hit] = []
        if offset != self._base + self._held:
            found += self.finish()
            self._base = self._judged = offset
        for start in range(0, len(data), self._window):
            part = data[start : start + self._window] if len(data) > self._window else data
            self._parts.append(part)
            self._held += len(part)
            if self._held >= self._window + _BEFORE + _BEHIND:
                found += self._judge(self._base + self._held - _BEHIND)
        return found

    def finish(self) -> list[Hit]:
        """The rest of the secrets: the file, or a stretch of it, has ended."""
        end = self._base + self._held
        found = self._judge(end)
        self._parts, self._held = [], 0
        self._base = self._judged = end
        return found

    def _judge(self, up_to: int) -> list[Hit]:
        if up_to <= self._judged:
            return []
        data = b"".join(self._parts)
        base, judged = self._base, self._judged
        found = [
            self._scanner.hit(data, match, base)
            for match in self._scanner.matches(data)
            if judged <= base + match.start < up_to
        ]
        kept = max(base, up_to - _BEFORE)
        self._parts = [data[kept - base :]]
        self._held = len(self._parts[0])
        self._base, self._judged = kept, up_to
        return found
