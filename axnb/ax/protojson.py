"""Read JSON exactly as AX does: protojson of protobuf-go with `DiscardUnknown`.

AX decodes every row of a conversation before it does anything, and one row that fails makes the
whole conversation unreadable. So what counts here is not whether a document *looks* fine, but
whether protobuf-go accepts it: duplicate keys of known fields, two members of one oneof, lone
surrogates, bad base64 and numbers out of range are refused; unknown keys, unknown enum names and
nulls are dropped. Recorded answers of real servers are in `tests/data`.

Parsing and decoding are iterative below the C scanner, so a document nested 100,000 deep is a
verdict and not a crash.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, NoReturn

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

#: protobuf-go's default: a message may nest this deep, and a struct costs two a level.
RECURSION_LIMIT = 10_000

#: Where `decode` keeps the names that it dropped; no field of AX is called so.
DROPPED = "?"


class PayloadError(ValueError):
    """AX cannot decode this document; `reason` is a short class, never a piece of the document."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class Members(list[tuple[str, Any]]):
    """The members of a JSON object, in order and with duplicates."""


class Number(str):
    """The digits of a JSON number, exactly as they stand in the document."""


# --- JSON text -> tree -------------------------------------------------------------------------


def parse(text: str) -> Any:
    """Parse one JSON document into Members, lists, str, Number, bool and None.

    Raises PayloadError where protobuf-go's tokenizer does. Strings keep NUL; numbers keep their
    digits.
    """
    try:
        tree = _decoder.decode(text)
    except RecursionError:
        tree = _parse_deep(text)
    except json.JSONDecodeError as err:
        reason = "not JSON"
        if not text.strip(" \t\r\n"):
            reason = "empty payload"
        elif err.pos >= len(text.rstrip(" \t\r\n")) or err.msg.startswith("Unterminated string"):
            reason = "ends too early"
        elif err.msg == "Extra data":
            reason = "text after the end"
        raise PayloadError(reason, f"at character {err.pos}") from None
    if _SURROGATE_ESCAPE.search(text):
        _refuse_lone_surrogates(tree)
    return tree


def _refuse_constant(_: str) -> NoReturn:
    raise PayloadError("not JSON", "NaN and Infinity are not JSON numbers")


_decoder = json.JSONDecoder(
    object_pairs_hook=Members,
    parse_float=Number,
    parse_int=Number,
    parse_constant=_refuse_constant,
)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def _refuse_lone_surrogates(tree: Any) -> None:
    for text in _strings(tree):
        try:
            text.encode()
        except UnicodeEncodeError as err:
            raise PayloadError("lone surrogate", f"at character {err.start} of a string") from None


def _strings(tree: Any) -> Iterator[str]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if type(node) is str:
            yield node
        elif isinstance(node, Members):
            for name, value in node:
                yield name
                stack.append(value)
        elif isinstance(node, list):
            stack.extend(node)


