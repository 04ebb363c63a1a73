"""Read JSON exactly as AX does: protojson of protobuf-go with `DiscardUnknown`.

AX decodes every row of a conversation before it does anything, and one row that fails makes the
whole conversation unreadable. So what counts here is not whether a document *looks* fine, but
whether protobuf-go accepts it: duplicate keys of known fields, two members of one oneof, lone
surrogates, bad base64 and numbers out of range are refused; unknown keys, unknown enum names and
nulls are dropped. Recorded answers of real servers are in `tests/data`.

Decoding is iterative, so a document nested 100,000 deep is a verdict and not a crash.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from axnb.ax.json_text import Members, Number, PayloadError, dump, is_number, parse

__all__ = ["Members", "Number", "PayloadError", "decode", "dump", "parse"]

#: protobuf-go's default: a message may nest this deep; a free object costs one a level.
RECURSION_LIMIT = 10_000

#: Where `decode` keeps the names that it dropped; no field of AX is called so.
DROPPED = "?"


@dataclass(frozen=True)
class _Field:
    name: str
    kind: str
    repeated: bool
    oneof: str | None
    message: Descriptor | None
    enum: EnumDescriptor | None
    #: The numbers of an enum's names. A dict, since the descriptor's own look-up stops at a NUL.
    names: dict[str, int]


_STRUCT = {"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"}
_NULL_ENUM = "google.protobuf.NullValue"
_KINDS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_ENUM: "enum",
    FieldDescriptor.TYPE_MESSAGE: "message",
}


@cache
def _fields(message: Descriptor) -> dict[str, _Field]:
    """The fields of a message by JSON name and by proto name; both spellings are one field."""
    found: dict[str, _Field] = {}
    for f in message.fields:
        kind = _KINDS[f.type]
        full_name = f.message_type.full_name if f.message_type else ""
        if full_name in _STRUCT:
            kind = "struct"
        elif full_name == "google.protobuf.Timestamp":
            kind = "timestamp"
        field = _Field(
            name=f.name,
            kind=kind,
            repeated=f.is_repeated,
            oneof=f.containing_oneof.name if f.containing_oneof else None,
            message=f.message_type,
            enum=f.enum_type,
            names={v.name: v.number for v in f.enum_type.values} if f.enum_type else {},
        )
        found[f.json_name] = found[f.name] = field
    return found


def decode(tree: Any, message: Descriptor) -> dict[str, Any]:
    """Decode a parsed document as `message`, as protobuf-go does with DiscardUnknown.

    Returns the fields that are set, by proto name: messages as dicts, repeated fields as lists,
    enums as int, bytes as bytes, structs as the parsed tree. Names that AX drops stand under
    DROPPED. Raises PayloadError where AX fails.
    """
    result: dict[str, Any] = {}
    stack: list[tuple[Any, Descriptor, int, dict[str, Any]]] = [
        (tree, message, RECURSION_LIMIT - 1, result)
    ]
    while stack:
        node, descriptor, budget, out = stack.pop()
        if budget < 0:
            raise PayloadError("nested too deep")
        if not isinstance(node, Members):
            raise PayloadError("wrong type", f"{descriptor.name} is no object")
        for field, value in _known_members(node, _fields(descriptor), budget, out):
            if field.repeated:
                if type(value) is not list:
                    raise PayloadError("wrong type", f"{field.name} is no list")
                out[field.name] = [_value(field, v, budget, stack) for v in value]
            else:
                decoded = _value(field, value, budget, stack)
                if decoded is not None or field.kind == "struct":
                    out[field.name] = decoded
    return result


def _known_members(
    node: Members, fields: dict[str, _Field], budget: int, out: dict[str, Any]
) -> Iterator[tuple[_Field, Any]]:
    """The members that AX looks at, after the checks for doubles that it makes on the way."""
    seen: set[str] = set()
    set_oneofs: set[str] = set()
    for name, value in node:
        field = fields.get(name)
        if field is None:
            if isinstance(value, list) and _depth_exceeds(value, budget):
                raise PayloadError("nested too deep")
            out.setdefault(DROPPED, []).append(name)
            continue
        if field.name in seen:
            raise PayloadError("duplicate key", field.name)
        seen.add(field.name)
        if value is None and not _takes_null(field):
            continue
        if field.oneof is not None:
            if field.oneof in set_oneofs:
                raise PayloadError("two members of one oneof", field.name)
            set_oneofs.add(field.oneof)
        yield field, value


def _takes_null(field: _Field) -> bool:
    if field.kind == "struct":
        return field.message is not None and field.message.full_name == "google.protobuf.Value"
    return field.enum is not None and field.enum.full_name == _NULL_ENUM


def _value(
    field: _Field, value: Any, budget: int, stack: list[tuple[Any, Descriptor, int, dict[str, Any]]]
) -> Any:
    """One value of a field; None for an enum name that AX drops. Messages go on the stack."""
    if field.kind == "message":
        child: dict[str, Any] = {}
        assert field.message is not None
        stack.append((value, field.message, budget - 1, child))
        return child
    if field.kind == "struct":
        _check_struct(field, value, budget)
        return value
    if field.kind == "enum":
        return _enum(field, value)
    return _SCALARS[field.kind](field, value)


def _check_struct(field: _Field, value: Any, budget: int) -> None:
    """Refuse what google.protobuf.Struct refuses: doubles of a key, numbers beyond a double."""
    if not isinstance(value, Members):
        raise PayloadError("wrong type", f"{field.name} is no object")
    stack: list[tuple[Any, int]] = [(value, budget - 1)]
    while stack:
        node, left = stack.pop()
        if left < 0:
            raise PayloadError("nested too deep")
        if isinstance(node, Members):
            if len({name for name, _ in node}) != len(node):
                raise PayloadError("duplicate key", f"in {field.name}")
            stack.extend((v, left - 1) for _, v in node)
        elif isinstance(node, list):
            stack.extend((v, left - 1) for v in node)
        elif isinstance(node, Number):
            _finite(field, node)


def _depth_exceeds(tree: list[Any], limit: int) -> bool:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > limit:
            return True
        children = (
            v
            for node in level
            for v in ([v for _, v in node] if isinstance(node, Members) else node)
        )
        level = [v for v in children if isinstance(v, list)]
    return False


def _enum(field: _Field, value: Any) -> int | None:
    assert field.enum is not None
    if value is None:
        return 0
    if isinstance(value, Number):
        return _integer(field, value, 32)
    if isinstance(value, str):
        return field.names.get(value)
    raise PayloadError("wrong type", field.name)


def _string(field: _Field, value: Any) -> str:
    if type(value) is not str:
        raise PayloadError("wrong type", f"{field.name} is no text")
    return value


def _bool(field: _Field, value: Any) -> bool:
    if type(value) is not bool:
        raise PayloadError("wrong type", f"{field.name} is no truth value")
    return value


def _bytes(field: _Field, value: Any) -> bytes:
    """Base64 as protobuf-go takes it: either alphabet, padded or not, line ends ignored."""
    text = _string(field, value)
    # The length is taken before line ends are dropped, as protobuf-go does.
    padded = len(text.encode()) % 4 == 0
    alphabet = b"-_" if "-" in text or "_" in text else b"+/"
    if alphabet == b"-_" and ("+" in text or "/" in text):
        raise PayloadError("bad base64", field.name)
    text = text.replace("\r", "").replace("\n", "")
    if not padded:
        if "=" in text:
            raise PayloadError("bad base64", field.name)
        text += "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text.encode("ascii"), altchars=alphabet, validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise PayloadError("bad base64", field.name) from None


def _number(field: _Field, value: Any) -> Number:
    """A number, or a text that is one and has no space around it."""
    if isinstance(value, Number):
        return value
    if type(value) is str and value.strip() == value and is_number(value):
        return Number(value)
    raise PayloadError("wrong type", f"{field.name} is no number")


#: The parts of a number: sign, whole part unless it is 0, fraction, exponent.
_PARTS = re.compile(r"(-?)(?:0|([1-9][0-9]*))(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]*))?")
#: protobuf-go refuses a whole number with more digits before it looks at the fraction.
_MAX_DIGITS = 20


def _integer(field: _Field, value: Any, bits: int) -> int:
    match = _PARTS.fullmatch(_number(field, value))
    assert match is not None
    sign, whole, fraction, exponent = match.groups(default="")
    fraction = fraction.rstrip("0")
    shift = _exponent(exponent)
    if not whole and not fraction and exponent not in ("+", "-"):
        return 0
    if shift is None or len(whole) + shift > _MAX_DIGITS:
        raise PayloadError("number out of range", field.name)
    cut = len(whole) + min(shift, 0)
    if len(fraction) > max(shift, 0) or cut < 0 or whole[cut:].strip("0"):
        raise PayloadError("wrong type", f"{field.name} is no whole number")
    number = int(sign + whole[:cut] + fraction + "0" * (shift - len(fraction)))
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise PayloadError("number out of range", field.name)
    return number


def _exponent(text: str) -> int | None:
    """An exponent of 32 bits; none at all counts as 0, a sign alone as out of range."""
    if not text:
        return 0
    digits = text.lstrip("+-").lstrip("0") or text[-1]
    if not digits.isdigit() or len(digits) > 10:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -(2**31) <= number < 2**31 else None


def _finite(field: _Field, digits: Number) -> float:
    try:
        number = float(digits)
    except ValueError:
        raise PayloadError("wrong type", f"{field.name} has a number without an exponent") from None
    if math.isinf(number):
        raise PayloadError("number out of range", f"in {field.name}")
    return number


def _double(field: _Field, value: Any) -> float:
    if value in ("NaN", "Infinity", "-Infinity") and not isinstance(value, Number):
        return float(value)
    return _finite(field, _number(field, value))


_TIMESTAMP = re.compile(
    r"(\d{4})(-\d\d-\d\d)T(\d\d?)(:\d\d:\d\d)(?:\.\d{1,9}|,\d+)?(?:Z|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
_YEARS_400 = 146_097 * 86_400
_YEARS_9999 = 315_537_897_600


def _timestamp(field: _Field, value: Any) -> str:
    """An RFC 3339 time with at most nine digits of a second; kept as it is written."""
    text = _string(field, value)
    match = _TIMESTAMP.fullmatch(text)
    if match is not None and _is_time(match):
        return text
    raise PayloadError("wrong type", f"{field.name} is no time")


def _is_time(match: re.Match[str]) -> bool:
    """A moment of the years 1 to 9999, once its zone is taken off; Go lets zones go to 24:60."""
    year, date, hour, rest, sign, hours, minutes = match.groups()
    # Python has no year 0, which a zone can bring into range; 400 years later all dates repeat.
    shifted = year == "0000"
    try:
        local = datetime.fromisoformat(f"{'0400' if shifted else year}{date}T{hour:0>2}{rest}")
    except ValueError:
        return False
    offset = 0
    if sign:
        if int(hours or 0) > 24 or int(minutes or 0) > 60:
            return False
        offset = int(f"{sign}1") * (int(hours or 0) * 3600 + int(minutes or 0) * 60)
    seconds = int((local - datetime(1, 1, 1)).total_seconds()) - _YEARS_400 * shifted - offset
    return 0 <= seconds < _YEARS_9999


_SCALARS = {
    "string": _string,
    "timestamp": _timestamp,
    "bytes": _bytes,
    "bool": _bool,
    "int32": lambda field, value: _integer(field, value, 32),
    "int64": lambda field, value: _integer(field, value, 64),
    "double": _double,
}
