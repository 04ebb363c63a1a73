"""Which result belongs to which call, where ids do not say it.

The cases are those that people have lost money or days to: calls without ids, ids that are used
again, results before or without their call, the same call logged several times.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.ax import rows
from axnb.ax.rows import Part, Row
from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.case.pairing import Mark, PairedCall, Pairs, pair
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate

LOGS = Path(__file__).parents[1] / "data" / "ax-logs"


def marks(*texts: str) -> list[Mark]:
    """Marks in order, each written as `call ID TOOL ARGUMENTS` or `result ID TOOL`.

    `-` stands for nothing; a lone `/` begins the next turn.
    """
    found = []
    turn = 1
    for position, text in enumerate(texts, 1):
        if text == "/":
            turn += 1
            continue
        kind, call_id, tool, *rest = (*text.split(), "f")[:4]
        found.append(
            Mark(
                conversation=1,
                turn=turn,
                step=position,
                position=position,
                row=position,
                part=1,
                kind=f"tool_{kind}",
                call_id=call_id.replace("-", ""),
                tool=tool.replace("-", ""),
                signal=None,
                arguments="".join(rest[:1]) if kind == "call" else None,
            )
        )
    return found


def story(pairs: Pairs) -> list[tuple[int, int | None, str | None]]:
    """For each call: its step, the step of its result, and how sure that is."""
    return [
        (paired.call.position, paired.result.position if paired.result else None, paired.pairing)
        for paired in pairs.calls
    ]


def orphans(pairs: Pairs) -> list[int]:
    """The steps of results that no call claims."""
    return [mark.position for mark in pairs.orphans]


# --- ids that say it all -----------------------------------------------------------------------


def test_parallel_calls_are_told_apart_by_their_ids() -> None:
    """Results may come in any order."""
    pairs = pair(marks("call a f 1", "call b f 1", "result b f", "result a f"))
    assert story(pairs) == [(1, 4, "id"), (2, 3, "id")]
    assert not pairs.orphans


def test_one_of_two_parallel_calls_has_no_answer() -> None:
    """It stays open; the other's result is not its."""
    assert story(pair(marks("call a f 1", "call b f 2", "result a f"))) == [
        (1, 3, "id"),
        (2, None, None),
    ]


def test_an_id_may_be_used_again() -> None:
    """Each result answers the call before it, and the last call is open."""
    pairs = pair(marks("call a f 1", "result a f", "call a f 2"))
    assert story(pairs) == [(1, 2, "id"), (3, None, None)]


def test_an_id_may_be_used_again_in_the_next_turn() -> None:
    """Models count from one again in every turn."""
    pairs = pair(marks("call a f 1", "result a f", "/", "call a f 1", "result a f"))
    assert story(pairs) == [(1, 2, "id"), (4, 5, "id")]


def test_another_tools_result_is_no_answer() -> None:
    """Not even under the same id."""
    pairs = pair(marks("call a f 1", "result a g"))
    assert story(pairs) == [(1, None, None)]
    assert orphans(pairs) == [2]


def test_a_result_without_a_tool_fits_by_its_id() -> None:
    """The tool is not always logged with the result."""
    assert story(pair(marks("call a f 1", "result a -"))) == [(1, 2, "id")]


def test_a_call_without_a_tool_leaves_a_result_to_the_call_of_its_tool() -> None:
    pairs = pair(marks("call a - 1", "call a g 1", "result a g", "result a f"))
    assert story(pairs) == [(1, 4, "inferred"), (2, 3, "inferred")]
    assert orphans(pairs) == []


def test_a_placeholder_is_replaced_by_the_answer() -> None:
    """Two results of one call: the later one counts."""
    pairs = pair(marks("call a f 1", "result a f", "result a f"))
    assert story(pairs) == [(1, 3, "id")]
    assert not pairs.orphans


def test_an_answer_in_a_later_turn_is_a_guess() -> None:
    """The call was interrupted, and something answered it afterwards."""
    assert story(pair(marks("call a f 1", "/", "result a f"))) == [(1, 3, "inferred")]


def test_a_result_before_its_call_is_a_guess() -> None:
    """As harnesses log it that write down what they have done."""
    pairs = pair(marks("result a f", "call a f 1"))
    assert story(pairs) == [(2, 1, "inferred")]
    assert not pairs.orphans


def test_a_result_before_its_call_counts_within_its_turn_only() -> None:
    """A call of the next turn is another one."""
    pairs = pair(marks("result a f", "/", "call a f 1"))
    assert story(pairs) == [(3, None, None)]
    assert orphans(pairs) == [1]


