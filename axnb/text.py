"""Text from strangers, made safe to show: on a terminal, in a table, in a spreadsheet."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from pathlib import Path

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

#: What a spreadsheet takes for the start of a formula, in plain and full width.
_FORMULA_STARTS = "=+-@＝＋－＠"


#: What looks like nothing although its category is that of a letter or a mark.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

#: A name of a file that no command takes for an option or an address.
_PLAIN_NAME = re.compile(r"\w[\w.-]*")

#: Marks on one letter; more of them run over the lines above and below.
_MOST_MARKS = 4


def safe(text: str) -> str:
    """`text` on one line, with everything visible that could move a cursor or hide a letter.

    Control characters, bidi overrides, invisible characters, lone surrogates and piles of marks
    become escapes.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    # A mark needs a letter of its own text: it would change what stands before it.
    marks = _MOST_MARKS
    for character in text:
        escapes = is_hidden(character)
        if is_mark(character):
            marks += 1
            escapes = escapes or marks > _MOST_MARKS
        else:
            marks = _MOST_MARKS if escapes else 0
        shown.append(_escape(character) if escapes else character)
    return "".join(shown)


def is_hidden(character: str) -> bool:
    """Does a character do something, or show nothing, where it should be seen?"""
    hidden = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return unicodedata.category(character) in hidden or bool(_INVISIBLE.match(character))


def is_mark(character: str) -> bool:
    """Is it drawn onto the letter before it?"""
    return unicodedata.category(character) in ("Mn", "Me")


def _escape(character: str) -> str:
    number = ord(character)
    return _ESCAPES.get(character) or (
        f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    )


def is_text(text: str) -> bool:
    """Has `text` a form in UTF-8? Half of a surrogate pair has none; Python makes one of a byte of
    an argument that is no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_path(text: str) -> bool:
    """Can `text` name a file? Any byte but NUL may stand in a name, also one that is no UTF-8."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def sql_name(name: str) -> str:
    """A name of a table or a column as SQL takes any."""
    return '"' + name.replace('"', '""') + '"'


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if is_mark(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def cut(text: str, width: int) -> str:
    """The beginning of `text` that fits into `width` columns; nothing where there is no room."""
    width = max(width, 0)
    while columns(text) > width:
        text = text[: max(len(text) - max(1, (columns(text) - width) // 2), 0)]
    return text


def cut_middle(text: str, width: int) -> str:
    """`text` in at most `width` columns, cut in the middle: both ends tell ids apart."""
    if columns(text) <= width:
        return text
    if width < 1:
        return ""
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
    """A text cell that no spreadsheet takes for a formula, whatever it strips from its start."""
    seen = (c for c in text if not (c.isspace() or is_hidden(c)))
    is_formula = next(seen, " ") in _FORMULA_STARTS or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if is_formula else text


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 conversation`, `2,000 conversations`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def file_name(locator: str) -> str:
    """A source without the folder that it lies in; a database as it is."""
    return locator if "://" in locator else Path(locator).name or locator


def as_argument(locator: str) -> str:
    """A source as a command takes it where it lies: the name of its file, or a database."""
    name = file_name(locator)
    return name if "://" in locator or _PLAIN_NAME.fullmatch(name) else f"./{name}"


def as_command(*words: str) -> list[str] | None:
    """The words of a command, quoted for a shell; None where one cannot be pasted."""
    # What had to be escaped to be shown would name something else when it is pasted.
    if any(safe(word) != word for word in words):
        return None
    return [shlex.quote(word) for word in words]
