"""One row of a log in the words of another generation, without a byte of content changed.

A row is read as what its own keys say that it is (`rows.shape`), must decode there and must decode
as a row of the target; else it stays as it is, byte for byte. Rows in the forms that AX itself
writes go a fast way (`conversion_fast`), all others the careful one, with the same outcome.

Source: `event-log.md` §1.3 to §1.8; the schemas in `proto/`.
"""

from __future__ import annotations

from axnb.ax.conversion_careful import (
    NAMELESS,
    TARGETS,
    Conversion,
    Naming,
    check_target,
    convert_carefully,
    left_as_it_is,
)
from axnb.ax.conversion_fast import Way
from axnb.ax.versions import Generation
from axnb.text import is_text

__all__ = [
    "NAMELESS",
    "TARGETS",
    "Conversion",
    "Naming",
    "Way",
    "check_target",
    "convert",
    "convert_carefully",
    "left_as_it_is",
]


def convert(
    payload: str, column: str, step: int, target: Generation, naming: Naming | None = None
) -> Conversion:
    """A row of a log with step column `column`, at number `step`, in the words of `target`.

    Raises UsageError for a target that no log can be taken to; nothing for any payload.
    """
    way = Way(column, target)
    found = way.convert(payload.encode(), step, naming) if is_text(payload) else None
    if found is None:
        return convert_carefully(payload, column, step, target, naming)
    text = found.raw.decode()
    return Conversion(text, found.shape, (), "", *found[2:])
