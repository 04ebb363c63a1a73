"""The canonical form by way of libraries in C: the same as `axnb.ax.canonical`, and faster.

`docs/canonical-json.md` has the rules. What this module is not sure of goes to `canonical`, which
also says why a document is refused.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, NoReturn

from orjson import OPT_SORT_KEYS, Fragment, dumps, loads

from axnb.ax.canonical import canonical, number_form
from axnb.ax.json_text import Number, PayloadError

#: Some builds of AX put a space after each comma, as is seen at the beginning of a row. orjson does
#: not, so it need not be tried.
_SPACED, _HEAD = b'", "', 120


def quick_form(payload: bytes) -> bytes:
    """The canonical form of one JSON document; both are UTF-8.

    Raises PayloadError where `canonical` does, and for bytes that are no UTF-8.
    """
    if payload.find(_SPACED, 0, _HEAD) < 0:
        try:
            form = _compact(payload)
        except (ValueError, TypeError, RecursionError):
            # No JSON, deeper than orjson goes, or a text that it refuses.
            form = None
        if form is not None:
            return form
    return _exact(payload)


def quick_digest(payload: bytes) -> bytes:
    """The canonical digest (sha256, 32 bytes); raises PayloadError where `quick_form` does."""
    return sha256(quick_form(payload)).digest()


# --- what is written without spaces --------------------------------------------------------------


def _compact(payload: bytes) -> bytes | None:
    """The form of an object that is written as orjson writes one, but for the order of members.

    None where that cannot be told: orjson drops a key that stands twice, and rounds numbers.
    """
    tree = loads(payload)
    if type(tree) is not dict:
        return None
    found: list[Any] = []
    _look_at_members(tree, found)
    if not found:
        form = dumps(tree, None, OPT_SORT_KEYS)
        # Without spaces, with the shortest escapes and whole numbers alone, nothing of it can be
        # longer than it was: if all is as long, nothing is shorter, and no member is missing.
        return form if len(form) == len(payload) else None
    if dumps(tree) != payload:
        return None
    # Each number is spelled as orjson writes it.
    for container in found:
        places = container.items() if type(container) is dict else enumerate(container)
        for place, value in places:
            if type(value) is float or (type(value) is int and value and not value % 10):
                container[place] = _respelled(value)
    return dumps(tree, None, OPT_SORT_KEYS)


# Two functions that call each other, no deeper than orjson has read: one loop takes longer, and
# this is most of the work.
def _look_at_members(members: dict[str, Any], found: list[Any]) -> None:
    """Collect the objects and lists with a number whose canonical form is another one."""
    for value in members.values():
        kind = type(value)
        if kind is str:
            continue
        if kind is dict:
            _look_at_members(value, found)
        elif kind is list:
            _look_at_items(value, found)
        elif kind is float or (kind is int and value and not value % 10):
            found.append(members)


def _look_at_items(items: list[Any], found: list[Any]) -> None:
    for value in items:
        kind = type(value)
        if kind is str:
            continue
        if kind is dict:
            _look_at_members(value, found)
        elif kind is list:
            _look_at_items(value, found)
        elif kind is float or (kind is int and value and not value % 10):
            found.append(items)


def _respelled(value: float) -> Fragment:
    return _fragment(dumps(value).decode())


def _fragment(digits: str) -> Fragment:
    return Fragment(number_form(Number(digits)))


# --- any spelling --------------------------------------------------------------------------------


def _exact(payload: bytes) -> bytes:
    """The same for a document that is written in another way: Python's own parser hands over the
    digits of each number and all members of each object."""
    try:
        text = payload.decode()
    except UnicodeDecodeError as err:
        raise PayloadError("invalid UTF-8", f"at byte {err.start}") from None
    try:
        return dumps(_decoder.decode(text), None, OPT_SORT_KEYS)
    except (ValueError, TypeError, RecursionError):
        # Refused, or too deep, or a lone surrogate: the slow way knows, and says why.
        return canonical(text).encode()


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(members)
    if len(values) != len(members):
        raise PayloadError("duplicate key")
    return values


def _whole(digits: str) -> Fragment:
    # One that does not end in 0 is its own canonical form.
    return _fragment(digits) if digits[-1] == "0" else Fragment(digits)


def _no_number(_: str) -> NoReturn:
    raise PayloadError("not JSON", "NaN and Infinity are not JSON numbers")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_fragment, parse_constant=_no_number
)
