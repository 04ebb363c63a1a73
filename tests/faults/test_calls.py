"""Tool calls and what came of them: unknown, lost, repeated, waiting, cut off."""

from __future__ import annotations

import pytest

from axnb.ax.rows import Part, Row
from axnb.ax.versions import GENERATIONS
from axnb.settings import Tool
from axnb.testing.logs import LogBuilder, answer, ask, call, decide, say
from axnb.triaging import Triage
from tests.checks.pairs import Evidence, seen, triage_of

_KEYED = (Tool("refund", "$.key"),)


def _log(*parts: Part, ends: bool = True, generation: str = "G8") -> LogBuilder:
    """A turn of `c` after another conversation's, whose harness logs results."""
    log = LogBuilder(generation)
    log.turn("fine", "hi", call("charge"), answer({"ok": True}))
    (log.turn if ends else log.interrupted)("c", "hi", *parts)
    return log


def _outcomes(found: Triage) -> dict[str, int]:
    return next(c.calls for c in found.conversations if c.conversation_id == "c")


def _action(found: Triage) -> str:
    return next(c.action for c in found.conversations if c.conversation_id == "c")


def _ids(found: Triage) -> set[str]:
    return {finding.id for finding in found.findings if finding.severity != "info"}


# --- no result -----------------------------------------------------------------------------------


def test_a_call_without_a_result_after_a_crash_is_unknown() -> None:
    """A user's text came after it; the next request is blocked until somebody has read it back."""
    log = _log(call("charge", {"n": 1}), ends=False)
    log.interrupted("c", "are you there?")
    found = triage_of(log)
    assert _outcomes(found) == {"unknown": 1}
    assert seen(found.findings, "AX203") == [("c", 2, [2])]
    assert seen(found.findings, "AX110") == [("c", 3, [3])]
    (blocked,) = (c.next for c in found.conversations if c.conversation_id == "c")
    assert (blocked.empty, blocked.input) == ("blocked", "blocked")
    assert _action(found) == "read-back-then-unblock"


@pytest.mark.parametrize(
    ("generation", "ends"),
    [
        pytest.param(name, ends, marks=() if ends == bool(n % 2) else (pytest.mark.slow,))
        for n, name in enumerate(GENERATIONS)
        for ends in (True, False)
    ],
)
def test_no_result_never_means_not_executed(generation: str, ends: bool) -> None:
    """No generation's log makes it safe to run again; the answer is never ok."""
    found = triage_of(_log(call("charge"), say("so"), ends=ends, generation=generation), generation)
    assert _outcomes(found) == {"unknown": 1}
    read_back = ("read-back-then-unblock", "read-back-then-resume")
    assert _action(found) in (("do-not-touch",) if generation in ("G3", "G4") else read_back)
    assert found.verdict == ("inconclusive" if ends else "failed")
    told = [f.sentence for f in found.findings if f.id == "AX203"]
    assert told == ["charge call_1: no result was logged."]


# --- ids -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "http_get"])
def test_calls_without_own_ids_are_paired_by_order(name: str) -> None:
    """No ids at all, or the tool's name in their place: a guess, and it says so."""
    calls = [call("http_get", {"n": n}, name) for n in range(2)]
    results = [answer({"n": n}, "http_get", name) for n in range(2)]
    found = triage_of(_log(*calls, *results))
    assert _outcomes(found) == {"completed": 2}
    assert _ids(found) == ({"AX206"} if name else set())


def test_which_of_two_calls_went_unanswered_cannot_be_told() -> None:
    """Two calls, one result, no ids: one of two is unknown."""
    calls = [call("http_get", {"n": n}, "") for n in range(2)]
    found = triage_of(_log(*calls, answer({"n": 0}, "http_get", "")))
    assert _outcomes(found) == {"completed": 1, "unknown": 1}
    told = [f.sentence for f in found.findings if f.id == "AX202"]
    assert told == ["1 of 2 calls that were open together has no result."]


def test_equal_numbers_of_calls_and_results_prove_nothing() -> None:
    """Three of each, and still a call without a result and a result without a call."""
    calls = [call("charge", {"n": n}, f"call_{n}") for n in range(3)]
    results = [answer({"n": n}, "charge", f"call_{n}") for n in (0, 1, 7)]
    found = triage_of(_log(*calls, *results))
    assert seen(found.findings, "AX201") == [("c", 7, [7])]
    assert seen(found.findings, "AX203") == [("c", 4, [4])]
    assert found.verdict == "inconclusive"