# --- no ids, or ids that are the name of the tool ----------------------------------------------


def test_two_calls_and_two_results_without_ids() -> None:
    """Paired in order, and said to be a guess."""
    pairs = pair(marks("call - get 1", "call - get 2", "result - get", "result - get"))
    assert story(pairs) == [(1, 3, "inferred"), (2, 4, "inferred")]


def test_two_calls_and_one_result_without_ids() -> None:
    """One of them has no answer, and nobody can say which: both are guesses."""
    pairs = pair(marks("call - get 1", "call - get 2", "result - get"))
    assert story(pairs) == [(1, 3, "inferred"), (2, None, "inferred")]


def test_one_call_at_a_time_without_ids() -> None:
    """Then order is enough."""
    pairs = pair(marks("call - f 1", "result - f", "call - f 2", "result - f", "call - f 3"))
    assert story(pairs) == [(1, 2, "order"), (3, 4, "order"), (5, None, None)]


def test_calls_of_two_tools_without_ids() -> None:
    """The names tell them apart."""
    pairs = pair(marks("call - f 1", "call - g 1", "result - g", "result - f"))
    assert story(pairs) == [(1, 4, "order"), (2, 3, "order")]


def test_equal_calls_without_ids_are_two_calls() -> None:
    """Two equal payments are two payments."""
    pairs = pair(marks("call - pay 1", "call - pay 1", "result - pay", "result - pay"))
    assert [paired.observations for paired in pairs.calls] == [1, 1]


def test_a_result_too_many_without_an_id() -> None:
    """It is an orphan, and no answer to a call that has one."""
    pairs = pair(marks("call - f 1", "result - f", "result - f"))
    assert story(pairs) == [(1, 2, "order")]
    assert orphans(pairs) == [3]


def test_results_without_ids_stay_in_their_turn() -> None:
    """Order means nothing across turns."""
    pairs = pair(marks("call - f 1", "/", "result - f"))
    assert story(pairs) == [(1, None, None)]
    assert orphans(pairs) == [3]


def test_ids_that_are_the_name_of_the_tool() -> None:
    """Parallel calls under one id are paired in order, as a guess: no result gets lost."""
    pairs = pair(marks("call get get 1", "call get get 2", "result get get", "result get get"))
    assert story(pairs) == [(1, 3, "inferred"), (2, 4, "inferred")]


# --- results without a call --------------------------------------------------------------------


def test_equal_numbers_of_calls_and_results_prove_nothing() -> None:
    """Three and three, and yet one call is open and one result is nobody's."""
    pairs = pair(
        marks("call a f 1", "call b f 1", "call c f 1", "result a f", "result b f", "result x f")
    )
    assert story(pairs) == [(1, 4, "id"), (2, 5, "id"), (3, None, None)]
    assert orphans(pairs) == [6]


def test_a_result_whose_call_was_never_logged() -> None:
    """The losing writer's row is gone without a gap; its result is all that shows it."""
    pairs = pair(marks("call a f 1", "result a f", "result b f"))
    assert orphans(pairs) == [3]


def test_a_lost_call_under_an_id_that_was_used_before() -> None:
    """Ids begin again in each turn, so an answered call of an earlier turn is no explanation."""
    pairs = pair(marks("call a f 1", "result a f", "/", "result a f"))
    assert story(pairs) == [(1, 2, "id")]
    assert orphans(pairs) == [4]


def test_a_late_answer_after_a_placeholder_is_no_orphan() -> None:
    """A call that was answered by a placeholder only is still waiting in the next turn."""
    call, placeholder, answer = marks("call a f 1", "result a f", "/", "result a f")
    for signal in ("pending", "placeholder"):
        pairs = pair([call, replace(placeholder, signal=signal), answer])
        assert story(pairs) == [(1, 4, "inferred")]
        assert not pairs.orphans


# --- the same call, logged again ---------------------------------------------------------------


def test_one_call_that_was_logged_three_times() -> None:
    """Streaming tells it in pieces: one call, three observations."""
    pairs = pair(marks("call a f 1", "call a f 1", "call a f 1", "result a f"))
    assert story(pairs) == [(1, 4, "id")]
    assert pairs.calls[0].observations == 3


