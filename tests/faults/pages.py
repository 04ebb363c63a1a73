"""SQLite files below the level of SQL: their pages, and their -wal as a kill leaves it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from axnb.testing.logs import LogBuilder

Key = tuple[str, int]
INDEX = "sqlite_autoindex_conversation_log_1"
_TABLE_LEAF, _INDEX_LEAF = 13, 10


class Pages:
    """A database file as a list of pages; changes are written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(sqlite3.connect(path)) as connection:
            self.size: int = connection.execute("pragma page_size").fetchone()[0]
            self.roots = dict(connection.execute("select name, rootpage from sqlite_master"))

    def __len__(self) -> int:
        return self.path.stat().st_size // self.size

    def read(self, number: int) -> bytes:
        """A page by its number, from 1."""
        return self.path.read_bytes()[(number - 1) * self.size : number * self.size]

    def write(self, number: int, content: bytes, at: int = 0) -> None:
        """Overwrite a page, or a part of it."""
        with self.path.open("r+b") as file:
            file.seek((number - 1) * self.size + at)
            file.write(content)

    def leaves(self) -> list[int]:
        """Numbers of the table's leaves, in the order of the file; the schema's is left out."""
        return self._of_kind(_TABLE_LEAF)

    def index_leaves(self) -> list[int]:
        """Numbers of the index's leaves."""
        return self._of_kind(_INDEX_LEAF)

    def cells(self, number: int) -> int:
        """How many rows a leaf holds."""
        return int.from_bytes(self.read(number)[3:5], "big")

    def _of_kind(self, kind: int) -> list[int]:
        return [n for n in range(2, len(self) + 1) if self.read(n)[0] == kind]


def unreadable_rows(path: Path, column: str = "step") -> set[Key]:
    """The rows that the index names and SQLite cannot read or find, asked one by one."""
    lost = set()
    with closing(sqlite3.connect(path)) as connection:
        named = connection.execute(
            f"select rowid, conversation_id, {column} from conversation_log indexed by {INDEX}"
        ).fetchall()
        query = f"select conversation_id, {column}, payload from conversation_log where rowid = ?"
        for rowid, *key in named:
            try:
                found = [list(row[:2]) for row in connection.execute(query, [rowid])]
            except sqlite3.DatabaseError:
                found = []
            if found != [key]:
                lost.add((key[0], key[1]))
    return lost


def write_ahead(
    path: Path,
    log: LogBuilder,
    later: Iterable[tuple[str, int, str]] = (),
    *,
    statements: Iterable[str] = (),
    checkpointed: bool = True,
    page_size: int = 4096,
    with_shm: bool = False,
) -> Path:
    """A database in WAL mode whose `later` rows lie in its -wal only, as a kill leaves it.

    Without `checkpointed` the table itself is in the -wal only.
    """
    with live_wal(path.parent / f".{path.name}.d", log, checkpointed, page_size) as (made, writer):
        writer.executemany("insert into conversation_log values (?, ?, ?)", list(later))
        for statement in statements:
            writer.execute(statement)
        writer.commit()
        for suffix in ("", "-wal", "-shm") if with_shm else ("", "-wal"):
            shutil.copyfile(f"{made}{suffix}", f"{path}{suffix}")
    shutil.rmtree(made.parent)
    return path


@contextmanager
def live_wal(
    folder: Path, log: LogBuilder, checkpointed: bool = True, page_size: int = 4096
) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """A log in WAL mode and its writer; nothing is checkpointed unless the writer is asked to.

    Without `checkpointed` the main file holds no table yet.
    """
    folder.mkdir()
    path = folder / "log.sqlite"
    if checkpointed:
        log.write_sqlite(path, pragmas=[f"page_size = {page_size}", "journal_mode = wal"])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute("pragma wal_autocheckpoint = 0")
        if not checkpointed:
            writer.execute(log.ddl())
            rows = [(r.conversation_id, r.step, r.payload) for r in log.rows]
            writer.executemany("insert into conversation_log values (?, ?, ?)", rows)
            writer.commit()
        yield path, writer


def rewritten(path: Path, change: Callable[[bytearray], None]) -> Path:
    """Change the bytes of a file."""
    raw = bytearray(path.read_bytes())
    change(raw)
    path.write_bytes(bytes(raw))
    return path
