"""Faults of PostgreSQL as a source: a busy standby, a pooler, a role without rights, odd tables."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from axnb.case.case import Case
from axnb.errors import SourceError
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.servers import PgBouncer, PostgresServer

from .looks import (
    END,
    Load,
    Run,
    contents,
    counts,
    healthy,
    incomplete,
    keys,
    refused,
    rejects,
    states,
    triaged,
    user_text,
    with_rows,
)

Route = Callable[[str], str]
#: Contents and states of a case.
Expected = tuple[list[tuple[Any, ...]], dict[str, str]]
INSERT = "insert into conversation_log values (%s, %s, %s)"
#: Rows of 2,000 bytes that are no events: a thousand of them fill a batch.
#: Rows that are JSON, so that the first attempt reads to its end, and that AX does not decode.
MANY_ROWS = (
    "insert into conversation_log select 'many', n, "
    """'{{"conversation_id":1,"pad":"' || rpad('x', 2000) || '"}}' from generate_series(1, {}) n"""
)


class Stopped(Exception):  # noqa: N818
    """Raised by a test inside a load."""


def _stop(*_: object) -> None:
    raise Stopped


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def pooler(postgres: PostgresServer) -> Iterator[PgBouncer]:
    """PgBouncer in transaction mode before the server."""
    if not PgBouncer.available():
        pytest.skip("pgbouncer is not installed")
    with PgBouncer(postgres) as running:
        yield running


@pytest.fixture(params=["direct", pytest.param("pooled", marks=pytest.mark.slow)])
def route(request: pytest.FixtureRequest) -> Route:
    """From the DSN of a database to the one that axnb is given: the server's, or the pooler's."""
    if request.param == "direct":
        return lambda dsn: dsn
    pooled: PgBouncer = request.getfixturevalue("pooler")
    return pooled.dsn


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    """A database for the tests of this module."""
    return postgres.create_database()


@pytest.fixture
def dsn(postgres: PostgresServer, database: str) -> str:
    """The database, emptied: a new one for each test takes longer than the test."""
    name = database.rsplit("/", 1)[1]
    postgres.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        f"where datname = '{name}' and pid <> pg_backend_pid()"
    )
    execute(
        database,
        f"alter database {name} reset all",
        f"grant connect on database {name} to public",
        "do $$ declare old text; begin for old in select nspname from pg_namespace "
        "where nspname !~ '^pg_' and nspname <> 'information_schema' loop "
        "execute format('drop schema %I cascade', old); end loop; end $$",
        "create schema public",
        "grant usage on schema public to public",
    )
    return database


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """What the healthy log holds as AX writes it, read from SQLite."""
    path = healthy().write_sqlite(tmp_path_factory.mktemp("healthy") / "log.sqlite")
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(path), {}).log)
        return contents(case), states(case)


def execute(dsn: str, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def write_table(dsn: str, log: LogBuilder, columns: str, *, suffix: str = "") -> None:
    """Write a log into a table of the given columns, values cast as PostgreSQL casts texts."""
    with psycopg.connect(dsn) as connection:
        connection.execute(f"create table conversation_log ({columns}) {suffix}".encode())
        with connection.cursor().copy("copy conversation_log from stdin") as copy:
            for row in log.rows:
                is_bytes = "bytea" in columns and isinstance(row.payload, str)
                payload = row.payload.encode() if is_bytes else row.payload
                copy.write_row((row.conversation_id, row.step, payload))


# --- one log, two stores --------------------------------------------------------------------------


def test_a_healthy_log_is_ok(axnb: Run, dsn: str, route: Route) -> None:
    found = triaged(axnb("triage", route(healthy().write_postgres(dsn)), "--json"), 0)
    assert found["verdict"] == "ok"
    assert found["sources"][0]["read"] == 8
    custody = found["sources"][0]["custody"]
    assert re.fullmatch(r"\d+", custody["system_identifier"])
    assert re.fullmatch(r"\d+:\d+:[\d,]*", custody["snapshot"])
    assert re.fullmatch(r"[0-9A-F]+/[0-9A-F]+", custody["lsn"])


def _wounded(generation: str) -> LogBuilder:
    log = with_rows(
        [
            '{"conversation_id":"odd",',
            '{"a":1,"a":2}' + END % "odd",
            '{"conversation_id":"odd","state":9}',
            '{"conversation_id":"odd","x":"\\ud800"}',
            '{"conversation_id":"odd","x":"\\u0000","state":"STATE_PENDING"}',
            "[" * 3000,
            "",
        ],
        generation,
    )
    log.interrupted("open", "Charge it", call("charge_card", {"amount": 9}))
    return log


def _plain(found: dict[str, Any]) -> Any:
    """What must not depend on the store: row numbers, custody and the name do."""
    return (
        found["verdict"],
        found["conversations"],
        [(f["id"], f["keys"], f["witness"]) for f in found["findings"]],
        [(s["read"], s["parsed"], s["rejected"]) for s in found["sources"]],
    )


@pytest.mark.parametrize("generation", ["G6", "G8"])
def test_both_stores_give_the_same_triage(
    axnb: Run, dsn: str, route: Route, tmp_path: Path, generation: str
) -> None:
    log = _wounded(generation)
    in_file = axnb("triage", log.write_sqlite(tmp_path / "log.sqlite"), "--json")
    in_server = axnb("triage", route(log.write_postgres(dsn)), "--json")
    assert _plain(triaged(in_server)) == _plain(triaged(in_file, 1))


@pytest.mark.parametrize("kind", ["varchar", "json", "jsonb", "bytea"])
def test_every_type_of_payload(
    case: Case, load: Load, dsn: str, route: Route, expected: Expected, kind: str
) -> None:
    write_table(dsn, healthy(), f"conversation_id text, step integer, payload {kind}")
    load(route(dsn))
    assert counts(case) == (8, 8, 0)
    assert (contents(case), states(case)) == expected


@pytest.mark.parametrize("kind", ["bigint", "text"])
def test_every_type_of_step(
    case: Case, load: Load, dsn: str, route: Route, expected: Expected, kind: str
) -> None:
    write_table(dsn, healthy(), f"conversation_id text, step {kind}, payload text")
    load(route(dsn))
    assert counts(case) == (8, 8, 0)
    assert (contents(case), states(case)) == expected


@pytest.mark.parametrize("kind", ["numeric", "double precision"])
def test_numbers_of_any_type_are_in_the_order_of_numbers(
    case: Case, load: Load, dsn: str, kind: str
) -> None:
    log = LogBuilder("G8")
    log.turn("c1", "Count", *(say(str(number)) for number in range(12)))
    write_table(dsn, log, f"conversation_id text, step {kind}, payload text")
    load(dsn)
    in_order = case.rows("select step from events order by position")
    assert in_order == [(step,) for step in range(1, 15)]
    assert states(case) == {"c1": "finished"}


@pytest.mark.parametrize("kind", ["char(40)", "uuid", "bigint"])
def test_every_type_of_id(axnb: Run, dsn: str, route: Route, kind: str) -> None:
    name = "4711" if kind == "bigint" else "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    log = LogBuilder("G8")
    log.turn(name, "Hello", say("Hello."))
    log.turn("4712" if kind == "bigint" else name[:-1] + "2", "Hello", say("Hello."))
    write_table(dsn, log, f"conversation_id {kind}, step integer, payload text")
    assert triaged(axnb("triage", route(dsn), "--json"), 0)["sources"][0]["read"] == 6
    one = triaged(axnb("triage", route(dsn), "--conversation", name, "--json"), 0)
    assert [c["conversation_id"] for c in one["conversations"]] == [name]
    assert one["sources"][0]["read"] == 3


def test_nulls_where_no_constraint_forbids_them(
    case: Case, load: Load, dsn: str, route: Route
) -> None:
    write_table(dsn, healthy(), "conversation_id text, step integer, payload text")
    with psycopg.connect(dsn) as connection:
        for row in [(None, 1, "{}"), ("odd", None, "{}"), ("odd", 1, None), (None, None, None)]:
            connection.execute(INSERT, row)
    load(route(dsn))
    assert counts(case) == (12, 8, 4)
    found = rejects(case)
    assert [key for *key, _ in found] == [[None, None], [None, 1], ["odd", None], ["odd", 1]]
    assert found[-1] == ("odd", 1, "no payload")


@pytest.mark.parametrize("kind", ["text", "json"])
def test_nul_escapes_are_read(case: Case, load: Load, dsn: str, route: Route, kind: str) -> None:
    texts = [r'"a\u0000b"', r'"a\\u0000b"', r'"a\\\u0000b"', r'"\u0000"', r'"\\\\u0000"']
    payloads = [user_text(text) for text in texts]
    log = with_rows([*payloads, END % "odd"])
    write_table(dsn, log, f"conversation_id text, step integer, payload {kind}")
    load(route(dsn))
    assert counts(case) == (14, 14, 0)
    found = case.rows("select text from parts where conversation_id = 'odd' order by step")
    assert [text for (text,) in found] == ["a\0b", r"a\u0000b", "a\\\0b", "\0", r"\\u0000"]
    query = "select payload from events where conversation_id = 'odd' order by step"
    assert case.rows(query)[:-1] == [(payload,) for payload in payloads]


@pytest.mark.parametrize("only", [None, "odd"], ids=["all", "one"])
def test_bytes_that_are_no_text_are_rejects(axnb: Run, dsn: str, only: str | None) -> None:
    log = with_rows([b"a\xffb", (END % "odd").encode()])
    write_table(dsn, log, "conversation_id text, step integer, payload bytea")
    chosen = ["--conversation", only] if only else []
    found = triaged(axnb("triage", dsn, *chosen, "--json"), 1)
    assert found["sources"][0]["rejected"] == 1
    assert found["sources"][0]["incomplete"] == []
    (finding,) = [f for f in found["findings"] if f["id"] == "AX124"]
    assert finding["keys"] == {"conversation_id": "odd", "step": 1}
    assert "invalid UTF-8" in finding["sentence"]


#: Encodings of a server, and a text that it can hold.
ENCODINGS = {"LATIN1": "Zoë", "EUC_JP": "日本", "SQL_ASCII": "Zoë 日本"}


def encoded(postgres: PostgresServer, encoding: str) -> str:
    """An empty database of another encoding."""
    name = f"test_{encoding.lower()}_{secrets.token_hex(4)}"
    postgres.execute(f"create database {name} template template0 encoding '{encoding}'")
    return postgres.dsn(name)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_the_server(
    case: Case, load: Load, postgres: PostgresServer, route: Route, encoding: str
) -> None:
    dsn, text = encoded(postgres, encoding), ENCODINGS[encoding]
    log = LogBuilder("G8")
    log.turn(text, text, say(text))
    with psycopg.connect(dsn) as connection:
        connection.execute("set client_encoding to 'UTF8'")
        connection.execute(log.ddl().encode())
        rows = [(r.conversation_id, r.step, r.payload) for r in log.rows]
        connection.cursor().executemany(INSERT, rows)
    load(route(dsn))
    assert counts(case) == (3, 3, 0)
    assert states(case) == {text: "finished"}
    assert case.rows("select text from parts order by step") == [(text,), (text,)]


def test_bytes_of_a_server_without_an_encoding(
    case: Case, load: Load, postgres: PostgresServer
) -> None:
    dsn = encoded(postgres, "SQL_ASCII")
    execute(
        dsn,
        healthy().ddl(),
        "insert into conversation_log select 'odd', 1, convert_from('\\x61ff62', 'SQL_ASCII')",
        f"insert into conversation_log values ('odd', 2, '{END % 'odd'}')",
    )
    load(dsn)
    assert counts(case) == (2, 1, 1)
    assert rejects(case) == [("odd", 1, "invalid UTF-8")]


@pytest.mark.parametrize("kind", ["partitioned", "inherited"])
def test_rows_of_several_tables(case: Case, load: Load, dsn: str, kind: str) -> None:
    columns = "conversation_id text, step integer, payload text"
    if kind == "partitioned":
        execute(
            dsn,
            f"create table conversation_log ({columns}) partition by list (conversation_id)",
            "create table part_1 partition of conversation_log for values in ('c1')",
            "create table part_2 partition of conversation_log default",
        )
    else:
        execute(
            dsn,
            f"create table conversation_log ({columns})",
            "create table older () inherits (conversation_log)",
        )
    with psycopg.connect(dsn) as connection:
        # The first row of each table cannot go the fast way.
        for row in [("c1", None, "{}"), ("c2", None, "{}")]:
            table = "older" if kind == "inherited" and row[0] == "c1" else "conversation_log"
            connection.execute(f"insert into {table} values (%s, %s, %s)".encode(), row)
        rows = [(r.conversation_id, r.step, r.payload) for r in healthy().rows]
        connection.cursor().executemany(INSERT, rows)
    load(dsn)
    assert counts(case) == (10, 8, 2)
    assert [key[:2] for key in rejects(case)] == [("c1", None), ("c2", None)]


def test_heap_order_means_nothing(axnb: Run, dsn: str, route: Route) -> None:
    log = healthy()
    log.rows = [log.rows[n] for n in (5, 2, 7, 0, 3, 6, 1, 4)]
    log.write_postgres(dsn)
    shuffled = axnb("triage", route(dsn), "--json")
    # The rows move to the end of the heap.
    execute(dsn, "update conversation_log set payload = payload where step < 3")
    moved, again = (axnb("triage", route(dsn), "--json") for _ in range(2))
    assert _plain(triaged(shuffled, 0)) == _plain(triaged(moved))
    moment = r'"(lsn|snapshot)": "[^"]*"'
    assert re.sub(moment, "", moved.stdout) == re.sub(moment, "", again.stdout)


# --- execution rows and time zones ----------------------------------------------------------------

INSTANTS = {
    "timestamptz": "2026-05-22 10:00:00+00",
    "timestamp": "2026-05-22 10:00:00",
    "text": "2026-05-22T10:00:00Z",
}


@pytest.mark.parametrize("kind", ["timestamptz", "timestamp"])
def test_the_zone_of_a_server_changes_nothing(
    case: Case, load: Load, dsn: str, route: Route, kind: str
) -> None:
    log = LogBuilder("G3")
    log.turn("c1", "Charge it", call("charge_card"), answer({"ok": True}))
    log.write_postgres(dsn)
    name = dsn.rsplit("/", 1)[1]
    execute(
        dsn,
        f"alter database {name} set timezone = 'Asia/Kathmandu'",
        f'create table execution_log (exec_id text, payload text, "timestamp" {kind})',
    )
    with psycopg.connect(dsn) as connection:
        connection.cursor().executemany(
            "insert into execution_log values (%s, %s, %s)",
            [(exec_id, payload, INSTANTS[kind]) for exec_id, payload, _ in log.executions],
        )
    load(route(dsn))
    assert {at for (at,) in case.rows("select recorded_at from executions")} == {INSTANTS[kind]}
    assert case.rows("select executions_read, executions_rejected from sources") == [(2, 0)]


def test_times_outside_of_the_usual(case: Case, load: Load, dsn: str) -> None:
    times = ["0001-01-01", "9999-12-31", "infinity", "-infinity", "4713-01-01 BC"]
    LogBuilder("G3").write_postgres(dsn)
    execute(dsn, EXECUTION_TABLE.format(payload="text"))
    with psycopg.connect(dsn) as connection:
        for at in [*times, "2016-12-31 23:59:60"]:
            connection.execute("insert into execution_log values ('e', '{}', %s)", [at])
    load(dsn)
    assert case.rows("select count(*) from executions") == [(len(times) + 1,)]


EXECUTION_TABLE = (
    'create table execution_log (exec_id text, payload {payload}, "timestamp" timestamptz)'
)


@pytest.mark.parametrize("kind", ["text", "bytea"])
def test_broken_executions_are_counted(case: Case, load: Load, dsn: str, kind: str) -> None:
    log = LogBuilder("G3")
    log.turn("c1", "Hello", say("Hello."))
    log.write_postgres(dsn)
    broken = "('e', '{', now()), (null, null, null), ('e', '[]', now())"
    execute(dsn, EXECUTION_TABLE.format(payload=kind), f"insert into execution_log values {broken}")
    with psycopg.connect(dsn) as connection:
        connection.cursor().executemany(
            f"insert into execution_log values (%s, %s::text::{kind}, now())".encode(),
            [(exec_id, payload) for exec_id, payload, _ in log.executions],
        )
    load(dsn)
    query = "select executions_read, executions_rejected from sources"
    assert case.rows(query) == [(5, 3)]


# --- LP-04, LP-05: a read that the server breaks off ----------------------------------------------

CONFLICT = "canceling statement due to conflict with recovery"
#: Counts its calls in a file of the server, since a transaction that only reads can count nowhere
#: else, and raises an error at some of them.
_GATE = """
create function gate(mark text, first int, last int, state text, words text) returns boolean
language plpgsql volatile security definer as $gate$
declare calls bigint;
begin
    execute format('copy (select 1) to program %L', 'cat > /dev/null; printf x >> ' || mark);
    calls := (pg_stat_file(mark)).size;
    if calls between first and last then
        raise exception using errcode = state, message = words;
    end if;
    return true;
