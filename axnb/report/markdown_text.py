"""Texts of strangers in Markdown, in which nothing comes to life, in any dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from axnb.report.view import brief

_WIDTH = 120

#: Letters, digits, and marks that mean nothing within a line.
_PLAIN = re.compile(r"[A-Za-z0-9(…][A-Za-z0-9 .,;:()'’=+%…–-]*")

#: What these letters and marks can mean all the same: a list, a link, a picture, a reference.
_ALIVE = re.compile(
    r"^\d+[.)]"  # a numbered list
    r"|[A-Za-z0-9-]\.[A-Za-z]{2}"  # the name of a host
    r"|:(?!\d\d:)[\w+-]+:"  # an emoji, and not a time
    r"|:(?!\d\d$)[\w+-]+$"  # the same, once a colon follows
    r"|\bgh-\d|(?-i:\b[A-Z][A-Z0-9]+-\d)"  # an issue
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,}\b"  # a commit
    r"|==|\+\+|%%|''"  # marked, inserted, commented, strong
    r"|\((?:c|r|tm|p)\)",  # signs
    re.IGNORECASE,
)


def as_row(cells: Iterable[str]) -> str:
    """A row of a table."""
    # Dialects differ in what a backslash before a bar means, so no bar stands within a cell; it
    # is written as hidden characters are.
    return f"| {' | '.join(cell.replace('|', chr(92) + 'u007c') for cell in cells)} |"


def as_text(value: Any) -> str:
    """A sentence: as it is if nothing in it can come to life, else as code."""
    text = brief(value, 2 * _WIDTH)
    is_plain = _PLAIN.fullmatch(text) and not _ALIVE.search(text)
    return text if is_plain else as_code(text, 2 * _WIDTH)


def as_code(value: Any, width: int = _WIDTH) -> str:
    """A code span whose fence is longer than any in the text."""
    text = brief(value, width)
    if not text:
        return "(empty)"
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    # A space at both ends is taken off, unless there is nothing else.
    is_padded = text.startswith(" ") and text.endswith(" ") and text.strip() != ""
    room = " " if text.startswith("`") or text.endswith("`") or is_padded else ""
    return f"{fence}{room}{text}{room}{fence}"
