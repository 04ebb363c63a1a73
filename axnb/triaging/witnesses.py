"""What stands beside a log: made ready for the checks that hold the log against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

import duckdb
import pyarrow as pa

from axnb.case.canonical import canonical_digests
from axnb.case.case import ask, run_sql
from axnb.errors import UsageError

#: Rows that are compared, or whose texts are hashed, at a time.
_CHUNK = 10_000
_FEW = 500

_STEPS = pa.schema(
    [
        ("source", pa.string()),
        ("other", pa.string()),
        ("conversation_id", pa.string()),
        ("step", pa.int64()),
        ("is_same", pa.bool_()),
    ]
)

#: A step may hold several texts, of which a client may tell each, or all in one.
_TEXTS = """
with texts as (
    select source, "row", part, "text" from parts
    where source = ? and "text" is not null and "row" in ({})
)
insert into text_digests
select source, "row", sha256("text") from texts
union all
select source, "row", sha256(string_agg("text", '' order by part)) from texts group by all
"""

_EXPECTED = re.compile(r"(?:(?P<id>.+)=)?(?P<last>[0-9]{1,18})", re.DOTALL)


@dataclass(frozen=True)
class Expectation:
    """Somebody knows that a conversation went on to this step at least."""

    conversation_id: str
    last: int
    #: By whose word.
    origin: str = "--expect-last"

    @classmethod
    def parse(cls, text: str, conversations: Sequence[str] = ()) -> Expectation:
        """`ID=N`, where the id may hold `=`; `N` alone where one conversation is asked about.

        Raises UsageError.
        """
        found = _EXPECTED.fullmatch(text)
        if found is None or int(found["last"]) < 1:
            raise UsageError(f"--expect-last takes ID=N, where N is a step, and not {text[:80]!r}.")
        if found["id"] is None and len(conversations) != 1:
            raise UsageError(
                f"--expect-last {text} names no conversation: write ID={text}, or give one "
                "--conversation."
            )
        return cls(found["id"] or conversations[0], int(found["last"]))


def prepare(
    session: duckdb.DuckDBPyConnection, expectations: Sequence[Expectation], named: Sequence[str]
) -> None:
    """Make the tables that checks with `needs: witnesses` read; `asked_answers` is registered."""
    texts = pa.schema([("conversation_id", pa.string()), ("origin", pa.string())])
    table = pa.schema([texts.field(0), ("last", pa.int64()), texts.field(1)])
    rows = [vars(expectation) for expectation in expectations]
    session.register("asked_expectations", pa.Table.from_pylist(rows, schema=table))
    names = pa.table({"conversation_id": pa.array(named, pa.string())})
    session.register("asked_names", names)
    run_sql(session, "checks", "views/witnesses.sql")
    steps = pa.Table.from_batches(_compared(session), schema=_STEPS)
    session.register("canonical_steps", steps)
    run_sql(session, "checks", "views/copies.sql")
    _hash_texts(session)
    run_sql(session, "checks", "views/other_texts.sql")


def not_compared(session: duckdb.DuckDBPyConnection) -> list[str]:
    """Which rows of two logs could not be held against each other, a sentence each."""
    return [
        "{rows_skipped:,} rows at the same numbers of {source} and {other} were not compared: they "
        "are of different generations, or have no canonical form.".format(**found)
        for found in ask(session, "not_compared")
    ]


def _compared(session: duckdb.DuckDBPyConnection) -> Iterator[pa.RecordBatch]:
    """What rows say that stand at the same number in two logs, and are written differently."""
    found = iter(ask(session, "differing_rows"))
    for (source, other), group in groupby(found, lambda row: (row["source"], row["other"])):
        while rows := list(islice(group, _CHUNK)):
            ours = canonical_digests(session, source, (row["row"] for row in rows))
            theirs = canonical_digests(session, other, (row["other_row"] for row in rows))
            for row in rows:
                mine, its = ours[row["row"]], theirs[row["other_row"]]
                row["is_same"] = None if mine is None or its is None else mine == its
            yield pa.RecordBatch.from_pylist(rows, schema=_STEPS)


def _hash_texts(session: duckdb.DuckDBPyConnection) -> None:
    """Digests of the texts at steps for which a client tells one.

    The rows stand in the text of the query, so that only they are taken apart.
    """
    session.execute(
        'create or replace temp table text_digests (source varchar, "row" bigint, digest varchar)'
    )
    told = ask(session, "told_texts")
    for source, group in groupby(told, lambda row: row["source"]):
        while rows := list(islice(group, _FEW)):
            listed = ", ".join(str(row["row"]) for row in rows)
            session.execute(_TEXTS.format(listed), [source])
