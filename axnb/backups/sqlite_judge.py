"""What can be said of a SQLite backup before it is restored.

The damage that matters most shows nowhere: a file copied without the -journal that lay beside it
holds a commit that never ended, and is a sound database all the same. Only the source can tell.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from axnb.backups.flaws import FEW, empty, shown
from axnb.backups.model import Backup, BadBackupError, Flaw, bad, timed
from axnb.case.custody import PrivateCopy
from axnb.errors import NotALogError, SourceError
from axnb.evidence.layout import LOG_TABLE, Layout
from axnb.evidence.layout import recognise as recognise_layout
from axnb.evidence.wal import check_wal
from axnb.settings import Settings
from axnb.text import count, cut_middle, safe

_HEADER = 100


@contextmanager
def opened(
    backup: Backup,
    settings: Settings,
    phases: dict[str, float] | None = None,
    *,
    wal: str | None = None,
    notes: list[str] | None = None,
) -> Iterator[sqlite3.Connection]:
    """A connection to a private copy of a backup; `notes` gets what may be missing from it.

    Raises BadBackupError where the -wal does not fit, or SQLite refuses the file, and
    SourceChangedError at the end if the backup moved meanwhile.
    """
    phases = {} if phases is None else phases
    with ExitStack() as stack:
        with timed(phases, "copy"):
            copy = PrivateCopy(backup.path.resolve(), scratch=settings.scratch)
            stack.enter_context(copy)
        with timed(phases, "judge"):
            try:
                doubts = check_wal(copy.path, wal, backup.place)
            except SourceError as err:
                raise bad("wal-does-not-fit", str(err)) from err
        if notes is not None:
            notes += doubts
        with closing(sqlite3.connect(copy.path, check_same_thread=False)) as connection:
            connection.execute("pragma trusted_schema = off")
            try:
                connection.execute("select 1 from sqlite_master").fetchall()
            except sqlite3.DatabaseError as err:
                raise bad("damaged", f"{backup.place} cannot be read as SQLite: {err}.") from err
            yield connection
        with timed(phases, "judge"):
            copy.verify()


def judge_sqlite(
    backup: Backup, settings: Settings, source: Path | None = None
) -> tuple[Flaw, ...]:
    """What speaks against a SQLite backup; `source` is the log it was taken of, if it is at hand.

    Raises SourceError where the files cannot be read at all.
    """
    flaws = _of_header(backup)
    notes: list[str] = []
    try:
        with opened(backup, settings, notes=notes) as connection:
            flaws += _of_content(backup, connection)
            if any(flaw.severity == "error" for flaw in flaws):
                pass  # what is known to be bad needs no doubts
            elif source is None:
                flaws += _of_journal(backup, connection)
            else:
                flaws += _against_source(backup, connection, source, settings)
    except BadBackupError as err:
        flaws.append(err.flaw)
    kind = "wal-missing" if not _has(backup, "-wal") else "wal-doubt"
    if not backup.is_ours:
        flaws += [Flaw(kind, "doubt", f"{backup.place}: {note}") for note in notes]
    return tuple(flaws)


def _has(backup: Backup, suffix: str) -> bool:
    return bool(backup.files.get(backup.path.name + suffix, {}).get("size"))


def _of_header(backup: Backup) -> list[Flaw]:
    """Does the file have the pages that its header names?

    The header is SQLite's (page size at byte 16, format at 18, changes at 24, pages at 28, the
    change for which they are true at 92). In WAL mode they may differ while all is well.
    """
    with backup.path.open("rb") as file:
        head = file.read(_HEADER)
    size = backup.files[backup.path.name]["size"]
    stored = int.from_bytes(head[16:18], "big")
    page_size = 65536 if stored == 1 else stored
    if len(head) < _HEADER or page_size < 512 or page_size & (page_size - 1):
        return [Flaw("truncated", "error", f"{backup.place} ends inside its first page.")]
    pages = int.from_bytes(head[28:32], "big") if head[24:28] == head[92:96] else None
    is_wal = head[18:20] == b"\x02\x02"
    if size % page_size or (pages is not None and size < pages * page_size and not is_wal):
        told = f"{pages:,} pages" if pages is not None else "whole pages"
        found = f"{size:,} bytes; its header names {told} of {page_size:,} bytes"
        return [Flaw("truncated", "error", f"{backup.place} is cut off: it has {found}.")]
    if (
        pages is not None
        and size > pages * page_size
        and not is_wal
        and not _has(backup, "-journal")
    ):
        return [
            Flaw(
                "unfinished-commit",
                "error",
                f"{backup.place} has {size // page_size - pages:,} pages more than its header "
                "names: a commit was being written when it was copied, without its -journal.",
            )
        ]
    return []


def _of_content(backup: Backup, connection: sqlite3.Connection) -> list[Flaw]:
    place = backup.place
    flaws = []
    try:
        found = [str(row[0]) for row in connection.execute("pragma integrity_check(5)")]
        if found != ["ok"]:
            flaws.append(
                Flaw(
                    "damaged",
                    "error",
                    f"{place} has damaged pages: SQLite's integrity check fails.",
                    tuple(cut_middle(safe(line), 200) for line in found[:FEW]),
                )
            )
        recognise_tables(connection, place)
        if not connection.execute(f"select 1 from {LOG_TABLE} limit 1").fetchall():
            flaws.append(empty(place))
    except NotALogError as err:
        flaws.append(Flaw("wrong-database", "error", str(err)))
    except sqlite3.DatabaseError as err:
        if not flaws:
            flaws.append(Flaw("damaged", "error", f"{place} is damaged: {err}."))
    return flaws


def recognise_tables(connection: sqlite3.Connection, place: str) -> Layout:
    """The log's layout. Raises NotALogError."""
    tables, keys = columns_of(connection)
    return recognise_layout(
        place, tables, keys, "; if a -wal file belongs to it, it was not backed up with it"
    )


