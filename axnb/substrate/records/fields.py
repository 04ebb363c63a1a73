"""Fields of a record, read strictly: protobuf's JSON and Kubernetes' are the same but for case.

A field may be called `actorId` or `actor_id`; a 64 bit number may be a number or a text; an enum
may be a name or a number; a field that is unset, or null, is absent. What is never asked for is an
unknown field, and is reported by its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from axnb.substrate.records.documents import Digits, Limits, Lost, NotANumber, Twice, camel
from axnb.text import cut, safe

_MOST_PATH = 160
_INDEX = re.compile(r"\[\d+\]")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}")
_SURROGATE = re.compile("[\ud800-\udfff]")


class RejectedError(ValueError):
    """A record that cannot be read: a short class, and the path of the field that is wrong.

    not-json, ends-too-early, too-deep, too-large, too-long, duplicate-key, not-a-number, not-text
    (half of a surrogate pair, or bytes that are no UTF-8): the document. wrong-type, bad-number,
    bad-time, bad-enum, no-name: the field. other-kind, unknown-kind, not-decoded (binary protobuf):
    the record. too-many, too-many-rejects: the rest of the export, which is not read.
    """

    def __init__(self, reason: str, path: str = "$") -> None:
        super().__init__(f"{reason} at {path}")
        self.reason, self.path = reason, path


@dataclass(frozen=True)
class Words:
    """An enum: words by its names without `prefixes`, and names by number.

    A name or number that is not listed becomes a word of its own: `STATE_12`.
    """

    prefixes: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    #: What a number without a name is called.
    stem: str = "STATE"

    def word(self, value: Any, path: str) -> str:
        """Raises RejectedError where `value` is neither a name nor a number."""
        if type(value) is int:
            known = 0 <= value < len(self.numbers)
            name = self.numbers[value] if known else f"{self.stem}_{value}"
        elif isinstance(value, str) and (_WORD.fullmatch(value) or not value):
            prefix = next((p for p in self.prefixes if value.startswith(p)), "")
            name = value.removeprefix(prefix)
        else:
            raise RejectedError("bad-enum", path)
        return self.words.get(name, name)


def key(name: str) -> str:
    """A name that is data, as part of a path."""
    plain = name.isidentifier() and name.isascii()
    return f".{name}" if plain and len(name) <= 60 else f'["{cut(safe(name[:60]), 60)}"]'


class Fields:
    """An object of a record. Every method that reads a field takes its camel case name, or several
    where generations differ; all raise RejectedError."""

    def __init__(self, value: Any, path: str, limits: Limits, opened: list[Fields]) -> None:
        if not isinstance(value, dict):
            raise RejectedError("wrong-type", path)
        self.path, self._limits, self._opened = path, limits, opened
        self._members: dict[str, Any] = {}
        for name, member in value.items():
            if camel(name) in self._members:
                raise RejectedError("duplicate-key", path + key(name))
            self._members[camel(name)] = member
        self._asked: set[str] = set()
        opened.append(self)

    def has(self, *names: str) -> bool:
        """Is one of these fields set?"""
        return any(self._members.get(name) is not None for name in names)

    def get(self, name: str) -> Any:
        """The field as it stands, None if it is unset."""
        self._asked.add(name)
        return self._members.get(name)

    def ignore(self, *names: str) -> None:
        """Fields that are known and not kept."""
        self._asked.update(names)

    def unread(self) -> Iterator[str]:
        """Paths of the fields that nobody asked for."""
        for name in self._members.keys() - self._asked:
            yield _INDEX.sub("[]", self.path) + key(name)

    def _each(self, names: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
        for name in names:
            value = self.get(name)
            if value is not None:
                yield value, f"{self.path}.{name}"

    def text(self, *names: str) -> str:
        """The first of these that is set, as a text; "" if none is."""
        return next((self._text(*found) for found in self._each(names)), "")

    def _text(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise RejectedError("wrong-type", path)
        if len(value) > self._limits.text:
            raise RejectedError("too-long", path)
        return value

    def texts(self, *names: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(
            self._text(value, f"{path}[{n}]")
            for items, path in self._each(names)
            for n, value in enumerate(_list(items, path))
        )

    def number(self, *names: str) -> int | None:
        """A whole number of 64 bits, written as a number or as a text."""
        for value, path in self._each(names):
            number = _whole(value)
            if number is None or not -(1 << 63) <= number < 1 << 63:
                raise RejectedError("bad-number", path)
            return number
        return None

    def flag(self, name: str) -> bool:
        """A truth value, false if unset."""
        value = self.get(name)
        if value not in (None, True, False) or type(value) in (int, float):
            raise RejectedError("wrong-type", f"{self.path}.{name}")
        return bool(value)

    def time(self, *names: str) -> datetime | None:
        """An RFC 3339 time in UTC, to the microsecond; None if unset, or Go's zero time."""
        for value, path in self._each(names):
            try:
                found = datetime.fromisoformat(value)
                if found.tzinfo is None:
                    raise RejectedError("bad-time", path)
                return found.astimezone(UTC) if found.year > 1 else None
            except (TypeError, ValueError, OverflowError):
                raise RejectedError("bad-time", path) from None
        return None

    def word(self, words: Words, *names: str, unset: str = "") -> str:
        """An enum as one of `words`, `unset` if it is."""
        return next((words.word(*found) for found in self._each(names)), unset)

    def object(self, *names: str) -> Fields | None:
        """The first of these messages that is set."""
        for value, path in self._each(names):
            return Fields(value, path, self._limits, self._opened)
        return None

    def objects(self, *names: str) -> list[Fields]:
        """A list of messages."""
        return [
            Fields(value, f"{path}[{n}]", self._limits, self._opened)
            for items, path in self._each(names)
            for n, value in enumerate(_list(items, path))
        ]

    def entries(self, name: str) -> list[tuple[str, Any, str]]:
        """A map, whose names are data: name, value and path of each entry, sorted by name."""
        value = self.get(name)
        path = f"{self.path}.{name}"
        if value is None:
            return []
        if not isinstance(value, dict):
            raise RejectedError("wrong-type", path)
        return [(self._text(n, path), v, path + key(n)) for n, v in sorted(value.items())]

    def below(self, value: Any, path: str) -> Fields:
        """A message that is the value of a map's entry."""
        return Fields(value, path, self._limits, self._opened)


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if _INTEGER.fullmatch(value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if type(value) is int else None


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise RejectedError("wrong-type", path)
    return value


def examine(value: Any, limits: Limits) -> None:
    """Raise RejectedError if a value holds what no record may hold, wherever it stands."""
    if not _is_sound(value, limits):
        _find_wound(value, limits)


#: Values that need no second look.
_PLAIN = frozenset({int, float, bool, type(None)})


def _is_sound(value: Any, limits: Limits) -> bool:
    """The same without a place, and much faster."""
    count = characters = 0
    level, depth = [value], 0
    while level:
        depth += 1
        count += len(level)
        if depth > limits.depth or count > limits.values:
            return False
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind is str:
                characters += len(node)
                if not node.isascii() and _SURROGATE.search(node):
                    return False
            elif kind is dict:
                names = "".join(node)
                characters += len(names)
                if not names.isascii() and _SURROGATE.search(names):
                    return False
                below.extend(node.values())
            elif kind is list:
                below.extend(node)
            elif kind not in _PLAIN:
                return False
        if characters > limits.characters:
            return False
        level = below
    return True


def _find_wound(value: Any, limits: Limits) -> None:
    count = characters = 0
    stack: list[tuple[Any, _Step]] = [(value, _Step(None, "$", 1))]
    while stack:
        node, step = stack.pop()
        count += 1
        if isinstance(node, str):
            characters += len(node)
            if isinstance(node, Digits):
                raise RejectedError("bad-number", step.path())
            if not node.isascii() and _SURROGATE.search(node):
                raise RejectedError("not-text", step.path())
        elif isinstance(node, dict):
            if isinstance(node, Twice):
                raise RejectedError("duplicate-key", step.path())
            for name, member in node.items():
                characters += len(name)
                if not name.isascii() and _SURROGATE.search(name):
                    raise RejectedError("not-text", step.path())
                stack.append((member, _Step(step, name, step.depth + 1)))
        elif isinstance(node, list):
            stack.extend((item, _Step(step, n, step.depth + 1)) for n, item in enumerate(node))
        elif isinstance(node, Lost):
            raise RejectedError(node.reason, step.path())
        elif isinstance(node, NotANumber):
            raise RejectedError("not-a-number", step.path())
        if step.depth > limits.depth:
            raise RejectedError("too-deep", step.path())
        if count > limits.values or characters > limits.characters:
            raise RejectedError("too-large", "$")


@dataclass(frozen=True)
class _Step:
    """A place within a value; a chain to its root, since most paths are never spelled out."""

    parent: _Step | None
    name: str | int
    depth: int

    def path(self) -> str:
        parts: list[str] = []
        step: _Step | None = self
        while step is not None and step.parent is not None:
            parts.append(f"[{step.name}]" if isinstance(step.name, int) else key(step.name))
            step = step.parent
        path = "$" + "".join(reversed(parts))
        return path if len(path) <= _MOST_PATH else f"{path[: _MOST_PATH - 1]}…"