# --- people --------------------------------------------------------------------------------------


def test_a_question_that_waits_is_no_unknown_outcome() -> None:
    """The tool has not run: somebody has to decide, and nothing is to be read back."""
    found = triage_of(_log(call("wipe", {}, "q"), ask("Wipe?", "q")))
    assert _outcomes(found) == {"awaiting-decision": 1}
    assert _action(found) == "decide"
    assert not _ids(found) & {"AX203", "AX212", "AX113"}


def test_what_was_approved_and_did_not_start_is_told() -> None:
    """Approved, and no call followed."""
    found = triage_of(_log(ask("Wipe?", "q"), decide("approved", "q"), say("so")))
    assert seen(found.findings, "AX212") == [("c", 3, [3])]
    approved = triage_of(_log(call("wipe", {}, "q"), ask("Wipe?", "q"), decide("approved", "q")))
    assert _outcomes(approved) == {"unknown": 1}
    assert seen(approved.findings, "AX203") == [("c", 2, [2])]


def test_what_was_declined_is_closed() -> None:
    """Nothing ran, and nothing is to be done."""
    found = triage_of(_log(call("wipe", {}, "q"), ask("Wipe?", "q"), decide("declined", "q")))
    assert _outcomes(found) == {"declined": 1}
    assert _ids(found) == set()
    assert (_action(found), found.verdict) == ("nothing", "ok")


# --- results that are none -----------------------------------------------------------------------

_PLACEHOLDERS = (
    "Tool execution was interrupted",
    "[Request cancelled by user]",
    "aborted",
    "The process was killed before the tool finished",
    "No result: the session was restarted",
    "placeholder for a call that never completed",
    "not executed",
)


@pytest.mark.parametrize("text", _PLACEHOLDERS)
def test_an_invented_result_is_no_result(text: str) -> None:
    """A repair puts an answer where a model demands one; whoever made it saw no outcome."""
    found = triage_of(_log(call("charge"), answer({"error": text}, is_error=True)))
    assert _outcomes(found) == {"placeholder": 1}
    told = [f.sentence for f in found.findings if f.id == "AX203"]
    assert told == ["charge call_1: its result is a placeholder."]
    assert found.verdict == "inconclusive"


def test_an_error_without_any_data_is_no_outcome() -> None:
    """There is nothing in it to tell by what it says."""
    result = Part("tool_result", "user", call_id="call_1", tool="charge", is_error=True)
    assert _outcomes(triage_of(_log(call("charge"), result))) == {"placeholder": 1}


def test_data_that_speaks_of_cancelling_is_a_result() -> None:
    """Only an error can be a placeholder: tools tell of cancelled orders all day."""
    found = triage_of(_log(call("list_orders"), answer({"orders": ["cancelled", "aborted"]})))
    assert _outcomes(found) == {"completed": 1}
    assert _ids(found) == set()


@pytest.mark.parametrize("text", ["deadline exceeded", "Read timed out", "503 Service Unavailable"])
def test_a_time_out_is_unknown_and_its_retry_a_possible_double(text: str) -> None:
    """The worker started the task again while the first went on."""
    late = answer({"error": text}, "charge", "a", is_error=True)
    again = call("charge", {"n": 1, "to": "x"}, "b"), answer({"ok": True}, "charge", "b")
    found = triage_of(_log(call("charge", {"to": "x", "n": 1.0}, "a"), late, *again))
    assert _outcomes(found) == {"unknown": 1, "completed": 1}
    assert seen(found.findings, "AX211") == [("c", 4, [2, 4])]
    assert seen(found.findings, "AX203") == [("c", 2, [2])]


def test_an_ordinary_error_is_a_failure_and_its_retry_is_none() -> None:
    """The tool looked at the call and refused it."""
    refused = answer({"error": "card number is invalid"}, "charge", "a", is_error=True)
    again = call("charge", {"n": 1}, "b"), answer({"ok": True}, "charge", "b")
    found = triage_of(_log(call("charge", {"n": 1}, "a"), refused, *again))
    assert _outcomes(found) == {"failed": 1, "completed": 1}
    assert _ids(found) == set()