def columns_of(connection: sqlite3.Connection) -> tuple[dict[str, list[str]], list[str]]:
    """Table -> columns, in small letters, and the columns of the log's primary key."""
    tables: dict[str, list[str]] = {}
    keys: list[str] = []
    names = connection.execute(
        "select cast(name as text) from sqlite_master where type = 'table'"
    ).fetchall()
    for (name,) in names:
        lower = str(name).lower()
        tables[lower] = []
        if lower in (LOG_TABLE, "execution_log", "event_log"):
            info = connection.execute(f"pragma table_info({lower})").fetchall()
            tables[lower] = [str(column[1]).lower() for column in info]
            if lower == LOG_TABLE:
                keys = [str(column[1]).lower() for column in info if column[5]]
    return tables, keys


def _of_journal(backup: Backup, connection: sqlite3.Connection) -> list[Flaw]:
    """A -journal beside the file is rolled back; is it of this file? And was there one?"""
    if _has(backup, "-journal"):
        return _of_hot_journal(backup)
    with backup.path.open("rb") as file:
        head = file.read(_HEADER)
    is_wal = head[18:20] == b"\x02\x02"
    # SQLite writes a backup and a VACUUM INTO as the first change of a new file; AX commits once a
    # row, so a file that it has written to has more.
    in_one_go = int.from_bytes(head[24:28], "big") <= 1
    if backup.is_ours or is_wal or in_one_go:
        return []
    newest = _newest(connection)
    named = f" ({newest})" if newest else ""
    return [
        Flaw(
            "journal-unknown",
            "doubt",
            f"{backup.place} came without a -journal, and a database that was copied in the middle "
            f"of a commit looks the same without it: its newest row{named} "
            "may never have been committed. Compare it with the source, or take the backup by the "
            "backup API or VACUUM INTO.",
            (newest,) if newest else (),
        )
    ]


