"""Strangers' text in a script: as SQL literals, as identifiers, as comments.

A literal is written plainly only if each of its characters is harmless to every client: no quote,
backslash, dollar, semicolon, comment sign or line end. Anything else is written as the hex digits
of its UTF-8 bytes, which nothing reads as a command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from axnb.text import cut_middle, safe

_PLAIN = re.compile(r'[A-Za-z0-9 _.,:@/+={}"\[\]()-]*')
_IDENTIFIER = re.compile(r"[A-Za-z0-9_ .-]+")


def is_plain(text: str) -> bool:
    """May `text` stand between quotes as it is?"""
    return _PLAIN.fullmatch(text) is not None and "--" not in text


def comment(text: str, width: int = 80) -> str:
    """A stranger's text in a comment: on one line, visible, cut in the middle."""
    return cut_middle(safe(text), width)


@dataclass(frozen=True)
class Dialect:
    """How a store spells what a plan needs."""

    name: Literal["sqlite", "postgres"]
    title: str
    #: How a text is made from hex digits.
    from_hex: str
    #: The largest number that a step can have: that of SQLite's column, or of int4.
    max_step: int

    def text(self, value: str) -> str:
        """`value` as a literal of type text."""
        if is_plain(value):
            return f"'{value}'"
        return self.from_hex.format(value.encode().hex())

    def identifier(self, name: str) -> str:
        """`name` as a quoted identifier; odd characters become escapes (PostgreSQL)."""
        if _IDENTIFIER.fullmatch(name) and "--" not in name:
            return f'"{name}"'
        escaped = "".join(c if c.isascii() and c.isalnum() else f"\\+{ord(c):06x}" for c in name)
        return f'U&"{escaped}"'


SQLITE = Dialect("sqlite", "SQLite", "cast(x'{}' as text)", 2**63 - 1)
POSTGRES = Dialect("postgres", "PostgreSQL", "convert_from(decode('{}', 'hex'), 'UTF8')", 2**31 - 1)
