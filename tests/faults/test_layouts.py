"""Faults of layouts: tables of others, of other generations, changed by hand, half migrated."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from axnb.case.case import Case
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.servers import PostgresServer

from .looks import (
    END,
    Load,
    Run,
    contents,
    counts,
    doubts,
    healthy,
    refused,
    rejects,
    states,
    triaged,
    with_rows,
)

#: Contents and states of a case.
Expected = tuple[list[tuple[Any, ...]], dict[str, str]]
EXPECTED = "conversation_id, seq or step, payload"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """What the healthy log holds in AX's own table."""
    path = healthy().write_sqlite(tmp_path_factory.mktemp("healthy") / "log.sqlite")
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(path), {}).log)
        return contents(case), states(case)


def database(path: Path, *statements: str) -> Path:
    """A SQLite file after some statements."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def fill(path: Path, log: LogBuilder, columns: str = "conversation_id, step, payload") -> Path:
    """Write the rows of a log into the named columns of a table that is there."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            f"insert into conversation_log ({columns}) values (?, ?, ?)",
            [(r.conversation_id, r.step, r.payload) for r in log.rows],
        )
        connection.commit()
    return path


# --- SD-04: tables of others ----------------------------------------------------------------------

STRANGERS: dict[str, list[str]] = {
    "a chat": ["id", "role", "content", "created_at"],
    "a bot": ["id", "user_message", "bot_response", "session_id"],
    "an id, no number": ["conversation_id", "role", "payload"],
    "an id, no payload": ["conversation_id", "step", "body"],
    "no id": ["session", "step", "payload"],
    "nearly": ["conversationid", "seq", "payload"],
    "one column": ["payload"],
}


def _stranger(path: Path, columns: Sequence[str]) -> Path:
    names = ", ".join(columns)
    values = ", ".join(["'x'"] * len(columns))
    insert = f"insert into conversation_log values ({values})"
    return database(path, f"create table conversation_log ({names})", *[insert] * 3)


@pytest.mark.parametrize("name", STRANGERS)
def test_a_table_that_only_shares_the_name(axnb: Run, tmp_path: Path, name: str) -> None:
    path = _stranger(tmp_path / "log.sqlite", STRANGERS[name])
    case = tmp_path / "case.duckdb"
    sentence = refused(axnb("triage", path, "--case", case), EXPECTED)
    assert f"found {', '.join(STRANGERS[name])}" in sentence
    if case.exists():
        with Case(case, Settings()) as kept:
            tables = ("sources", "events", "rejects", "findings")
            assert [kept.rows(f"select count(*) from {t}") for t in tables] == [[(0,)]] * 4


def test_the_names_of_a_stranger_do_not_flood_the_screen(axnb: Run, tmp_path: Path) -> None:
    columns = [f'"\x1b[31m{n}{"x" * 300}"' for n in range(500)]
    sentence = refused(axnb("triage", _stranger(tmp_path / "log.sqlite", columns)), EXPECTED)
    assert "\x1b" not in sentence
    assert len(sentence) < 5000


def test_a_table_of_a_server_that_only_shares_the_name(axnb: Run, postgres: PostgresServer) -> None:
    dsn = postgres.create_database()
    with psycopg.connect(dsn) as connection:
        connection.execute("create table conversation_log (id serial, role text, content text)")
    refused(axnb("triage", dsn), EXPECTED, "found id, role, content")


OTHER_TABLES = {
    "plural": ["create table conversation_logs (conversation_id, step, payload)"],
    "an event_log of others": ["create table event_log (id, name, happened_at)"],
    "only executions": ["create table execution_log (exec_id, payload, timestamp)"],
    "many": [f"create table t{n} (a)" for n in range(50)],
}


@pytest.mark.parametrize("name", OTHER_TABLES)
def test_no_such_table(axnb: Run, tmp_path: Path, name: str) -> None:
    path = database(tmp_path / "log.sqlite", *OTHER_TABLES[name])
    sentence = refused(axnb("triage", path), "no table conversation_log", EXPECTED)
    assert len(sentence) < 500
    assert "AX log of" not in sentence


VIEW = "create view conversation_log as select * from stored"


@pytest.mark.parametrize("other", [True, False], ids=["over another table", "over nothing"])
def test_a_view_is_no_log(axnb: Run, tmp_path: Path, other: bool) -> None:
    path = tmp_path / "log.sqlite"
    if other:
        healthy().write_sqlite(path)
        database(path, "alter table conversation_log rename to stored", VIEW)
    else:
        database(
            path, "create view conversation_log as select 1 conversation_id, 1 step, 1 payload"
        )
    refused(axnb("triage", path))


