"""Derive turns, questions, tool calls and conversations from the events of one source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax.json_text import Members, dump, parse
from axnb.case.case import has_rows, run_sql
from axnb.case.contexts import describe
from axnb.case.pairing import Mark, PairedCall, pair
from axnb.settings import Tool

#: Conversations whose calls are paired at a time.
_CHUNK = 500

_PAIRED = pa.schema(
    [
        ("conversation", pa.int64()),
        ("turn", pa.int64()),
        ("call_step", pa.int64()),
        ("call_position", pa.int64()),
        ("row", pa.int64()),
        ("part", pa.int64()),
        ("call_id", pa.string()),
        ("tool", pa.string()),
        ("observations", pa.int64()),
        ("result_step", pa.int64()),
        ("result_position", pa.int64()),
        ("result_row", pa.int64()),
        ("pairing", pa.string()),
        ("signal", pa.string()),
    ]
)
_UNCLAIMED = pa.schema(
    [
        ("conversation", pa.int64()),
        ("turn", pa.int64()),
        ("step", pa.int64()),
        ("position", pa.int64()),
        ("row", pa.int64()),
        ("part", pa.int64()),
        ("call_id", pa.string()),
        ("tool", pa.string()),
    ]
)

#: SQL files, each with the table without whose rows it would do nothing.
_BEFORE_PAIRING = (("10_turns", None), ("20_questions", "careful_parts"), ("30_marks", None))
_AFTER_PAIRING = (
    ("40_tool_calls", "marks"),
    ("41_orphan_results", "unclaimed"),
    ("50_conversations", None),
    ("55_owners", None),
    ("56_row_shapes", None),
    ("60_shared_numbers", None),
    ("61_same_number", "shared_numbers"),
    ("62_same_id", "tangled"),
    ("63_open_calls", "marks"),
    ("64_to_compare", "wanted"),
)

_TEMPORARY = (
    "placed",
    "marks",
    "tangled",
    "paired",
    "unclaimed",
    "operation_ids",
    "shared_numbers",
    "wanted",
)


def derive(session: duckdb.DuckDBPyConnection, source: str, tools: Mapping[str, Tool]) -> None:
    """Fill the derived tables for one source; its events and rejects are in the case.

    What has to be compared is left in the temp table `to_compare`, for `axnb.case.comparing`.
    """
    _run(session, source, _BEFORE_PAIRING)
    _pair_tangled(session, source)
    _apply_tool_rules(session, source, tools)
    _run(session, source, _AFTER_PAIRING)
    describe(session, source)
    for name in _TEMPORARY:
        session.execute(f"drop table {name}")


def _run(
    session: duckdb.DuckDBPyConnection, source: str, steps: tuple[tuple[str, str | None], ...]
) -> None:
    for name, table in steps:
        if table is None or has_rows(session, table):
            run_sql(session, "case", f"derive/{name}.sql", {"source": source})


def _pair_tangled(session: duckdb.DuckDBPyConnection, source: str) -> None:
    """Pair the calls and results of conversations in which ids alone do not tell."""
    for marks in _tangled_conversations(session, source):
        found = [pair(group) for _, group in groupby(marks, attrgetter("conversation"))]
        calls = [_paired_row(call) for pairs in found for call in pairs.calls]
        unclaimed = [_unclaimed_row(mark) for pairs in found for mark in pairs.orphans]
        _append(session, "paired", calls, _PAIRED)
        _append(session, "unclaimed", unclaimed, _UNCLAIMED)


def _tangled_conversations(
    session: duckdb.DuckDBPyConnection, source: str
) -> Iterator[Iterator[Mark]]:
    """Marks of tangled conversations, some conversations at a time, grouped by conversation."""
    ((count,),) = session.execute("select count(*) from tangled").fetchall()
    for start in range(1, count + 1, _CHUNK):
        values = {"first": start, "last": start + _CHUNK - 1}
        found = [
            (Mark(*mark), is_repeated)
            for *mark, is_repeated in run_sql(
                session, "case", "derive/31_tangled_marks.sql", values
            )
        ]
        rows = {mark.row for mark, is_repeated in found if is_repeated}
        digests = _digests_of_arguments(session, source, rows)
        yield (replace(mark, arguments=digests.get((mark.row, mark.part))) for mark, _ in found)


def _digests_of_arguments(
    session: duckdb.DuckDBPyConnection, source: str, rows: set[int]
) -> dict[tuple[int, int], str]:
    """By row and part: they tell a call that was logged twice from two calls under one id.

    The rows stand in the text of the query, so that only they are taken apart.
    """
    if not rows:
        return {}
    listed = ", ".join(map(str, sorted(rows)))
    found = session.execute(
        "select \"row\", part, md5(coalesce(arguments, '')) from parts "
        f"where source = ? and kind = 'tool_call' and \"row\" in ({listed})",
        [source],
    )
    return {(row, part): digest for row, part, digest in found.fetchall()}


def _paired_row(paired: PairedCall) -> dict[str, Any]:
    call, result = paired.call, paired.result
    return {
        "conversation": call.conversation,
        "turn": call.turn,
        "call_step": call.step,
        "call_position": call.position,
        "row": call.row,
        "part": call.part,
        "call_id": call.call_id,
        "tool": call.tool,
        "observations": paired.observations,
        "result_step": None if result is None else result.step,
        "result_position": None if result is None else result.position,
        "result_row": None if result is None else result.row,
        "pairing": paired.pairing,
        "signal": None if result is None else result.signal,
    }


def _unclaimed_row(mark: Mark) -> dict[str, Any]:
    return {
        "conversation": mark.conversation,
        "turn": mark.turn,
        "step": mark.step,
        "position": mark.position,
        "row": mark.row,
        "part": mark.part,
        "call_id": mark.call_id,
        "tool": mark.tool,
    }


def _apply_tool_rules(
    session: duckdb.DuckDBPyConnection, source: str, tools: Mapping[str, Tool]
) -> None:
    """Cut operation ids out of the arguments of tools for which the settings have a path."""
    rules = [
        {
            "source": source,
            "tool": tool.name,
            "path": tool.operation_id,
            "consequential": tool.consequential,
        }
        for tool in tools.values()
    ]
    schema = pa.schema(
        [
            ("source", pa.string()),
            ("tool", pa.string()),
            ("path", pa.string()),
            ("consequential", pa.bool_()),
        ]
    )
    _append(session, "tool_rules", rules, schema)
    if rules:
        run_sql(session, "case", "derive/32_operation_ids.sql", {"source": source})
        _keep_digits(session)


def _keep_digits(session: duckdb.DuckDBPyConnection) -> None:
    """Operation ids that are numbers, with the digits that stand in the arguments."""
    found = run_sql(session, "case", "derive/33_number_ids.sql")
    schema = pa.schema(
        [("row", pa.int64()), ("part", pa.int64()), ("path", pa.string()), ("id", pa.string())]
    )
    rows = [
        {"row": row, "part": part, "path": path, "id": _at(parse(arguments), path)}
        for row, part, path, arguments in found
    ]
    if rows:
        session.register("number_ids", pa.Table.from_pylist(rows, schema=schema))
        run_sql(session, "case", "derive/34_keep_digits.sql")
        session.unregister("number_ids")


def _at(tree: Any, path: str) -> str | None:
    """The value at a path such as `$.order.ids[0]`, as JSON text."""
    for name, index in re.findall(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]", path):
        if name and isinstance(tree, Members):
            tree = next((value for key, value in tree if key == name), None)
        elif index and type(tree) is list and int(index) < len(tree):
            tree = tree[int(index)]
        else:
            return None
    return tree if isinstance(tree, str) else dump(tree)


def _append(
    session: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]], schema: pa.Schema
) -> None:
    if rows:
        session.register("rows_to_append", pa.Table.from_pylist(rows, schema=schema))
        session.execute(f"insert into {table} by name select * from rows_to_append")
        session.unregister("rows_to_append")
