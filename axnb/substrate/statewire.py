"""gVisor's state format, as far as `pages_meta.img` needs it: values, at a bounded cost.

A stream is a number with its highest bit set, the count of objects, then objects, each behind its
id, and definitions of types before their first use. Source: google/gvisor, pkg/state/wire/wire.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from axnb.substrate.errors import RefusedError
from axnb.substrate.protobuf import varint

_OBJECTS = 1 << 63

_BOOL, _INT, _UINT, _FLOAT32, _FLOAT64, _NIL, _REF, _STRING, _SLICE, _ARRAY = range(10)
_MAP, _STRUCT, _NONE, _SEVERAL = range(10, 14)
_TYPE = 17

#: An array of structs that hold structs is 6 deep.
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct: the number of its type, from 1, and its fields in the order of the type's."""

    type_id: int
    values: list[Value]


class List(list["Value"]):
    """An array, or the keys and the values of a map."""


#: References, slices (of which the array is another object), and zeros of any type are None.
Value = None | bool | int | bytes | Struct | List


def is_stream(data: bytes, position: int) -> bool:
    """Does a stream begin here? A length of 64 bits that fits into the file never looks like it."""
    try:
        return bool(varint(data, position)[0] & _OBJECTS)
    except RefusedError:
        return False


class Stream:
    """One stream; `position` is behind it once `objects` has come to its end.

    Raises RefusedError `bad-state`, or `bad-protobuf` of a number.
    """

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self.position = position
        self._types: list[tuple[str, list[str]]] = []
        # An array of zeros takes no bytes, however long it says it is.
        self._left = len(data)

    def objects(self) -> Iterator[Value]:
        """The objects; the first one is the root."""
        left = self._number() & ~_OBJECTS
        while left:
            kind = self._number()
            if kind == _TYPE:
                self._define()
                continue
            if kind != _UINT:
                raise RefusedError("bad-state")
            self._number()
            yield self._value(0)
            left -= 1

    def name(self, struct: Struct) -> str:
        """The name of a struct's type; empty if it is not defined."""
        return self._type(struct)[0]

    def fields(self, struct: Struct) -> dict[str, Value]:
        """A struct's fields by name."""
        return dict(zip(self._type(struct)[1], struct.values, strict=False))

    def _type(self, struct: Struct) -> tuple[str, list[str]]:
        known = 0 < struct.type_id <= len(self._types)
        return self._types[struct.type_id - 1] if known else ("", [])

    def _define(self) -> None:
        name = self._text()
        self._types.append((name, [self._text() for _ in range(self._count())]))

    def _text(self) -> str:
        return self._bytes(self._number()).decode("utf-8", "replace")

    def _number(self) -> int:
        value, self.position = varint(self._data, self.position)
        return value

    def _count(self) -> int:
        """A count of what follows, each a byte at least; more than that is a bomb."""
        count = self._number()
        if count > len(self._data) - self.position:
            raise RefusedError("bad-state")
        return count

    def _bytes(self, length: int) -> bytes:
        end = self.position + length
        if end > len(self._data):
            raise RefusedError("bad-state")
        data, self.position = self._data[self.position : end], end
        return data

    def _value(self, depth: int) -> Value:
        return self._of_kind(self._number(), depth)

    def _of_kind(self, kind: int, depth: int) -> Value:
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            raise RefusedError("bad-state")
        if kind in (_BOOL, _UINT, _FLOAT32, _FLOAT64):
            value = self._number()
            return value == 1 if kind == _BOOL else value
        if kind in (_NIL, _NONE):
            return None
        if kind == _STRUCT:
            return Struct(self._number(), self._fields(depth + 1))
        if kind == _INT:
            value = self._number()
            return value >> 1 ^ -(value & 1)
        return self._large(kind, depth + 1)

    def _large(self, kind: int, depth: int) -> Value:
        if kind == _STRING:
            return self._bytes(self._number())
        if kind == _ARRAY:
            return self._array(depth)
        if kind == _MAP:
            return self._map(depth)
        if kind == _SLICE:
            self._number()
            self._number()
        elif kind != _REF:
            # Definitions inside of values, interfaces, complex numbers: nothing here has them.
            raise RefusedError("bad-state")
        self._ref()
        return None

    def _fields(self, depth: int) -> list[Value]:
        kind = self._number()
        if kind == _NONE:
            return []
        if kind != _SEVERAL:
            return [self._of_kind(kind, depth)]
        return [self._value(depth) for _ in range(self._count())]

    def _ref(self) -> None:
        self._number()
        # A reference into an object, through fields: in no map of pages.
        if self._number():
            raise RefusedError("bad-state")

    def _array(self, depth: int) -> List:
        """Only the first one has its kind before it."""
        count = self._count()
        if not count:
            return List()
        kind = self._number()
        return List(self._of_kind(kind, depth) for _ in range(count))

    def _map(self, depth: int) -> List:
        count = self._count()
        if not count:
            return List()
        kinds: list[int] = []
        found = List()
        for n in range(2 * count):
            if n < 2:
                kinds.append(self._number())
            found.append(self._of_kind(kinds[n % 2], depth))
        return found