@pytest.mark.parametrize("kind", ["view", "materialized view"])
def test_a_view_of_a_server_is_no_log(axnb: Run, postgres: PostgresServer, kind: str) -> None:
    dsn = healthy().write_postgres(postgres.create_database())
    with psycopg.connect(dsn) as connection:
        connection.execute("alter table conversation_log rename to stored")
        connection.execute(f"create {kind} conversation_log as select * from stored".encode())
    refused(axnb("triage", dsn), "stored")


# --- generations that were never released ---------------------------------------------------------

_EVENT_LOG = (
    "create table event_log (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, state INTEGER NOT NULL, "
    "payload TEXT NOT NULL, timestamp DATETIME NOT NULL)"
)
UNRELEASED = {
    "G0a": _EVENT_LOG.format("task_id TEXT NOT NULL"),
    "G0b": _EVENT_LOG.format("exec_id TEXT NOT NULL"),
    "G1": _EVENT_LOG.format("exec_id TEXT NOT NULL, checkpoint_id TEXT"),
    "G2a": "create table conversation_log (conversation_id TEXT NOT NULL, seq INTEGER NOT NULL, "
    "exec_id TEXT NOT NULL, messages TEXT, state INTEGER, PRIMARY KEY (conversation_id, seq))",
}


@pytest.mark.parametrize("name", UNRELEASED)
def test_unreleased_generations_are_refused_by_name(axnb: Run, tmp_path: Path, name: str) -> None:
    path = database(tmp_path / "log.sqlite", UNRELEASED[name])
    sentence = refused(axnb("triage", path), f"G{name[1:]}", "never released")
    assert not any(f"of {other}," in sentence for other in UNRELEASED if other != name)


def test_an_older_log_beside_the_log_is_named(
    case: Case, load: Load, tmp_path: Path, expected: Expected
) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    database(
        path, UNRELEASED["G1"], "insert into event_log values (1, 'e', null, 1, '{}', '2026-04-01')"
    )
    load(path)
    assert counts(case) == (8, 8, 0)
    assert (contents(case), states(case)) == expected
    assert "event_log" in str(case.rows("select notes from sources"))


# --- SD-01, SD-02: seq and step -------------------------------------------------------------------


def _same_log(generation: str) -> LogBuilder:
    log = LogBuilder(generation)
    log.turn("c1", "Charge it", call("charge_card", {"amount": 9}), answer({"ok": True}))
    log.interrupted("c2", "Hello", say("Hel"))
    return log


def test_both_columns_are_one_model(tmp_path: Path) -> None:
    found = []
    for generation in ("G5", "G6", "G8"):
        with Case(settings=Settings()) as case:
            path = _same_log(generation).write_sqlite(tmp_path / f"{generation}.sqlite")
            load_log(case, locate(str(path), {}).log)
            rows = case.rows(
                "select conversation_id, step, state, kind, call_id, tool, text, arguments, result "
                'from events left join parts using (source, "row", conversation_id, step) '
                "order by 1, 2, part"
            )
            columns = case.rows("select step_column from sources")
            found.append((columns, rows, states(case)))
    (five, *model), (six, *as_six), (eight, *as_eight) = found
    assert (five, six, eight) == ([("seq",)], [("step",)], [("step",)])
    assert model == as_six == as_eight


def test_two_layouts_are_never_added_together(axnb: Run, tmp_path: Path) -> None:
    paths = [_same_log(g).write_sqlite(tmp_path / f"{g}.sqlite") for g in ("G5", "G6")]
    found = triaged(axnb("triage", *paths, "--json"), 1)
    assert [s["step_column"] for s in found["sources"]] == ["seq", "step"]
    named = [(c["source"], c["conversation_id"], c["turns"]) for c in found["conversations"]]
    assert named == [("log", "c1", 1), ("log", "c2", 1), ("log-2", "c1", 1), ("log-2", "c2", 1)]


@pytest.mark.parametrize("key", ["seq", "step"])
def test_a_table_with_both_columns_follows_its_key(
    case: Case, load: Load, tmp_path: Path, key: str
) -> None:
    other = {"seq": "step", "step": "seq"}[key]
    path = database(
        tmp_path / "log.sqlite",
        f"create table conversation_log (conversation_id TEXT NOT NULL, {other} INTEGER, "
        f"{key} INTEGER NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (conversation_id, {key}))",
    )
    log = _same_log("G5" if key == "seq" else "G8")
    load(fill(path, log, f"conversation_id, {key}, payload"))
    assert case.rows("select step_column, parsed from sources") == [(key, len(log.rows))]
    notes = str(case.rows("select notes from sources"))
    assert "seq" in notes
    assert "step" in notes


def test_a_table_with_both_columns_and_no_key_is_not_guessed_at(axnb: Run, tmp_path: Path) -> None:
    path = database(
        tmp_path / "log.sqlite",
        "create table conversation_log (conversation_id, seq, step, payload)",
        "insert into conversation_log values ('c1', 1, null, '{}'), ('c1', null, 1, '{}')",
    )
    refused(axnb("triage", path), "both seq and step")


