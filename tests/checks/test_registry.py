"""What the headers of checks promise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from axnb.ax.behaviour import Target
from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case, define_links, sql_text
from axnb.checks import registry
from axnb.checks.registry import Check, checks, find_check
from axnb.loading import load
from axnb.mapping import prepare
from axnb.result import Finding
from axnb.settings import Settings
from axnb.triaging import Expectation, Question, triage
from axnb.triaging.look import Look

SAMPLE = Path(__file__).parents[2] / "sample_data" / "log.sqlite"

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


# --- signs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log", "answers"])
def test_every_sign_is_of_a_check(name: str, session: duckdb.DuckDBPyConnection) -> None:
    known = session.execute(sql_text("checks", f"signs/{name}.sql")).description or []
    named = {check.sign for check in checks() if check.sign and check.signs == name}
    assert {column[0] for column in known} == named


def test_an_empty_case_shows_no_sign(session: duckdb.DuckDBPyConnection) -> None:
    assert registry.signs(session, "log") | registry.signs(session, "answers") == set()


class _All:
    """Every sign there is."""

    def __contains__(self, _: str) -> bool:
        return True


def _found(path: Path) -> list[tuple[Finding, ...]]:
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        return [triage(case, Question(asked)).findings for asked in (None, "G3")]


def test_a_sign_is_seen_where_a_check_finds_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wound of `test_pairs` shows it, too: it is found only where its sign is seen."""
    by_signs = _found(SAMPLE)
    monkeypatch.setattr(registry, "signs", lambda *_: _All())
    assert _found(SAMPLE) == by_signs
