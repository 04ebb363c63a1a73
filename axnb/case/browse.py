"""Browse the rows of a source: filtered and a page at a time, however many there are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import duckdb

from axnb.case.case import ask, run_sql

#: Lines that are counted before nobody counts further.
MOST_COUNTED = 100_000

#: Before the first line: SQLite numbers its rows from below zero if somebody wants it to.
START = (-(2**63), -1)

Record = dict[str, Any]


@dataclass(frozen=True)
class RowFilter:
    """Which lines are wanted: one a part of a row. What is empty or None chooses all."""

    source: str
    #: A text that the conversation's id holds.
    within: str = ""
    #: AX's number of the state.
    state: int | None = None
    kind: str = ""
    #: A text that the tool's name holds.
    tool: str = ""
    lowest: int | None = None
    highest: int | None = None


def page_of_rows(
    session: duckdb.DuckDBPyConnection,
    wanted: RowFilter,
    after: tuple[int, int] = START,
    limit: int = 25,
) -> list[Record]:
    """Lines after a row and part, in the order of the source."""
    run_sql(session, "case", "queries/chosen_rows.sql")
    place = {"after_row": after[0], "after_part": after[1], "limit": limit}
    return ask(session, "page_of_rows", asdict(wanted) | place)


def count_of_rows(session: duckdb.DuckDBPyConnection, wanted: RowFilter) -> int:
    """How many lines there are; MOST_COUNTED + 1 if there are more, however many."""
    run_sql(session, "case", "queries/chosen_rows.sql")
    (found,) = ask(session, "count_of_rows", asdict(wanted) | {"most": MOST_COUNTED + 1})
    return int(found["n"])