def test_a_table_that_was_renamed_by_halves(axnb: Run, tmp_path: Path) -> None:
    """One table has the new name of the column; that says nothing of the next."""
    path = _same_log("G3").write_sqlite(tmp_path / "log.sqlite")
    database(path, "alter table execution_log rename column exec_id to interaction_id")
    found = triaged(axnb("triage", path, "--json"))
    source = found["sources"][0]
    assert source["step_column"] == "seq"
    assert "interaction_id" in " ".join(source["notes"])
    assert "execution_log" in " ".join(source["notes"])


# --- SD-05: columns more, columns in another order ------------------------------------------------

WIDER: dict[str, Callable[[Path], Path]] = {
    "a new column": lambda path: database(
        healthy().write_sqlite(path), "alter table conversation_log add column created_at TEXT"
    ),
    "a new column with a default": lambda path: database(
        healthy().write_sqlite(path),
        "alter table conversation_log add column tenant TEXT NOT NULL DEFAULT 'main'",
    ),
    "checkpointd": lambda path: database(
        healthy().write_sqlite(path),
        "alter table conversation_log add column session_id TEXT",
        "alter table conversation_log add column session_step INTEGER",
        "create table sessions (id)",
    ),
    "another order": lambda path: fill(
        database(path, "create table conversation_log (payload, step, conversation_id)"), healthy()
    ),
    "odd names": lambda path: database(
        healthy().write_sqlite(path),
        'alter table conversation_log add column "a ""b"" \'c\' [d" TEXT',
    ),
    "a column of row numbers": lambda path: database(
        healthy().write_sqlite(path), "alter table conversation_log add column rowid TEXT"
    ),
    "a key of its own": lambda path: fill(
        database(
            path,
            "create table conversation_log "
            "(id INTEGER PRIMARY KEY, conversation_id, step, payload)",
        ),
        healthy(),
    ),
    "a partial index": lambda path: database(
        healthy().write_sqlite(path),
        "create index few on conversation_log (step) where step > 2",
        "create trigger t after insert on conversation_log begin select 1; end",
    ),
}


@pytest.mark.parametrize("name", WIDER)
def test_a_wider_table_is_the_same_log(
    case: Case, load: Load, tmp_path: Path, expected: Expected, name: str
) -> None:
    load(WIDER[name](tmp_path / "log.sqlite"))
    assert counts(case) == (8, 8, 0)
    assert (contents(case), states(case)) == expected
    ((variant, notes, incomplete),) = case.rows("select variant, notes, incomplete from sources")
    assert variant == ("checkpointd" if name == "checkpointd" else None)
    assert incomplete == []
    extra = {"a new column": "created_at", "a new column with a default": "tenant"}.get(name, "")
    assert extra in " ".join(notes)


def test_names_in_capitals_are_the_same_names(
    case: Case, load: Load, tmp_path: Path, expected: Expected
) -> None:
    # SQLite's names have no case: AX finds this table and reads it.
    path = database(
        tmp_path / "log.sqlite",
        'create table "CONVERSATION_LOG" ("Conversation_Id" TEXT, "Step" INTEGER, "PAYLOAD" TEXT)',
    )
    load(fill(path, healthy()))
    assert (contents(case), states(case)) == expected


def test_a_name_that_is_no_text_beside_the_log(
    case: Case, load: Load, tmp_path: Path, expected: Expected
) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    database(path, 'create table "neighbour" (a)')
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"neighbour", b"neighbou\xff"))
    load(path)
    assert (contents(case), states(case)) == expected


# --- SD-06: rows that would run -------------------------------------------------------------------


