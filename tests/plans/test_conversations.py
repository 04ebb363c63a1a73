"""Plans for single conversations: tried on a store, judged by the rules, and undone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from axnb.ax.behaviour import Harness
from axnb.ax.rows import Row
from axnb.case.case import Case
from axnb.loading import load
from axnb.plans import Plan, plan
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say
from axnb.testing.logs import ask as ask_a_person
from axnb.triaging import ConversationTriage, Question, Triage, triage
from tests.plans.conftest import BOTH, StoreOf, on_both
from tests.plans.stores import SqliteStore, Store, apply, ask, changing, undo

#: Ids that end a literal or a comment, begin a command of a client, or cannot be seen.
HOSTILE = [
    "it's",
    "'; drop table conversation_log; --",
    "*/ drop table conversation_log; /*",
    "a\n.shell touch pwned\n\\! touch pwned\n",
    "a\\",
    "\\'; select 1; --",
    "$axnb$; drop table conversation_log; $axnb$",
    "{{ 7 * 7 }}{% raw %}",
    "--run 1> x",
    "a\r\u2028\u0085b\u202e\x1b[31m",
    ":id ?1 @id %s %(id)s",
    "отправить 送",
    '{"a":"b"}',
    "  ",
]


def _refusing(generation: str) -> Question:
    return Question(generation, (Harness("antigravity", False), Harness("drill", False)))


def _of(found: Triage, conversation: str) -> ConversationTriage:
    return next(c for c in found.conversations if c.conversation_id == conversation)


def _round_trip(store: Store, question: Question, found: Plan) -> Triage:
    """Apply a plan, look, and undo it: the store holds every byte as before. Returns the look."""
    before = store.rows()
    apply(store, found)
    assert store.rows() != before
    after, _ = ask(store, question)
    undo(store, found)
    assert store.rows() == before
    return after


# --- unblock -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store_of", "generation"),
    on_both([("G5",), ("G5b",), ("G6",), ("G7",), ("G8",)], [("G6",)], [("G5",), ("G8",)]),
    indirect=["store_of"],
)
def test_unblock(generation: str, store_of: StoreOf) -> None:
    log = LogBuilder(generation)
    log.turn("fine", "hi", say("hello"))
    log.interrupted("stuck", "hi", call("charge", {"n": 1}), answer({"ok": True}))
    store = store_of(log)
    found, script = ask(store, _refusing(generation))
    assert _of(found, "stuck").next.empty == "blocked"
    (section,) = changing(script)
    assert (section.action, section.conversation_ids, section.waits) == (
        "unblock",
        ("stuck",),
        False,
    )
    assert section.findings == ("AX110",)
    after = _round_trip(store, _refusing(generation), script)
    stuck = _of(after, "stuck")
    assert (stuck.state, stuck.action) == ("finished", "nothing")
    assert (stuck.next.empty, stuck.next.input) == ("nothing", "new-turn")
    assert [f.id for f in after.findings if f.severity != "info"] == []


def test_the_end_is_in_the_words_of_the_turn(store_of: StoreOf) -> None:
    """G4 rows under G5: exec_id and seq as G4 writes them, and FAILED, which is what happened."""
    log = LogBuilder("G4")
    log.interrupted("c", "hi")
    store = store_of(log)
    _, script = ask(store, _refusing("G5"))
    apply(store, script)
    ends = [row for row in store.rows() if "STATE_FAILED" in str(row)]
    assert len(ends) == 1
    assert '"seq":2,"exec_id":"' in str(ends[0])


def test_a_lost_execution_of_g3_is_completed(store_of: StoreOf) -> None:
    log = LogBuilder("G3")
    log.interrupted("c", "hi")
    log.executions.clear()
    store = store_of(log)
    question = Question("G3", (Harness("drill", True),))
    found, script = ask(store, question)
    assert _of(found, "c").next.empty == "lost-pending"
    after = _round_trip(store, question, script)
    assert _of(after, "c").next.input == "new-turn"
    assert "STATE_COMPLETED" in changing(script)[0].statements


@BOTH
def test_hostile_ids(store_of: StoreOf) -> None:
    log = LogBuilder("G8")
    log.turn("other", "hi")
    for conversation in HOSTILE:
        log.interrupted(conversation, "hi")
    store = store_of(log)
    _, script = ask(store, _refusing("G8"))
    after = _round_trip(store, _refusing("G8"), script)
    assert {_of(after, conversation).state for conversation in HOSTILE} == {"finished"}
    # As text too, the way an operator runs it.
    store.run(script.text)
    assert {c.state for c in ask(store, _refusing("G8"))[0].conversations} == {"finished"}


def test_an_id_with_a_nul(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.interrupted("a\0b", "hi")
    store = SqliteStore(log.write_sqlite(tmp_path / "log.sqlite"))
    _, script = ask(store, _refusing("G8"))
    assert _of(_round_trip(store, _refusing("G8"), script), "a\0b").state == "finished"


def test_a_table_without_a_key_and_with_more_columns(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi")
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("alter table conversation_log add column session_id text")
        connection.execute("alter table conversation_log add column session_step integer")
        connection.commit()
    store = SqliteStore(path)
    _, script = ask(store, _refusing("G8"))
    assert _of(_round_trip(store, _refusing("G8"), script), "c").state == "finished"


def test_no_number_is_left(store_of: StoreOf) -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi")
    store = store_of(log)
    last = 2**63 - 1 if isinstance(store, SqliteStore) else 2**31 - 1
    log.rows[0] = StoredRow("c", last, log.rows[0].payload)
    store.replace(log)
    _, script = ask(store, _refusing("G8"))
    assert changing(script) == []
    assert f"no step is left after step {last}" in script.text


# --- a person first ------------------------------------------------------------------------------


@BOTH
def test_calls_are_read_back_before_a_section_can_run(store_of: StoreOf) -> None:
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}))
    log.interrupted("c", "hi", call("charge\n; select 1", {"n": 2}, "op'1"))
    store = store_of(log)
    before = store.rows()
    _, script = ask(store, _refusing("G8"))
    (section,) = changing(script)
    assert (section.action, section.waits) == ("read-back-then-unblock", True)
    assert "charge\\n; select 1  op'1  step 2" in script.text
    store.run(script.text)
    assert store.rows() == before
    enabled = script.text.replace("\n--run 1> ", "\n")
    store.run(enabled)
    assert _of(ask(store, _refusing("G8"))[0], "c").state == "finished"


def test_naming_a_conversation_says_that_its_calls_were_read_back(store_of: StoreOf) -> None:
    """As the advice of `axnb show` says: read back, then ask for the plan of this conversation."""
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}))
    log.interrupted("c", "hi", call("charge", {"n": 2}))
    log.interrupted("d", "hi", call("charge", {"n": 3}))
    store = store_of(log)
    with Case(settings=Settings()) as case:
        load(case, [store.source])
        answered = triage(case, _refusing("G8"))
        script = plan(case, answered, ready=["c"])
    assert [section.waits for section in changing(script)] == [False, True]
    assert script.text.count("Read back from the tool's own system") == 2
    store.run(script.text)
    after = ask(store, _refusing("G8"))[0]
    assert (_of(after, "c").state, _of(after, "d").state) == ("finished", "interrupted")


# --- a log that has moved on ---------------------------------------------------------------------


def _another_turn(log: LogBuilder) -> None:
    log.add(Row("c", 3))


def _another_payload(log: LogBuilder) -> None:
    """As long as before, and with the same end."""
    row = log.rows[-1]
    log.rows[-1] = StoredRow("c", row.step, row.payload.replace("hi", "ho"))


def _another_life(log: LogBuilder) -> None:
    log.rows.pop()
    log.interrupted("c", "a later life of the same id")


@pytest.mark.parametrize("change", [_another_turn, _another_payload, _another_life])
def test_nothing_changes_in_a_log_that_has_moved_on(
    change: Callable[[LogBuilder], None], store_of: StoreOf
) -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi")
    store = store_of(log)
    _, script = ask(store, _refusing("G8"))
    change(log)
    store.replace(log)
    before = store.rows()
    with pytest.raises(Exception, match="axnb: the log is not as it was read"):
        apply(store, script)
    assert store.rows() == before


@BOTH
def test_an_undo_comes_too_late_for_a_log_that_went_on(store_of: StoreOf) -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi")
    store = store_of(log)
    _, script = ask(store, _refusing("G8"))
    log.add(Row("c", 2))
    log.turn("c", "again")
    store.replace(log)
    before = store.rows()
    with pytest.raises(Exception, match="axnb: the log is not as"):
        undo(store, script)
    assert store.rows() == before


# --- quarantine ----------------------------------------------------------------------------------


def _with_broken_row(generation: str, broken: str, at: int) -> LogBuilder:
    log = LogBuilder(generation)
    log.turn("fine", "hi")
    log.turn("c", "hi", say("a"), say("b"))
    row = next(r for r in log.rows if (r.conversation_id, r.step) == ("c", at))
    log.rows[log.rows.index(row)] = StoredRow("c", at, broken)
    return log


_BROKEN = [(generation, at) for generation in ("G4", "G6", "G8") for at in (1, 2, 4)]


@pytest.mark.parametrize(
    ("store_of", "generation", "at"),
    on_both(_BROKEN, [("G4", 2), ("G6", 4), ("G8", 1)], [("G4", 1), ("G6", 2), ("G8", 4)]),
    indirect=["store_of"],
)
def test_quarantine(generation: str, at: int, store_of: StoreOf) -> None:
    """An undecodable input, output or end: the rest can be read, and is not left interrupted."""
    store = store_of(_with_broken_row(generation, '{"conversation_id":"c"', at))
    found, script = ask(store, _refusing(generation))
    assert _of(found, "c").next.empty == "unreadable"
    (section,) = changing(script)
    assert section.action == "quarantine"
    before = store.rows()
    after = _round_trip(store, _refusing(generation), script)
    c = _of(after, "c")
    assert c.state == "finished"
    assert not {"AX110", "AX120", "AX121"} & {f.id for f in after.findings}
    assert c.next.input in ("new-turn", "ignores-pending")
    apply(store, script)
    (moved,) = store.rows("conversation_log_before_plan")
    assert moved in before


def test_several_rows_are_moved_and_all_of_them_come_back(store_of: StoreOf) -> None:
    log = _with_broken_row("G8", "", 2)
    log.rows += [StoredRow("c", n, "it's no JSON") for n in (6, 7)]
    store = store_of(log)
    _, script = ask(store, _refusing("G8"))
    after = _round_trip(store, _refusing("G8"), script)
    assert _of(after, "c").next.empty == "nothing"


def test_a_conversation_of_nothing_else(store_of: StoreOf) -> None:
    log = LogBuilder("G8")
    log.turn("fine", "hi")
    log.rows.append(StoredRow("c", 1, "{"))
    store = store_of(log)
    _, script = ask(store, _refusing("G8"))
    assert "No row is left" in script.text
    after = _round_trip(store, _refusing("G8"), script)
    assert [c.conversation_id for c in after.conversations] == ["fine"]


def test_a_configuration_of_the_other_kind(store_of: StoreOf) -> None:
    """G4 wrote base64: G5 cannot decode the input row, and its owner goes with it."""
    log = LogBuilder("G4", "drill")
    log.turn("c", "hi", say("a"))
    row = log.rows[0]
    payload = row.payload.replace('"messages"', '"harness_config":"e30=","messages"')
    log.rows[0] = StoredRow("c", 1, payload)
    store = store_of(log)
    found, script = ask(store, _refusing("G5"))
    assert _of(found, "c").next.empty == "unreadable"
    after = _round_trip(store, _refusing("G5"), script)
    assert _of(after, "c").next.input == "new-turn"


def test_rows_whose_keys_have_drifted(tmp_path: Path) -> None:
    """Steps as text, as a fraction, as NULL and as bytes, in a table without types and key."""
    log = LogBuilder("G8")
    log.turn("c", "hi")
    log.rows += [StoredRow("c", step, "{") for step in ("two", 2.5, None, b"3", "4")]
    log.rows += [StoredRow("c", 1, None), StoredRow(b"c", 9, "{")]
    store = SqliteStore(log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False))
    found, script = ask(store, _refusing("G8"))
    assert _of(found, "c").next.empty == "unreadable"
    after = _round_trip(store, _refusing("G8"), script)
    assert _of(after, "c").next.empty == "nothing"
    apply(store, script)
    assert len(store.rows("conversation_log_before_plan")) == 6


def test_a_table_without_rowids(tmp_path: Path) -> None:
    log = _with_broken_row("G8", "{", 2)
    path = log.write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("alter table conversation_log rename to o")
        connection.execute(
            "create table conversation_log (conversation_id text not null, step integer not null, "
            "payload text not null, primary key (conversation_id, step)) without rowid"
        )
        connection.execute("insert into conversation_log select * from o")
        connection.execute("drop table o")
        connection.commit()
    store = SqliteStore(path)
    _, script = ask(store, _refusing("G8"))
    assert _of(_round_trip(store, _refusing("G8"), script), "c").next.empty == "nothing"


def test_what_only_another_generation_cannot_decode_stays(store_of: StoreOf) -> None:
    """A key that G8 does not know is harmless to it, whatever stands there."""
    log = LogBuilder("G7")
    log.turn("c", "hi")
    row = log.rows[0]
    log.rows[0] = StoredRow("c", 1, row.payload.replace('"steps"', '"harness_config":"e","steps"'))
    store = store_of(log)
    found, script = ask(store, _refusing("G8"))
    assert _of(found, "c").action == "quarantine"
    assert changing(script) == []
    assert "Leave the rows where they are" in script.text.replace("\n-- ", " ")


def test_an_earlier_plan_that_still_keeps_rows(store_of: StoreOf) -> None:
    log = _with_broken_row("G8", "{", 2)
    store = store_of(log)
    _, script = ask(store, _refusing("G8"))
    apply(store, script)
    log_again = _with_broken_row("G8", "{", 2)
    table = "conversation_log_before_plan"
    kept = store.rows(table)
    store.replace(log_again)
    if isinstance(store, SqliteStore):
        apply(store, script)  # a new file: nothing is kept there
        return
    before = store.rows()
    with pytest.raises(Exception, match="axnb: the log is not as it was read"):
        apply(store, script)
    assert (store.rows(), store.rows(table)) == (before, kept)


# --- the owner -----------------------------------------------------------------------------------


_ODD_OWNER = 'it\'s \\ "x"\n'
_OWNERS = [("G7", "G8", "drill"), ("G8", "G7", "drill")]
_OWNERS += [("G7", "G8", _ODD_OWNER), ("G8", "G7", _ODD_OWNER)]


@pytest.mark.parametrize(
    ("store_of", "written", "asked", "owner"),
    on_both(_OWNERS, [("G8", "G7", _ODD_OWNER)], [("G7", "G8", _ODD_OWNER)]),
    indirect=["store_of"],
)
def test_name_the_owner(written: str, asked: str, owner: str, store_of: StoreOf) -> None:
    log = LogBuilder(written, owner)
    log.turn("c", "hi", say("a"))
    store = store_of(log)
    question = Question(asked, (Harness("antigravity", False), Harness(owner, True)))
    found, script = ask(store, question)
    assert (_of(found, "c").action, _of(found, "c").next.harness) == ("name-owner", "antigravity")
    after = _round_trip(store, question, script)
    c = _of(after, "c")
    assert (c.action, c.next.harness, c.next.input) == ("nothing", owner, "new-turn")


def test_an_owner_that_would_be_blocked(store_of: StoreOf) -> None:
    log = LogBuilder("G7", "antigravity-interactions")
    log.turn("c", "hi")
    log.interrupted("c", "again")
    store = store_of(log)
    question = Question("G8", (Harness("drill", True), Harness("antigravity-interactions", False)))
    _, script = ask(store, question)
    c = _of(_round_trip(store, question, script), "c")
    assert (c.action, c.state, c.next.empty) == ("nothing", "finished", "nothing")


def test_another_owner_was_bound_since(store_of: StoreOf) -> None:
    """The first request under v0.2.3 bound the default harness; the log names drill first."""
    log = LogBuilder("G7", "drill")
    log.turn("c", "hi")
    newer = LogBuilder("G8", "antigravity")
    newer.rows = list(log.rows)
    newer.turn("c", "again")
    store = store_of(newer)
    question = Question("G8", (Harness("antigravity", False), Harness("drill", True)))
    found, script = ask(store, question)
    assert _of(found, "c").action == "name-owner"
    assert _of(_round_trip(store, question, script), "c").next.harness == "drill"


def test_a_key_that_says_something_else(store_of: StoreOf) -> None:
    log = LogBuilder("G8", "drill")
    log.turn("c", "hi")
    row = log.rows[0]
    log.rows[0] = StoredRow("c", 1, row.payload.replace("{", '{"harness_id":"other",', 1))
    store = store_of(log)
    _, script = ask(store, Question("G7", (Harness("other", True), Harness("drill", True))))
    assert changing(script) == []
    assert "has a key harness_id that says something else" in script.text


def test_a_harness_that_is_not_registered(store_of: StoreOf) -> None:
    log = LogBuilder("G8", "drill")
    log.turn("c", "hi")
    _, script = ask(store_of(log), Question("G8", (Harness("antigravity", False),)))
    assert changing(script) == []
    assert "Register the harness drill in the ax.yaml" in script.text


def test_an_owner_that_every_request_must_name(store_of: StoreOf) -> None:
    log = LogBuilder("G5b", "drill")
    log.turn("c", "hi")
    _, script = ask(store_of(log), Question("G5", (Harness("drill", True),)))
    assert changing(script) == []
    assert "\n--   ax exec --conversation=c --harness=drill --input=TEXT\n" in script.text


# --- only words ----------------------------------------------------------------------------------


def test_a_conversation_that_can_be_resumed(store_of: StoreOf) -> None:
    log = LogBuilder("G8", "drill")
    log.interrupted("c", "hi")
    store = store_of(log)
    _, script = ask(store, Question("G8", (Harness("drill", True),)))
    assert changing(script) == []
    assert "\n--   ax --conversation=c --resume\n" in script.text
    before = store.rows()
    store.run(script.text)
    assert store.rows() == before


@pytest.mark.parametrize(
    ("generation", "state", "told"),
    [
        ("G3", "finished", "A new input is safe"),
        ("G3", "interrupted", "A new input does the same"),
        ("G4", "finished", "A new input is safe"),
        ("G4", "interrupted", "A new input starts a new turn"),
    ],
)
def test_servers_that_do_harm(
    generation: str, state: str, told: str, store_of: StoreOf, tmp_path: Path
) -> None:
    """No statement, and no command that restarts anything."""
    log = LogBuilder(generation)
    log.turn("c", "hi", call("charge", {"n": 1}))
    if state == "interrupted":
        log.interrupted("c", "again")
    log.turn("d", "hi", call("charge", {"n": 2}), answer({"ok": True}))
    # The builder writes G3's execution_log into SQLite only.
    store = (
        SqliteStore(log.write_sqlite(tmp_path / "l.sqlite")) if log.executions else store_of(log)
    )
    _, script = ask(store, Question(generation, (Harness("antigravity", False),)), "c")
    assert changing(script) == []
    assert "Send no empty request (--resume)" in script.text
    assert told in script.text
    assert "--   ax" not in script.text


def test_a_question_waits(store_of: StoreOf) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", ask_a_person("Delete?"))
    _, script = ask(store_of(log), _refusing("G8"))
    assert "A question waits for a person (step 2)" in script.text
    assert "Delete?" not in script.text
