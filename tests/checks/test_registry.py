"""What the headers of checks promise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest

from axnb.ax.behaviour import Target
from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case, define_links
from axnb.checks.registry import Check, checks, find_check
from axnb.mapping import prepare
from axnb.settings import Settings
from axnb.triaging import Expectation
from axnb.triaging.look import Look

_PROMISES = [
    pytest.param(check, tables, id=f"{check.id}-{'-'.join(tables)}")
    for check in checks()
    for tables in check.empty_without
]


@pytest.fixture(scope="module")
def session() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty case with everything that a check may read."""
    with Case(settings=Settings()) as case:
        with case.writing() as session:
            define_links(session)
        yield from _ready(case)


def _ready(case: Case) -> Iterator[duckdb.DuckDBPyConnection]:
    with case.reading() as session:
        Look(session).findings(
            Target(GENERATIONS["G8"], (), declared=False), {}, {}, [Expectation("c", 1)]
        )
        prepare(session, None)
        session.execute("commit")
        # From its statistics DuckDB would conclude what holds for these rows alone.
        session.execute("set disabled_optimizers = 'statistics_propagation,row_group_pruner'")
        yield session


#: Operators that have no rows where their input has none.
_PASSING = {
    "PROJECTION",
    "FILTER",
    "ORDER_BY",
    "WINDOW",
    "STREAMING_WINDOW",
    "HASH_GROUP_BY",
    "PERFECT_HASH_GROUP_BY",
    "UNION",
}


def _is_empty(operator: dict[str, Any], named: frozenset[str] = frozenset()) -> bool:
    """Does an operator of a plan have no rows, whatever the tables hold that it reads?

    `named` are the empty common table expressions around it.
    """
    name, info, children = operator["name"], operator["extra_info"], operator["children"]
    if name == "CTE":
        definition, query = children
        more = {info["Table Index"]} if _is_empty(definition, named) else set()
        return _is_empty(query, named | more)
    if name == "CTE_SCAN":
        return info["CTE Index"] in named
    empty = [_is_empty(child, named) for child in children]
    if "JOIN" in name:
        left, right = empty
        needs_both = info["Join Type"] in ("INNER", "SEMI", "RIGHT_SEMI")
        return {"LEFT": left, "RIGHT": right}.get(info["Join Type"], needs_both and any(empty))
    return name == "EMPTY_RESULT" or (name in _PASSING and all(empty))


def _is_empty_without(
    session: duckdb.DuckDBPyConnection, check: Check, tables: Sequence[str]
) -> bool:
    """Is it clear from the plan alone that it finds nothing if these tables have no rows?"""
    session.execute("begin")
    try:
        for table in tables:
            session.execute(f"alter table {table} rename to {table}_with_rows")
            session.execute(f"create temp view {table} as from {table}_with_rows where false")
        ((_, plan),) = session.execute(
            f"explain (format json) {check.sql}", {"asked": "G8"} if "$asked" in check.sql else None
        ).fetchall()
    finally:
        session.execute("rollback")
    return all(map(_is_empty, json.loads(plan)))


@pytest.mark.parametrize(("check", "tables"), _PROMISES)
def test_a_check_finds_nothing_without_the_tables_of_its_header(
    check: Check, tables: tuple[str, ...], session: duckdb.DuckDBPyConnection
) -> None:
    assert _is_empty_without(session, check, tables)


@pytest.mark.parametrize(
    ("name", "table"),
    [("AX101", "tool_calls"), ("AX122", "rejects"), ("AX138", "careful_parts")],
)
def test_other_tables_can_be_empty(
    name: str, table: str, session: duckdb.DuckDBPyConnection
) -> None:
    assert not _is_empty_without(session, find_check(name), [table])