end $gate$
"""


@dataclass(frozen=True)
class Gated:
    """A log whose last row lets a reader pass only at some of the attempts."""

    admin: str
    #: For a role that is no superuser and sees the table through a policy.
    dsn: str
    password: str
    mark: str

    def calls(self) -> int:
        """How often a reader came to the row."""
        with psycopg.connect(self.admin) as connection:
            found = connection.execute("select size from pg_stat_file(%s, true)", [self.mark])
            ((size,),) = found.fetchall()
            return int(size or 0)


def gated(
    postgres: PostgresServer,
    dsn: str,
    first: int,
    last: int = 10**6,
    state: str = "40001",
    words: str = CONFLICT,
) -> Gated:
    """A healthy log; the calls `first` to `last` of its gate raise an error of SQLSTATE `state`."""
    healthy().write_postgres(dsn)
    mark = f"gate_{secrets.token_hex(6)}"
    values = ", ".join(f"'{value}'" for value in (mark, first, last, state, words))
    condition = f"conversation_id <> 'c2' or step <> 3 or gate({values})"
    return restricted(postgres, dsn, _GATE, condition, mark)


def restricted(
    postgres: PostgresServer, dsn: str, function: str, condition: str, mark: str = ""
) -> Gated:
    """Let a new role read the log through a policy."""
    role, password = f"role_{secrets.token_hex(6)}", f"pw-{secrets.token_hex(6)}"
    execute(
        dsn,
        function,
        f"create role {role} login password '{password}'",
        f"grant select on conversation_log to {role}",
        "alter table conversation_log enable row level security",
        "alter table conversation_log force row level security",
        f"create policy gate on conversation_log using ({condition})",
    )
    place = f"127.0.0.1:{postgres.port}/{dsn.rsplit('/', 1)[1]}"
    return Gated(dsn, f"postgresql://{role}:{password}@{place}", password, mark)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long axnb waited between attempts; it is not made to wait for real."""
    waited: list[float] = []
    sleep = time.sleep

    def wait(seconds: float) -> None:
        waited.append(seconds)
        sleep(min(seconds, 0.01))

    monkeypatch.setattr("time.sleep", wait)
    return waited


