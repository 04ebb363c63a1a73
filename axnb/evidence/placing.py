"""Odd rows on their way to the careful path: what their keys mean, and where AX reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from axnb.evidence.reader import OddRow


@dataclass(frozen=True)
class CarefulRow:
    """A row with its key as far as it could be read."""

    row: int
    conversation_id: str | None
    step: int | None
    key_text: str
    position: int
    #: Does the query of an AX server find the row?
    visible: bool
    payload: bytes | None
    size: int
    #: What is wrong with the key, or why the row cannot be read at all.
    problem: tuple[str, str] | None = None
    digest: bytes | None = None


def place_odd_rows(found: Iterable[OddRow]) -> Iterator[CarefulRow]:
    """Read the keys of odd rows, and put them where AX's `ORDER BY` puts them.

    SQLite sorts NULL before numbers, numbers before text, text before blobs; AX reads the rows in
    that order whatever their number means to a person.
    """
    for odd in found:
        step, problem = _read_step(odd)
        conversation_id, id_problem = _read_id(odd)
        if odd.problem is not None:
            problem = ("damaged", odd.problem)
        yield CarefulRow(
            row=odd.row,
            conversation_id=conversation_id,
            step=step,
            key_text=f"{odd.id_class},{odd.step_class},{odd.payload_class}",
            position=_position(odd, step),
            visible=odd.id_class == "text",
            payload=odd.payload,
            size=odd.size,
            problem=problem or id_problem,
            digest=odd.digest,
        )


def _read_id(odd: OddRow) -> tuple[str | None, tuple[str, str] | None]:
    if odd.conversation_id is None:
        return None, ("unreadable key", "conversation_id is NULL")
    try:
        return odd.conversation_id.decode(), None
    except UnicodeDecodeError as err:
        return (
            odd.conversation_id.decode(errors="backslashreplace"),
            ("unreadable key", f"conversation_id is not UTF-8 at byte {err.start}"),
        )


_DIGITS = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


def _read_step(odd: OddRow) -> tuple[int | None, tuple[str, str] | None]:
    """The number that a step means: 5.0 and '4' are numbers; '', 'one' and NULL are not."""
    number = _whole_number(odd)
    if number is not None and -(2**63) <= number < 2**63:
        return number, None
    return None, ("unreadable step", f"the step is {odd.step_class}, and no whole number")


def _whole_number(odd: OddRow) -> int | None:
    text = odd.step or ""
    if odd.step_class == "real":
        number = Decimal(text)
        return int(number) if number.is_finite() and number == number.to_integral_value() else None
    return int(text) if _DIGITS.fullmatch(text) else None


def _position(odd: OddRow, step: int | None) -> int:
    if odd.step_class == "null":
        return -(2**62)
    if odd.step_class not in ("integer", "real"):
        # Text and blobs come after all numbers, in the order of their bytes: the first seven tell.
        head = (odd.step or "").encode()[:7].ljust(7, b"\0")
        return 2**62 + (2**60 if odd.step_class == "blob" else 0) + int.from_bytes(head, "big")
    if step is not None:
        return max(-(2**62) + 1, min(2**62 - 1, step))
    number = float(odd.step or "0")
    if math.isnan(number):
        # PostgreSQL sorts what is no number after all numbers.
        return 2**62 - 1
    return int(number) if abs(number) < 2**62 else int(math.copysign(2**62 - 1, number))
