"""Backups of a SQLite log: take one, restore one. The source is never opened itself."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from axnb.backups.model import Backup, Restored, bad, digests, timed, written_aside
from axnb.backups.recognise import parts
from axnb.backups.sqlite_judge import opened
from axnb.case.custody import SIDECARS, PrivateCopy
from axnb.errors import SourceError, UsageError
from axnb.settings import Settings

_WAYS = {"backup": "backup API", "vacuum": "VACUUM INTO", "copy": "file copy"}
_NAME = "log.sqlite"


def take_sqlite(
    source: Path, how: str | None, folder: Path, settings: Settings, *, live: bool = False
) -> Backup:
    """Back a log up into `folder`, which must be private, by `backup`, `vacuum` or `copy`.

    A source that is not `live` is copied first, and SQLite works on the copy: from a read-only
    connection it would write beside the source. Raises SourceChangedError if the source moved;
    then nothing is left.
    """
    way = how or "backup"
    if way not in _WAYS:
        raise UsageError(f"a SQLite log is backed up by backup, vacuum or copy, not by {way!r}.")
    if live and way == "copy":
        raise UsageError("a file copy of a database in use is torn: use backup or vacuum.")
    target = folder / _NAME
    phases: dict[str, float] = {}
    try:
        with (
            written_aside(target) as aside,
            timed(phases, "take"),
            PrivateCopy(source.resolve(), live=live, scratch=settings.scratch) as copy,
        ):
            _write(way, copy.path, aside)
            custody = copy.verify()
    except sqlite3.DatabaseError as err:
        raise SourceError(f"{source} cannot be backed up: {err}.") from err
    files = digests(parts("sqlite", target))
    return Backup("sqlite", target, _WAYS[way], None, files, custody, phases)


def _write(way: str, copy: Path, target: Path) -> None:
    if way == "copy":
        for suffix in SIDECARS:
            part = copy.with_name(copy.name + suffix)
            if part.exists():
                shutil.copyfile(part, target.with_name(target.name + suffix))
    else:
        # SQLite wants a new file for VACUUM INTO, and makes one for a backup.
        with closing(sqlite3.connect(copy)) as connection:
            if way == "vacuum":
                connection.execute("vacuum into ?", (os.fspath(target),))
            else:
                with closing(sqlite3.connect(target)) as other:
                    connection.backup(other)
    for suffix in SIDECARS:
        part = target.with_name(target.name + suffix)
        if part.exists():
            part.chmod(0o600)


def _remove(target: Path) -> None:
    for suffix in SIDECARS:
        target.with_name(target.name + suffix).unlink(missing_ok=True)


@contextmanager
def restore_sqlite(
    backup: Backup, folder: Path, settings: Settings, *, wal: str | None = None
) -> Iterator[Restored]:
    """A fresh file in `folder`, which must be private, for as long as the block lasts.

    The backup is read from a private copy, on which SQLite rolls a journal back or applies a -wal.
    `wal` is `apply` or `ignore` where the -wal beside it does not fit. The file appears whole or
    not at all. Raises BadBackupError for what cannot be restored.
    """
    target = folder / "restored.sqlite"
    aside = folder / "restored.sqlite.part"
    phases: dict[str, float] = {}
    try:
        with opened(backup, settings, phases, wal=wal) as connection, timed(phases, "load"):
            facts = _fill(backup, connection, aside)
            os.rename(aside, target)
        yield Restored(backup, str(target), facts, (), phases)
    finally:
        _remove(aside)
        _remove(target)


def _fill(backup: Backup, connection: sqlite3.Connection, target: Path) -> dict[str, Any]:
    """Write what the connection sees into a new file; facts of it."""
    try:
        with closing(sqlite3.connect(target)) as fresh:
            target.chmod(0o600)
            connection.backup(fresh)
            fresh.commit()
            ((found,),) = fresh.execute("pragma quick_check(1)").fetchall()
            facts = {
                name: fresh.execute(f"pragma {name}").fetchone()[0]
                for name in ("encoding", "page_size", "page_count", "journal_mode")
            }
            # The file is whole without a -wal, and must not say that it wants one.
            fresh.execute("pragma journal_mode = delete")
    except sqlite3.DatabaseError as err:
        raise bad("damaged", f"{backup.place} cannot be restored: {err}.") from err
    if found != "ok":
        raise bad("damaged", f"{backup.place} is damaged: what SQLite restores of it is not sound.")
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return facts | {"sqlite_version": sqlite3.sqlite_version}
