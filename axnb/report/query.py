"""Print the answer of a query a person typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.text import columns, cut_middle, is_text, pad, safe

#: Rows and characters of a value that are printed.
MAX_ROWS = 1000
MAX_VALUE = 60


#: Errors whose message is about the query; that of any other may quote a value.
_ABOUT_THE_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)


def print_queries(case: Case, text: str, write: Callable[[str], Any]) -> None:
    """Run queries in a session that can change nothing, and print their rows as columns.

    Raises UsageError with the first line of what DuckDB says, if that is about the query.
    """
    if not is_text(text):
        raise UsageError("the query is no text in UTF-8.")
    with case.reading() as session:
        session.execute("set lock_configuration = true")
        try:
            for statement in session.extract_statements(text):
                _print_rows(session.execute(statement), write)
        except _ABOUT_THE_QUERY as err:
            raise UsageError(f"the query fails: {str(err).splitlines()[0][:200]}") from None
        except duckdb.Error as err:
            raise UsageError(f"the query fails ({type(err).__name__}).") from None


def _print_rows(result: duckdb.DuckDBPyConnection, write: Callable[[str], Any]) -> None:
    names = [_value(column[0]) for column in result.description or ()]
    rows = result.fetchmany(MAX_ROWS + 1)
    shown = [[_value(value) for value in row] for row in rows[:MAX_ROWS]]
    widths = [max(map(columns, column)) for column in zip(names, *shown, strict=True)]
    for line in (names, *shown):
        write("  ".join(pad(cell, w) for cell, w in zip(line, widths, strict=True)).rstrip())
    if len(rows) > MAX_ROWS:
        write(f"… more than {MAX_ROWS:,} rows; add a limit or a condition")


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()[:MAX_VALUE]
    return "" if value is None else cut_middle(safe(str(value)), MAX_VALUE)
