"""Is a restored SQLite log of the structure that AX needs, and does its next row go in?"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from axnb.backups.first_write import REFUSED, NewRow, new_rows, together, unlike
from axnb.backups.flaws import FEW, empty, key_missing, not_utf8, number_repeated, trigger
from axnb.backups.model import Flaw
from axnb.backups.sqlite_judge import columns_of, recognise_tables
from axnb.errors import NotALogError
from axnb.evidence.layout import LOG_TABLE, Layout
from axnb.text import count, cut_middle, safe

_SECONDS = 30.0

#: Rows whose values are not of the classes that AX writes.
_OTHER_CLASSES = """
select typeof(conversation_id), typeof({step}), typeof(payload), count(*),
    min(cast(conversation_id as text)), min({step})
from conversation_log group by 1, 2, 3
"""

_REPEATED = """
select cast(conversation_id as text), {step} from conversation_log
group by conversation_id, {step} having count(*) > 1 limit 100
"""

_TEXTS = "select cast(conversation_id as blob), {step}, cast(payload as blob) from conversation_log"


def structure_of_sqlite(path: Path, place: str | None = None) -> list[Flaw]:
    """What the table is, and the classes and encodings of what lies in it; reads only.

    `path` must be a file of ours: SQLite writes beside it.
    """
    place = place or str(path)
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma trusted_schema = off")
            found = [str(row[0]) for row in connection.execute("pragma integrity_check(5)")]
            if found != ["ok"]:
                evidence = tuple(cut_middle(safe(line), 200) for line in found)
                return [Flaw("damaged", "error", f"{place} has damaged pages.", evidence)]
            layout = recognise_tables(connection, place)
            return _of_tables(connection, layout, place) + _of_rows(connection, layout, place)
    except NotALogError as err:
        return [Flaw("wrong-database", "error", str(err))]
    except sqlite3.DatabaseError as err:
        return [Flaw("damaged", "error", f"{place} cannot be read: {err}.")]


def _of_tables(connection: sqlite3.Connection, layout: Layout, place: str) -> list[Flaw]:
    flaws = []
    _, keys = columns_of(connection)
    if keys != ["conversation_id", layout.column]:
        flaws.append(key_missing(place, layout.column))
    triggers = connection.execute(
        "select name from sqlite_master where type = 'trigger' and lower(tbl_name) = ?",
        (LOG_TABLE,),
    ).fetchall()
    if triggers:
        names = tuple(cut_middle(safe(str(name)), 60) for (name,) in triggers[:FEW])
        flaws.append(trigger(place, names))
    ((encoding,),) = connection.execute("pragma encoding").fetchall()
    if encoding != "UTF-8":
        flaws.append(
            Flaw(
                "other-encoding",
                "doubt",
                f"{place} keeps its texts as {encoding}; AX's own files are UTF-8.",
            )
        )
    return flaws


def _of_rows(connection: sqlite3.Connection, layout: Layout, place: str) -> list[Flaw]:
    step = layout.column
    flaws = []
    classes = connection.execute(_OTHER_CLASSES.format(step=step)).fetchall()
    if not classes:
        return [empty(place)]
    for *found, number, conversation, first in classes:
        odd = [
            f"{column} is {kind}"
            for column, kind, own in zip(
                ("conversation_id", step, "payload"),
                found,
                ("text", "integer", "text"),
                strict=True,
            )
            if kind != own
        ]
        if odd:
            flaws.append(
                Flaw(
                    "storage-class",
                    "error",
                    f"{place} has {count(number, 'row')} of another storage class than AX writes: "
                    f"{', '.join(odd)}.",
                    (f"{cut_middle(safe(str(conversation)), 60)} step {first}",),
                )
            )
    repeated = connection.execute(_REPEATED.format(step=step)).fetchall()
    if repeated:
        flaws.append(number_repeated(place, repeated))
    if connection.execute("pragma encoding").fetchone()[0] != "UTF-8":
        return flaws  # SQLite converts what it hands on
    connection.text_factory = bytes
    not_text = [
        (conversation.decode(errors="backslashreplace"), number)
        for conversation, number, payload in connection.execute(_TEXTS.format(step=step))
        if not (_is_utf8(conversation) and _is_utf8(payload))
    ]
    if not_text:
        flaws.append(not_utf8(place, not_text))
    return flaws


def _is_utf8(raw: bytes | None) -> bool:
    try:
        (raw or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


# --- the first write -----------------------------------------------------------------------------


def write_to_sqlite(path: Path, place: str | None = None) -> list[Flaw]:
    """Insert the next row of some conversations and of a new one, as AX does, and roll back."""
    place = place or str(path)
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as connection:
        connection.execute("pragma trusted_schema = off")
        # A trigger may run for ever.
        end = time.monotonic() + _SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
        try:
            layout = recognise_tables(connection, place)
            return _write(connection, layout.column, place)
        except NotALogError:
            return []  # the structure says so
        except sqlite3.DatabaseError as err:
            return [Flaw("damaged", "error", f"{place} cannot be read: {err}.")]


def _write(connection: sqlite3.Connection, step: str, place: str) -> list[Flaw]:
    known = connection.execute(
        f"select conversation_id, max({step}) from conversation_log "
        f"where typeof(conversation_id) = 'text' group by 1 order by 2 desc, 1 limit 4"
    ).fetchall()
    return together(_written(connection, step, place, row) for row in new_rows(known))


def _written(connection: sqlite3.Connection, step: str, place: str, row: NewRow) -> Flaw | None:
    payload = json.dumps({"conversation_id": row.conversation, "state": "STATE_PENDING"})
    try:
        connection.execute("begin immediate")
        ((number,),) = connection.execute(
            f"select coalesce(max({step}), 0) + 1 from conversation_log where conversation_id = ?",
            (row.conversation,),
        ).fetchall()
        connection.execute(
            f"insert into conversation_log (conversation_id, {step}, payload) values (?, ?, ?)",
            (row.conversation, number, payload),
        )
        found = connection.execute(
            f"select {step}, payload from conversation_log where conversation_id = ? "
            f"and {step} = ?",
            (row.conversation, number),
        ).fetchall()
        return unlike(place, row, number, found, payload)
    except (sqlite3.Error, OverflowError) as err:
        # SQLite's own words name columns and constraints; a trigger's are a stranger's.
        return Flaw(
            "first-write",
            "error",
            REFUSED.format(place=place, what=row.what, why=cut_middle(safe(str(err)), 120)),
            (row.shown,),
        )
    finally:
        with suppress(sqlite3.Error):
            connection.execute("rollback")
