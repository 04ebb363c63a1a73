"""Bytes of an export to JSON values, one a record, each with its place or the reason it is lost.

An export is one document or several behind each other (`cat` of several, JSON lines). A list in a
document is read element by element, so that one damaged element does not cost the others; where
even its end cannot be found, the rest of its document is lost and the document is `cut`.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

#: Members that hold a list of records, and the kind that they promise ("" for any).
#: `snapshots` and `tags` are those of ListActorSnapshots and ListTags; `items` is Kubernetes'.
LISTS = {
    "actors": "actor",
    "workers": "worker",
    "snapshots": "snapshot",
    "actorSnapshots": "snapshot",
    "tags": "tag",
    "actorSnapshotTags": "tag",
    "atespaces": "atespace",
    "actorTemplates": "template",
    "items": "",
}


@dataclass(frozen=True)
class Limits:
    """What an export may hold at most; beyond, a record is a reject and an export is not read."""

    #: Bytes of the whole export: it is held in memory.
    size: int = 256 << 20
    #: Levels of nesting of one record.
    depth: int = 64
    #: Values, and characters of texts and names, in one record.
    values: int = 100_000
    characters: int = 8 << 20
    #: Characters of one name, id or URI. Substrate's own longest is 4096, a mount path.
    text: int = 4096
    #: Records, and kinds of unknown fields, in the export.
    records: int = 2_000_000
    paths: int = 1000
    #: Rejects; the rest of an export that has more is not read.
    rejects: int = 2000


class Twice(dict[str, Any]):
    """An object that has a name twice: protobuf's JSON refuses it, others take the last."""


class Digits(str):
    """A whole number of more digits than 64 bits have."""


class NotANumber:
    """NaN or Infinity, which JSON does not have."""


@dataclass(frozen=True)
class Lost:
    """A value that cannot be read, and why: a short class."""

    reason: str


@dataclass(frozen=True)
class Found:
    """A value that stands where a record does; `promised` is the kind that its list names."""

    document: int
    index: int | None
    promised: str
    value: Any


@dataclass
class Ended:
    """The end of a document.

    form      `list` (a member of LISTS), `array`, `object`, `empty` ({}), or `other`: no JSON
    listed    names of the members that were lists
    rest      its other members
    cut       its end was not found
    """

    document: int
    form: str = "object"
    listed: list[str] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)
    cut: bool = False


class _CutError(Exception):
    """The end of a value cannot be found."""

    def __init__(self, reason: str, index: int | None = None) -> None:
        self.reason, self.index = reason, index


