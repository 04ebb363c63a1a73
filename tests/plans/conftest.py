"""Stores of both kinds for the tests of plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from axnb.testing.logs import LogBuilder
from tests.plans.stores import PostgresStore, SqliteStore, Store
from tests.servers import PostgresServer

StoreOf = Callable[[LogBuilder], Store]


@pytest.fixture(scope="session")
def databases() -> list[str]:
    """Databases that are empty again: to make one takes longer than to drop a schema."""
    return []


@pytest.fixture(params=["sqlite", "postgres"])
def store_of(
    request: pytest.FixtureRequest, tmp_path: Path, databases: list[str]
) -> Iterator[StoreOf]:
    """Write a built log into a store: SQLite, and a schema with an odd name in PostgreSQL."""
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
