"""JSON of manifests and checkpoints, strictly: one meaning or none, at a bounded cost.

Go's decoder takes the last of two equal keys and pays for whatever depth and number of values it
is given; here both are refused before a value is built.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from axnb.substrate.errors import RefusedError

#: Real documents are 5 deep; a container's specification in a checkpoint is about 8 deep.
MAX_DEPTH = 64

#: Values of one document. A specification with some hundred mounts has some thousand.
MAX_VALUES = 100_000

#: Digits of a number; Go's 64 bits have 20.
_MAX_DIGITS = 100

# Possessive, so that a long string costs no memory for ways back.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},]', re.DOTALL)


def loads(data: bytes | str, *, max_size: int, max_values: int = MAX_VALUES) -> Any:
    """The one JSON document in `data`, `max_size` bytes or characters at most.

    Raises RefusedError: `too-large`, `not-utf8`, `too-deep`, `too-many-values`, `not-json`,
    `duplicate-key`, `lone-surrogate`. Numbers become int or float; NaN and Infinity are no JSON.
    """
    if len(data) > max_size:
        raise RefusedError("too-large", f"{len(data)} bytes, at most {max_size}")
    text = _decode(data) if isinstance(data, bytes) else data
    _bound(text, max_values)
    try:
        tree = _decoder.decode(text)
    except (json.JSONDecodeError, RecursionError, _BadNumberError):
        raise RefusedError("not-json") from None
    try:
        # A name with half of a surrogate pair has no form in UTF-8; Go writes another letter.
        if "\\u" in text:
            json.dumps(tree, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RefusedError("lone-surrogate") from None
    return tree


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        raise RefusedError("not-utf8", f"at byte {err.start}") from None


def _bound(text: str, max_values: int) -> None:
    """Count brackets and commas outside of strings, before anything is built."""
    depth = values = 0
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        values += mark in "[{,"
        if depth > MAX_DEPTH:
            raise RefusedError("too-deep", f"at most {MAX_DEPTH} levels")
        if values > max_values:
            raise RefusedError("too-many-values", f"at most {max_values}")


class _BadNumberError(ValueError):
    pass


def _refuse_constant(_: str) -> NoReturn:
    raise _BadNumberError


def _int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _BadNumberError
    return int(digits)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise RefusedError("duplicate-key")
    return members


_decoder = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_int, parse_constant=_refuse_constant
)