def _newest(connection: sqlite3.Connection) -> str | None:
    """The row that was inserted last: AX commits one at a time, and deletes whole conversations."""
    tables, _ = columns_of(connection)
    step = next(name for name in ("step", "seq") if name in tables[LOG_TABLE])
    try:
        found = connection.execute(
            f"select conversation_id, {step} from {LOG_TABLE} order by rowid desc limit 1"
        ).fetchall()
    except sqlite3.DatabaseError:
        return None  # a table without row numbers
    return next(iter(shown(found)), None)


def _of_hot_journal(backup: Backup) -> list[Flaw]:
    """What a -journal rolls back. AX commits one row at a time: more are another file's doing."""
    with PrivateCopy(backup.path.resolve()) as copy:
        alone = copy.path.with_name("alone")
        shutil.copyfile(copy.path, alone)
        try:
            with closing(sqlite3.connect(copy.path)) as connection:
                found = _beside(connection, alone, _TAKEN_BACK)
        except sqlite3.DatabaseError:
            # In the middle of a commit the file alone may not be sound; with the journal it is.
            return []
    if len(found) <= 1:
        return []
    return [
        Flaw(
            "journal-does-not-fit",
            "doubt",
            f"the -journal beside {backup.place} takes back {count(len(found), 'row')} or more; a "
            "commit of AX is one row, so it may be of another moment.",
            shown(found),
        )
    ]


#: Up to some rows of `other` that the log itself has not, or has otherwise.
_TAKEN_BACK = """
select o.conversation_id, o.{step} from other.conversation_log as o
left join main.conversation_log as m
    on m.conversation_id = o.conversation_id and m.{step} = o.{step}
where m.payload is not o.payload limit 100
"""

#: Rows of `other` after the last one that the log has of their conversation.
_AFTER_THE_LAST = """
select o.conversation_id, o.{step} from other.conversation_log as o
join (select conversation_id, max({step}) as last from main.conversation_log group by 1) as m
    on m.conversation_id = o.conversation_id
where typeof(o.{step}) = 'integer' and o.{step} > m.last order by 1, 2
"""

#: The only row of each conversation that the log does not have at all.
_ALONE = """
select conversation_id, max({step}) from other.conversation_log
where conversation_id not in (select conversation_id from main.conversation_log)
group by conversation_id having count(*) = 1 order by 1
"""


def _beside(connection: sqlite3.Connection, other: Path, query: str) -> list[tuple[object, object]]:
    """What a query over this log and another one finds; nothing if they cannot be compared."""
    tables, _ = columns_of(connection)
    step = next((name for name in ("step", "seq") if name in tables.get(LOG_TABLE, [])), None)
    connection.execute("attach ? as other", (os.fspath(other),))
    try:
        info = connection.execute("pragma other.table_info(conversation_log)").fetchall()
        if step is None or step not in [str(column[1]).lower() for column in info]:
            return []
        return connection.execute(query.format(step=step)).fetchall()
    finally:
        connection.execute("detach other")


def _against_source(
    backup: Backup, connection: sqlite3.Connection, source: Path, settings: Settings
) -> list[Flaw]:
    """Rows of the backup that the source never committed, or took back."""
    own = connection.execute("pragma database_list").fetchone()[2]
    with PrivateCopy(source.resolve(), scratch=settings.scratch) as copy:
        check_wal(copy.path, None, str(source))
        try:
            with closing(sqlite3.connect(copy.path)) as of_source:
                after = _beside(of_source, Path(own), _AFTER_THE_LAST)
                alone = _beside(of_source, Path(own), _ALONE)
        except sqlite3.DatabaseError as err:
            raise SourceError(f"{source} cannot be read as SQLite: {err}.") from err
        copy.verify()
    flaws = []
    if after:
        flaws.append(
            Flaw(
                "never-committed",
                "error",
                f"{backup.place} holds {count(len(after), 'row')} that the source does not: copied "
                "in the middle of a commit, without its -journal, or of another log.",
                shown(after),
            )
        )
    if alone:
        flaws.append(
            Flaw(
                "never-committed",
                "doubt",
                f"{backup.place} holds {count(len(alone), 'conversation')} of one row that the "
                "source does not have: deleted since, or never committed.",
                shown(alone),
            )
        )
    return flaws
