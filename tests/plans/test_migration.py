"""Migrations: every row says the same in the words of the other generation."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from axnb.ax import protojson, rows
from axnb.ax.behaviour import Harness
from axnb.ax.rows import READS_SHAPE
from axnb.ax.versions import GENERATIONS
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, decide, say, think
from axnb.testing.logs import ask as question
from axnb.triaging import Question
from tests import ax_logs
from tests.plans.conftest import BOTH, StoreOf, on_both
from tests.plans.stores import PostgresStore, SqliteStore, Store, apply, ask, changing, undo
from tests.servers import PostgresServer

HARNESSES = (Harness("antigravity", False), Harness("drill", True))

#: From -> to: ways on, and ways back.
WAYS: list[tuple[str, str]] = [
    *(("G3", to) for to in ("G6", "G8")),
    ("G4", "G6"),
    ("G5", "G7"),
    *(("G5b", to) for to in ("G6", "G8")),
    *(("G6", to) for to in ("G5b", "G7", "G8")),
    ("G7", "G6"),
    *(("G8", to) for to in ("G5b", "G6")),
]


def _log(generation: str) -> LogBuilder:
    log = LogBuilder(generation, "drill")
    numbers = {"n": 1, "text": 'it\'s \\ "x" 送 \n', "deep": {"a": [None, True, {"b": -0.5}]}}
    log.turn("c", "hi", think("hm"), call("charge", numbers), answer({"ok": None}), say("done"))
    log.turn("c", "delete?", call("rm", {}, "q"), question("Delete?", "q"), decide("approved", "q"))
    log.turn("d'; --", "", call("", {}, ""), answer({}, call_id=""), say(""))
    log.interrupted("e", "hi", call("charge"))
    return log


_WITHOUT_ROLE = ("thought", "tool_call", "tool_result")


def _said(payload: str, column: str) -> rows.Row:
    """What a row says, apart from what a migration names as lost."""
    shape = rows.shape(protojson.parse(payload), column)
    row = rows.read(payload, GENERATIONS[READS_SHAPE[shape]])
    parts = tuple(
        replace(part, role=None if part.kind in _WITHOUT_ROLE else part.role) for part in row.parts
    )
    return replace(row, parts=parts, exec_id="")


def _compare(store: Store, old: str, new: str) -> int:
    """Compare the old table with the new one, row by row; returns how many."""
    was, column = GENERATIONS[old].step_column, GENERATIONS[new].step_column
    before = _table(store, "conversation_log_before_migration", was)
    after = _table(store, "conversation_log", column)
    assert before.keys() == after.keys()
    for key, payload in before.items():
        assert _said(after[key], column) == _said(payload, was), key
        event = json.loads(after[key])
        if GENERATIONS[new].event == "ConversationEvent":
            assert event[column] == key[1]
        else:
            assert not {"seq", "step", "exec_id", "messages"} & event.keys()
    return len(before)


def _table(store: Store, table: str, column: str) -> dict[tuple[str, int], str]:
    if isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store.source)) as connection:
            found = connection.execute(f"select conversation_id, {column}, payload from {table}")
            return {(name, step): payload for name, step, payload in found}
    return {(name, step): payload for name, step, payload in store.rows(table)}


#: A way on and a way back of each shape of a row.
_QUICK = [("G3", "G8"), ("G5", "G7"), ("G6", "G8"), ("G8", "G5b")]


@pytest.mark.parametrize(
    ("store_of", "old", "new"),
    on_both(WAYS, _QUICK, [*_QUICK, ("G5b", "G6"), ("G6", "G5b"), ("G7", "G6")]),
    indirect=["store_of"],
)
def test_a_row_says_the_same(old: str, new: str, store_of: StoreOf) -> None:
    store = store_of(_log(old))
    before = store.rows()
    asked = Question(new, HARNESSES)
    _, script = ask(store, asked)
    (section,) = changing(script)
    assert (section.action, len(section.conversation_ids)) == ("migrate", 3)
    apply(store, script)
    assert _compare(store, old, new) == len(before)
    after, _ = ask(store, asked)
    assert {c.next.history for c in after.conversations} == {"read"}
    # Without an owner nothing tells G7 from G8, and without a built-in one G5 from G5b.
    undecided = {"G8"} if old == "G3" else {"G5|G5b"}
    assert set(after.sources[0].generations) <= {new} | undecided
    assert not {"AX140", "AX141", "AX142"} & {f.id for f in after.findings}
    undo(store, script)
    assert store.rows() == before


# --- spellings that AX takes and does not write --------------------------------------------------

ODD_MESSAGES = [
    '{"conversationId":"c","step":1,"harnessId":"drill","harnessConfig":{"a":1.0},"messages":'
    '[{"role":"user","content":{"toolResult":{"callId":"x","functionResult":{"name":"t",'
    '"response":{"n":9007199254740993,"z":-0,"e":1.50e+2,"u":"\\u0000\\u00e9\\\\u0000\\ud83d\\ude00"}}}}}],'
    '"state":"STATE_PENDING"}',
    ' { "conversation_id" : "c" , "step" : 1 , "messages" : [ { "role" : "user" , "content" : '
    '{ "text" : { "text" : "a , b : [ ] { }" } } } , { "content" : { "text" : { } } } , { } ] , '
    '"state" : 1 } ',
    '{"conversation_id":"c","step":1,"harness_id":null,"harness_config":null,"messages":null,'
    '"state":null}',
    '{"conversation_id":"c","step":1,"messages":[{"role":null,"content":null}],"state":3}',
    '{"conversation_id":"c","step":1,"messages":[{"role":"m","content":{"thought":{"signature":'
    '"AQL/","summary":[{"text":{"text":"a"}},{"text":{"text":"b"}}]}}},{"role":"m","content":'
    '{"image":{"mime_type":"TYPE_PNG","data":"AQID"}}},{"content":{"tool_call":{"id":"i",'
    '"signature":"AQ==","function_call":{"name":"n"}}}}]}',
    '{"conversation_id":"c","step":1,"later":{"a":[1]},"messages":[{"content":{"new_kind":{}}}]}',
    "{}",
]


@BOTH
@pytest.mark.parametrize("new", ["G5b", "G8"])
def test_odd_messages(new: str, store_of: StoreOf) -> None:
    log = LogBuilder("G6", "drill")
    log.turn("fine", "hi")
    log.rows += [StoredRow(f"c{n}", 1, payload) for n, payload in enumerate(ODD_MESSAGES)]
    store = store_of(log)
    _, script = ask(store, Question(new, HARNESSES))
    assert [s.action for s in changing(script)] == ["migrate"]
    apply(store, script)
    column, step = GENERATIONS[new].step_column, GENERATIONS["G6"].step_column
    after = _table(store, "conversation_log", column)
    for n, payload in enumerate(ODD_MESSAGES):
        then, now = _said(payload, step), _said(after[f"c{n}", 1], column)
        assert (now.parts, now.state, now.owner) == (then.parts, then.state, then.owner), payload
        assert now.config == then.config
    odd = after["c0", 1]
    for kept in ("9007199254740993", '"z":-0', "1.50e+2", r"\u0000\u00e9\\u0000\ud83d\ude00"):
        assert kept in odd
    assert '"AQID"' in after["c4", 1]


STEP_RESULTS = {
    '{"string_value":"it\'s"}': {"result": "it's"},
    '{"stringValue":"camel"}': {"result": "camel"},
    '{"number_value":1.50}': {"result": 1.5},
    '{"bool_value":false}': {"result": False},
    '{"null_value":null}': {"result": None},
    '{"nullValue":"NULL_VALUE"}': {"result": None},
    '{"list_value":{"values":[{"string_value":"a"}]}}': {
        "result": {"values": [{"string_value": "a"}]}
    },
    '{"struct_value":{"a":null}}': {"a": None},
    '{"structValue":{}}': {},
}


@BOTH
def test_results_on_the_way_back(store_of: StoreOf) -> None:
    """A result that is no object has no place in a Struct: it stands under the key `result`."""
    log = LogBuilder("G8")
    log.turn("fine", "hi", say("there is content"))
    for n, value in enumerate(STEP_RESULTS):
        function = f'{{"name":"t","is_error":true,"result":{value}}}'
        step = f'{{"tool_result":{{"call_id":"x","function_result":{function}}}}}'
        log.rows.append(StoredRow(f"c{n}", 1, f'{{"conversation_id":"c{n}","steps":[{step}]}}'))
    said = '{"role":"user","content":[{"text":{"text":"a"}},{"text":{"text":"b"}}]}'
    several = f'{{"steps":[{{"content":{said}}},{{"thought":{{}}}},{{"content":{{}}}},{{}}]}}'
    log.rows.append(StoredRow("several", 1, several))
    store = store_of(log)
    _, script = ask(store, Question("G6", HARNESSES))
    assert "no object stands under the key `result`" in script.text.replace("\n-- ", " ")
    apply(store, script)
    after = _table(store, "conversation_log", "step")
    for n, expected in enumerate(STEP_RESULTS.values()):
        (part,) = rows.read(after[f"c{n}", 1], GENERATIONS["G6"]).parts
        assert json.loads(part.value or "null") == expected
    parts = rows.read(after["several", 1], GENERATIONS["G6"]).parts
    assert [(part.kind, part.value) for part in parts] == [
        ("text", "a"),
        ("text", "b"),
        ("thought", ""),
        ("empty", None),
    ]


# --- what cannot be carried over -----------------------------------------------------------------


@BOTH
def test_undecodable_rows_stay_as_they_are(store_of: StoreOf) -> None:
    log = _log("G6")
    broken = ["{", "", '{"step":1,"step":2}', '{"messages":{}}', '{"messages":[{"content":[]}]}']
    log.rows += [StoredRow("it's broken", n, payload) for n, payload in enumerate(broken)]
    store = store_of(log)
    before = store.rows()
    _, script = ask(store, Question("G8", HARNESSES))
    assert "5 rows stay as they are" in script.text
    apply(store, script)
    after = _table(store, "conversation_log", "step")
    assert [after["it's broken", n] for n in range(len(broken))] == broken
    undo(store, script)
    assert store.rows() == before


def test_a_row_that_is_nested_too_deep_stays_as_it_is(store_of: StoreOf) -> None:
    log = _log("G6")
    deep = '{"a":' * 950 + "1" + "}" * 950
    message = f'{{"content":{{"tool_call":{{"function_call":{{"name":"t","arguments":{deep}}}}}}}}}'
    payload = (
        f'{{"conversation_id":"deep","step":1,"messages":[{message}],"state":"STATE_PENDING"}}'
    )
    flat = payload.replace(deep, json.dumps({"a": [{} for _ in range(1200)]}))
    log.rows += [StoredRow("deep", 1, payload), StoredRow("flat", 1, flat)]
    store = store_of(log)
    _, script = ask(store, Question("G8", HARNESSES))
    apply(store, script)
    after = _table(store, "conversation_log", "step")
    assert after["deep", 1] == payload
    assert '"steps"' in after["flat", 1]


def test_a_configuration_in_base64_is_named_as_lost(store_of: StoreOf) -> None:
    log = LogBuilder("G4", "drill")
    log.turn("c", "hi")
    row = log.rows[0]
    payload = row.payload.replace('"messages"', '"harness_config":"e30=","messages"')
    log.rows[0] = StoredRow("c", 1, payload)
    store = store_of(log)
    _, script = ask(store, Question("G6", HARNESSES))
    assert "exec_id of 2 rows; the base64 configuration of 1 row" in script.text
    apply(store, script)
    after = rows.read(_table(store, "conversation_log", "step")["c", 1], GENERATIONS["G6"])
    assert (after.owner, after.config) == ("drill", None)


@pytest.mark.parametrize("wound", ["twice", "no number", "two owners of the key"])
def test_a_log_that_fits_no_table_is_left_alone(wound: str, tmp_path: Path) -> None:
    log = _log("G6")
    row = log.rows[0]
    log.rows.append(
        {
            "twice": row,
            "no number": StoredRow("c", "one", row.payload),
            "two owners of the key": StoredRow(b"c", 99, row.payload),
        }[wound]
    )
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False)
    _, script = ask(SqliteStore(path), Question("G8", HARNESSES))
    assert "1 row of the log" in script.text
    assert "migrate" not in {section.action for section in changing(script)}


def test_columns_of_a_relative_are_not_thrown_away(tmp_path: Path) -> None:
    path = _log("G6").write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("alter table conversation_log add column note text")
        connection.commit()
    _, script = ask(SqliteStore(path), Question("G8", HARNESSES))
    assert "has columns that AX itself does not write" in script.text
    assert changing(script) == []


def test_a_part_of_a_log_is_not_migrated(store_of: StoreOf, tmp_path: Path) -> None:
    from axnb.case.case import Case
    from axnb.evidence.load import LoadOptions
    from axnb.loading import load
    from axnb.plans import plan
    from axnb.settings import Settings
    from axnb.triaging import triage

    store = store_of(_log("G6"))
    with Case(settings=Settings()) as case:
        load(case, [store.source], LoadOptions(conversation="c"))
        script = plan(case, triage(case, Question("G8", HARNESSES), ["c"]))
    # A SQLite file is always read whole.
    assert bool(changing(script)) == isinstance(store, SqliteStore)
    assert ("only one conversation was read" in script.text) != isinstance(store, SqliteStore)


def test_no_way_back_to_a_generation_without_names(store_of: StoreOf) -> None:
    _, script = ask(store_of(_log("G6")), Question("G5", HARNESSES))
    assert changing(script) == []
    assert "No migration: axnb writes no plan that takes a log to G5" in script.text


# --- a log that moves ----------------------------------------------------------------------------


@BOTH
def test_nothing_changes_in_a_log_that_has_moved_on(store_of: StoreOf) -> None:
    log = _log("G6")
    store = store_of(log)
    _, script = ask(store, Question("G8", HARNESSES))
    log.turn("f", "one more")
    store.replace(log)
    before = store.rows()
    with pytest.raises(Exception, match="axnb: the log is not as it was read"):
        apply(store, script)
    assert store.rows() == before


@BOTH
def test_an_undo_loses_no_row_of_a_later_server(store_of: StoreOf) -> None:
    store = store_of(_log("G6"))
    _, script = ask(store, Question("G8", HARNESSES))
    apply(store, script)
    place = (
        "conversation_log"
        if isinstance(store, SqliteStore)
        else ('"odd ""schema\\"."conversation_log"')
    )
    store.run(f"insert into {place} values ('new', 1, '{{}}')")
    before = store.rows()
    with pytest.raises(Exception, match="axnb: the log is not as it was"):
        undo(store, script)
    assert store.rows() == before


def test_who_may_use_the_old_table_may_use_the_new_one(postgres: PostgresServer) -> None:
    store = PostgresStore(postgres)
    _log("G6").write_postgres(store.dsn)
    store.run(
        'create role "ax server"; create role reader;'
        'alter table conversation_log owner to "ax server";'
        "grant select on conversation_log to reader, public;"
        "grant insert on conversation_log to reader with grant option; revoke delete on "
        'conversation_log from "ax server"'
    )
    _, script = ask(store, Question("G8", HARNESSES))
    apply(store, script)
    with psycopg.connect(store.dsn) as connection:
        found = connection.execute(
            "select relname, relowner::regrole::text, array(select a::text from "
            "unnest(relacl) a order by 1) from pg_class where relname like 'conversation_log%' "
            "and relkind = 'r' order by relname"
        ).fetchall()
    new, old = found
    assert (new[0], old[0]) == ("conversation_log", "conversation_log_before_migration")
    assert new[1] == old[1] == '"ax server"'
    assert len([entry for entry in old[2] if not entry.startswith('"ax server"')]) == 2
    assert set(new[2]) >= {entry for entry in old[2] if not entry.startswith('"ax server"')}


# --- real rows -----------------------------------------------------------------------------------

REAL_WAYS = [
    ("g3-sqlite", "G3", "G6"),
    ("g3-sqlite", "G3", "G8"),
    ("g5-builtin-sqlite", "G5", "G6"),
    ("g5-builtin-sqlite", "G5", "G8"),
    ("mixed-seq-sqlite", "G5", "G8"),
    ("g6-custom-sqlite", "G6", "G5b"),
    ("g6-custom-sqlite", "G6", "G8"),
    ("upgraded-g6-g8-sqlite", "G6", "G8"),
    ("g7-sqlite", "G7", "G6"),
    ("g8-sqlite", "G8", "G6"),
]


_QUICK_REAL_WAYS = [("mixed-seq-sqlite", "G5", "G8"), ("g6-custom-sqlite", "G6", "G8")]
_QUICK_REAL_WAYS += [("g8-sqlite", "G8", "G6")]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param(*way, marks=() if way in _QUICK_REAL_WAYS else (pytest.mark.slow,))
        for way in REAL_WAYS
    ],
)
def test_rows_of_real_servers(name: str, old: str, new: str, tmp_path: Path) -> None:
    log = next(log for log in ax_logs.sqlite_logs() if log.name == name)
    store = SqliteStore.copy(log.sqlite, tmp_path)
    _, script = ask(store, Question(new, HARNESSES))
    assert [section.action for section in changing(script)] == ["migrate"]
    apply(store, script)
    was, column = GENERATIONS[old].step_column, GENERATIONS[new].step_column
    before = _table(store, "conversation_log_before_migration", was)
    after = _table(store, "conversation_log", column)
    assert before.keys() == after.keys()
    for key, payload in before.items():
        then, now = _said(payload, was), _said(after[key], column)
        for part, carried in zip(then.parts, now.parts, strict=True):
            wrapped = carried.kind == "tool_result" and (carried.value or "").startswith('{"result')
            expected = replace(part, is_error=None, value=None if wrapped else part.value)
            assert replace(carried, is_error=None, value=expected.value) == expected, key
            assert wrapped or carried.value == part.value, key
        assert replace(now, parts=(), content_count=0) == replace(then, parts=(), content_count=0)