SERIAL = "could not serialize access due to concurrent update"


@pytest.mark.parametrize("words", [CONFLICT, SERIAL])
def test_a_read_that_was_broken_off_is_tried_again(
    case: Case, load: Load, postgres: PostgresServer, dsn: str, expected: Expected,
    pauses: list[float], words: str,
) -> None:  # fmt: skip
    log = gated(postgres, dsn, 1, 1, words=words)
    load(log.dsn)
    assert len(pauses) == 1
    assert log.calls() == 2
    assert counts(case) == (8, 8, 0)
    assert (contents(case), states(case)) == expected


def test_a_read_that_was_broken_off_in_the_middle_is_tried_again(
    case: Case, load: Load, postgres: PostgresServer, dsn: str, pauses: list[float]
) -> None:
    log = gated(postgres, dsn, 1, 1)
    # The gate comes last, after some batches of other rows.
    execute(
        dsn,
        MANY_ROWS.format(4000),
        "update conversation_log set payload = payload where conversation_id = 'c2' and step = 3",
    )
    load(log.dsn)
    assert len(pauses) == 1
    assert counts(case) == (4008, 8, 4000)
    assert len(set(keys(case, "rejects"))) == 4000


def test_a_read_that_is_always_broken_off_is_given_up(
    axnb: Run, postgres: PostgresServer, dsn: str, pauses: list[float], tmp_path: Path
) -> None:
    log = gated(postgres, dsn, 1)
    case = tmp_path / "case.duckdb"
    other = healthy().write_sqlite(tmp_path / "log.sqlite")
    assert axnb("load", other, "--case", case).exit_code == 0
    sentence = refused(axnb("load", log.dsn, "--case", case))
    assert re.search(r"cancel|broke|standby", sentence)
    assert log.password not in sentence
    assert 2 <= log.calls() <= 10
    assert 1 <= len(pauses) <= 9
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1]
    assert sum(pauses) < 60
    with Case(case, Settings()) as kept:
        assert counts(kept) == (8, 8, 0)
        assert kept.rows("select locator from sources") == [(str(other),)]
    assert postgres.sessions(dsn) == []


