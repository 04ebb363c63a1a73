"""Is a restored log in PostgreSQL of the structure that AX needs, and does its next row go in?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from axnb.backups.first_write import REFUSED, NewRow, new_rows, together, unlike
from axnb.backups.flaws import FEW, empty, key_missing, not_utf8, number_repeated, shown, trigger
from axnb.backups.model import Flaw
from axnb.errors import NotALogError, SourceError
from axnb.evidence.layout import LOG_TABLE
from axnb.evidence.locators import PostgresLocator
from axnb.evidence.postgres import PostgresReader
from axnb.settings import Settings
from axnb.text import count, cut_middle, safe

_LIMITS = "set statement_timeout = '{seconds}s'; set lock_timeout = '10s'"

_COLUMNS = """
select a.attname, format_type(a.atttypid, null), coalesce(c.collisdeterministic, true)
from pg_attribute a left join pg_collation c on c.oid = a.attcollation
where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped
"""

_KEY = """
select array_agg(a.attname::text order by array_position(i.indkey::int2[], a.attnum))
from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
where i.indrelid = %s::regclass and i.indisprimary and i.indisvalid
"""

_RUNS = """
select tgname::text from pg_trigger where tgrelid = %(table)s::regclass and not tgisinternal
union all
select rulename::text from pg_rewrite where ev_class = %(table)s::regclass
"""

_KEPT = """
select relpersistence = 'u', relrowsecurity from pg_class where oid = %s::regclass
"""

_SEQUENCES = """
select a.attname::text, d.refobjid::regclass::text
from pg_attrdef f
join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = f.oid
    and d.refclassid = 'pg_class'::regclass
join pg_class s on s.oid = d.refobjid and s.relkind = 'S'
join pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
where f.adrelid = %(table)s::regclass
union
select a.attname::text, d.objid::regclass::text
from pg_depend d
join pg_class s on s.oid = d.objid and s.relkind = 'S'
join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
    and d.deptype in ('a', 'i') and d.refobjid = %(table)s::regclass
