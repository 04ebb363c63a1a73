"""Two logs of the same conversations, row by row: by their texts, and where these differ by what
they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from axnb.case.canonical import digested
from axnb.case.case import ask, run_sql, sql_text
from axnb.errors import UsageError

_SAID = pa.schema([("is_left", pa.bool_()), ("row", pa.int64()), ("digest", pa.binary(32))])


@dataclass(frozen=True)
class ConversationDifference:
    """How the rows of one conversation in the left log differ from those in the right one.

    Rows are held against each other by their step; rows with the same step in any order.
    """

    #: None: rows whose id cannot be read.
    conversation_id: str | None
    #: Rows that both have with the same text, and those that say the same in another spelling.
    same_text: int
    respelled: int
    #: Rows that both have at the same step, and that say something else.
    different: int
    #: The same, where it is unknown what one of them says: it has no canonical form.
    unknown: int
    only_left: int
    only_right: int
    #: The first steps of each of these; rows without a readable step are counted alone.
    different_steps: tuple[int, ...]
    unknown_steps: tuple[int, ...]
    only_left_steps: tuple[int, ...]
    only_right_steps: tuple[int, ...]

    @property
    def is_same(self) -> bool:
        """Do both logs have the same rows, and is that known of all?"""
        return not (self.different or self.unknown or self.only_left or self.only_right)


def differing(
    session: duckdb.DuckDBPyConnection, left: str, right: str, *, most_steps: int = 20
) -> tuple[ConversationDifference, ...]:
    """Every conversation that one of two sources of the case holds, by id: equal ones, too.

    Logs of different generations say the same in other keys: their rows differ here. Raises
    UsageError if both are one source, AxnbError if a process that helps ends before its time.
    """
    if left == right:
        raise UsageError(f"{left} cannot be compared with itself: name two sources.")
    run_sql(session, "case", "queries/unlike_texts.sql", {"left": left, "right": right})
    batches = [*_said(session, left, True), *_said(session, right, False)]
    session.register("said", pa.Table.from_batches(batches, _SAID))
    found = ask(session, "differing_conversations", {"most": most_steps})
    session.unregister("said")
    for table in ("same_texts", "unlike_texts", "to_digest"):
        session.execute(f"drop table {table}")
    return tuple(ConversationDifference(**_frozen(row)) for row in found)


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def _said(
    session: duckdb.DuckDBPyConnection, source: str, is_left: bool
) -> Iterator[pa.RecordBatch]:
    """The canonical digests of the rows in `to_digest`."""
    names = ("event_texts_to_digest", "reject_texts_to_digest")
    queries = [sql_text("case", f"queries/{name}.sql") for name in names]
    for batch in digested(session, queries, {"source": source}):
        side = pa.repeat(pa.scalar(is_left), batch.num_rows)
        columns = [side, batch.column("row"), batch.column("digest")]
        yield pa.RecordBatch.from_arrays(columns, schema=_SAID)
