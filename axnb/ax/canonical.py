"""One spelling for all JSON documents that say the same; its digest tells what a row says.

Builds of AX write the same row with other spaces; other writers use other escapes, other orders of
keys and other spellings of numbers. `docs/canonical-json.md` has the rules, for people and for
other programs. Nothing here recurses, and no number is expanded or rounded.
"""

from __future__ import annotations

import hashlib
import json
import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any

from axnb.ax.json_text import Members, Number, PayloadError, parse

_WORDS = {None: "null", True: "true", False: "false"}
#: A text in quotes. The quote, the backslash and U+0000 to U+001F are escaped, by the short escape
#: where there is one, else as \u00xx in lower case; all else stands as it is.
_quoted = json.JSONEncoder(ensure_ascii=False).encode
#: The parts of a number: sign, whole part, fraction, exponent.
_PARTS = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
#: Adds exponents of any length in linear time, which `int` refuses to read beyond 4,300 digits.
_EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)


def canonical(payload: str) -> str:
    """The canonical form of one JSON document: the same for all that say the same.

    Raises PayloadError for what is no JSON (RFC 8259), for a lone surrogate and for a key that
    stands twice in one object; its text holds no piece of the document.
    """
    return tree_text(parse(payload))


def canonical_digest(payload: str) -> bytes:
    """The sha256 (32 bytes) of the canonical form in UTF-8.

    Raises PayloadError where `canonical` does.
    """
    return tree_digest(parse(payload))


def tree_text(tree: Any) -> str:
    """The canonical form of what `json_text.parse` made of a document, or of a part of that."""
    return _utf8(tree).decode()


def tree_digest(tree: Any) -> bytes:
    """The canonical digest of such a tree."""
    return hashlib.sha256(_utf8(tree)).digest()


def _utf8(tree: Any) -> bytes:
    written: list[str] = []
    # Pieces that are yet to be written, the next one last: text, or an object or a list.
    pieces = [_piece(tree)]
    while pieces:
        piece = pieces.pop()
        if isinstance(piece, str):
            written.append(piece)
        elif isinstance(piece, Members):
            pieces.extend(reversed(_object_pieces(piece)))
        else:
            pieces.extend(reversed(_list_pieces(piece)))
    try:
        return "".join(written).encode()
    except UnicodeEncodeError:
        # One that was written as an escape is refused by the parser.
        raise PayloadError("lone surrogate") from None


def _object_pieces(members: Members) -> list[Any]:
    """An object by the code points of its keys, which is also the order of their UTF-8 bytes."""
    values = dict(members)
    if len(values) != len(members):
        raise PayloadError("duplicate key")
    pieces: list[Any] = []
    before = "{"
    for name in sorted(values):
        pieces += (f"{before}{_quoted(name)}:", _piece(values[name]))
        before = ","
    return [*pieces, "}"] if pieces else ["{}"]


def _list_pieces(items: list[Any]) -> list[Any]:
    pieces: list[Any] = []
    before = "["
    for value in items:
        pieces += (before, _piece(value))
        before = ","
    return [*pieces, "]"] if pieces else ["[]"]


def _piece(value: Any) -> Any:
    """The text of a plain value; an object or a list as it is."""
    if isinstance(value, Number):
        return number_form(value)
    if isinstance(value, str):
        return _quoted(value)
    return value if isinstance(value, list) else _WORDS[value]


def number_form(digits: Number) -> str:
    """A number's canonical form: a whole number that neither begins nor ends in 0, then the power
    of ten unless it is 0. Raises PayloadError for an exponent without digits.
    """
    parts = _PARTS.fullmatch(digits)
    if parts is None:
        # protobuf-go's tokenizer takes `1e`, which has no value in JSON.
        raise PayloadError("not JSON", "an exponent has no digits")
    sign, whole, fraction, exponent = parts.groups(default="")
    significant = (whole + fraction).lstrip("0")
    coefficient = significant.rstrip("0")
    if not coefficient:
        return f"{sign}0"
    power: int | Decimal = len(significant) - len(coefficient) - len(fraction)
    if exponent:
        power = _EXACT.add(Decimal(exponent), power)
    return f"{sign}{coefficient}e{power}" if power else sign + coefficient