def decoded(data: bytes) -> str:
    """The text of an export. UTF-16 with a byte order mark is what PowerShell's `>` writes; bytes
    that are no UTF-8 become lone surrogates, so that they cost their own record only."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data[: len(data) & ~1].decode("utf-16", "surrogatepass")
    return data.removeprefix(codecs.BOM_UTF8).decode(errors="surrogateescape")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Twice(members)


def _whole(digits: str) -> Any:
    return int(digits) if len(digits) <= 20 else Digits(digits[:21])


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_constant=lambda _: NotANumber()
)
_SPACE = re.compile(r"[ \t\r\n]*+")
#: A text has no line break in it, so a torn line ends there. What is printed for people is
#: indented, so a line that begins with a bracket is another document.
_BRACKETS = re.compile(r'"(?:[^"\\\n]++|\\.)*+"|\n[\[{]|["\[\]{}]')
_SCALAR_END = re.compile(r"[,\]}\s]|\Z")
_NEXT_DOCUMENT = re.compile(r"^[\[{]", re.MULTILINE)


def camel(name: str) -> str:
    """A field's name as protobuf's JSON writes it: `actor_id` and `actorId` are one field."""
    if "_" not in name:
        return name
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def values(text: str) -> Iterator[Found | Ended]:
    """Every value of an export that may be a record, then the end of its document."""
    position, document = _space(text, 0), 0
    while position < len(text):
        scan = _Scan(text, position, document)
        yield from scan.document_values()
        position = scan.position
        document += 1


def _space(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing too


class _Scan:
    """One document; `position` is behind it at the end."""

    def __init__(self, text: str, position: int, document: int) -> None:
        self.text, self.start, self.position = text, position, position
        self.end = Ended(document)
        #: The kind of the list that is being read.
        self._promised = ""

    def document_values(self) -> Iterator[Found | Ended]:
        try:
            if self._here() == "{":
                yield from self._members()
            elif self._here() == "[":
                self.end.form = "array"
                yield from self._items("")
            else:
                self.end.form = "other"
                raise _CutError("not-json")
        except _CutError as cut:
            self.end.cut = True
            yield self._found(cut.index, self._promised, Lost(cut.reason))
            again = _NEXT_DOCUMENT.search(self.text, max(self.position, self.start + 1))
            self.position = again.start() if again else len(self.text)
        yield self.end
        self.position = _space(self.text, self.position)

    def _here(self) -> str:
        return self.text[self.position : self.position + 1]

    def _found(self, index: int | None, promised: str, value: Any) -> Found:
        return Found(self.end.document, index, promised, value)

    def _members(self) -> Iterator[Found]:
        """The members of a document that is an object: lists of records, or one record."""
        rest: dict[str, Any] = {}
        twice = False
        for name in self._names():
            kind = LISTS.get(camel(name))
            if kind is not None and self._here() == "[":
                twice = twice or name in self.end.listed
                self.end.listed.append(name)
                self.end.form = "list"
                yield from self._items(kind)
            else:
                twice = twice or name in rest
                rest[name] = self._value()
        self.end.rest = Twice(rest) if twice else rest
        if self.end.form == "list":
            if twice:
                yield self._found(None, "", Lost("duplicate-key"))
        elif rest:
            yield self._found(None, "", self.end.rest)
        else:
            self.end.form = "empty"

    def _names(self) -> Iterator[str]:
        """Step from member to member; the caller reads each value."""
        self._step("{")
        if self._here() == "}":
            self.position += 1
            return
        while True:
            if self._here() != '"':
                raise self._cut()
            try:
                name, self.position = _DECODER.raw_decode(self.text, self.position)
            except json.JSONDecodeError:
                raise self._cut() from None
            self.position = _space(self.text, self.position)
            self._step(":")
            yield name
            self.position = _space(self.text, self.position)
            if self._here() == "}":
                self.position += 1
                return
            self._step(",")

    def _items(self, kind: str) -> Iterator[Found]:
        self._step("[")
        self._promised = kind
        index = 0
        while self._here() != "]":
            try:
                yield self._found(index, kind, self._value())
                self.position = _space(self.text, self.position)
                if self._here() == "]":
                    break
                self._step(",")
            except _CutError as cut:
                raise _CutError(cut.reason, index) from None
            index += 1
        self.position += 1
        self._promised = ""

    def _step(self, mark: str) -> None:
        if self._here() != mark:
            raise self._cut()
        self.position = _space(self.text, self.position + 1)

    def _cut(self) -> _CutError:
        return _CutError("ends-too-early" if self.position >= len(self.text) else "not-json")

    def _value(self) -> Any:
        """The value here, or Lost if it cannot be read and its end is found all the same."""
        try:
            value, self.position = _DECODER.raw_decode(self.text, self.position)
        except RecursionError:
            reason = "too-deep"
        except json.JSONDecodeError:
            reason = "not-json"
        else:
            return value
        self.position = self._behind()
        return Lost(reason)

    def _behind(self) -> int:
        """Where the value here ends, by its brackets."""
        if self._here() not in ("{", "[", '"'):
            end = _SCALAR_END.search(self.text, self.position)
            if end is None or end.start() == self.position:
                raise self._cut()
            return end.start()
        depth = 0
        for token in _BRACKETS.finditer(self.text, self.position):
            mark = token[0]
            if mark in ("{", "["):
                depth += 1
            elif mark in ("}", "]"):
                depth -= 1
            elif mark == '"' or mark[0] == "\n":
                break
            if depth <= 0:
                return token.end()
        raise _CutError("ends-too-early")
