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
from axnb.text import count, is_text

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

_DIGESTS = pa.schema([("source", pa.string()), ("row", pa.int64()), ("digest", pa.string())])
_EXPECTATIONS = pa.schema(
    [("conversation_id", pa.string()), ("last", pa.int64()), ("origin", pa.string())]
)

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
        if not is_text(text):
            raise UsageError(f"--expect-last {text[:80]!r} names no conversation: it is no UTF-8.")
        return cls(found["id"] or conversations[0], int(found["last"]))


def prepare(
    session: duckdb.DuckDBPyConnection, expectations: Sequence[Expectation], named: Sequence[str]
) -> bool:
    """Make the tables that checks with `needs: witnesses` read; `asked_answers` is registered.

    False if nothing stands beside a log: then there are few of them, and nothing to find.
    """
    rows = [vars(expectation) for expectation in expectations]
    session.register("asked_expectations", pa.Table.from_pylist(rows, schema=_EXPECTATIONS))
    names = pa.table({"conversation_id": pa.array(named, pa.string())})
    session.register("asked_names", names)
    run_sql(session, "checks", "views/asked.sql")
    ((sources,),) = session.execute("select count(*) from sources").fetchall()
    if sources < 2 and not expectations:
        return False
    run_sql(session, "checks", "views/witnesses.sql")
    steps = pa.Table.from_batches(_compared(session), schema=_STEPS)
    session.register("canonical_steps", steps)
    run_sql(session, "checks", "views/copies.sql")
    texts = pa.Table.from_batches(_text_digests(session), schema=_DIGESTS)
    session.register("text_digests", texts)
    run_sql(session, "checks", "views/other_texts.sql")
    return True


def not_compared(session: duckdb.DuckDBPyConnection) -> list[str]:
    """Which rows of two logs could not be held against each other, a sentence each."""
    return [
        f"{count(found['rows_skipped'], 'row')} of {found['source']} not compared with what "
        f"{found['other']} has at the same number: of different generations, or without a "
        "canonical form."
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


def _text_digests(session: duckdb.DuckDBPyConnection) -> Iterator[pa.RecordBatch]:
    """Digests of the texts at steps for which a client tells one."""
    for source, group in groupby(ask(session, "told_texts"), lambda row: row["source"]):
        while rows := [row["row"] for row in islice(group, _FEW)]:
            values = {"source": source, "rows": rows, "first": rows[0], "last": rows[-1]}
            found = ask(session, "text_digests", values)
            yield pa.RecordBatch.from_pylist(found, schema=_DIGESTS)