def test_a_failed_load_leaves_what_was_loaded_before(
    case: Case, load: Load, postgres: PostgresServer, dsn: str, expected: Expected,
    pauses: list[float],
) -> None:  # fmt: skip
    log = gated(postgres, dsn, 2)
    load(log.dsn)
    execute(dsn, "delete from conversation_log where conversation_id = 'c1'")
    with pytest.raises(SourceError):
        load(log.dsn)
    assert (contents(case), states(case)) == expected
    assert counts(case) == (8, 8, 0)


@pytest.mark.parametrize("state", ["57014", "57P01", "XX001", "22P02"])
def test_any_other_error_is_one_sentence(
    axnb: Run, postgres: PostgresServer, dsn: str, pauses: list[float], state: str
) -> None:
    log = gated(postgres, dsn, 1, state=state, words="the payload was S3cr3t")
    sentence = refused(axnb("triage", log.dsn))
    assert "S3cr3t" not in sentence
    assert log.password not in sentence
    assert pauses == []
    assert postgres.sessions(dsn) == []


_SLOW = """
create function slow() returns boolean language plpgsql volatile as $slow$
begin perform pg_sleep(30); return true; end $slow$
"""


def test_a_statement_that_takes_too_long(
    axnb: Run, postgres: PostgresServer, dsn: str, tmp_path: Path
) -> None:
    (tmp_path / "axnb.toml").write_text("statement_timeout = 1\n")
    healthy().write_postgres(dsn)
    log = restricted(postgres, dsn, _SLOW, "slow()")
    began = time.monotonic()
    refused(axnb("triage", log.dsn), "statement_timeout", "1 s")
    assert time.monotonic() - began < 15
    assert postgres.sessions(dsn) == []


