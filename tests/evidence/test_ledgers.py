"""Ledgers of every kind: the same entries, digit by digit; what cannot be used is told."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axnb.case.case import Case
from axnb.errors import SourceError, UsageError
from axnb.evidence.ledgers.load import Ledger, load_ledger, moment
from axnb.settings import Settings
from axnb.settings_ledgers import LedgerSettings
from tests.servers import PostgresServer

Cli = Callable[..., Any]

#: More digits than a double has.
AMOUNT = "12345678901234567890.10"
NUMBER = 2**63 - 1

HEAD = ("operation_id", "conversation_id", "tool", "status", "time", "amount", "number")
ENTRIES: list[tuple[Any, ...]] = [
    ("op-1", "c1", "pay", "settled", "2026-11-30T10:00:00.25Z", AMOUNT, NUMBER),
    ("op-2", None, "pay", "declined", "2026-11-30T12:00:00+02:00", "0.10", 9007199254740993),
    ('a "b", c\nd', "ü 中", "pay", "odd", None, "-0.01", -1),
]
FOUND = [
    ("op-1", "c1", "pay", "settled", "committed", datetime(2026, 11, 30, 10, 0, 0, 250_000)),
    ("op-2", None, "pay", "declined", "failed", datetime(2026, 11, 30, 10)),
    ('a "b", c\nd', "ü 中", "pay", "odd", "unclear", None),
]
SAID = LedgerSettings(business_key=("amount", "number"), arguments={"amount": "$.amount"})


def _quoted(value: Any) -> str:
    return "" if value is None else '"' + str(value).replace('"', '""') + '"'


def as_csv(path: Path) -> str:
    path.write_text("".join(",".join(map(_quoted, row)) + "\n" for row in (HEAD, *ENTRIES)))
    return str(path)


def as_semicolons(path: Path) -> str:
    lines = (";".join(map(_quoted, row)) + "\r\n" for row in (HEAD, *ENTRIES))
    path.write_text("\ufeff" + "".join(lines), newline="")
    return str(path)


def as_json(path: Path) -> str:
    lines = []
    for row in ENTRIES:
        entry = dict(zip(HEAD, row, strict=True))
        amount = entry.pop("amount")
        # The amount as a number, with all the digits that it has.
        lines.append(f'{json.dumps(entry)[:-1]}, "amount": {amount}}}\n')
    path.write_text("\n".join(lines))
    return str(path)


def as_parquet(path: Path) -> str:
    columns = {name: [row[n] for row in ENTRIES] for n, name in enumerate(HEAD)}
    columns["amount"] = [Decimal(text) for text in columns["amount"]]
    columns["time"] = [t and datetime.fromisoformat(t).astimezone(UTC) for t in columns["time"]]
    types = {
        "amount": pa.decimal128(38, 2),
        "number": pa.int64(),
        "time": pa.timestamp("us", "UTC"),
    }
    schema = pa.schema([(name, types.get(name, pa.string())) for name in HEAD])
    pq.write_table(pa.table(columns, schema=schema), path)
    return str(path)


def as_sqlite(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table other (id, time)")
        types = ", ".join(f"{name} {'integer' if name == 'number' else 'text'}" for name in HEAD)
        database.execute(f"create table payments ({types})")
        database.executemany(f"insert into payments values ({', '.join('?' * 7)})", ENTRIES)
        database.commit()
    return str(path)


def fill_postgres(dsn: str) -> str:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "create table payments (operation_id text, conversation_id text, tool text, status "
            "text, time timestamptz, amount numeric, number bigint)"
        )
        with connection.cursor() as cursor:
            cursor.executemany(f"insert into payments values ({', '.join(['%s'] * 7)})", ENTRIES)
    return dsn


def loaded(place: str, said: LedgerSettings = SAID, case: Case | None = None) -> Case:
    case = case or Case(settings=Settings(ledgers={"pay": said}))
    assert load_ledger(case, Ledger("pay", place)) == "pay"
    return case


def effects(case: Case) -> list[tuple[Any, ...]]:
    return case.rows(
        "select operation_id, conversation_id, tool, status, state, happened_at "
        "from effects order by row"
    )


def test_the_kinds_say_the_same(tmp_path: Path, postgres: PostgresServer) -> None:
    dsn = postgres.create_database()
    places = [
        as_csv(tmp_path / "a"),
        as_semicolons(tmp_path / "b"),
        as_json(tmp_path / "c"),
        as_parquet(tmp_path / "d"),
        as_sqlite(tmp_path / "e"),
        fill_postgres(dsn),
    ]
    before = [hashlib.sha256(Path(place).read_bytes()).digest() for place in places[:-1]]
    for place in places:
        with loaded(place) as case:
            assert effects(case) == FOUND, place
            kept = case.rows("select business, compared from effects order by row")
            assert kept == [
                (json.dumps([amount, str(n)]), [amount]) for *_, amount, n in ENTRIES
            ], place
            ((read, parsed, rejected, locator),) = case.rows(
                "select read, parsed, rejected, locator from sources"
            )
            assert (read, parsed, rejected) == (3, 3, 0)
            assert ":postgres@" not in locator
            assert "password" not in locator
    assert before == [hashlib.sha256(Path(place).read_bytes()).digest() for place in places[:-1]]


def test_a_ledger_that_is_loaded_again_replaces_what_was_there(tmp_path: Path) -> None:
    place = as_csv(tmp_path / "a")
    with loaded(place) as case:
        Path(place).write_text("operation_id\nop-9\n")
        case.settings = Settings()
        loaded(place, case=case)
        assert effects(case) == [("op-9", None, None, None, "committed", None)]
        assert case.rows("select count(*) from ledgers") == [(1,)]


def test_columns_may_be_called_otherwise(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(
        '{"data": {"ids": ["op-1"]}, "state": "GONE", "at": 1795981557.532573, "sum": {"a": 1}}\n'
    )
    columns = {"operation_id": "$.data.ids[0]", "status": "state", "time": "at"}
    said = LedgerSettings(
        tool="pay", states={"gone": "reversed"}, columns=columns, business_key=("sum",)
    )
    with loaded(str(tmp_path / "a"), said) as case:
        at = datetime(2026, 11, 29, 19, 45, 57, 532573)
        assert effects(case) == [("op-1", None, "pay", "GONE", "reversed", at)]


def test_what_an_operator_says_of_a_ledger_is_kept(tmp_path: Path) -> None:
    said = LedgerSettings(
        covers_from=datetime(2026, 11, 1, tzinfo=UTC),
        covers_to=datetime(2026, 12, 1, tzinfo=UTC),
        lag=timedelta(minutes=15),
        arguments={"amount": "$.amount"},
    )
    with loaded(as_csv(tmp_path / "a"), said) as case:
        ((*ends, lag, has_id, has_time, compared, tools),) = case.rows(
            "select covers_from, covers_to, lag, has_conversation, has_time, compared, tools "
            "from ledgers"
        )
    assert ends == [datetime(2026, 11, 1), datetime(2026, 12, 1)]
    assert (lag, has_id, has_time) == (timedelta(minutes=15), True, True)
    assert (compared, tools) == (["amount"], ["pay"])


# --- what cannot be used -------------------------------------------------------------------------

_BAD_LINES: Mapping[str, tuple[bytes, str]] = {
    "too few values": (b"operation_id,tool\nop-1\nop-2,pay\n", "another number of values"),
    "too many values": (b"operation_id,tool\nop-1,a,b\nop-2,pay\n", "another number of values"),
    "an open quote": (b'operation_id,tool\nop-2,pay\nop-1,"pay\n', "quotes that are not closed"),
    "no UTF-8": (b"operation_id,tool\n\xff,pay\nop-2,pay\n", "no UTF-8"),
    "nothing of it": (b"operation_id,x\n,1\nop-2,1\n", "none of the columns"),
    "no JSON": (b'{"operation_id":"op-2"}\n{"operation_id":\n', "no JSON"),
    "no object": (b'{"operation_id":"op-2"}\n[1]\n', "no object"),
    "half an emoji": (b'{"operation_id":"op-2"}\n{"operation_id":"\\ud83d"}\n', "no JSON"),
    "nested too deep": (b'{"operation_id":"op-2"}\n{"a":' + b"[" * 100_000 + b"\n", "no JSON"),
}


@pytest.mark.parametrize("wound", _BAD_LINES)
def test_a_line_that_cannot_be_used_is_told(wound: str, tmp_path: Path) -> None:
    raw, reason = _BAD_LINES[wound]
    (tmp_path / "a").write_bytes(raw)
    with loaded(str(tmp_path / "a"), LedgerSettings()) as case:
        assert [row[0] for row in effects(case)] == ["op-2"]
        ((incomplete, read, rejected),) = case.rows(
            "select incomplete, read, rejected from sources"
        )
    assert reason in incomplete[0]
    assert (read, rejected) == (2, 1)


def _without_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table t (id)")


def _two_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table a (operation_id)")
        database.execute("create table b (operation_id)")


_BAD_FILES: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    "empty": (lambda p: p.write_bytes(b""), "no column operation_id|it is empty"),
    "a header alone": (lambda p: p.write_bytes(b"operation_id,tool\n"), "it is empty"),
    "other columns": (lambda p: p.write_bytes(b"id,tool\n1,a\n"), r"effects\.other"),
    "a long first line": (lambda p: p.write_bytes(b"x" * 200_000 + b"\n1\n"), "no column"),
    "no entry has an id": (lambda p: p.write_bytes(b'{"tool":"pay"}\n'), "operation id"),
    "a column twice": (lambda p: p.write_bytes(b"operation_id,a,a\n1,2,3\n"), "twice"),
    "no entry can be used": (lambda p: p.write_bytes(b'{"a":1}\n'), "holds no entry"),
    "no table": (_without_table, "no table has a column operation_id"),
    "two tables": (_two_tables, "2 tables have"),
    "cut Parquet": (lambda p: p.write_bytes(b"PAR1abc"), "Parquet"),
    "cut SQLite": (lambda p: p.write_bytes(b"SQLite format 3\0abc"), "SQLite"),
    "a folder": (lambda p: p.mkdir(), "cannot be read"),
    "nothing": (lambda p: None, "cannot be read"),
}


@pytest.mark.parametrize("wound", _BAD_FILES)
def test_a_file_that_is_no_ledger_changes_nothing(wound: str, tmp_path: Path) -> None:
    make, reason = _BAD_FILES[wound]
    make(tmp_path / "bad")
    with loaded(as_csv(tmp_path / "good")) as case:
        with pytest.raises(SourceError, match=reason):
            load_ledger(case, Ledger("other", str(tmp_path / "bad")))
        assert effects(case) == FOUND
        assert case.rows("select source from sources") == [("pay",)]


def test_a_damaged_parquet_file_is_told(tmp_path: Path) -> None:
    place = Path(as_parquet(tmp_path / "a"))
    raw = bytearray(place.read_bytes())
    raw[4:200] = bytes(196)
    place.write_bytes(raw)
    with Case(settings=Settings()) as case:
        with pytest.raises(SourceError):
            load_ledger(case, Ledger("pay", str(place)))
        assert case.rows("select count(*) from sources") == [(0,)]


def test_numbers_that_lost_digits_in_the_ledger_are_told(tmp_path: Path) -> None:
    said = LedgerSettings(business_key=("amount",))
    with closing(sqlite3.connect(tmp_path / "a")) as database:
        database.execute("create table t (operation_id text, amount)")
        database.execute("insert into t values ('op-1', 0.1)")
        database.commit()
    pq.write_table(pa.table({"operation_id": ["op-1"], "amount": [0.1]}), tmp_path / "b")
    for name in ("a", "b"):
        with loaded(str(tmp_path / name), said) as case:
            ((notes,),) = case.rows("select notes from sources")
            assert any("amount as a floating-point number" in note for note in notes)


def test_an_address_that_does_not_answer_tells_no_password() -> None:
    place = "postgresql://me:s3cret@127.0.0.1:1/bank"
    with Case(settings=Settings()) as case, pytest.raises(SourceError) as caught:
        load_ledger(case, Ledger.parse(f"pay={place}"))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "pay", "=a", "pay=", "a b=c", "pa/y=s3cret"])
def test_a_ledger_needs_a_name_and_a_place(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Ledger.parse(text)
    assert "s3cret" not in str(caught.value)


# --- times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "at"),
    [
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00+00:00"),
        ("2026-11-30 10:00:00.5+02", "2026-11-30T10:00:00.500000+02:00"),
        ("2026-11-30 10:00:00 +0200 CEST", "2026-11-30T10:00:00+02:00"),
        ("2026-11-30 10:00:00", "2026-11-30T10:00:00"),
        ("1795981557", "2026-11-29T19:45:57+00:00"),
        ("1795981557.532573", "2026-11-29T19:45:57.532573+00:00"),
        ("1795981557532", "2026-11-29T19:45:57.532000+00:00"),
        ("1795981557532573", "2026-11-29T19:45:57.532573+00:00"),
        ("1795981557532573123", "2026-11-29T19:45:57.532573+00:00"),
        ("2026-11-30", None),
        ("20261130100000", None),
        ("10:00", None),
        ("yesterday", None),
        ("9" * 19, "2286-11-20T17:46:39.999999+00:00"),
    ],
)
def test_times_as_ledgers_write_them(told: str, at: str | None) -> None:
    found = moment(told)
    assert (found and found.isoformat()) == at


def test_no_time_is_beyond_reach(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("operation_id,time\nop-1,0001-01-01T00:00:00+05:00\n")
    with loaded(str(tmp_path / "a"), LedgerSettings(zone=ZoneInfo("Europe/Berlin"))) as case:
        assert effects(case) == [("op-1", None, None, None, "committed", None)]
        ((notes,),) = case.rows("select notes from sources")
        assert any("time that cannot be read" in note for note in notes)


def test_a_bad_text_of_a_table_is_told_by_itself(tmp_path: Path) -> None:
    pq.write_table(pa.table({"operation_id": [b"K1", b"\xff\xfe"]}), tmp_path / "a")
    with loaded(str(tmp_path / "a"), LedgerSettings()) as case:
        assert [row[0] for row in effects(case)] == ["K1"]
        assert case.rows("select rejected from sources") == [(1,)]


@given(st.text(max_size=40))
def test_no_text_breaks_a_time(text: str) -> None:
    found = moment(text)
    assert found is None or isinstance(found, datetime)


# --- the verb ------------------------------------------------------------------------------------


def test_a_ledger_is_loaded_beside_a_case(axnb: Cli, tmp_path: Path) -> None:
    place = as_csv(tmp_path / "bank.csv")
    found = axnb("load", "--case", tmp_path / "c.duckdb", "--effects", f"pay={place}")
    assert found.exit_code == 0
    assert "pay   " in found.stdout
    assert "read 3 = parsed 3 + rejected 0" in found.stdout
    assert "1 entry of 1 status that nobody has explained" in found.stdout
    other = ("--effects", f"other={tmp_path / 'none'}")
    found = axnb("load", "--case", tmp_path / "c.duckdb", "--effects", f"pay={place}", *other)
    assert found.exit_code == 3
    assert "cannot be read" in found.stderr
    asked = axnb("sql", "--case", tmp_path / "c.duckdb", "select operation_id from effects limit 1")
    assert "op-1" in asked.stdout