class _Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def test_class_bound_rows_are_never_loaded(axnb: Run, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    rows: list[Any] = [pickle.dumps(_Bomb(mark), protocol) for protocol in range(5)]
    rows += [
        b"\xc7\x10\x05axnb.cli" + bytes(8),
        b"!!python/object/apply:os.system [touch %b]" % bytes(mark),
        f"__import__('pathlib').Path({str(mark)!r}).touch()",
        '{"py/object":"pathlib.Path","conversation_id":"odd","state":"STATE_PENDING"}',
    ]
    path = with_rows([*rows, END % "odd"]).write_sqlite(tmp_path / "log.sqlite")
    case = tmp_path / "case.duckdb"
    triaged(axnb("triage", path, "--case", case, "--json"), 1)
    axnb("show", path, "odd", "--reveal")
    assert not mark.exists()
    with Case(case, Settings()) as loaded:
        assert counts(loaded) == (9 + len(rows), 10, len(rows) - 1)
        assert [step for _, step, _ in rejects(loaded)] == list(range(1, len(rows)))
        kept = [raw for (raw,) in loaded.rows("select raw from rejects order by step")]
    assert kept == [row if isinstance(row, bytes) else row.encode() for row in rows[:-1]]


# --- SD-10: newer rows under an older server ------------------------------------------------------


@pytest.mark.parametrize(("written", "asked"), [("G6", "G8"), ("G8", "G6")])
def test_content_that_another_generation_loses_is_said(
    axnb: Run, tmp_path: Path, written: str, asked: str
) -> None:
    path = _same_log(written).write_sqlite(tmp_path / "log.sqlite")
    found = triaged(axnb("triage", path, "--ax-version", asked, "--json"), 1)
    assert {c["next"]["history"] for c in found["conversations"]} == {"lost"}
    lost = [f for f in found["findings"] if f["id"] == "AX141"]
    assert {f["keys"]["conversation_id"] for f in lost} == {"c1", "c2"}
    assert {c["action"] for c in found["conversations"]} == {"do-not-touch"}
    own = triaged(axnb("triage", path, "--ax-version", written, "--json"))
    assert {c["next"]["history"] for c in own["conversations"]} == {"read"}


# --- SD-11: the same data in an old and in a new store --------------------------------------------


def test_neither_of_two_stores_replaces_the_other(axnb: Run, tmp_path: Path) -> None:
    old = _same_log("G6")
    new = _same_log("G6")
    changed = new.rows[3]
    new.rows[3] = type(changed)(changed.conversation_id, changed.step, changed.payload + " ")
    new.rows.pop()
    paths = [old.write_sqlite(tmp_path / "old.sqlite"), new.write_sqlite(tmp_path / "new.sqlite")]
    case = tmp_path / "case.duckdb"
    assert axnb("load", *paths, "--case", case).exit_code == 0
    query = (
        "select o.conversation_id, o.step, n.digest is null, o.digest = n.digest from events o "
        "left join events n on n.source = 'log-2' and n.conversation_id = o.conversation_id "
        "and n.step = o.step where o.source = 'log' and o.digest is distinct from n.digest "
        "order by 1, 2"
    )
    with Case(case, Settings()) as loaded:
        last = old.rows[-1]
        assert loaded.rows(query) == [
            (changed.conversation_id, changed.step, False, False),
            (last.conversation_id, last.step, True, None),
        ]


@pytest.mark.parametrize("generation", ["G3", "G4", "G5b", "G7"])
def test_every_released_layout_is_read(
    case: Case, load: Load, tmp_path: Path, generation: str
) -> None:
    log = _same_log(generation)
    load(log.write_sqlite(tmp_path / "log.sqlite"))
    assert counts(case) == (len(log.rows), len(log.rows), 0)
    assert states(case) == {"c1": "finished", "c2": "interrupted"}


# --- SD-03, SD-12: a migrator's own word ----------------------------------------------------------


def test_a_version_table_is_told_and_decides_nothing(
    case: Case, load: Load, tmp_path: Path, expected: Expected
) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    database(
        path,
        "create table goose_db_version (id INTEGER PRIMARY KEY, version_id, is_applied)",
        "insert into goose_db_version (version_id, is_applied) values (0, 1), (5, 1), (7, 0)",
        # Of somebody else: it has only the name.
        "create table schema_migrations (version TEXT)",
        "insert into schema_migrations values ('20260101')",
    )
    load(path)
    assert (contents(case), states(case)) == expected
    ((notes, incomplete),) = case.rows("select notes, incomplete from sources")
    assert (len(notes), incomplete) == (1, [])
    assert "goose_db_version of the file says version 5" in notes[0]


@pytest.mark.parametrize("dirty", [True, False])
def test_a_schema_that_is_marked_dirty_is_never_ok(axnb: Run, tmp_path: Path, dirty: bool) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    database(
        path,
        "create table schema_migrations (version, dirty)",
        f"insert into schema_migrations values (3, {int(dirty)})",
    )
    found = triaged(axnb("triage", path, "--json"), 3 if dirty else 0)
    assert ("marked dirty" in doubts(found)) == dirty


def test_each_schema_has_a_version_of_its_own(
    case: Case, load: Load, postgres: PostgresServer
) -> None:
    dsn = postgres.create_database()
    for schema, version in (("here", 2), ("there", 9)):
        healthy().write_postgres(dsn, schema)
        postgres.execute(
            f"create table {schema}.goose_db_version (version_id bigint, is_applied boolean);"
            f"insert into {schema}.goose_db_version values ({version}, true)",
            dsn,
        )
    load(f"{dsn}?schema=there")
    ((notes,),) = case.rows("select notes from sources")
    assert [note for note in notes if "version" in note] == [
        "goose_db_version of schema there says version 9: another program's word; axnb goes by the "
        "columns of the tables."
    ]