@pytest.mark.slow
def test_a_table_that_somebody_has_locked(axnb: Run, postgres: PostgresServer, dsn: str) -> None:
    healthy().write_postgres(dsn)
    with psycopg.connect(dsn) as holder:
        holder.execute("lock table conversation_log in access exclusive mode")
        refused(axnb("triage", dsn))
    assert postgres.sessions(dsn) == []


_WRITES = """
create function audit() returns boolean language plpgsql volatile security definer as $audit$
begin insert into audited values (now()); return true; end $audit$
"""


def test_not_even_a_policy_can_write(axnb: Run, postgres: PostgresServer, dsn: str) -> None:
    healthy().write_postgres(dsn)
    execute(dsn, "create table audited (at timestamptz)")
    log = restricted(postgres, dsn, _WRITES, "audit()")
    refused(axnb("triage", log.dsn))
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select count(*) from audited").fetchall() == [(0,)]


# --- LP-07, LP-08: transactions -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "action"),
    [("progress", _stop), ("after", _stop), ("progress", _interrupt)],
    ids=["an error", "an error at the end", "Ctrl-C"],
)
def test_nothing_is_left_idle_in_a_transaction(
    case: Case, postgres: PostgresServer, dsn: str, route: Route, moment: str, action: Any
) -> None:
    locator = locate(route(healthy().write_postgres(dsn)), {}).log
    with pytest.raises((Stopped, SourceError, KeyboardInterrupt)):
        load_log(case, locator, **{moment: action})
    assert _in_transaction(postgres, dsn) == []
    assert case.rows("select count(*) from events") == [(0,)]
    load_log(case, locator)
    assert counts(case) == (8, 8, 0)
    assert _in_transaction(postgres, dsn) == []


