"""Dumps of PostgreSQL: taken, judged, restored by a role that may little, and looked at."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from axnb.backups import BadBackupError, inspect, judge, recognise, restore, take
from axnb.backups.pg_contents import contents_of
from axnb.backups.pg_inspect import structure_of_postgres, write_to_postgres
from axnb.backups.pg_script import Script, run_script
from axnb.backups.programs import connection_words
from axnb.errors import SourceError, UnavailableError, UsageError
from axnb.testing.logs import LogBuilder
from tests.ax_logs import RealLog, postgres_logs
from tests.faults.looks import healthy
from tests.servers import PostgresServer

from .made import SETTINGS, kinds, postgres_rows, private, tree

SLOW = pytest.mark.slow
FORMATS = ("custom", "plain", "directory")


def _long() -> LogBuilder:
    log = healthy()
    for number in range(300):
        log.turn(f"long-{number}", os.urandom(400).hex())
    return log


@pytest.fixture(scope="module")
def source(postgres: PostgresServer) -> str:
    """A log in a schema of its own, with a table of somebody else's beside it."""
    dsn = _long().write_postgres(postgres.create_database(), "ax")
    postgres.execute("create table ax.orders (id int); insert into ax.orders values (1)", dsn)
    return dsn


@pytest.fixture(scope="module")
def dumps(source: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A dump of each format."""
    folder = tmp_path_factory.mktemp("dumps")
    return {how: take(source, how, private(folder / how), SETTINGS).path for how in FORMATS}


# --- taking --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", FORMATS)
def test_a_dump_names_only_the_log(dumps: dict[str, Path], source: str, how: str) -> None:
    path = dumps[how]
    backup = recognise(path)
    assert backup.kind == f"pg-{how}"
    assert judge(backup, SETTINGS) == ()
    files = [path] if path.is_file() else [*path.iterdir()]
    assert all(file.stat().st_mode & 0o077 == 0 for file in (path, *files))
    content = b"".join(file.read_bytes() for file in files)
    assert b"orders" not in content
    assert urlsplit(source).password.encode() not in content  # type: ignore[union-attr]


def test_the_password_is_not_among_the_words(source: str) -> None:
    password = urlsplit(source).password
    words, environment = connection_words(source)
    assert password is not None
    assert password not in words
    assert environment["PGPASSWORD"] == password


@pytest.mark.parametrize("how", ["custom", "base"])
def test_a_refusal_is_one_sentence(postgres: PostgresServer, tmp_path: Path, how: str) -> None:
    dsn = healthy().write_postgres(postgres.create_database())
    name = f"reader_{how}"
    postgres.execute(f"create role {name} login password 'hidden-word'; ", dsn)
    if how == "base":
        postgres.execute(f"grant select on conversation_log to {name}", dsn)
    limited = dsn.replace(f"postgres:{postgres.password}", f"{name}:hidden-word")
    folder = private(tmp_path / "backup")
    with pytest.raises(UnavailableError, match="the role may not") as raised:
        take(limited, how, folder, SETTINGS)
    assert "hidden-word" not in str(raised.value)
    assert [*folder.iterdir()] == []


def test_a_way_of_the_other_store(source: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not by 'vacuum'"):
        take(source, "vacuum", tmp_path, SETTINGS)


# --- before a restore ----------------------------------------------------------------------------


@pytest.mark.parametrize("log", postgres_logs(), ids=lambda log: log.name)
def test_dumps_of_real_logs_are_sound(log: RealLog) -> None:
    backup = recognise(log.folder / "dump.sql")
    assert backup.kind == "pg-plain"
    assert judge(backup, SETTINGS) == ()


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize(
    "part",
    [pytest.param(0.05, marks=SLOW), 0.6, pytest.param(0.999, marks=SLOW)],
)
def test_a_dump_that_was_cut_off(
    dumps: dict[str, Path], tmp_path: Path, how: str, part: float
) -> None:
    path = tmp_path / "log.sql"
    if how == "directory":
        path.mkdir()
        for file in dumps[how].iterdir():
            content = file.read_bytes()
            is_data = file.name != "toc.dat"
            (path / file.name).write_bytes(
                content[: int(part * len(content))] if is_data else content
            )
    else:
        content = dumps[how].read_bytes()
        path.write_bytes(content[: int(part * len(content))])
    found = judge(recognise(path), SETTINGS)
    assert found[-1].severity == "error"
    assert found[-1].kind in ("truncated", "damaged")
    folder = private(tmp_path / "restored")
    with pytest.raises(BadBackupError):
        restore(recognise(path), folder, SETTINGS).__enter__()
    assert [*folder.iterdir()] == []


def test_a_file_of_a_directory_that_is_missing(dumps: dict[str, Path], tmp_path: Path) -> None:
    for file in dumps["directory"].iterdir():
        if file.name == "toc.dat":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert kinds(judge(recognise(tmp_path), SETTINGS)) == ["truncated"]


@pytest.mark.parametrize("how", ["custom", "plain"])
@pytest.mark.parametrize(
    ("statement", "options", "kind"),
    [
        ("create table orders (id int)", (), "wrong-database"),
        ("create table conversation_log (id int)", ("--schema-only",), "no-data"),
    ],
)
def test_a_dump_without_the_log(
    postgres: PostgresServer,
    tmp_path: Path,
    how: str,
    statement: str,
    options: tuple[str, ...],
    kind: str,
) -> None:
    dsn = postgres.create_database()
    postgres.execute(statement, dsn)
    path = _dumped(dsn, tmp_path, f"--format={how}", *options)
    assert kinds(judge(recognise(path), SETTINGS)) == [kind]


def _dumped(dsn: str, folder: Path, *options: str) -> Path:
    """A dump as a user takes it: of the whole database, by the DSN."""
    import subprocess

    from axnb.backups.programs import program

    path = folder / "user.dump"
    command = [program("pg_dump"), dsn, f"--file={path}", *options]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"--\n-- PostgreSQL database cluster dump\n--\n", "whole-cluster"),
        (b"", "zero-bytes"),
        (bytes(4096), "zero-filled"),
        (b"\x28\xb5\x2f\xfd" + bytes(50), "packed"),
    ],
)
def test_what_is_no_dump(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "log.dump").write_bytes(content)
    with pytest.raises(BadBackupError) as raised:
        recognise(tmp_path / "log.dump")
    assert raised.value.flaw.kind == kind


@pytest.mark.parametrize("how", ["custom", pytest.param("plain", marks=SLOW)])
@pytest.mark.parametrize("is_whole", [True, False])
def test_names_with_spaces_and_partitions(
    postgres: PostgresServer, tmp_path: Path, how: str, is_whole: bool
) -> None:
    dsn = healthy().write_postgres(postgres.create_database(), "My Schema")
    postgres.execute(
        'set search_path to "My Schema"; alter table conversation_log rename to rows; '
        "create table conversation_log (like rows including all) partition by hash (step); "
        "create table p0 partition of conversation_log for values with (modulus 1, remainder 0); "
        "insert into conversation_log select * from rows; drop table rows",
        dsn,
    )
    options = () if is_whole else ('--table="My Schema".*',)
    backup = recognise(_dumped(dsn, tmp_path, f"--format={how}", *options))
    assert judge(backup, SETTINGS) == ()
    contents = contents_of(backup, SETTINGS)
    assert contents.tables == {("My Schema", "conversation_log")}
    assert contents.needed_schemas == ([] if is_whole else ["My Schema"])


# --- a stranger's script -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def feed(postgres: PostgresServer) -> Callable[[bytes], Script]:
    """Run a script as a restore does: in a new database that a role of its own owns."""
    postgres.execute("create role feeder login password 'feeder'")
    dsn = postgres.create_database()
    name = urlsplit(dsn).path[1:]
    postgres.execute(f"alter database {name} owner to feeder")
    own = dsn.replace(f"postgres:{postgres.password}", "feeder:feeder")
    words, environment = connection_words(own)

    def run(script: bytes) -> Script:
        postgres.execute(_EMPTY, dsn)
        lines = script.splitlines(keepends=True)
        return run_script(lines, postgres.program("psql"), words, environment, 30, "it")

    return run


#: A new database takes ten times as long.
_EMPTY = "drop schema public cascade; create schema public; grant all on schema public to public"

END = b"\n-- PostgreSQL database dump complete\n"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Where the server and its programs may write, whoever they run as."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_a_script_runs(feed: Callable[[bytes], Script]) -> None:
    found = feed(
        b"-- Dumped from database version 15.18\n\\restrict abc123\n"
        b"SET client_encoding = 'UTF8';\nCREATE TABLE t (a text);\nCOPY t FROM stdin;\n"
        b"\\\\restrict is data\n\\N\n\\.\n" + END + b"\\unrestrict abc123\n"
    )
    assert (found.encoding, found.version, found.is_complete) == ("UTF8", "15.18", True)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("\\! touch {file}", "psql-command"),
        ("\\connect postgres", "psql-command"),
        pytest.param("\\o {file}", "psql-command", marks=SLOW),
        pytest.param("select 1 \\g {file}", "psql-command", marks=SLOW),
        pytest.param(
            "\\copy (select 1) to program 'touch {file}'", "psql-command", marks=pytest.mark.slow
        ),
        ("\\unrestrict guess\n\\! touch {file}", "psql-command"),
        pytest.param(
            "\\restrict mine\n\\unrestrict mine\n\\! touch {file}",
            "psql-command",
            marks=pytest.mark.slow,
        ),
        ("copy (select 1) to program 'touch {file}';", "needs-rights?"),
        pytest.param("copy (select 1) to '{file}';", "needs-rights?", marks=SLOW),
        ("create table t (a text); copy t from '/etc/passwd';", "needs-rights?"),
        ("create role other superuser;", "needs-rights?"),
        pytest.param("alter table nothing owner to nobody;", "incomplete", marks=SLOW),
        ("select nonsense;", "refused"),
        pytest.param("this is no statement;", "damaged", marks=SLOW),
        ("create table t (a text); alter table t owner to nobody_here;", "needs-server?"),
        ("create table t (a int primary key); insert into t values (1), (1);", "number-repeated"),
    ],
)
def test_a_script_does_nothing_outside(
    feed: Callable[[bytes], Script], open_folder: Path, line: str, kind: str
) -> None:
    file = open_folder / "made"
    with pytest.raises(BadBackupError) as raised:
        feed(line.replace("{file}", str(file)).encode() + END)
    assert kinds([raised.value.flaw]) == [kind]
    assert not file.exists()


def test_a_message_of_the_server_is_not_repeated(feed: Callable[[bytes], Script]) -> None:
    secret = b"sk-0000000000000001"
    script = b"CREATE TABLE t (a int);\nCOPY t FROM stdin;\n" + secret + b"\n\\.\n" + END
    with pytest.raises(BadBackupError, match="SQLSTATE 22P02") as raised:
        feed(script)
    assert secret.decode() not in str(raised.value)


def test_bytes_that_are_no_text(feed: Callable[[bytes], Script]) -> None:
    script = (
        "SET client_encoding = 'UTF8';\nCREATE TABLE t (a text);\nINSERT INTO t VALUES ('Zoë');"
    )
    feed(script.encode() + END)
    with pytest.raises(BadBackupError) as raised:
        feed(script.encode("latin-1") + END)
    assert raised.value.flaw.kind == "not-utf8"


def test_a_collation_that_is_not_here(feed: Callable[[bytes], Script]) -> None:
    """Ids of different letters may be equal under it, so no other may stand for it."""
    with pytest.raises(BadBackupError) as raised:
        feed(b'CREATE TABLE t (id text COLLATE "xx-not-here");' + END)
    assert kinds([raised.value.flaw]) == ["needs-server?"]


def test_a_script_that_takes_too_long(postgres: PostgresServer, tmp_path: Path) -> None:
    words, environment = connection_words(postgres.create_database())
    with pytest.raises(BadBackupError) as raised:
        run_script(
            [b"select pg_sleep(60);\n"], postgres.program("psql"), words, environment, 0.3, "it"
        )
    assert kinds([raised.value.flaw]) == ["too-slow?"]


# --- what was restored ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wounded(postgres: PostgresServer) -> str:
    """A database for a log that is wounded, and a role that is no superuser."""
    postgres.execute("create role writer")
    return postgres.create_database()


_TRIGGER = (
    "create function f() returns trigger language plpgsql as $$begin {body} end$$; "
    "create {kind} trigger t {when} insert on conversation_log {deferred} for each row "
    "execute function f()"
)


def _trigger(body: str, kind: str = "", when: str = "before", deferred: str = "") -> str:
    return _TRIGGER.format(body=body, kind=kind, when=when, deferred=deferred)


_ALTER = "alter table conversation_log"
_DROP_KEY = f"{_ALTER} drop constraint conversation_log_pkey"
_TO_OID = f"{_ALTER} alter payload type oid using"

#: What was done to a table; kinds of its structure, and of its first write (None: not looked at).
_WOUNDS: list[tuple[str, list[str], list[str] | None]] = [
    ("select 1", [], []),
    (f"{_ALTER} alter payload type bytea using payload::bytea", ["storage-class"], []),
    (_DROP_KEY, ["key-missing"], []),
    (_trigger("raise 'frozen';"), ["trigger?"], ["first-write"] * 2),
    (_trigger("return null;"), ["trigger?"], ["first-write"] * 2),
    (
        _trigger("raise 'late';", "constraint", "after", "deferrable initially deferred"),
        ["trigger?"],
        ["first-write"] * 2,
    ),
    ("update conversation_log set step = 2147483647 where step = 5", [], ["first-write"]),
    (
        f"create sequence s; {_ALTER} alter step set default nextval('s')",
        ["sequence-behind"],
        [],
    ),
    ("truncate conversation_log", ["empty?"], []),
    ("drop table conversation_log", ["wrong-database"], []),
    (f"{_TO_OID} 424242", ["storage-class", "large-object-missing"], None),
]

_MORE_WOUNDS: list[tuple[str, list[str], list[str] | None]] = [
    (f"{_ALTER} alter step type text", ["storage-class"], None),
    (
        f"{_DROP_KEY}; insert into conversation_log select * from conversation_log where step = 1",
        ["key-missing", "number-repeated"],
        [],
    ),
    (_trigger("new.payload := '{}'; return new;"), ["trigger?"], ["first-write"] * 2),
    (
        "create rule r as on insert to conversation_log do instead nothing",
        ["trigger?"],
        ["first-write"] * 2,
    ),
    (f"{_ALTER} add check (step < 6)", [], ["first-write"]),
    (f"create sequence s start 900; {_ALTER} alter step set default nextval('s')", [], []),
    (f"{_ALTER} alter step add generated by default as identity", ["sequence-behind"], []),
    (f"{_ALTER} set unlogged", ["unlogged?"], []),
    (
        f"{_ALTER} enable row level security, force row level security; {_ALTER} owner to writer",
        ["row-security?"],
        None,
    ),
    (f"{_TO_OID} lo_from_bytea(0, 'x')", ["storage-class"], None),
]


@pytest.mark.parametrize(
    ("statement", "structure", "write"),
    [*_WOUNDS, *(pytest.param(*wound, marks=SLOW) for wound in _MORE_WOUNDS)],
)
def test_structure_and_first_write(
    postgres: PostgresServer,
    wounded: str,
    statement: str,
    structure: list[str],
    write: list[str] | None,
) -> None:
    postgres.execute(_EMPTY, wounded)
    dsn = healthy().write_postgres(wounded)
    postgres.execute(statement, dsn)
    before = _digest(postgres, dsn)
    assert kinds(structure_of_postgres(dsn, SETTINGS)) == structure
    found = kinds(write_to_postgres(dsn, SETTINGS))
    assert write is None or found == write
    assert _digest(postgres, dsn) == before


def test_texts_that_are_none(postgres: PostgresServer) -> None:
    """A client that claims no encoding gets any bytes into a column of text."""
    import psycopg

    dsn = healthy().write_postgres(postgres.create_database())
    with psycopg.connect(dsn) as connection:
        connection.execute("set client_encoding = 'SQL_ASCII'")
        with connection.cursor().copy("copy conversation_log from stdin") as copy:
            copy.write(b'c3\t1\t{"name":"Zo\xeb"}\nc3\t2\t{}\n')
    (flaw,) = structure_of_postgres(dsn, SETTINGS)
    assert (flaw.kind, flaw.severity, flaw.evidence) == ("not-utf8", "error", ("c3 step 1",))


def _digest(postgres: PostgresServer, dsn: str) -> object:
    import psycopg

    with psycopg.connect(dsn) as connection:
        if connection.execute("select to_regclass('conversation_log')").fetchone() == (None,):
            return None
        return connection.execute(
            "select count(*), md5(string_agg(t::text, ',' order by t::text)) "
            "from conversation_log as t"
        ).fetchone()


def test_a_role_that_may_only_read(postgres: PostgresServer) -> None:
    dsn = healthy().write_postgres(postgres.create_database())
    postgres.execute("create role looker login password 'looker'")
    postgres.execute("grant select on conversation_log to looker", dsn)
    own = dsn.replace(f"postgres:{postgres.password}", "looker:looker")
    (logged, new) = write_to_postgres(own, SETTINGS)
    assert "SQLSTATE 42501" in logged.sentence
    assert logged.evidence == ("c1 step 6", "c2 step 4")
    assert "new conversation" in new.sentence
    postgres.execute("grant insert on conversation_log to looker", dsn)
    assert write_to_postgres(own, SETTINGS) == []


# --- the restore ---------------------------------------------------------------------------------


def test_a_dump_is_restored_into_a_server_that_shares_nothing(
    dumps: dict[str, Path], source: str, tmp_path: Path
) -> None:
    backup = recognise(dumps["custom"])
    before = tree(dumps["custom"].parent)
    source_id = take(source, "custom", private(tmp_path / "b"), SETTINGS).source
    with restore(backup, private(tmp_path / "restored"), SETTINGS) as restored:
        assert postgres_rows(restored.log, "ax.conversation_log") == postgres_rows(
            source, "ax.conversation_log"
        )
        assert restored.flaws == inspect(restored, SETTINGS) == ()
        assert restored.facts["system_identifier"] != source_id["system_identifier"]
        assert restored.facts["encoding"] == restored.facts["backup_encoding"] == "UTF8"
        assert [*restored.phases] == ["judge", "start server", "load", "inspect", "write"]
        assert restored.log not in repr(restored)
    with pytest.raises(SourceError):
        take(restored.log, "custom", tmp_path, SETTINGS)  # the server is gone
    assert tree(dumps["custom"].parent) == before


@pytest.mark.slow
@pytest.mark.parametrize("how", ["plain", "directory"])
def test_other_formats(dumps: dict[str, Path], source: str, tmp_path: Path, how: str) -> None:
    with restore(recognise(dumps[how]), tmp_path, SETTINGS) as restored:
        table = "ax.conversation_log"
        assert postgres_rows(restored.log, table) == postgres_rows(source, table)
        assert restored.flaws == inspect(restored, SETTINGS) == ()


@pytest.mark.slow
def test_a_dump_in_tar_format(postgres: PostgresServer, tmp_path: Path) -> None:
    dsn = healthy().write_postgres(postgres.create_database())
    backup = recognise(_dumped(dsn, tmp_path, "--format=tar"))
    assert judge(backup, SETTINGS) == ()
    with restore(backup, tmp_path, SETTINGS) as restored:
        assert postgres_rows(restored.log) == postgres_rows(dsn)


@pytest.mark.slow
@pytest.mark.parametrize("log", postgres_logs()[:3], ids=lambda log: log.name)
def test_dumps_of_real_logs(log: RealLog, postgres: PostgresServer, tmp_path: Path) -> None:
    dsn = postgres.create_database()
    postgres.execute(log.dump, dsn)
    column = "step" if "step integer" in log.dump else "seq"
    with restore(recognise(log.folder / "dump.sql"), tmp_path, SETTINGS) as restored:
        import psycopg

        query = (
            f"select conversation_id, {column}, payload from public.conversation_log order by 1, 2"
        )
        with psycopg.connect(dsn) as one, psycopg.connect(restored.log) as other:
            expected = one.execute(query.encode()).fetchall()
            assert other.execute(query.encode()).fetchall() == expected
        assert restored.flaws == inspect(restored, SETTINGS) == ()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["custom", "plain"])
def test_owners_and_privileges_of_the_source(
    postgres: PostgresServer, tmp_path: Path, how: str
) -> None:
    """A user's whole dump speaks of roles that are nowhere else."""
    dsn = healthy().write_postgres(postgres.create_database(), "ax")
    role = f'"The Owner {how}"'
    postgres.execute(
        f"create role {role}; alter schema ax owner to {role}; "
        f"alter table ax.conversation_log owner to {role}; "
        f"grant select on ax.conversation_log to {role} with grant option; "
        "grant select on ax.conversation_log to postgres",
        dsn,
    )
    path = _dumped(dsn, tmp_path, f"--format={how}")
    with restore(recognise(path), tmp_path, SETTINGS) as restored:
        table = "ax.conversation_log"
        assert postgres_rows(restored.log, table) == postgres_rows(dsn, table)
        assert inspect(restored, SETTINGS) == ()


@pytest.mark.slow
def test_nothing_of_a_dump_runs_as_another(postgres: PostgresServer, tmp_path: Path) -> None:
    """Who asks as a superuser in a stranger's database may run a stranger's function."""
    dsn = healthy().write_postgres(postgres.create_database())
    text = _dumped(dsn, tmp_path, "--format=plain").read_text()
    hijack = (
        "CREATE SCHEMA evil;\nGRANT USAGE ON SCHEMA evil TO PUBLIC;\n"
        "CREATE FUNCTION evil.pg_encoding_to_char(integer) RETURNS name LANGUAGE plpgsql AS "
        "$$BEGIN RAISE 'hijacked'; END$$;\n"
        "ALTER DATABASE restored SET search_path = evil, pg_catalog, public;\n"
    )
    marker = "-- PostgreSQL database dump complete"
    (tmp_path / "evil.sql").write_text(text.replace(marker, hijack + marker))
    with restore(recognise(tmp_path / "evil.sql"), tmp_path, SETTINGS) as restored:
        assert restored.facts["encoding"] == "UTF8"
        assert len(postgres_rows(restored.log)) == 8


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_other_encodings(postgres: PostgresServer, tmp_path: Path, encoding: str) -> None:
    name = f"enc_{encoding.lower()}"
    postgres.execute(
        f"create database {name} template template0 encoding '{encoding}' lc_collate 'C' "
        "lc_ctype 'C'"
    )
    dsn = healthy().write_postgres(postgres.dsn(name))
    path = _dumped(dsn, tmp_path)
    with restore(recognise(path), tmp_path, SETTINGS) as restored:
        assert kinds(restored.flaws) == ["other-encoding?"]
        assert restored.facts["backup_encoding"] == encoding
        names = [payload for _, _, payload in postgres_rows(restored.log) if "Zoë" in payload]
        assert len(names) == 1
        assert inspect(restored, SETTINGS) == ()
    if encoding == "SQL_ASCII":
        postgres.execute(
            "update conversation_log set payload = convert_from('\\xe9', 'SQL_ASCII') "
            "where step = 2",
            name,
        )
        with restore(recognise(_dumped(dsn, tmp_path)), tmp_path, SETTINGS) as restored:
            (flaw,) = inspect(restored, SETTINGS)
        assert (flaw.kind, flaw.evidence) == ("not-utf8", ("c1 step 2", "c2 step 2"))


@pytest.mark.slow
def test_a_table_that_needs_a_function_of_the_database(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """A dump of single tables holds their triggers, and not what the triggers call."""
    dsn = healthy().write_postgres(postgres.create_database())
    postgres.execute(_trigger("return new;"), dsn)
    backup = take(dsn, None, private(tmp_path / "backup"), SETTINGS)
    assert judge(backup, SETTINGS) == ()
    with pytest.raises(BadBackupError) as raised:
        restore(backup, tmp_path, SETTINGS).__enter__()
    assert raised.value.flaw.kind == "incomplete"


def test_only_a_base_backup_has_points_in_time(dumps: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="base backup"):
        restore(recognise(dumps["custom"]), tmp_path, SETTINGS, target_time="2026-01-01T00:00:00Z")
    with pytest.raises(SourceError, match="no base backup"):
        recognise(dumps["custom"], tmp_path)
