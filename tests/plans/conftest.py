"""Stores of both kinds for the tests of plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from axnb.testing.logs import LogBuilder
from tests.plans.stores import PostgresStore, SqliteStore, Store
from tests.servers import PostgresServer

StoreOf = Callable[[LogBuilder], Store]

#: A test that is quick enough for `make test` on each kind of store.
BOTH = pytest.mark.parametrize("store_of", ["sqlite", "postgres"], indirect=True)

Ways = Sequence[tuple[object, ...]]


def on_both(ways: Ways, server: Ways, file: Ways | None = None) -> list[ParameterSet]:
    """Ways on each kind of store, for an indirect `store_of`: all that are not named are slow."""
    quick = {"sqlite": ways if file is None else file, "postgres": server}
    return [
        pytest.param(kind, *way, marks=() if way in named else (pytest.mark.slow,))
        for kind, named in quick.items()
        for way in ways
    ]


@pytest.fixture(scope="session")
def databases() -> list[str]:
    """Databases that are empty again: to make one takes longer than to drop a schema."""
    return []


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def store_of(
    request: pytest.FixtureRequest, tmp_path: Path, databases: list[str]
) -> Iterator[StoreOf]:
    """Write a built log into a store: SQLite, and a schema with an odd name in PostgreSQL.

    The latter is slow, but where a test says otherwise.
    """
    used: list[PostgresStore] = []

    def write(log: LogBuilder) -> Store:
        if request.param == "sqlite":
            return SqliteStore(log.write_sqlite(tmp_path / "log.sqlite"))
        server: PostgresServer = request.getfixturevalue("postgres")
        dsn = databases.pop() if databases else None
        used.append(PostgresStore(server, 'odd "schema\\', dsn))
        log.write_postgres(used[-1].dsn, used[-1].schema)
        return used[-1]

    yield write
    for store in used:
        store.clear()
        databases.append(store.dsn)