def _in_transaction(postgres: PostgresServer, dsn: str) -> list[tuple[str, str]]:
    """Sessions that are in a transaction once the server has seen that we hung up."""
    for _ in range(50):
        found = [s for s in postgres.sessions(dsn) if s[0] != "idle"]
        if not found:
            break
        time.sleep(0.02)
    return found


def test_many_rows_half_read_are_let_go(case: Case, postgres: PostgresServer, dsn: str) -> None:
    healthy().write_postgres(dsn)
    execute(dsn, MANY_ROWS.format(8000))
    with pytest.raises((Stopped, SourceError)):
        load_log(case, locate(dsn, {}).log, progress=_stop)
    assert _in_transaction(postgres, dsn) == []
    assert postgres.sessions(dsn) == []


def test_rows_of_a_later_moment_are_not_seen(case: Case, dsn: str, route: Route) -> None:
    healthy().write_postgres(dsn)
    seen: list[int] = []

    def append(rows: int) -> None:
        seen.append(rows)
        execute(
            dsn,
            f"insert into conversation_log values ('c2', {3 + len(seen)}, '')",
            "delete from conversation_log where conversation_id = 'c1'",
        )

    load_log(case, locate(route(dsn), {}).log, progress=append)
    assert seen
    assert counts(case) == (8, 8, 0)
    assert incomplete(case) == ""
    load_log(case, locate(route(dsn), {}).log)
    assert counts(case)[0] == 3 + len(seen)
    assert ("c1", 1) not in keys(case)


def test_a_server_that_hangs_up(case: Case, postgres: PostgresServer, dsn: str) -> None:
    healthy().write_postgres(dsn)
    execute(dsn, MANY_ROWS.format(8000))
    name = dsn.rsplit("/", 1)[1]

    def hang_up(_: int) -> None:
        execute(
            postgres.dsn(),
            f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'",
        )

    with pytest.raises(SourceError) as caught:
        load_log(case, locate(dsn, {}).log, progress=hang_up)
    assert str(caught.value).count("\n") == 0
    assert case.rows("select count(*) from events") == [(0,)]


# --- schemas --------------------------------------------------------------------------------------

SCHEMAS = ['say "hi"', " two  words", "Ünïcødé 日本", "a;drop", "100% it's", "UPPER.lower $1"]


@pytest.mark.parametrize("named", [True, False], ids=["named", "found"])
def test_any_schema(axnb: Run, dsn: str, route: Route, named: bool) -> None:
    for schema in SCHEMAS if named else SCHEMAS[:1]:
        healthy().write_postgres(dsn, schema)
    if named:
        sources = [f"{route(dsn)}?schema={quote(schema)}" for schema in SCHEMAS]
    else:
        sources = [route(dsn)]
    found = triaged(axnb("triage", *sources, "--json"), 0)
    assert [source["read"] for source in found["sources"]] == [8] * len(sources)
    read = [source["custody"]["schema"] for source in found["sources"]]
    assert sorted(read) == sorted(SCHEMAS[: len(sources)])


def test_a_database_with_an_odd_name(axnb: Run, postgres: PostgresServer, route: Route) -> None:
    dsn = postgres.create_database(f'odd "näme" %/? {secrets.token_hex(4)}')
    assert triaged(axnb("triage", route(healthy().write_postgres(dsn)), "--json"), 0)


def test_several_schemas_must_be_told_apart(axnb: Run, dsn: str, route: Route) -> None:
    for schema in ("first", "second"):
        healthy().write_postgres(dsn, schema)
    refused(axnb("triage", route(dsn)), "first", "second", "?schema=")
    healthy().write_postgres(dsn, "public")
    found = triaged(axnb("triage", route(dsn), "--json"), 0)
    assert found["sources"][0]["read"] == 8
    assert found["sources"][0]["custody"]["schema"] == "public"
    assert re.search("first.*second", " ".join(found["sources"][0]["notes"]))


