"""Print the answer of a query a person typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.text import cut_middle, safe

#: Rows and characters of a value that are printed.
MAX_ROWS = 1000
MAX_VALUE = 60


def print_query(case: Case, query: str, write: Callable[[str], Any]) -> None:
    """Run a query in a session that can change nothing, and print its rows as columns.

    Raises UsageError with the first line of what DuckDB says, which is about the query.
    """
    with case.reading() as session:
        session.execute("set lock_configuration = true")
        try:
            result = session.execute(query)
            names = [column[0] for column in result.description or ()]
            rows = result.fetchmany(MAX_ROWS + 1)
        except duckdb.ConversionException:
            # Its message quotes the value that does not fit, and values are payloads.
            raise UsageError("the query fails: a value cannot be converted.") from None
        except duckdb.Error as err:
            raise UsageError(f"the query fails: {str(err).splitlines()[0][:200]}") from None
    shown = [[_value(value) for value in row] for row in rows[:MAX_ROWS]]
    widths = [max(len(cell) for cell in column) for column in zip(names, *shown, strict=True)]
    for line in (names, *shown):
        write("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip())
    if len(rows) > MAX_ROWS:
        write(f"… more than {MAX_ROWS:,} rows; add a limit or a condition")


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()[:MAX_VALUE]
    return "" if value is None else cut_middle(safe(str(value)), MAX_VALUE)
