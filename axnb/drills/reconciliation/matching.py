"""Hold calls of logs against entries of ledgers: which is which, and what became of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import duckdb
import msgspec
import pyarrow as pa

from axnb.ax.oddities import FIRST_AMBIGUOUS
from axnb.case.case import run_sql
from axnb.evidence.ledgers.records import as_text, at_path, exact_json

#: Classes, the worst first. `matched` alone is as it should be.
CLASSES = (
    "duplicated",
    "cancelled-committed",
    "no-call-in-log",
    "arguments-differ",
    "result-lost",
    "reversed",
    "not-executed",
    "ambiguous-number",
    "ambiguous",
    "not-covered",
    "no-ledger",
    "matched",
)

#: What both sides tell of one operation.
Compared = Literal["same", "differs", "rounded"]

_PAIRS = pa.schema([("call", pa.int64()), ("effect", pa.int64())])

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")


def match(
    session: duckdb.DuckDBPyConnection, since: datetime, until: datetime, *, is_whole: bool = True
) -> None:
    """Make the temp tables `calls_judged` and `entries_judged`.

    `since` and `until` (UTC, without a zone) are the earliest and the latest moment at which any
    call can have been made. `is_whole`: was every ledger read that was named?
    """
    _run(session, "pairs")
    _run(session, "arguments")
    found: dict[Compared, list[dict[str, int]]] = {"same": [], "differs": [], "rounded": []}
    for pair, verdict in _compared(session):
        found[verdict].append(pair)
    session.register("differing_pairs", _table(found["differs"]))
    session.register("rounded_pairs", _table(found["rounded"]))
    _run(session, "classes", {"since": since, "until": until, "is_whole": is_whole})
    session.unregister("differing_pairs")
    session.unregister("rounded_pairs")


def _table(pairs: list[dict[str, int]]) -> pa.Table:
    return pa.Table.from_pylist(pairs, schema=_PAIRS)


def _run(
    session: duckdb.DuckDBPyConnection, name: str, values: dict[str, Any] | None = None
) -> None:
    run_sql(session, "drills", f"reconciliation/{name}.sql", values)


# --- arguments -----------------------------------------------------------------------------------


def _compared(session: duckdb.DuckDBPyConnection) -> Iterator[tuple[dict[str, int], Compared]]:
    """Pairs that may be one operation, and whether both sides tell the same of it."""
    rows = run_sql(session, "drills", "reconciliation/to_compare.sql")
    for call, effect, arguments, paths, texts in rows:
        yield {"call": call, "effect": effect}, compare(arguments, paths, texts)


def compare(arguments: str | None, paths: Sequence[str], texts: Sequence[str | None]) -> Compared:
    """What a call asked for, and what a ledger has of it; what is left out there is no doubt."""
    try:
        found = exact_json(arguments) if arguments else {}
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return "differs"
    verdicts = {
        _same(at_path(found, path), text)
        for path, text in zip(paths, texts, strict=True)
        if text is not None
    }
    for verdict in ("differs", "rounded"):
        if verdict in verdicts:
            return verdict
    return "same"


def _same(value: Any, text: str) -> Compared:
    """Numbers are compared by what they are, everything else by its letters."""
    own = as_text(value)
    if own is None:
        return "differs"
    if isinstance(value, int) and abs(value) >= FIRST_AMBIGUOUS and _number(text) is not None:
        return "rounded" if float(value) == float(text) else "differs"
    if own == text:
        return "same"
    one, other = _number(own), _number(text)
    if one is None or other is None:
        return "differs"
    if one == other:
        return "same"
    # AX logs numbers as doubles: from here on neighbours are one.
    is_rounded = abs(one) >= FIRST_AMBIGUOUS and float(one) == float(other)
    return "rounded" if is_rounded else "differs"


def _number(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text) or len(text) > 400:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
