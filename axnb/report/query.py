"""Run the queries that a person typed, in a session that can change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import duckdb

from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.text import columns, cut_middle, is_text, pad, safe

#: Rows that are fetched, and characters of a value that are printed.
MAX_ROWS = 1000
MAX_VALUE = 60


#: Errors whose message is about the query; that of any other may quote a value.
_ABOUT_THE_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)


#: Statements that can neither change anything nor leave the read-only transaction.
_READS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)


@dataclass(frozen=True)
class Answer:
    """The rows of one statement, the first MAX_ROWS of them."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    has_more: bool

    def shown_names(self) -> list[str]:
        """The names of the columns, fit to be shown."""
        return [_value(name) for name in self.names]

    def texts(self, most: int = MAX_ROWS) -> list[list[str]]:
        """The first rows as texts, fit to be shown."""
        return [[_value(value) for value in row] for row in self.rows[:most]]


class Queries:
    """The answers of the statements of a text, one after another.

    Raises UsageError with the first line of what DuckDB says, if that is about the query.
    """

    def __init__(self, case: Case, text: str) -> None:
        if not is_text(text):
            raise UsageError("the query is no text in UTF-8.")
        self._case, self._text = case, text
        self._session: duckdb.DuckDBPyConnection | None = None
        self._is_stopped = False

    def __iter__(self) -> Iterator[Answer]:
        with self._case.reading() as session:
            self._session = session
            try:
                for statement in session.extract_statements(self._text):
                    if statement.type not in _READS:
                        raise UsageError("the query fails: a case is only read, so it must select.")
                    if self._is_stopped:
                        raise UsageError("the query was stopped.")
                    yield _answer(session.execute(statement))
            except _ABOUT_THE_QUERY as err:
                raise UsageError(f"the query fails: {str(err).splitlines()[0][:200]}") from None
            except duckdb.InterruptException:
                raise UsageError("the query was stopped.") from None
            except duckdb.Error as err:
                raise UsageError(f"the query fails ({type(err).__name__}).") from None
            finally:
                self._session = None

    def interrupt(self) -> None:
        """Break off the statement that is running, from another thread; no other begins."""
        self._is_stopped = True
        session = self._session
        if session is not None:
            with suppress(duckdb.ConnectionException):
                session.interrupt()


def print_queries(case: Case, text: str, write: Callable[[str], Any]) -> None:
    """Run queries and print their rows as columns. Raises UsageError, as Queries."""
    for answer in Queries(case, text):
        _print_rows(answer, write)


def _answer(result: duckdb.DuckDBPyConnection) -> Answer:
    names = [str(column[0]) for column in result.description or ()]
    rows = result.fetchmany(MAX_ROWS + 1)
    return Answer(names, rows[:MAX_ROWS], len(rows) > MAX_ROWS)


def _print_rows(answer: Answer, write: Callable[[str], Any]) -> None:
    names, shown = answer.shown_names(), answer.texts()
    widths = [max(map(columns, column)) for column in zip(names, *shown, strict=True)]
    for line in (names, *shown):
        write("  ".join(pad(cell, w) for cell, w in zip(line, widths, strict=True)).rstrip())
    if answer.has_more:
        write(f"… more than {MAX_ROWS:,} rows; add a limit or a condition")


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()[:MAX_VALUE]
    return "" if value is None else cut_middle(safe(str(value)), MAX_VALUE)