_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.+_-]))
      | (?P<word>true|false|null)\b
      | (?P<mark>[\[\]{},:])
    )""",
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None}


def _parse_deep(text: str) -> Any:
    """Parse a document that is nested too deep for the C scanner, without recursion."""
    root: list[Any] = []
    stack: list[list[Any]] = [root]
    names: list[str | None] = [None]
    # What may come next: a value, a value or the end of an array, a name, a name or the end of
    # an object, a colon, or a comma or an end.
    expected = "value"
    position = 0
    while True:
        token = _TOKEN.match(text, position)
        if token is None:
            break
        position = token.end()
        kind, raw = token.lastgroup, token.group(token.lastgroup or 0)
        top = stack[-1]
        if kind == "mark":
            if raw in "[{" and expected in ("value", "value or ]"):
                child: list[Any] = Members() if raw == "{" else []
                _attach(top, names, child)
                stack.append(child)
                names.append(None)
                expected = "name or }" if raw == "{" else "value or ]"
            elif raw in "]}" and _may_close(top, raw, expected) and len(stack) > 1:
                stack.pop()
                names.pop()
                expected = "comma"
            elif raw == "," and expected == "comma" and len(stack) > 1:
                expected = "name" if isinstance(top, Members) else "value"
            elif raw == ":" and expected == "colon":
                expected = "value"
            else:
                raise PayloadError("not JSON", f"at character {position - 1}")
        elif kind == "string" and expected in ("name", "name or }"):
            names[-1] = json.loads(raw)
            expected = "colon"
        elif expected in ("value", "value or ]"):
            _attach(top, names, _scalar(kind, raw))
            expected = "comma"
        else:
            raise PayloadError("not JSON", f"at character {token.start()}")
        if len(stack) == 1 and root and expected == "comma":
            break
    if len(stack) > 1 or not root:
        raise PayloadError("ends too early" if not text[position:].strip() else "not JSON")
    if text[position:].strip(" \t\r\n"):
        raise PayloadError("text after the end", f"at character {position}")
    return root[0]


def _scalar(kind: str | None, raw: str) -> Any:
    if kind == "string":
        return json.loads(raw)
    return Number(raw) if kind == "number" else _WORDS[raw]


def _attach(parent: list[Any], names: list[str | None], value: Any) -> None:
    if isinstance(parent, Members):
        parent.append((names[-1] or "", value))
    else:
        parent.append(value)


def _may_close(top: list[Any], mark: str, expected: str) -> bool:
    if isinstance(top, Members):
        return mark == "}" and expected in ("name or }", "comma")
    return mark == "]" and expected in ("value or ]", "comma")


# --- tree -> fields ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    name: str
    kind: str
    repeated: bool
    oneof: str | None
    message: Descriptor | None
    enum: EnumDescriptor | None


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
        if kind == "message" and f.message_type.full_name in _STRUCT:
            kind = "struct"
        elif kind == "message" and f.message_type.full_name == "google.protobuf.Timestamp":
            kind = "timestamp"
        field = _Field(
            name=f.name,
            kind=kind,
            repeated=f.is_repeated,
            oneof=f.containing_oneof.name if f.containing_oneof else None,
            message=f.message_type,
            enum=f.enum_type,
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
            stack.extend((v, left - 2 if isinstance(v, list) else left - 1) for _, v in node)
        elif isinstance(node, list):
            stack.extend((v, left - 2 if isinstance(v, list) else left - 1) for v in node)
        elif isinstance(node, Number) and math.isinf(float(node)):
            raise PayloadError("number out of range", f"in {field.name}")


def _depth_exceeds(tree: list[Any], limit: int) -> bool:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > limit:
            return True
        children = (
            v for node in level for v in (_values(node) if isinstance(node, Members) else node)
        )
        level = [v for v in children if isinstance(v, list)]
    return False


def _values(members: Members) -> list[Any]:
    return [value for _, value in members]


def _enum(field: _Field, value: Any) -> int | None:
    assert field.enum is not None
    if value is None:
        return 0
    if isinstance(value, Number):
        return _integer(field, value, 32)
    if isinstance(value, str):
        known = field.enum.values_by_name.get(value)
        return None if known is None else known.number
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
    """Base64 as protobuf-go takes it: standard or URL alphabet, padded or not, line ends ignored."""
    text = _string(field, value)
    # The length is taken before line ends are dropped, as protobuf-go does.
    padded = len(text.encode()) % 4 == 0
    alphabet = b"-_" if "-" in text or "_" in text else b"+/"
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
    if type(value) is str and value.strip() == value:
        token = _TOKEN.fullmatch(value)
        if token is not None and token.lastgroup == "number":
            return Number(value)
    raise PayloadError("wrong type", f"{field.name} is no number")


def _integer(field: _Field, value: Any, bits: int) -> int:
    digits = _number(field, value)
    try:
        number = Decimal(digits)
    except InvalidOperation:
        raise PayloadError("number out of range", field.name) from None
    if number and number.adjusted() > 20:
        raise PayloadError("number out of range", field.name)
    if number != number.to_integral_value():
        raise PayloadError("wrong type", f"{field.name} is no whole number")
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise PayloadError("number out of range", field.name)
    return int(number)


def _double(field: _Field, value: Any) -> float:
    if value in ("NaN", "Infinity", "-Infinity") and not isinstance(value, Number):
        return float(value)
    number = float(_number(field, value))
    if math.isinf(number):
        raise PayloadError("number out of range", field.name)
    return number


_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)


def _timestamp(field: _Field, value: Any) -> str:
    """An RFC 3339 time with at most nine digits of a second; kept as it is written."""
    text = _string(field, value)
    match = _TIMESTAMP.fullmatch(text)
    try:
        if match is not None:
            datetime.fromisoformat(match.group(1))
            return text
    except ValueError:
        pass
    raise PayloadError("wrong type", f"{field.name} is no time")


_SCALARS = {
    "string": _string,
    "timestamp": _timestamp,
    "bytes": _bytes,
    "bool": _bool,
    "int32": lambda field, value: _integer(field, value, 32),
    "int64": lambda field, value: _integer(field, value, 64),
    "double": _double,
}


# --- tree -> text ------------------------------------------------------------------------------


def dump(tree: Any) -> str:
    """Write a parsed tree as compact JSON: order, duplicates and digits kept, no recursion."""
    out: list[str] = []
    stack: list[Any] = [_Node(tree)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        node = item.tree
        if isinstance(node, Number):
            out.append(node)
        elif isinstance(node, Members):
            stack.extend(reversed(_object_parts(node)))
        elif isinstance(node, list):
            stack.extend(reversed(_array_parts(node)))
        else:
            out.append(json.dumps(node, ensure_ascii=False))
    return "".join(out)


@dataclass(frozen=True)
class _Node:
    tree: Any


def _object_parts(members: Members) -> list[Any]:
    parts: list[Any] = ["{"]
    for n, (name, value) in enumerate(members):
        parts += [f"{',' if n else ''}{json.dumps(name, ensure_ascii=False)}:", _Node(value)]
    return [*parts, "}"]


def _array_parts(items: list[Any]) -> list[Any]:
    parts: list[Any] = ["["]
    for n, value in enumerate(items):
        parts += [",", _Node(value)] if n else [_Node(value)]
    return [*parts, "]"]
