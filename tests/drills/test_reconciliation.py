"""Calls against ledgers: every class by a case that has it, and none by one that has not."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.ax.rows import STATES, Row
from axnb.drills.reconciliation import ReconciliationOptions, run
from axnb.drills.reconciliation.advice import advise
from axnb.drills.reconciliation.matching import CLASSES, compare
from axnb.drills.reconciliation.options import parse_moment
from axnb.errors import SourceError, UsageError
from axnb.evidence.ledgers.load import Ledger
from axnb.result import Result
from axnb.settings import Settings, Tool
from axnb.settings_ledgers import LedgerSettings
from axnb.testing.logs import LogBuilder, Part, answer, call
from tests import ax_logs
from tests.servers import PostgresServer

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
COVERS = LedgerSettings(
    covers_from=datetime(2026, 5, 1, tzinfo=UTC), covers_to=BEGIN + timedelta(40)
)
UNTIL = BEGIN + timedelta(30)
PAY = Tool("pay", "$.key")

Entry = Mapping[str, Any]


def entry(operation_id: str, **more: Any) -> dict[str, Any]:
    """An entry of a ledger of the tool `pay`, which was done."""
    return {"operation_id": operation_id, "tool": "pay", "status": "done"} | more


def reconciled(
    folder: Path,
    log: LogBuilder,
    entries: Mapping[str, Sequence[Entry]],
    said: LedgerSettings | Mapping[str, LedgerSettings] = COVERS,
    tools: Sequence[Tool] = (PAY,),
    **asked: Any,
) -> Result:
    named = []
    for name, lines in entries.items():
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(e) + "\n" for e in lines), encoding="utf-8")
        named.append(Ledger(name, str(path)))
    every = said if isinstance(said, Mapping) else dict.fromkeys(entries, said)
    (folder / "log.sqlite").unlink(missing_ok=True)
    options = ReconciliationOptions(
        sources=[str(log.write_sqlite(folder / "log.sqlite"))],
        ledgers=named,
        until=UNTIL,
        settings=Settings(tools={t.name: t for t in tools}, ledgers=dict(every)),
    )
    return run(replace(options, **asked))


def classes(result: Result) -> list[tuple[Any, Any, str]]:
    told = [(e["conversation_id"], e["operation_id"], e["class"]) for e in result.effects]
    return sorted(told, key=str)


def one_call(
    *results: Part, key: Any = "K1", conversation: str = "c", is_open: bool = False, **more: Any
) -> LogBuilder:
    log = LogBuilder("G8")
    begin = log.interrupted if is_open else log.turn
    begin(conversation, "hi", call("pay", {"key": key, **more}), *results)
    return log


DONE = answer({"ok": True})
FAILED = answer({"error": "no"}, is_error=True)


def cancelled() -> LogBuilder:
    log = one_call(DONE, is_open=True)
    log.add(Row("c", STATES.index("STATE_CANCELED")))
    return log


AMOUNT = replace(COVERS, arguments={"amount": "$.amount"})
BUSINESS = replace(COVERS, business_key=("order",))
NO_COVERAGE = LedgerSettings()
LATE = replace(COVERS, lag=timedelta(days=30))
ENDED = replace(COVERS, covers_to=BEGIN)
TEN = "2026-11-02T10:00:00Z"
ELSE = [entry("other", tool="pay", conversation_id="other")]

#: What is in the log, in the ledger, what is said of it, and what becomes of the call.
CASES: dict[str, tuple[LogBuilder, list[Entry], LedgerSettings, str]] = {
    "done once": (one_call(DONE), [entry("K1")], COVERS, "matched"),
    "a failure on both sides": (
        one_call(FAILED),
        [entry("K1", status="failed")],
        COVERS,
        "matched",
    ),
    "tried twice, done once": (
        one_call(DONE),
        [entry("K1", time="2026-11-02T10:01:00Z"), entry("K1", status="failed", time=TEN)],
        COVERS,
        "matched",
    ),
    "done, and failed later": (
        one_call(DONE),
        [entry("K1", status="failed", time="2026-11-02T10:01:00Z"), entry("K1", time=TEN)],
        COVERS,
        "ambiguous",
    ),
    "done or failed, nobody knows in which order": (
        one_call(DONE),
        [entry("K1", status="failed"), entry("K1")],
        COVERS,
        "ambiguous",
    ),
    "done, and taken back under its own id: one effect, or two": (
        one_call(DONE),
        [entry("K1"), entry("K1", status="refunded")],
        COVERS,
        "ambiguous",
    ),
    "done twice": (one_call(DONE), [entry("K1"), entry("K1")], COVERS, "duplicated"),
    "done, no result": (one_call(is_open=True), [entry("K1")], COVERS, "result-lost"),
    "done, and the log has a failure": (one_call(FAILED), [entry("K1")], COVERS, "result-lost"),
    "a word that is there without a status": (
        one_call(is_open=True),
        [{"operation_id": "K1", "tool": "pay"}],
        COVERS,
        "result-lost",
    ),
    "not done, as the ledger says": (
        one_call(is_open=True),
        [entry("K1", status="declined")],
        NO_COVERAGE,
        "not-executed",
    ),
    "not done, as nothing is there": (one_call(is_open=True), ELSE, COVERS, "not-executed"),
    "nobody said what is covered": (one_call(is_open=True), ELSE, NO_COVERAGE, "not-covered"),
    "the entry may still come": (one_call(is_open=True), ELSE, LATE, "not-covered"),
    "the ledger ends before": (one_call(is_open=True), ELSE, ENDED, "not-covered"),
    "another tool's ledger": (
        one_call(is_open=True),
        [entry("K1", tool="mail")],
        COVERS,
        "no-ledger",
    ),
    "not in the ledger, and the log has a result": (one_call(DONE), ELSE, COVERS, "not-executed"),
    "the ledger says that it failed": (
        one_call(DONE),
        [entry("K1", status="failed")],
        COVERS,
        "ambiguous",
    ),
    "it may still happen": (one_call(), [entry("K1", status="pending")], COVERS, "ambiguous"),
    "a word that nobody explained": (one_call(), [entry("K1", status="x")], COVERS, "ambiguous"),
    "in another conversation": (
        one_call(DONE),
        [entry("K1", conversation_id="d")],
        COVERS,
        "ambiguous",
    ),
    "of no tool": (one_call(DONE), [entry("K1", tool=None)], COVERS, "ambiguous"),
    "taken back": (one_call(DONE), [entry("K1", status="refunded")], COVERS, "reversed"),
    "taken back by another entry": (
        one_call(DONE),
        [entry("K1"), entry("R1", reverses="K1")],
        COVERS,
        "reversed",
    ),
    "cancelled, and done": (cancelled(), [entry("K1")], COVERS, "cancelled-committed"),
    "cancelled, and not done": (cancelled(), [entry("K1", status="failed")], COVERS, "ambiguous"),
    "another amount": (
        one_call(DONE, amount=10),
        [entry("K1", amount="12")],
        AMOUNT,
        "arguments-differ",
    ),
    "an amount that is spelled otherwise": (
        one_call(DONE, amount=10),
        [entry("K1", amount="10.00")],
        AMOUNT,
        "matched",
    ),
    "an amount that was rounded in the log": (
        one_call(DONE, amount=9007199254740992),
        [entry("K1", amount="9007199254740993")],
        AMOUNT,
        "ambiguous-number",
    ),
    "no amount in the call": (
        one_call(DONE),
        [entry("K1", amount="12")],
        AMOUNT,
        "arguments-differ",
    ),
    "a number that was rounded as the id": (
        one_call(DONE, key=9007199254740992),
        [entry("9007199254740992")],
        COVERS,
        "ambiguous-number",
    ),
    "a number that no double loses as the id": (
        one_call(DONE, key=9007199254740991),
        [entry("9007199254740991")],
        COVERS,
        "matched",
    ),
    "one order under two ids": (
        one_call(DONE),
        [entry("K1", order="o-1"), entry("K2", order="o-1")],
        BUSINESS,
        "duplicated",
    ),
    "one order under two ids, and one of them taken back": (
        one_call(DONE),
        [
            entry("K1", order="o-1"),
            entry("K2", order="o-1"),
            entry("R2", reverses="K2", order="o-1"),
        ],
        BUSINESS,
        "matched",
    ),
    "two orders": (
        one_call(DONE),
        [entry("K1", order="o-1"), entry("K2", order="o-2")],
        BUSINESS,
        "matched",
    ),
    "orders that nobody noted": (one_call(DONE), [entry("K1"), entry("K2")], BUSINESS, "matched"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_became_of_a_call(name: str, tmp_path: Path) -> None:
    log, entries, said, found = CASES[name]
    result = reconciled(tmp_path, log, {"bank": entries}, said)
    (mine,) = [e["class"] for e in result.effects if e["conversation_id"] == "c"]
    assert mine == found
    known = {e["class"] for e in result.effects} - {"matched"}
    if not known:
        assert result.verdict == "ok"
    elif found in ("ambiguous", "ambiguous-number", "not-covered", "no-ledger"):
        assert result.verdict != "ok"
    else:
        assert result.verdict == "failed"


def test_a_call_id_needs_its_conversation(tmp_path: Path) -> None:
    """AX's own ids are unique within a conversation at best."""
    log = LogBuilder("G8")
    for name in ("a", "b"):
        log.turn(name, "hi", call("pay"), DONE)
    told = reconciled(tmp_path, log, {"bank": [entry("call_1"), entry("call_1")]})
    assert [found for *_, found in classes(told)] == ["ambiguous", "ambiguous"]
    assert told.verdict == "inconclusive"
    own = [entry("call_1", conversation_id=name) for name in ("a", "b")]
    told = reconciled(tmp_path, log, {"bank": own})
    assert [found for *_, found in classes(told)] == ["matched", "matched"]
    told = reconciled(tmp_path, log, {"bank": own[:1]})
    assert [found for *_, found in classes(told)] == ["matched", "not-executed"]


