"""Stores of both kinds for the tests of plans."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axnb.testing.logs import LogBuilder
from tests.plans.stores import PostgresStore, SqliteStore, Store
from tests.servers import PostgresServer

StoreOf = Callable[[LogBuilder], Store]


@pytest.fixture(params=["sqlite", "postgres"])
def store_of(request: pytest.FixtureRequest, tmp_path: Path) -> StoreOf:
    """Write a built log into a store: SQLite, and a schema with an odd name in PostgreSQL."""

    def write(log: LogBuilder) -> Store:
        if request.param == "sqlite":
            return SqliteStore(log.write_sqlite(tmp_path / "log.sqlite"))
        server: PostgresServer = request.getfixturevalue("postgres")
        store = PostgresStore(server, 'odd "schema\\')
        log.write_postgres(store.dsn, store.schema)
        return store

    return write