def test_work_that_goes_on_is_no_result() -> None:
    """The answer says that there is none yet."""
    found = triage_of(_log(call("export"), answer({"status": "running", "job": "j1"})))
    assert _outcomes(found) == {"placeholder": 1}
    assert found.verdict == "inconclusive"


# --- streams -------------------------------------------------------------------------------------


def test_one_call_that_was_logged_while_it_streamed_is_one() -> None:
    """Three observations, one call."""
    found = triage_of(_log(*[call("charge", {"n": 1})] * 3, answer({"ok": True})))
    assert _outcomes(found) == {"completed": 1}
    assert seen(found.findings, "AX106") == [("c", 2, [2, 3])]
    assert "AX206" not in _ids(found)


def test_arguments_that_change_under_one_id_are_a_conflict() -> None:
    """A part of the arguments, then all of them: which call the result is of is a guess."""
    parts = [call("charge", {}), call("charge", {"n": 1}), call("charge", {"n": 1})]
    found = triage_of(_log(*parts, answer({"ok": True})))
    assert seen(found.findings, "AX206") == [("c", 3, [2, 3])]
    assert seen(found.findings, "AX106") == [("c", 3, [3, 4])]


def test_a_call_that_is_cut_off_is_not_one_that_was_sent() -> None:
    """Arguments that are cut off: nobody knows whether it was sent. Whole ones: it was."""
    whole = _log(call("charge", {"n": 1}), ends=False)
    sent = triage_of(whole)
    assert _outcomes(sent) == {"unknown": 1}
    assert _ids(sent) == {"AX110", "AX203"}
    row = whole.rows[-1]
    whole.rows[-1] = type(row)("c", row.step, row.payload[: row.payload.index('"n":1')])
    cut = triage_of(whole)
    assert _outcomes(cut) == {}
    assert seen(cut.findings, "AX133") == [("c", 2, [2])]
    assert "AX203" not in _ids(cut)
    assert cut.verdict == "failed"


def test_how_long_a_turn_has_been_open_is_told_where_a_server_log_tells() -> None:
    """The log alone has no times: it never says that a turn is in progress."""
    log = _log(call("charge"), ends=False)
    assert triage_of(log).last_seen is None
    line = {
        "time": "2026-08-14T12:00:00Z",
        "level": "WARN",
        "msg": "Failed to log streamed message to event log",
        "conversation_id": "c",
        "error": "sql: database is closed",
    }
    found = triage_of(Evidence(log, server_log=(line,)))
    (state,) = ((c.state, c.last_seen) for c in found.conversations if c.conversation_id == "c")
    assert state == ("interrupted", "2026-08-14T12:00:00.000000Z")


# --- effects that are done again -----------------------------------------------------------------


def test_an_operation_that_ran_again_is_found_by_its_business_key() -> None:
    """A finished refund ran again after a resume, under another call id."""
    first = call("refund", {"key": "order-4"}, "a"), answer({"ok": True}, "refund", "a")
    log = _log(*first, ends=False)
    log.add(Row("c", 3))
    log.turn("c", "go on", call("refund", {"key": "order-4"}, "b"), answer({}, "refund", "b"))
    found = triage_of(Evidence(log, tools=_KEYED))
    assert seen(found.findings, "AX207") == [("c", 6, [6])]
    told = [f.sentence for f in found.findings if f.id == "AX207"]
    assert told == ["operation order-4 of refund is asked for by 2 calls, first at step 2 of c."]


def test_without_a_rule_nobody_can_tell_that_it_is_the_same_operation() -> None:
    """Equal arguments may be two operations: what is missing is told, and no double is claimed."""
    first = call("refund", {"key": "order-4"}, "a"), answer({"ok": True}, "refund", "a")
    again = call("refund", {"key": "order-4"}, "b"), answer({"ok": True}, "refund", "b")
    found = triage_of(_log(*first, *again))
    assert _ids(found) == set()
    told = [f.sentence for f in found.findings if f.id == "AX208"]
    assert "refund has no operation id of its own: 2 calls are known by a call id." in told


def test_the_same_operation_in_another_conversation_is_found() -> None:
    """Two conversations paid one order back."""
    log = LogBuilder("G8")
    for name in ("c", "d"):
        part = call("refund", {"key": "order-4"}, "a"), answer({"ok": True}, "refund", "a")
        log.turn(name, "hi", *part)
    found = triage_of(Evidence(log, tools=_KEYED))
    assert seen(found.findings, "AX207") == [("d", 2, [2])]
