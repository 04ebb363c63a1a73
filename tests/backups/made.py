"""What the tests of backups look at."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from axnb.backups import Flaw
from axnb.settings import Settings

SETTINGS = Settings(statement_timeout=60)


def kinds(flaws: Iterable[Flaw]) -> list[str]:
    """The kinds of some flaws, with what is only a doubt marked."""
    return [flaw.kind + ("?" if flaw.severity == "doubt" else "") for flaw in flaws]


def rows(path: Path | str) -> list[tuple[Any, ...]]:
    """The rows of a SQLite log of ours."""
    with closing(sqlite3.connect(path)) as connection:
        query = "select conversation_id, step, payload from conversation_log order by 1, 2"
        return connection.execute(query).fetchall()


def postgres_rows(dsn: str, table: str = "conversation_log") -> list[tuple[Any, ...]]:
    """The rows of a log in PostgreSQL."""
    import psycopg

    with psycopg.connect(dsn) as connection:
        query = f"select conversation_id, step, payload from {table} order by 1, 2"
        return connection.execute(query.encode()).fetchall()


def private(path: Path) -> Path:
    """A private folder."""
    path.mkdir(mode=0o700)
    return path


def tree(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file of a folder: when it was written, and its hash."""
    return {
        path.relative_to(folder).as_posix(): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in folder.rglob("*")
        if path.is_file()
    }