def test_other_arguments_under_one_id_are_another_call() -> None:
    """What looks like one call may be two effects."""
    pairs = pair(marks("call a f 1", "call a f 1", "call a f 2", "result a f"))
    assert [paired.observations for paired in pairs.calls] == [2, 1]
    assert sum(paired.result is not None for paired in pairs.calls) == 1


def test_a_call_again_after_its_result_is_another_call() -> None:
    """A retry, or the same rows appended twice: two effects, as far as a log can tell."""
    pairs = pair(marks("call a f 1", "result a f", "call a f 1", "result a f"))
    assert story(pairs) == [(1, 2, "id"), (3, 4, "id")]


def test_a_step_that_was_stored_under_two_numbers() -> None:
    """After a failover both writers logged the same call; it is one, seen twice."""
    pairs = pair(marks("call a f 1", "call a f 1", "result a f", "result a f"))
    assert len(pairs.calls) == 1
    assert pairs.calls[0].observations == 2
    assert not pairs.orphans


# --- laws --------------------------------------------------------------------------------------

_MARKS = st.lists(
    st.builds(
        lambda kind, call_id, tool, arguments: (kind, call_id, tool, arguments),
        st.sampled_from(["call", "call", "result", "result", "result", "/"]),
        st.sampled_from(["a", "a", "-", "b"]),
        st.sampled_from(["f", "f", "f", "g", "-"]),
        st.sampled_from("12"),
    ),
    min_size=2,
    max_size=12,
).map(lambda texts: marks(*("/" if t[0] == "/" else " ".join(t) for t in texts)))


def results(pairs: Pairs) -> Iterator[tuple[PairedCall, Mark]]:
    """The pairs that have a result."""
    for paired in pairs.calls:
        if paired.result is not None:
            yield paired, paired.result


@given(_MARKS)
@settings(deadline=None, max_examples=150)
def test_every_call_is_counted_once(found: list[Mark]) -> None:
    """A call that was logged again is an observation of one that is there."""
    pairs = pair(found)
    calls = [mark for mark in found if mark.kind == "tool_call"]
    assert sum(paired.observations for paired in pairs.calls) == len(calls)
    assert {paired.call for paired in pairs.calls} <= set(calls)
    assert [paired.call.place for paired in pairs.calls] == sorted(
        paired.call.place for paired in pairs.calls
    )


@given(_MARKS)
@settings(deadline=None, max_examples=150)
def test_a_result_is_used_once_or_is_an_orphan(found: list[Mark]) -> None:
    """Or a later one took its place, at a call with an id."""
    pairs = pair(found)
    used = Counter([result for _, result in results(pairs)] + pairs.orphans)
    assert all(count == 1 for count in used.values())
    assert all(mark.kind == "tool_result" for mark in used)
    for lost in (mark for mark in found if mark.kind == "tool_result" and mark not in used):
        assert lost.call_id
        assert any(
            result.call_id == lost.call_id and result.place > lost.place
            for _, result in results(pairs)
        )


@given(_MARKS)
@settings(deadline=None, max_examples=150)
def test_no_result_gets_lost_while_a_call_waits_for_it(found: list[Mark]) -> None:
    """A result may replace another only where no open call before it could have had it."""
    pairs = pair(found)
    used = {result for _, result in results(pairs)} | set(pairs.orphans)
    for lost in (mark for mark in found if mark.kind == "tool_result" and mark not in used):
        assert not [
            paired
            for paired in pairs.calls
            if paired.result is None
            and paired.call.call_id == lost.call_id
            and paired.call.turn == lost.turn
            and paired.call.place < lost.place
            and paired.call.tool == lost.tool
        ]


@given(_MARKS)
@settings(deadline=None, max_examples=150)
def test_a_pairing_says_how_sure_it_is(found: list[Mark]) -> None:
    """`id` and `order` promise what they say; all else is `inferred`."""
    for paired, result in results(pair(found)):
        call = paired.call
        assert call.call_id == result.call_id
        assert call.tool == result.tool or not call.tool or not result.tool
        same_turn_and_later = call.turn == result.turn and result.place > call.place
        if paired.pairing == "id":
            assert call.call_id
            assert same_turn_and_later
        elif paired.pairing == "order":
            assert not call.call_id
            assert same_turn_and_later
        else:
            assert paired.pairing == "inferred"


@given(_MARKS)
@settings(deadline=None, max_examples=150)
def test_only_a_guess_is_marked_on_a_call_without_a_result(found: list[Mark]) -> None:
    """Where it cannot be told which of several calls went unanswered."""
    for paired in pair(found).calls:
        assert paired.result is not None or paired.pairing in (None, "inferred")
        assert paired.result is None or paired.pairing is not None