def test_calls_that_share_an_id_are_told_apart_by_their_number_alone(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for _ in range(2):
        log.turn("c", "hi", call("pay"), DONE)
    own = [entry("call_1", conversation_id="c")] * 3
    for number, found in ((1, "ambiguous"), (2, "matched"), (3, "ambiguous")):
        told = reconciled(tmp_path, log, {"bank": own[:number]})
        assert [f for *_, f in classes(told)] == [found] * 2


def test_a_key_of_a_whole_run_is_no_operation(tmp_path: Path) -> None:
    """DC-01: two payments under one key, of which the ledger has one."""
    log = LogBuilder("G8")
    log.turn("c", "hi", call("pay", {"key": "run", "amount": 1}), DONE)
    log.turn("c", "hi", call("pay", {"key": "run", "amount": 2}), DONE)
    told = reconciled(tmp_path, log, {"bank": [entry("run")]})
    assert [found for *_, found in classes(told)] == ["ambiguous", "ambiguous"]
    again = LogBuilder("G8")
    again.interrupted("c", "hi", call("pay", {"key": "run", "amount": 1}))
    second = call("pay", {"key": "run", "amount": 1}, "call_2")
    again.turn("c", "hi", second, answer({"ok": True}, call_id="call_2"))
    told = reconciled(tmp_path, again, {"bank": [entry("run")]})
    assert sorted(found for *_, found in classes(told)) == ["matched", "result-lost"]


def test_a_conversation_tells_one_key_apart(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for name, amount in (("a", 1), ("b", 2)):
        log.turn(name, "hi", call("pay", {"key": "K", "amount": amount}), DONE)
    own = [entry("K", conversation_id=name) for name in ("a", "b")]
    told = reconciled(tmp_path, log, {"bank": own})
    assert [found for *_, found in classes(told)] == ["matched", "matched"]
    told = reconciled(tmp_path, log, {"bank": own[:1]})
    assert [found for *_, found in classes(told)] == ["matched", "not-executed"]
    told = reconciled(tmp_path, log, {"bank": [entry("K")] * 2})
    assert [found for *_, found in classes(told)] == ["ambiguous", "ambiguous"]
    told = reconciled(tmp_path, log, {"bank": [*own, entry("K", conversation_id="c")]})
    assert [found for *_, found in classes(told)] == ["ambiguous", "ambiguous"]


def test_many_entries_under_one_key_take_no_room(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for n in range(300):
        log.turn(f"c{n}", "hi", call("pay", {"key": "K"}), DONE)
    told = reconciled(tmp_path, log, {"bank": [entry("K")] * 3_000})
    assert {found for *_, found in classes(told)} == {"duplicated"}
    assert told.measures["duplicated"] == 300


def test_what_a_ledger_may_answer(tmp_path: Path) -> None:
    """DC-02: found, not found, unavailable, two matches, and found with another amount."""
    log = one_call(is_open=True, amount=1)
    found = [entry("K1", amount="1")]
    answers = {
        "result-lost": found,
        "duplicated": found * 2,
        "arguments-differ": [entry("K1", amount="2")],
    }
    for name, entries in answers.items():
        told = reconciled(tmp_path, log, {"bank": entries}, AMOUNT)
        assert classes(told) == [("c", "K1", name)]
    told = reconciled(tmp_path, log, {"bank": ELSE}, NO_COVERAGE)
    assert ("c", "K1", "not-covered") in classes(told)
    gone = (Ledger("gone", str(tmp_path / "gone.csv")),)
    told = reconciled(tmp_path, log, {}, ledgers=gone)
    assert classes(told) == [("c", "K1", "no-ledger")]
    assert told.verdict == "inconclusive"
    assert any("gone.csv cannot be read" in step["observed"] for step in told.steps)


def test_the_ledger_has_what_the_log_does_not_know(tmp_path: Path) -> None:
    """DC-03."""
    log = one_call(DONE, key="K1")
    log.turn("d", "hi", call("pay", {"key": "K3"}), DONE)
    told = reconciled(tmp_path, log, {"bank": [entry(f"K{n}") for n in (1, 2, 3)]})
    assert classes(told) == [
        ("c", "K1", "matched"),
        ("d", "K3", "matched"),
        (None, "K2", "no-call-in-log"),
    ]
    assert told.verdict == "failed"
    tried = [entry("K1"), entry("K3"), entry("K2", status="failed")]
    assert reconciled(tmp_path, log, {"bank": tried}).verdict == "ok"


def test_two_ledgers_agree_or_nobody_knows(tmp_path: Path) -> None:
    log = one_call(DONE)
    same, other = [entry("K1")], [entry("K1", status="failed")]
    assert reconciled(tmp_path, log, {"bank": same, "shop": same}).verdict == "ok"
    told = reconciled(tmp_path, log, {"bank": same, "shop": other})
    assert classes(told) == [("c", "K1", "ambiguous")]


def test_calls_without_consequences_need_no_ledger(tmp_path: Path) -> None:
    log = one_call(DONE)
    log.turn("d", "hi", call("look"), DONE)
    tools = (PAY, Tool("look", consequential=False))
    told = reconciled(tmp_path, log, {"bank": [entry("K1")]}, tools=tools)
    assert told.verdict == "ok"
    assert ("d", "call_1", "no-ledger") in classes(told)
    assert reconciled(tmp_path, log, {"bank": [entry("K1")]}).verdict == "inconclusive"


def test_no_ledger_and_no_call_are_never_ok(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi")
    assert reconciled(tmp_path, log, {}).verdict == "inconclusive"
    assert reconciled(tmp_path, one_call(DONE), {}).verdict == "inconclusive"


def test_a_ledger_that_was_not_read_whole_is_never_ok(tmp_path: Path) -> None:
    log, path = one_call(DONE), tmp_path / "bank.csv"
    path.write_text("operation_id,tool\nK1,pay\nK2\n")
    told = reconciled(tmp_path, log, {}, COVERS, ledgers=(Ledger("bank", str(path)),))
    assert told.verdict == "inconclusive"
    assert classes(told) == [("c", "K1", "matched")]


_TIMED = [
    entry("A", time=(BEGIN + timedelta(hours=1)).isoformat()),
    entry("C", time=(BEGIN + timedelta(hours=3)).isoformat()),
]


def _covering(hours: tuple[int, int]) -> LedgerSettings:
    begins, ends = (BEGIN + timedelta(hours=number) for number in hours)
    return LedgerSettings(covers_from=begins, covers_to=ends)


# --- what would be paid twice --------------------------------------------------------------------

OPEN = one_call(is_open=True)
FAILURES = [entry("K1", status="failed", time=TEN)] * 3
LATER = entry("K1", time="2026-11-02T10:01:00Z")


def found_of(result: Result, conversation: str = "c") -> list[str]:
    return [found for of, _, found in classes(result) if of == conversation]


def test_no_number_of_failures_hides_what_was_done(tmp_path: Path) -> None:
    told = reconciled(tmp_path, OPEN, {"bank": [*FAILURES, LATER]})
    assert found_of(told) == ["result-lost"]
    told = reconciled(tmp_path, one_call(DONE), {"bank": [LATER, *FAILURES, LATER]})
    assert found_of(told) == ["duplicated"]
    abroad = entry("K1", conversation_id="zz")
    told = reconciled(tmp_path, OPEN, {"bank": [*FAILURES, abroad]})
    assert found_of(told) == ["ambiguous"]


def test_a_retry_is_no_clock(tmp_path: Path) -> None:
    """Its effect is that of the first call."""
    log = LogBuilder("G8")
    for name, key in (("z", "A"), ("b", "B"), ("a", "A")):
        if key == "B":
            log.interrupted(name, "hi", call("pay", {"key": "B"}))
        else:
            log.turn(name, "hi", call("pay", {"key": "A"}), DONE)
    told = reconciled(tmp_path, log, {"bank": _TIMED[:1]}, _covering((0, 2)))
    assert found_of(told, "b") == ["not-covered"]


def test_a_failure_in_the_log_is_no_clock(tmp_path: Path) -> None:
    """What failed there may have been done later."""
    log = LogBuilder("G8")
    log.turn("z", "hi", call("pay", {"key": "A"}), FAILED)
    log.interrupted("b", "hi", call("pay", {"key": "B"}))
    late = entry("A", time=(BEGIN + timedelta(hours=3)).isoformat())
    told = reconciled(tmp_path, log, {"bank": [late]}, _covering((2, 2000)))
    assert found_of(told, "b") == ["not-covered"]


@pytest.mark.parametrize(
    "text",
    [
        "operation_id,tool\nother,pay\nK1,pay,extra\n",
        'operation_id,tool\nother,pay\n"",pay\n',
        "operation_id,tool\nother,pay\nK1 ,pay\n",
    ],
)
def test_a_line_that_may_be_the_calls_proves_nothing_of_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(text)
    ledgers = (Ledger("own", str(tmp_path / "own.csv")),)
    told = reconciled(tmp_path, OPEN, {}, {"own": COVERS}, ledgers=ledgers)
    assert found_of(told)[0] in ("not-covered", "result-lost")


def test_ids_that_cannot_meet_prove_nothing(tmp_path: Path) -> None:
    """AX's own id, against a ledger that keeps another one and no conversation."""
    told = reconciled(tmp_path, OPEN, {"bank": [entry("K9")]}, tools=())
    assert found_of(told) == ["not-covered"]
    log = one_call(is_open=True, key=1001)
    told = reconciled(tmp_path, log, {"bank": [{"operation_id": 1001.0, "tool": "pay"}]})
    assert found_of(told) == ["result-lost"]


@pytest.mark.parametrize("key", [" K 1 ", "1001.0", "-7.0", "x.0"])
def test_an_id_meets_itself(key: str, tmp_path: Path) -> None:
    told = reconciled(tmp_path, one_call(DONE, key=key), {"bank": [entry(key)]})
    assert found_of(told) == ["matched"]


@pytest.mark.parametrize("name", [" c ", "c\t"])
def test_a_conversation_is_what_it_is_called(name: str, tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn(name, "hi", call("pay"), DONE)
    told = reconciled(tmp_path, log, {"bank": [entry("call_1", conversation_id=name)]})
    assert found_of(told, name) == ["matched"]


def test_every_ledger_of_a_tool_must_cover_a_call(tmp_path: Path) -> None:
    entries = {"eu": ELSE, "us": ELSE}
    told = reconciled(tmp_path, OPEN, entries, {"eu": COVERS, "us": NO_COVERAGE})
    assert found_of(told) == ["not-covered"]
    assert found_of(reconciled(tmp_path, OPEN, entries)) == ["not-executed"]
    gone = (Ledger("bank", str(tmp_path / "bank.jsonl")), Ledger("gone", "none.csv"))
    told = reconciled(tmp_path, OPEN, {"bank": ELSE}, ledgers=gone)
    assert found_of(told) == ["not-covered"]


def test_a_refused_use_of_a_key_is_no_proof(tmp_path: Path) -> None:
    refused = [entry("K1", status="failed", amount="12")]
    told = reconciled(tmp_path, one_call(is_open=True, amount=10), {"bank": refused}, AMOUNT)
    assert found_of(told) == ["ambiguous"]


def test_a_server_log_without_its_beginning_is_no_clock(tmp_path: Path) -> None:
    log = one_call(is_open=True)
    log.turn("c", "more", call("pay", {"key": "K2"}, "call_2"), answer({}, call_id="call_2"))
    line = {
        "time": (BEGIN + timedelta(hours=1)).isoformat().replace("+00:00", "Z"),
        "level": "INFO",
        "msg": "Executing request",
        "request": 'conversation_id:"c"',
    }
    (tmp_path / "server.log").write_text(json.dumps(line) + "\n")
    asked: dict[str, Any] = {"until": BEGIN + timedelta(hours=2)}
    asked["server_logs"] = [tmp_path / "server.log"]
    said = LedgerSettings(covers_from=BEGIN, covers_to=BEGIN + timedelta(days=1))
    told = reconciled(tmp_path, log, {"bank": ELSE}, said, **asked)
    assert ("c", "K1", "not-covered") in classes(told)


def test_one_key_under_different_arguments_in_two_logs(tmp_path: Path) -> None:
    other = LogBuilder("G8")
    other.turn("d", "hi", call("pay", {"key": "K1", "amount": 2}), DONE)
    second = str(other.write_sqlite(tmp_path / "second.sqlite"))
    first = str(one_call(DONE, amount=1).write_sqlite(tmp_path / "first.sqlite"))
    told = reconciled(tmp_path, OPEN, {"bank": [entry("K1")]}, sources=[first, second])
    assert [found for *_, found in classes(told)] == ["ambiguous", "ambiguous"]
    told = reconciled(tmp_path, OPEN, {"bank": [entry("K1")]}, sources=[first, first])
    assert found_of(told) == ["matched"]


def test_one_order_in_two_conversations(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for name in ("a", "b"):
        log.turn(name, "hi", call("pay"), DONE)
    own = [entry("call_1", conversation_id=name, order="o1") for name in ("a", "b")]
    told = reconciled(tmp_path, log, {"bank": own}, BUSINESS)
    assert [found for *_, found in classes(told)] == ["duplicated", "duplicated"]


def test_what_is_being_taken_back_is_not_sure(tmp_path: Path) -> None:
    back = entry("R1", reverses="K1", status="pending")
    told = reconciled(tmp_path, one_call(DONE), {"bank": [entry("K1"), back]})
    assert found_of(told) == ["ambiguous"]
    log = LogBuilder("G8")
    for name in ("a", "b"):
        log.turn(name, "hi", call("pay"), DONE)
    own = [entry("call_1", conversation_id=name) for name in ("a", "b")]
    own.append(entry("r", conversation_id="a", reverses="call_1"))
    told = reconciled(tmp_path, log, {"bank": own})
    assert (found_of(told, "a")[0], found_of(told, "b")) == ("reversed", ["matched"])


def test_a_second_entry_without_a_conversation_is_not_lost(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", call("pay"), DONE)
    both = [entry("call_1", conversation_id="c"), entry("call_1")]
    assert found_of(reconciled(tmp_path, log, {"bank": both})) == ["ambiguous"]


def test_a_rounded_amount_proves_nothing_by_being_the_same(tmp_path: Path) -> None:
    log = one_call(DONE, amount=9007199254740992)
    same = [entry("K1", amount="9007199254740992")]
    assert found_of(reconciled(tmp_path, log, {"bank": same}, AMOUNT)) == ["ambiguous-number"]


def test_a_key_that_looks_like_a_path_hides_nothing(tmp_path: Path) -> None:
    log = one_call(DONE, **{"amount": 12, "$.amount": 10})
    told = reconciled(tmp_path, log, {"bank": [entry("K1", amount="10")]}, AMOUNT)
    assert found_of(told) == ["arguments-differ"]


@pytest.mark.parametrize(
    "outcome", ["completed", "failed", "declined", "awaiting-decision", "cancelled"]
)
def test_what_has_an_outcome_is_never_simply_repeated(outcome: str) -> None:
    for found in CLASSES:
        for retry in (None, "idempotent", "barrier"):
            assert advise(found, retry, outcome) != "retry"


def test_two_ledgers_may_lie_in_one_file(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "both.sqlite")) as database:
        for table, key in (("bank", "K1"), ("desk", "T1")):
            database.execute(f"create table {table} (operation_id text, tool text)")
            database.execute(f"insert into {table} values ('{key}', 'pay')")
        database.commit()
    place = str(tmp_path / "both.sqlite")
    ledgers = (Ledger("bank", place), Ledger("desk", place))
    said = {name: replace(COVERS, table=name) for name in ("bank", "desk")}
    told = reconciled(tmp_path, one_call(DONE), {}, said, ledgers=ledgers)
    assert classes(told) == [("c", "K1", "matched"), (None, "T1", "no-call-in-log")]


def test_many_of_one_id_take_no_room(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for n in range(400):
        done = answer({}, call_id=f"call_{n}")
        log.turn("c", "hi", call("pay", {"key": "K", "amount": 1}, f"call_{n}"), done)
    many = [entry("K", conversation_id="c", amount="1")] * 2_000
    back = [entry(f"R{n}", reverses="K", conversation_id="c") for n in range(2_000)]
    told = reconciled(tmp_path, log, {"bank": [*many, *back]}, AMOUNT)
    assert told.measures["calls"] == 400
    assert told.verdict == "failed"


# --- when a call was made ------------------------------------------------------------------------


def _three(*names: str) -> LogBuilder:
    log = LogBuilder("G8")
    for name, key in zip(names, "ABC", strict=True):
        if key == "B":
            log.interrupted(name, "hi", call("pay", {"key": key}, f"call_{key}"))
        else:
            done = answer({"ok": True}, call_id=f"call_{key}")
            log.turn(name, "hi", call("pay", {"key": key}, f"call_{key}"), done)
    return log


@pytest.mark.parametrize(
    ("covers", "found"),
    [
        ((0, 5), "not-executed"),
        ((1, 3), "not-executed"),
        ((2, 5), "not-covered"),
        ((0, 2), "not-covered"),
    ],
)
def test_a_call_lies_between_the_effects_around_it(
    covers: tuple[int, int], found: str, tmp_path: Path
) -> None:
    """Without a clock, the order of commits and the times of a ledger tell when it was made."""
    for names in (("z", "b", "c"), ("c", "c", "c")):
        told = reconciled(tmp_path, _three(*names), {"bank": _TIMED}, _covering(covers))
        assert (names[1], "B", found) in classes(told)


def test_rows_that_lie_in_the_order_of_their_keys_are_no_clock(tmp_path: Path) -> None:
    """A table without row numbers, or a log that cannot be told from one."""
    log = _three("a", "b", "c")
    told = reconciled(tmp_path, log, {"bank": _TIMED}, _covering((1, 3)))
    assert ("b", "B", "not-covered") in classes(told)
    mixed = _three("z", "b", "c")
    path = tmp_path / "keyed.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"{log.ddl()} WITHOUT ROWID")
        rows = [(row.conversation_id, row.step, row.payload) for row in mixed.rows]
        database.executemany("insert into conversation_log values (?, ?, ?)", rows)
        database.commit()
    told = reconciled(tmp_path, mixed, {"bank": _TIMED}, _covering((1, 3)), sources=[str(path)])
    assert ("b", "B", "not-covered") in classes(told)


def test_postgresql_keeps_no_order_of_commits(postgres: PostgresServer, tmp_path: Path) -> None:
    for names, found in ((("z", "b", "c"), "not-covered"), (("c", "c", "c"), "not-executed")):
        log, dsn = _three(*names), postgres.create_database()
        log.write_postgres(dsn)
        told = reconciled(tmp_path, log, {"bank": _TIMED}, _covering((1, 3)), sources=[dsn])
        assert (names[1], "B", found) in classes(told)


def test_what_a_person_knows_of_the_time_decides(tmp_path: Path) -> None:
    said = LedgerSettings(covers_from=BEGIN, covers_to=BEGIN + timedelta(days=1))
    log, entries = one_call(is_open=True), {"bank": ELSE}
    inside = {"since": BEGIN + timedelta(hours=1), "until": BEGIN + timedelta(hours=2)}
    assert ("c", "K1", "not-executed") in classes(
        reconciled(tmp_path, log, entries, said, **inside)
    )
    for beyond in ({"since": BEGIN - timedelta(1)}, {"until": BEGIN + timedelta(2)}):
        told = reconciled(tmp_path, log, entries, said, **(inside | beyond))
        assert ("c", "K1", "not-covered") in classes(told)


def test_a_server_log_is_a_clock(tmp_path: Path) -> None:
    said = LedgerSettings(covers_from=BEGIN, covers_to=BEGIN + timedelta(days=1))
    line = {
        "time": (BEGIN + timedelta(hours=1)).isoformat().replace("+00:00", "Z"),
        "level": "INFO",
        "msg": "Executing request",
        "request": 'conversation_id:"c"',
    }
    path = tmp_path / "server.log"
    path.write_text(json.dumps(line) + "\n")
    asked: dict[str, Any] = {"until": BEGIN + timedelta(hours=2)}
    log = one_call(is_open=True)
    told = reconciled(tmp_path, log, {"bank": ELSE}, said, **asked)
    assert ("c", "K1", "not-covered") in classes(told)
    told = reconciled(tmp_path, log, {"bank": ELSE}, said, server_logs=[path], **asked)
    assert ("c", "K1", "not-executed") in classes(told)


# --- real servers --------------------------------------------------------------------------------

_RECORDED = [log for log in ax_logs.sqlite_logs() if log.sqlite.exists() and "ledger" in log.truth]


@pytest.mark.parametrize("real", _RECORDED, ids=lambda log: log.name)
def test_recorded_ledgers_tell_what_their_scripts_did(
    real: ax_logs.RealLog, tmp_path: Path
) -> None:
    """Held against a join of its own: by conversation, id and tool."""
    path = tmp_path / "ledger.jsonl"
    ledger = real.truth["ledger"]
    names = {"cid": "conversation_id", "op": "operation_id", "name": "tool", "t": "time"}
    entries = [{ours: line[theirs] for theirs, ours in names.items()} for line in ledger]
    path.write_text("".join(json.dumps(line) + "\n" for line in entries))
    result = run(
        sources=[str(real.sqlite)],
        ledgers=[Ledger("tools", str(path))],
        until=datetime(2026, 12, 30, tzinfo=UTC),
        settings=Settings(
            ledgers={"tools": replace(COVERS, covers_to=datetime(2027, 1, 1, tzinfo=UTC))}
        ),
    )
    did = Counter((e["conversation_id"], e["operation_id"], e["tool"]) for e in entries)
    tools = {e["tool"] for e in entries}
    calls = [e for e in result.effects if e["step"] is not None]
    for told in calls:
        key = told["conversation_id"], told["operation_id"], told["tool"]
        if told["tool"] not in tools:
            assert told["class"] == "no-ledger"
        elif not did[key]:
            assert told["class"] == "not-executed"
        else:
            done = told["outcome"] == "completed"
            assert told["class"] == ("matched" if done else "result-lost"), told
    asked = Counter((e["conversation_id"], e["operation_id"], e["tool"]) for e in calls)
    beyond = Counter(
        (e["conversation_id"], e["operation_id"], e["tool"])
        for e in result.effects
        if e["class"] == "no-call-in-log"
    )
    assert beyond == did - asked
    assert sum(result.measures[name.replace("-", "_")] for name in CLASSES) == len(result.effects)


def test_the_sample_ledger_tells_what_the_readme_says() -> None:
    sample = Path(__file__).parents[2] / "sample_data"
    result = run(
        sources=[str(sample / "log.sqlite")],
        ledgers=[Ledger("tools", str(sample / "ledger.jsonl"))],
        settings=Settings.read(sample / "axnb.toml"),
    )
    numbers = {name: number for name, number in result.measures.items() if number}
    assert numbers == {
        "calls": 58,
        "matched": 4,
        "no_ledger": 48,
        "not_covered": 1,
        "not_executed": 2,
        "result_lost": 3,
        "no_call_in_log": 1,
    }


# --- what is always true -------------------------------------------------------------------------

_TURNS = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(["pay", "mail"]), max_size=3)),
    min_size=1,
    max_size=6,
).filter(lambda turns: any(tools for _, tools in turns))


@settings(max_examples=12)
@given(_TURNS, st.booleans())
def test_a_log_and_its_own_ledger_are_ok(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, list[str]]], by_rule: bool
) -> None:
    log, entries = LogBuilder("G8"), []
    for n, (conversation, tools) in enumerate(turns):
        parts: list[Part] = []
        for m, tool in enumerate(tools):
            name = f"{n}-{m}"
            parts += [call(tool, {"key": name}, name), answer({"ok": 1}, tool, name)]
            more = {} if by_rule else {"conversation_id": conversation}
            entries.append(entry(name, tool=tool, **more))
        log.turn(conversation, "hi", *parts)
    rules = (PAY, Tool("mail", "$.key")) if by_rule else ()
    folder = tmp_path_factory.mktemp("own")
    result = reconciled(folder, log, {"bank": entries}, tools=rules)
    assert result.verdict == "ok"
    assert {found for *_, found in classes(result)} == {"matched"}
    less = reconciled(
        folder, log, {"bank": [*entries[1:], entry("x", tool=entries[0]["tool"])]}, tools=rules
    )
    assert less.verdict == "failed"


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_text_breaks_a_comparison(arguments: str, text: str) -> None:
    for told in (arguments, json.dumps({"a": arguments}), None):
        assert compare(told, ["$.a"], [text]) in ("same", "differs", "rounded")
    assert compare(json.dumps({"a": text}), ["$.a"], [text]) == "same"


def test_a_barrier_asks_for_a_person() -> None:
    found = {
        retry: {name: advise(name, retry) for name in CLASSES}
        for retry in (None, "read", "idempotent", "barrier")
    }
    assert {advice["matched"] for advice in found.values()} == {"nothing"}
    assert {advice["result-lost"] for advice in found.values()} == {"never"}
    assert {advice["duplicated"] for advice in found.values()} == {"human-decision"}
    assert set(found["barrier"].values()) == {"nothing", "never", "human-decision"}
    assert [found[r]["not-executed"] for r in (None, "read", "idempotent")] == [
        "read-before-retry",
        "retry",
        "retry",
    ]
    assert found["idempotent"]["ambiguous-number"] == "human-decision"
    assert found[None]["no-ledger"] == "read-before-retry"
    assert advise("not-executed", "idempotent", "completed") == "human-decision"


# --- what is asked -------------------------------------------------------------------------------

Cli = Callable[..., Any]


def test_the_verb_writes_a_result_folder(axnb: Cli, tmp_path: Path) -> None:
    log = one_call(is_open=True).write_sqlite(tmp_path / "log.sqlite")
    (tmp_path / "bank.csv").write_text("operation_id,tool\nK1,pay\n<script>,pay\n")
    (tmp_path / "axnb.toml").write_text('[tools.pay]\noperation_id = "$.key"\nretry = "barrier"\n')
    words = ["--effects", f"bank={tmp_path / 'bank.csv'}", "--settings", tmp_path / "axnb.toml"]
    done = axnb("drill", "reconciliation", log, *words, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "1 done, its result is lost" in done.stdout
    found = Result.read(tmp_path / "out")
    assert classes(found) == [("c", "K1", "result-lost"), (None, "<script>", "no-call-in-log")]
    assert "<script>K" not in (tmp_path / "out" / "report.html").read_text()
    again = axnb("drill", "reconciliation", log, *words, "--json")
    assert json.loads(again.stdout)["effects"] == list(found.effects)


def test_a_work_list_is_for_a_spreadsheet_and_runs_nothing(axnb: Cli, tmp_path: Path) -> None:
    log = one_call(is_open=True, key='=cmd|"/c calc"!A1').write_sqlite(tmp_path / "log.sqlite")
    (tmp_path / "bank.csv").write_text("operation_id,tool\n\x1b[31mred,pay\n@x,pay\n")
    (tmp_path / "axnb.toml").write_text('[tools.pay]\noperation_id = "$.key"\n')
    words = ["--effects", f"bank={tmp_path / 'bank.csv'}", "--settings", tmp_path / "axnb.toml"]
    done = axnb("drill", "reconciliation", log, *words, "--work-list", tmp_path / "todo.csv")
    assert done.exit_code == 1
    text = (tmp_path / "todo.csv").read_text(encoding="utf-8")
    assert "\x1b" not in text
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["class"] for row in rows] == ["no-call-in-log", "no-call-in-log", "not-covered"]
    assert [row["operation_id"][:2] for row in rows][1:] == ["'@", "'="]


def test_a_plan_tells_each_operation(tmp_path: Path) -> None:
    log = one_call(is_open=True)
    log.turn("d", "hi", call("pay", {"key": "K2"}), DONE)
    plan = reconciled(tmp_path, log, {"bank": [entry("K1"), entry("K2")]}).plan
    assert "# 1. pay K1: result lost" in plan
    assert "c, step 2; bank entry 1" in plan
    assert "Never make it again." in plan
    assert "K2" not in plan
    assert all(line.startswith("#") for line in plan.splitlines())
    well = one_call(DONE)
    assert reconciled(tmp_path, well, {"bank": [entry("K1")]}).plan == ""


def test_many_tools_have_one_check_more(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for n in range(120):
        log.turn("c", "hi", call(f"t{n:03}", {}, f"id-{n}"), answer({}, f"t{n:03}", f"id-{n}"))
    result = reconciled(tmp_path, log, {})
    assert [step["check"] for step in result.steps][-2:] == ["other-tools", "read-whole"]
    assert result.steps[-2]["observed"] == "20 tools"
    assert result.measures["no_ledger"] == 120


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--effects", "bank"], 2, "NAME=PLACE"),
        (["--effects", "a=x", "--effects", "a=y"], 2, "two ledgers alike"),
        (["--since", "yesterday"], 2, "--since"),
        (["--until", "2026-11-01T00:00:00"], 2, "--until"),
        (["--since", "2026-11-02T00:00:00Z", "--until", "2026-11-01T00:00:00Z"], 2, "after"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(
    words: list[str], code: int, told: str, axnb: Cli, tmp_path: Path
) -> None:
    log = one_call(DONE).write_sqlite(tmp_path / "log.sqlite")
    done = axnb("drill", "reconciliation", log, *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert told in done.stderr.splitlines()[-1]


def test_a_log_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        run(sources=[str(tmp_path / "none.sqlite")])
    with pytest.raises(UsageError):
        parse_moment("--since", "2026-11-01")
