"""Write AX's messages as protobuf-go writes them: `protojson.MarshalOptions{UseProtoNames: true}`.

`axnb.ax.protojson` has the other way. Every row of real servers in `tests/data` is written back
here byte by byte (but for the space after commas that some builds put).
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from axnb.ax.json_text import Members, Number, dump

#: protobuf-go writes by the order of declaration; here that differs from our own schema files.
_FIRST = {"ax.Step.description"}


def tree(message: Message) -> Any:
    """A message as a tree that `dump` writes."""
    name = message.DESCRIPTOR.full_name
    if name == "google.protobuf.Struct":
        fields: Any = message.fields  # type: ignore[attr-defined]
        return Members((key, tree(fields[key])) for key in sorted(fields, key=str.encode))
    if name == "google.protobuf.ListValue":
        return [tree(value) for value in message.values]  # type: ignore[attr-defined]
    if name == "google.protobuf.Value":
        kind = message.WhichOneof("kind")
        if kind in (None, "null_value"):
            return None
        member: Any = message.DESCRIPTOR.fields_by_name[kind or ""]
        return _single(member, getattr(message, member.name))
    members = Members()
    for field, value in sorted(message.ListFields(), key=_declared):
        is_list = field.is_repeated
        members.append((field.name, [tree(v) for v in value] if is_list else _single(field, value)))
    return members


def text(message: Message) -> str:
    """A message as compact JSON."""
    return dump(tree(message))


def struct(members: Members) -> Members:
    """A JSON object as google.protobuf.Struct gives it back: keys sorted, numbers as doubles."""
    return Members((key, _free(value)) for key, value in sorted(members, key=_by_key))


def _by_key(member: tuple[str, Any]) -> bytes:
    return member[0].encode()


def _free(value: Any) -> Any:
    if isinstance(value, Members):
        return struct(value)
    if isinstance(value, list):
        return [_free(inner) for inner in value]
    return _double(None, float(value)) if isinstance(value, Number) else value


def _declared(pair: tuple[Any, Any]) -> tuple[bool, int]:
    field = pair[0]
    return field.full_name not in _FIRST, field.index


def _single(field: Any, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return tree(value)
    write = _WRITERS.get(field.type)
    return value if write is None else write(field, value)


def _enum(field: Any, value: int) -> Any:
    if field.enum_type.full_name == "google.protobuf.NullValue":
        return None
    named = field.enum_type.values_by_number.get(value)
    return named.name if named else Number(value)


def _double(_: Any, value: float) -> Any:
    """As Go does: no `.0`, and an exponent for very small and very large numbers only."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        digits = format(Decimal(repr(value)), "f")
        return Number(digits.removesuffix(".0"))
    mantissa, _, exponent = repr(value).partition("e")
    sign, power = exponent[:1], exponent[1:].lstrip("0")
    return Number(f"{mantissa}e{sign}{power}")


_WRITERS: dict[int, Callable[[Any, Any], Any]] = {
    FieldDescriptor.TYPE_ENUM: _enum,
    FieldDescriptor.TYPE_DOUBLE: _double,
    FieldDescriptor.TYPE_INT32: lambda _, value: Number(value),
    FieldDescriptor.TYPE_INT64: lambda _, value: str(value),
    FieldDescriptor.TYPE_BYTES: lambda _, value: base64.b64encode(value).decode(),
}