@pytest.mark.parametrize("how", ["schema", "search_path"])
def test_two_schemas_are_two_sources(axnb: Run, dsn: str, how: str) -> None:
    """Rows of the one never stand for those of the other, and none replaces the other."""
    sizes = {}
    for number, schema in enumerate(("first", "second"), 1):
        log = LogBuilder("G8")
        for turn in range(number):
            log.turn(f"{schema}-{turn}", "Hello", say("Hello."))
        log.write_postgres(dsn, schema)
        sizes[schema] = len(log.rows)
    suffix = {"schema": "?schema={}", "search_path": "?options=-csearch_path%3D{}"}[how]
    found = triaged(axnb("triage", *(dsn + suffix.format(s) for s in sizes), "--json"), 0)
    assert {s["custody"]["schema"]: s["read"] for s in found["sources"]} == sizes
    assert len(found["conversations"]) == 3


def test_other_parameters_of_the_dsn_are_kept(axnb: Run, dsn: str) -> None:
    healthy().write_postgres(dsn, "odd one")
    options = "options=-c%20work_mem%3D4MB&schema=odd%20one&application_name=a%20b%2Bc&keepalives=1"
    assert triaged(axnb("triage", f"{dsn}?{options}", "--json"), 0)["sources"][0]["read"] == 8


@pytest.mark.parametrize("query", ["", "?schema=nowhere"], ids=["empty", "no such schema"])
def test_nothing_there_is_said_in_the_words_of_a_server(axnb: Run, dsn: str, query: str) -> None:
    sentence = refused(axnb("triage", dsn + query))
    assert "-wal" not in sentence


def test_a_temporary_table_of_somebody_else(axnb: Run, dsn: str) -> None:
    healthy().write_postgres(dsn, "somewhere")
    with psycopg.connect(dsn, autocommit=True) as somebody:
        somebody.execute(healthy().ddl().replace("TABLE", "TEMP TABLE", 1).encode())
        found = triaged(axnb("triage", dsn, "--json"), 0)
    assert found["sources"][0]["read"] == 8


# --- rights, addresses, passwords -----------------------------------------------------------------


@pytest.mark.parametrize("missing", ["select", "usage", "connect", "login"])
def test_a_role_without_rights(axnb: Run, postgres: PostgresServer, dsn: str, missing: str) -> None:
    healthy().write_postgres(dsn, "private")
    name, role, password = dsn.rsplit("/", 1)[1], f"role_{secrets.token_hex(6)}", "pw-S3cr3t"
    execute(
        dsn,
        f"create role {role} login password '{password}'",
        f"grant usage on schema private to {role}",
        f"grant select on private.conversation_log to {role}",
    )
    source = f"postgresql://{role}:{password}@127.0.0.1:{postgres.port}/{name}"
    if missing == "select":
        assert triaged(axnb("triage", source, "--json"), 0)["sources"][0]["read"] == 8
    execute(
        dsn,
        {
            "select": f"revoke select on private.conversation_log from {role}",
            "usage": f"revoke usage on schema private from {role}",
            "connect": f"revoke connect on database {name} from public",
            "login": f"alter role {role} nologin",
        }[missing],
    )
    sentence = refused(axnb("triage", source), name)
    assert password not in sentence
    if missing in ("select", "usage"):
        assert "role" in sentence
    assert postgres.sessions(dsn) == []


def test_rows_that_a_policy_hides_are_not_passed_over(
    axnb: Run, postgres: PostgresServer, dsn: str
) -> None:
    healthy().write_postgres(dsn)
    log = restricted(postgres, dsn, "select 1", "conversation_id = 'c1'")
    found = triaged(axnb("triage", log.dsn, "--json"), 3)
    assert found["sources"][0]["read"] == 5
    assert "polic" in " ".join(found["sources"][0]["incomplete"])


