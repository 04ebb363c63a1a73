"""The pieces of a JSON text as they are written: moved as text, digits and escapes are kept.

A parsed tree has lost how a text was escaped. Here an object or a list is cut into its members,
each of them a piece of the text that it came from. Nothing recurses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: A text in quotes, or a mark that holds values together; what lies between needs no look.
_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]', re.DOTALL)
_SPACE = " \t\r\n"


class Member(NamedTuple):
    """One member of an object: its name, and its key (with quotes) and value as they stand."""

    name: str
    key: str
    value: str


def members(text: str) -> list[Member]:
    """The members of an object, in order and with duplicates.

    `text` must be an object that `json_text.parse` takes; nothing is checked again.
    """
    return list(_members(text))


def items(text: str) -> list[str]:
    """The values of a list, as they stand. `text` must be a list that `json_text.parse` takes."""
    pieces = [text[start:end].strip(_SPACE) for _, start, end in _pieces(text)]
    return [] if pieces == [""] else pieces


def _members(text: str) -> Iterator[Member]:
    for colon, start, end in _pieces(text):
        if colon:
            key = text[start:colon].strip(_SPACE)
            yield Member(json.loads(key), key, text[colon + 1 : end].strip(_SPACE))


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """Where the pieces between the outermost commas stand: (colon or 0, start, end)."""
    depth = colon = start = 0
    for mark in _MARK.finditer(text):
        sign = text[mark.start()]
        if sign in "{[":
            depth += 1
            if depth == 1:
                start = mark.end()
        elif sign in "}]":
            depth -= 1
            if depth == 0:
                yield colon, start, mark.start()
        elif depth != 1:
            continue
        elif sign == ":":
            colon = colon or mark.start()
        elif sign == ",":
            yield colon, start, mark.start()
            colon, start = 0, mark.end()


def an_object(parts: Iterable[tuple[str, str]]) -> str:
    """An object of keys (with quotes) and values that are JSON already; compact."""
    return "{" + ",".join([f"{key}:{value}" for key, value in parts]) + "}"


def a_list(values: Iterable[str]) -> str:
    """A list of values that are JSON already; compact."""
    return f"[{','.join(values)}]"