@given(_MARKS, st.integers())
@settings(deadline=None)
def test_the_order_of_the_input_does_not_matter(found: list[Mark], seed: int) -> None:
    """Rows come from a database."""
    shuffled = list(found)
    Random(seed).shuffle(shuffled)
    assert pair(shuffled) == pair(found)


# --- in a case ---------------------------------------------------------------------------------


def write_log(path: Path, events: Sequence[tuple[int, Row]]) -> None:
    """A log of v0.2.3 without a key, so that a number can stand there twice."""
    with closing(sqlite3.connect(path)) as log:
        log.execute(
            "create table conversation_log (conversation_id TEXT, step INTEGER, payload TEXT)"
        )
        log.executemany(
            "insert into conversation_log values (?, ?, ?)",
            [
                (row.conversation_id, step, rows.write(row, GENERATIONS["G8"], step))
                for step, row in events
            ],
        )
        log.commit()


def call(call_id: str, arguments: str = "{}") -> Row:
    """A row with a call of the tool `f`."""
    return Row("c", 1, parts=(Part("tool_call", call_id=call_id, tool="f", value=arguments),))


def result(call_id: str) -> Row:
    """A row with a result of the tool `f`."""
    return Row("c", 1, parts=(Part("tool_result", call_id=call_id, tool="f", value="{}"),))


INPUT = Row("c", 1, owner="drill", parts=(Part("text", "user", value="go"),))
END = Row("c", 3)


Calls = dict[str, list[tuple[Any, ...]]]


def calls_of(path: Path) -> tuple[Calls, list[tuple[Any, ...]]]:
    """The calls of each conversation and the orphans of a log, as its case shows them."""
    found: Calls = {}
    with Case() as case:
        load_log(case, locate(str(path), {}).log)
        for conversation_id, *values in case.rows(
            "select conversation_id, call_step, call_id, observations, result_step, pairing, "
            "outcome from tool_calls order by conversation_id, call_position, part"
        ):
            found.setdefault(conversation_id, []).append(tuple(values))
        return found, case.rows("select step, call_id from orphan_results order by position")


@pytest.mark.parametrize(
    "log", ["g4-custom-sqlite", "g5-builtin-sqlite", "g6-custom-sqlite", "g7-sqlite", "g8-sqlite"]
)
def test_what_real_servers_logged(log: str) -> None:
    """The same scripts were played to each generation."""
    calls, _ = calls_of(LOGS / log / "log.sqlite")
    assert calls["odd-ids"] == [
        (2, "", 1, 3, "order", "completed"),
        (4, "call_1", 1, 5, "id", "completed"),
        (6, "call_1", 1, None, None, "unknown"),
    ]
    assert calls["result-first"] == [(3, "call_7", 1, 2, "inferred", "completed")]
    assert calls["placeholder"] == [(2, "call_1", 1, 3, "id", "placeholder")]
    assert calls["charge-two"] == [
        (2, "call_1", 1, 4, "id", "completed"),
        (3, "call_2", 1, None, None, "unknown"),
    ]


def test_a_lost_append_shows_as_an_orphan_and_not_as_a_gap(tmp_path: Path) -> None:
    """The numbers are contiguous, and the call is not there."""
    path = tmp_path / "log.sqlite"
    write_log(path, [(1, INPUT), (2, call("a")), (3, result("a")), (4, result("b")), (5, END)])
    calls, unclaimed = calls_of(path)
    assert calls == {"c": [(2, "a", 1, 3, "id", "completed")]}
    assert unclaimed == [(4, "b")]


def test_a_call_that_was_stored_twice_is_one_call(tmp_path: Path) -> None:
    """Equal content and an equal id under two numbers."""
    path = tmp_path / "log.sqlite"
    twice = call("a", '{"n":1}')
    write_log(path, [(1, INPUT), (2, twice), (3, twice), (4, result("a")), (5, END)])
    assert calls_of(path) == ({"c": [(2, "a", 2, 4, "id", "completed")]}, [])


def test_a_number_that_stands_there_twice_does_not_double_a_call(tmp_path: Path) -> None:
    """The end of one turn and the call of the next one under one number: still one call."""
    path = tmp_path / "log.sqlite"
    write_log(path, [(1, INPUT), (2, END), (2, call("a")), (3, result("a")), (4, END)])
    assert calls_of(path) == ({"c": [(2, "a", 1, 3, "id", "completed")]}, [])