"""


_TEXTS = ("text", "character varying")


class _Log:
    """A restored log: its table, as a name that may stand in SQL."""

    def __init__(self, dsn: str, settings: Settings) -> None:
        locator = PostgresLocator(dsn)
        with PostgresReader(locator, statement_timeout=settings.statement_timeout) as reader:
            self.step = reader.layout.column
            schema = str(reader.custody()["schema"])
        self.table = '"{}".{}'.format(schema.replace('"', '""'), LOG_TABLE)
        self.place = f"the restored {schema}.{LOG_TABLE}"


def structure_of_postgres(dsn: str, settings: Settings) -> list[Flaw]:
    """What the table is, and what lies in it; reads only."""
    try:
        log = _Log(dsn, settings)
    except NotALogError as err:
        return [Flaw("wrong-database", "error", str(err))]
    with _translated(log), _connected(dsn, settings) as connection:
        connection.read_only = True
        return [
            *_of_columns(connection, log),
            *_of_key(connection, log),
            *_of_table(connection, log),
            *_of_sequences(connection, log),
            *_of_texts(connection, log),
        ]


@contextmanager
def _translated(log: _Log) -> Iterator[None]:
    """Errors of the driver in our words."""
    import psycopg

    try:
        yield
    except psycopg.Error as err:
        told = f"SQLSTATE {err.sqlstate}" if err.sqlstate else "the server broke off"
        raise SourceError(f"{log.place} cannot be read: {told}.") from None


def _connected(dsn: str, settings: Settings) -> Any:
    import psycopg

    connection = psycopg.connect(dsn, autocommit=True, connect_timeout=10)
    connection.execute(cast(Any, _LIMITS.format(seconds=settings.statement_timeout)))
    connection.autocommit = False
    return connection


def _of_columns(connection: Any, log: _Log) -> Iterator[Flaw]:
    found = {
        name: (kind, deterministic)
        for name, kind, deterministic in connection.execute(_COLUMNS, (log.table,))
    }
    wanted = {
        "conversation_id": _TEXTS,
        log.step: ("smallint", "integer", "bigint"),
        "payload": _TEXTS,
    }
    for column, kinds in wanted.items():
        kind = found[column][0]
        if kind not in kinds:
            yield Flaw(
                "storage-class",
                "error",
                f"{log.place} keeps {column} as {kind}; AX writes {kinds[0]}.",
            )
    if not found["conversation_id"][1]:
        yield Flaw(
            "other-collation",
            "doubt",
            f"{log.place} compares ids by a collation under which ids of different letters can be "
            "equal: two conversations may have become one.",
        )
    if found["payload"][0] in ("oid", "lo"):
        yield from _of_large_objects(connection, log)


def _of_large_objects(connection: Any, log: _Log) -> Iterator[Flaw]:
    found = connection.execute(
        f"select conversation_id::text, {log.step} from {log.table} as l where not exists "
        "(select 1 from pg_largeobject_metadata as o where o.oid = l.payload::oid) order by 1, 2"
    ).fetchall()
    if found:
        yield Flaw(
            "large-object-missing",
            "error",
            f"{count(len(found), 'row')} of {log.place} point to a large object that was not "
            "restored: dump with --large-objects.",
            shown(found),
        )


def _of_key(connection: Any, log: _Log) -> Iterator[Flaw]:
    ((key,),) = connection.execute(_KEY, (log.table,)).fetchall()
    if key == ["conversation_id", log.step]:
        return
    yield key_missing(log.place, log.step)
    found = connection.execute(
        f"select conversation_id::text, {log.step} from {log.table} group by 1, 2 "
        "having count(*) > 1 order by 1, 2 limit 100"
    ).fetchall()
    if found:
        yield number_repeated(log.place, found)


def _of_table(connection: Any, log: _Log) -> Iterator[Flaw]:
    runs = connection.execute(_RUNS, {"table": log.table}).fetchall()
    if runs:
        yield trigger(log.place, tuple(cut_middle(safe(name), 60) for (name,) in runs[:FEW]))
    ((is_unlogged, has_policies),) = connection.execute(_KEPT, (log.table,)).fetchall()
    if is_unlogged:
        yield Flaw(
            "unlogged", "doubt", f"{log.place} is unlogged: a crash of the server empties it."
        )
    if has_policies:
        yield Flaw("row-security", "doubt", f"{log.place} is under row-level security.")
    if not connection.execute(f"select 1 from {log.table} limit 1").fetchall():
        yield empty(log.place)


def _of_sequences(connection: Any, log: _Log) -> Iterator[Flaw]:
    for column, sequence in connection.execute(_SEQUENCES, {"table": log.table}).fetchall():
        quoted = '"{}"'.format(column.replace('"', '""'))
        ((next_value, highest),) = connection.execute(
            f"select last_value + is_called::int, (select max({quoted}) from {log.table}) "
            f"from {sequence}"
        ).fetchall()
        if isinstance(highest, int) and next_value <= highest:
            yield Flaw(
                "sequence-behind",
                "error",
                f"the sequence of {log.place}'s column {cut_middle(safe(column), 60)} goes on at "
                f"{next_value}, and {highest} is there already.",
            )


def _of_texts(connection: Any, log: _Log) -> Iterator[Flaw]:
    """COPY from a client that claims no encoding takes bytes that are no UTF-8 (seen with 18.6)."""
    import psycopg

    columns = [
        name for name, kind, _ in connection.execute(_COLUMNS, (log.table,)) if kind in _TEXTS
    ]
    wanted = [name for name in ("conversation_id", "payload") if name in columns]
    counts = ", ".join(f"count(convert_to({name}, 'UTF8'))" for name in wanted)
    try:
        connection.execute(f"select {counts} from {log.table}").fetchall()
        return
    except psycopg.DataError:
        connection.rollback()
    connection.execute("set local client_encoding = 'SQL_ASCII'")
    texts = "concat_ws(' ', {})".format(", ".join(f"{name}" for name in wanted))
    rows = connection.execute(
        f"select conversation_id::text, {log.step}, {texts} from {log.table} order by 1, 2"
    )
    yield not_utf8(
        log.place,
        [
            (name.decode(errors="backslashreplace"), step)
            for name, step, text in rows
            if not _is_utf8(text)
        ],
    )


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- the first write -----------------------------------------------------------------------------


def write_to_postgres(dsn: str, settings: Settings) -> list[Flaw]:
    """Insert the next row of some conversations and of a new one, as AX does, and roll back."""
    try:
        log = _Log(dsn, settings)
    except NotALogError:
        return []  # the structure says so
    with _translated(log), _connected(dsn, settings) as connection:
        known = connection.execute(
            f"select conversation_id::text, max({log.step}) from {log.table} "
            "where conversation_id is not null group by 1 order by 2 desc, 1 limit 4"
        ).fetchall()
        connection.rollback()
        return together(_written(connection, log, row) for row in new_rows(known))


def _written(connection: Any, log: _Log, row: NewRow) -> Flaw | None:
    import psycopg

    payload = json.dumps({"conversation_id": row.conversation, "state": "STATE_PENDING"})
    try:
        ((number,),) = connection.execute(
            f"select coalesce(max({log.step}), 0) + 1 from {log.table} where conversation_id = %s",
            (row.conversation,),
        ).fetchall()
        connection.execute(
            f"insert into {log.table} (conversation_id, {log.step}, payload) values (%s, %s, %s)",
            (row.conversation, number, payload),
        )
        # What a commit would find.
        connection.execute("set constraints all immediate")
        found = connection.execute(
            f"select {log.step}, payload from {log.table} where conversation_id = %s "
            f"and {log.step} = %s",
            (row.conversation, number),
        ).fetchall()
        return unlike(log.place, row, number, found, payload)
    except psycopg.Error as err:
        why = f"SQLSTATE {err.sqlstate}" if err.sqlstate else "the server broke off"
        return Flaw(
            "first-write",
            "error",
            REFUSED.format(place=log.place, what=row.what, why=why),
            (row.shown,),
        )
    finally:
        connection.rollback()
