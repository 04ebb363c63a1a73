"""Points as a person writes them."""

from __future__ import annotations

import re

from axnb.errors import UsageError
from axnb.runtimes import POINTS

_PART = re.compile(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?")


def read_points(text: str) -> tuple[int, ...]:
    """`1,3`, `1-4` or `1-3,8` as points in order, each once; all of them for an empty text.

    Raises UsageError with the part that names none.
    """
    if not text.strip():
        return tuple(POINTS)
    found: set[int] = set()
    for part in text.split(","):
        matched = _PART.fullmatch(part)
        if matched is None:
            raise UsageError(f"{part.strip()!r:.40} names no point: write 1,3 or 1-4.")
        first, last = int(matched[1]), int(matched[2] or matched[1])
        if first > last:
            raise UsageError(f"the points {part.strip()} go backwards: write {last}-{first}.")
        found.update(range(first, last + 1))
    if unknown := sorted(found - POINTS.keys()):
        raise UsageError(f"there is no point {unknown[0]}: they go from 1 to {max(POINTS)}.")
    return tuple(sorted(found))
