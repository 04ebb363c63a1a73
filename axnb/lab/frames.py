"""DataFrames of what a view shows: typed, and without a text that moves a cursor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from axnb.report.view import brief
from axnb.text import safe

if TYPE_CHECKING:
    import pandas

#: Rows and columns of text that stand beside the HTML of a cell.
_MOST_ROWS, _MOST_COLUMNS = 50, 48

#: What columns hold in every view, also where all of it is missing. All others hold texts.
_WHOLE = (
    *("step", "last_step", "left_step", "right_step", "first_difference", "row", "n", "turn"),
    *("bytes", "size", "rows", "count", "unknown_calls", "open_questions", "effects"),
    *("same", "other_text", "only_left", "only_right", "times"),
)
_FLAGS = ("consequential", "same_kind", "same_text", "person", "accepted")
_DTYPES: Mapping[str, Literal["Int64", "bool"]] = {
    **dict.fromkeys(_WHOLE, "Int64"),
    **dict.fromkeys(_FLAGS, "bool"),
}


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pandas.DataFrame:
    """Rows as a DataFrame; whole numbers stay whole where one is missing."""
    import pandas as pd

    records = list(rows)
    found = {
        name: pd.Series(
            [_harmless(record.get(name)) for record in records],
            dtype=_DTYPES.get(name, "object"),
        )
        for name in columns
    }
    return pd.DataFrame(found, columns=[*columns])


def harmless(found: pandas.DataFrame) -> pandas.DataFrame:
    """A table in which no text of a stranger moves a cursor or hides a letter."""
    return found.map(_harmless)


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_harmless, value))
    if isinstance(value, dict):
        return {_harmless(key): _harmless(of_key) for key, of_key in value.items()}
    return value


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