#: DSNs that cannot work; `{secret}` marks the password, `{port}` the server's port.
BAD_DSNS: dict[str, str] = {
    "wrong password": "postgresql://postgres:{secret}@127.0.0.1:{port}/db",
    "nobody listens": "postgresql://postgres:{secret}@127.0.0.1:1/db",
    "no such host": "postgresql://postgres:{secret}@nowhere.invalid:{port}/db",
    "in the query": "postgresql://postgres@127.0.0.1:{port}/db?password={secret}",
    "in the query, with a schema": "postgresql://postgres@127.0.0.1:1/db?password={secret}&schema=x",
    "percent-encoded": "postgresql://postgres:%41%2F{secret}@127.0.0.1:{port}/db",
    "badly encoded": "postgresql://postgres:%zz{secret}@127.0.0.1:{port}/db",
    "no number for a port": "postgresql://postgres:{secret}@127.0.0.1:port/db",
    "half an IPv6 address": "postgresql://postgres:{secret}@[::1/db",
    "two hosts": "postgresql://postgres:{secret}@127.0.0.1:1,127.0.0.1:2/db",
    "a slash in it": "postgresql://postgres:1/{secret}@127.0.0.1:{port}/db",
    "a question mark in it": "postgresql://postgres:1?{secret}@127.0.0.1:{port}/db",
    "a hash in it": "postgresql://postgres:1#{secret}@127.0.0.1:{port}/db",
    "an at sign in it": "postgresql://postgres:x@{secret}@127.0.0.1:{port}/db",
    "one slash": "postgresql:/postgres:{secret}@127.0.0.1:{port}/db",
    "no slash": "postgresql:postgres:{secret}@127.0.0.1:{port}/db",
    "no scheme": "postgres:{secret}@127.0.0.1:{port}/db",
    "a scheme of others": "postgresql+psycopg://postgres:{secret}@127.0.0.1:{port}/db",
    "upper case": "POSTGRESQL://postgres:{secret}@127.0.0.1:{port}/db",
    "a space before": " postgresql://postgres:{secret}@127.0.0.1:{port}/db",
    "JDBC": "jdbc:postgresql://127.0.0.1:{port}/db?user=postgres&password={secret}",
    "keys": "host=127.0.0.1 port={port} user=postgres password={secret} dbname=db",
    "keys with spaces": "host = 127.0.0.1 port = {port} user = postgres password = {secret}",
    "keys, quoted": "host=127.0.0.1 port={port} user=postgres password='{secret}' dbname=db",
    "keys without a host": "user=postgres password={secret} port=1",
    "only a password": "password={secret}",
    "a key inside it": "host=127.0.0.1 port={port} user=postgres password='x host={secret}'",
    "an escaped quote in it": "dbname=db host=127.0.0.1 port=1 password='it\\'s dbname={secret}'",
    "a URL inside it": "host=127.0.0.1 port={port} user=postgres password=a://{secret}",
    "a URL for a database": "dbname=postgresql://postgres:{secret}@127.0.0.1:{port}/db",
    "a quote that is not closed": "host=127.0.0.1 port={port} dbname=db password='{secret}",
    "an unknown key": "host=127.0.0.1 port={port} dbname=db passwort=x password={secret}",
}


@pytest.mark.parametrize("name", BAD_DSNS)
def test_a_password_is_never_shown(
    axnb: Run, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    bad = BAD_DSNS[name].format(secret="S3cr3t-42", port=postgres.port)
    monkeypatch.setenv("AX_EVENTLOG_DSN", bad)
    result = axnb("triage", *([bad] if len(name) % 3 else []))
    assert result.exit_code in (2, 3)
    refused(result, code=result.exit_code)
    assert "S3cr3t" not in result.output
    if name in ("wrong password", "keys"):
        case = tmp_path / "case.duckdb"
        axnb("load", bad, "--case", case)
        assert not case.exists() or b"S3cr3t" not in case.read_bytes()


def test_an_address_in_a_wrong_place_is_not_shown(axnb: Run, tmp_path: Path) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    address = "postgresql://postgres:S3cr3t-42@127.0.0.1:1/db"
    for command in (["load", path, "--case", address], ["sql", "select 1", "--case", address]):
        result = axnb(*command)
        assert result.exit_code in (2, 4)
        assert "S3cr3t" not in result.output


PASSWORDS = ["p@ss:w/rd \\back", "100% 'sure'", 'say "日本" ?#&=+']


@pytest.mark.parametrize("form", ["url", pytest.param("keys", marks=pytest.mark.slow)])
def test_an_odd_password_works_and_stays_out_of_the_case(
    axnb: Run, postgres: PostgresServer, dsn: str, tmp_path: Path, form: str
) -> None:
    healthy().write_postgres(dsn)
    name = dsn.rsplit("/", 1)[1]
    sources = []
    for password in PASSWORDS:
        role = f"role_{secrets.token_hex(6)}"
        statement = sql.SQL("create role {} login superuser password {}")
        execute(dsn, statement.format(sql.Identifier(role), sql.Literal(password)).as_string())
        if form == "url":
            place = f"127.0.0.1:{postgres.port}/{name}"
            sources.append(f"postgresql://{role}:{quote(password, safe='')}@{place}")
        else:
            escaped = password.replace("\\", "\\\\").replace("'", "\\'")
            place = f"host=127.0.0.1 port={postgres.port} dbname={name}"
            sources.append(f"{place} user={role} password='{escaped}'")
    case = tmp_path / "case.duckdb"
    for source in sources:
        result = axnb("load", source, "--case", case)
        assert result.exit_code == 0, result.output
        assert not any(password in result.output for password in PASSWORDS)
    kept = case.read_bytes()
    assert not any(password.encode() in kept for password in PASSWORDS)
    assert not any(quote(password, safe="").encode() in kept for password in PASSWORDS)


def test_a_password_from_the_environment_is_used(
    axnb: Run, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy().write_postgres(dsn)
    monkeypatch.setenv("MY_LOG", dsn)
    result = axnb("triage", "MY_LOG", "--json")
    assert triaged(result, 0)["sources"][0]["read"] == 8
    assert dsn.split(":")[2].split("@")[0] not in result.output
    assert os.environ["MY_LOG"] == dsn
