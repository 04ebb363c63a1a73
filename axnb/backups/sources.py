"""What is odd about a log before anybody backs it up."""

from __future__ import annotations

from pathlib import Path

from axnb.backups.model import Flaw
from axnb.case.custody import PrivateCopy
from axnb.evidence.locators import SqliteLocator, locate
from axnb.settings import Settings


def structure_of_source(source: str, settings: Settings, *, live: bool = False) -> tuple[Flaw, ...]:
    """The structure of the log that `source` names, as `inspect` tells it of a restored one.

    It is only read. Raises SourceError if it cannot be.
    """
    log = locate(source, settings.environment).log
    if isinstance(log, SqliteLocator):
        from axnb.backups.sqlite_inspect import structure_of_sqlite

        with PrivateCopy(log.path.resolve(), live=live, scratch=settings.scratch) as copy:
            return tuple(structure_of_sqlite(Path(copy.path)))
    from axnb.backups.pg_inspect import structure_of_postgres

    return tuple(structure_of_postgres(str(log.dsn), settings))
