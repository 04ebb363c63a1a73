"""Text from strangers, made safe to show: on a terminal, in a table, in a spreadsheet."""

from __future__ import annotations

import unicodedata

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

#: What a spreadsheet takes for the start of a formula, in plain and full width.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def safe(text: str) -> str:
    """`text` on one line, with everything visible that could move a cursor or hide a letter.

    Control characters, bidi overrides, zero-width characters and lone surrogates become escapes.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return (
            f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
        )
    return character


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def cut(text: str, width: int) -> str:
    """The beginning of `text` that fits into `width` columns."""
    while columns(text) > width:
        text = text[: max(len(text) - max(1, (columns(text) - width) // 2), 0)]
    return text


def cut_middle(text: str, width: int) -> str:
    """`text` in at most `width` columns, cut in the middle: both ends tell ids apart."""
    if columns(text) <= width:
        return text
    head = cut(text[:width], (width - 1) // 2)
    tail = cut(text[::-1][:width], width - 1 - columns(head))[::-1]
    return f"{head}…{tail}"


def pad(text: str, width: int) -> str:
    """`text` with spaces up to `width` columns."""
    return text + " " * (width - columns(text))


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces where there are some."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns(joined) <= width:
            lines[-1] = joined
            continue
        head, *rest = fold(word, width)
        lines = [*lines, head, *rest] if lines[-1] else [head, *rest]
    return lines


def fold(text: str, width: int) -> list[str]:
    """`text` in pieces of at most `width` columns that put together are the same again."""
    pieces = []
    while columns(text) > width:
        piece = cut(text[:width], width) or text[0]
        pieces.append(piece)
        text = text[len(piece) :]
    return [*pieces, text]


def cell(text: str) -> str:
    """A text cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 conversation`, `2,000 conversations`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
