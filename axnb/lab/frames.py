"""DataFrames of what a view shows: typed, and without a text that moves a cursor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from axnb.report.view import brief
from axnb.text import safe

if TYPE_CHECKING:
    import pandas

#: Rows and columns of text that stand beside the HTML of a cell.
_MOST_ROWS, _MOST_COLUMNS = 50, 48

#: Columns that hold whole numbers in every view, also where all of them are missing.
_WHOLE = frozenset(
    (
        *("step", "last_step", "left_step", "right_step", "first_difference", "row", "n", "turn"),
        *("bytes", "size", "rows", "count", "unknown_calls", "open_questions"),
        *("same", "other_text", "only_left", "only_right"),
    )
)


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pandas.DataFrame:
    """Rows as a DataFrame; whole numbers stay whole where one is missing."""
    import pandas as pd

    records = list(rows)
    found = {
        name: pd.Series(
            [record.get(name) for record in records], dtype="Int64" if name in _WHOLE else "object"
        )
        for name in columns
    }
    return harmless(pd.DataFrame(found, columns=[*columns]))


def harmless(found: pandas.DataFrame) -> pandas.DataFrame:
    """A table in which no text of a stranger moves a cursor or hides a letter."""
    return found.map(lambda value: safe(value) if isinstance(value, str) else value)


def plain(found: pandas.DataFrame) -> str:
    """A table as text, of bounded size."""
    if found.empty:
        return "(no row)"
    shown = found.head(_MOST_ROWS).map(
        lambda value: brief(value, _MOST_COLUMNS) if isinstance(value, str) else value
    )
    more = len(found) - len(shown)
    text = str(shown.to_string(index=False, na_rep=""))
    return f"{text}\n… {more:,} more rows" if more > 0 else text
