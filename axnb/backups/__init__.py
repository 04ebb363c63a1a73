"""Backups of an event log: take one, or recognise a user's; judge it; restore it; look at it.

    with restore(recognise(path), folder, settings) as restored:
        flaws = restored.flaws + inspect(restored, settings)

Nothing is ever written to a source or to a backup. A restore goes into a runtime that is new: a
fresh file, or a fresh PostgreSQL server, which is gone when the block ends.

Kinds of flaws.

- A file that is none: no-backup, zero-bytes, zero-filled, packed, whole-cluster.
- A backup: truncated, damaged, empty, wrong-database, no-data.
- Of SQLite: wal-missing, wal-doubt, wal-does-not-fit, journal-unknown, journal-does-not-fit,
  unfinished-commit, never-committed.
- A base backup: links, no-manifest, no-backup-label, incremental, wal-gap, wal-damaged,
  archive-unread, wrong-timeline, target-outside, several-logs.
- Its restore: psql-command, not-utf8, number-repeated, needs-rights, needs-server, incomplete,
  refused, too-slow, other-encoding.
- What was restored: key-missing, storage-class, large-object-missing, other-collation, trigger,
  unlogged, row-security, sequence-behind, first-write.
- A copy of a bucket: see `axnb.backups.bucket_compare`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from axnb.backups.bucket import BucketBackup, copy_bucket
from axnb.backups.bucket_compare import compare_bucket
from axnb.backups.model import Backup, BadBackupError, Flaw, Kind, Restored, timed
from axnb.backups.recognise import recognise
from axnb.errors import UsageError
from axnb.evidence.locators import SqliteLocator, locate
from axnb.settings import Settings

__all__ = [
    "Backup",
    "BadBackupError",
    "BucketBackup",
    "Flaw",
    "Kind",
    "Restored",
    "compare_bucket",
    "copy_bucket",
    "inspect",
    "judge",
    "recognise",
    "restore",
    "take",
]


def take(
    source: str, how: str | None, folder: Path, settings: Settings, *, live: bool = False
) -> Backup:
    """Back up the log that `source` names, into `folder`, which must exist and be private.

    `how` is `backup`, `vacuum` or `copy` of SQLite; `custom`, `plain`, `directory` or `base` of
    PostgreSQL; None takes the first. `live` is a SQLite file in use.
    Raises SourceError where it cannot be done; then nothing is left in the folder.
    """
    log = locate(source, settings.environment).log
    if isinstance(log, SqliteLocator):
        from axnb.backups.sqlite import take_sqlite

        return take_sqlite(log.path, how, folder, settings, live=live)
    from axnb.backups.pg_take import take_postgres

    return take_postgres(log, how, folder, settings)


def judge(
    backup: Backup,
    settings: Settings,
    *,
    source: str | None = None,
    target_time: str | None = None,
) -> tuple[Flaw, ...]:
    """What can be said of a backup before it is restored.

    `source` is the SQLite log that it was taken of, if it is at hand: only that shows a row that
    was never committed. `target_time` is the point that a base backup is to be restored to: then a
    gap in its WAL is for the restore to meet.
    """
    if backup.kind == "sqlite":
        from axnb.backups.sqlite_judge import judge_sqlite

        log = locate(source, settings.environment).log if source is not None else None
        path = log.path if isinstance(log, SqliteLocator) else None
        return judge_sqlite(backup, settings, path)
    if backup.kind == "pg-base":
        from axnb.backups.pg_base import judge_base

        return judge_base(backup, settings, target_time)
    from axnb.backups.pg_contents import judge_dump

    return judge_dump(backup, settings)


def restore(
    backup: Backup,
    folder: Path,
    settings: Settings,
    *,
    target_time: str | None = None,
    database: str | None = None,
    wal: str | None = None,
) -> AbstractContextManager[Restored]:
    """The restored log, for as long as the `with` block lasts; `folder` must be private.

    `target_time` (ISO 8601 with a zone) is for a base backup with a WAL archive, `database` for one
    of a server that has several logs; `wal`, `apply` or `ignore`, is for a SQLite file that does
    not fit the -wal beside it.
    Raises BadBackupError for what cannot be restored; nothing of it is left.
    """
    if target_time is not None and backup.kind != "pg-base":
        raise UsageError("a point in time needs a base backup with its WAL archive.")
    if backup.kind == "sqlite":
        from axnb.backups.sqlite import restore_sqlite

        return restore_sqlite(backup, folder, settings, wal=wal)
    if backup.kind == "pg-base":
        from axnb.backups.pg_base import restore_base

        return restore_base(backup, folder, settings, target_time=target_time, database=database)
    from axnb.backups.pg_dumps import restore_dump

    return restore_dump(backup, settings)


def inspect(restored: Restored, settings: Settings) -> tuple[Flaw, ...]:
    """The structure of a restored log, and its first write: tried, and rolled back.

    Adds the phases `inspect` and `write` to those of the restore.
    """
    if restored.backup.kind == "sqlite":
        from axnb.backups.sqlite_inspect import structure_of_sqlite, write_to_sqlite

        path, place = Path(restored.log), f"the log restored from {restored.backup.place}"
        with timed(restored.phases, "inspect"):
            flaws = structure_of_sqlite(path, place)
        with timed(restored.phases, "write"):
            return (*flaws, *write_to_sqlite(path, place))
    from axnb.backups.pg_inspect import structure_of_postgres, write_to_postgres

    with timed(restored.phases, "inspect"):
        flaws = structure_of_postgres(restored.log, settings)
    with timed(restored.phases, "write"):
        return (*flaws, *write_to_postgres(restored.log, settings))
