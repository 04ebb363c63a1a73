"""The geometry of pictures, and lanes: a conversation as a line of signs."""

from __future__ import annotations

from typing import Any

from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from axnb.report import charts, lanes
from axnb.report.charts import bars, lines
from axnb.report.html import render_report
from axnb.testing.logs import LogBuilder, answer, ask, call, decide, say
from tests.report.made import by_hand, made, result_of


def _lane(*kinds: str, **parts: Any) -> dict[str, Any]:
    marks = [{"n": n, "step": n, "kind": kind, "wounds": []} for n, kind in enumerate(kinds, 1)]
    lane = {"source": "log", "conversation_id": "c", "action": "resume", "total": len(kinds)}
    return {**lane, "marks": marks, **parts}


@given(st.lists(st.integers(0, 10**9), max_size=9))
def test_bars_have_one_scale(counts: list[int]) -> None:
    made_bars = bars({"action": "a", "title": "A", "count": n} for n in counts)
    assert [bar.number for bar in made_bars] == counts
    for bar in made_bars:
        assert 2 <= bar.length <= charts.BAR_LENGTH
        assert abs(bar.length - charts.BAR_LENGTH * bar.number / max(*counts, 1)) <= 2
    tops = [bar.y for bar in made_bars]
    assert tops == sorted(set(tops))


def test_marks_stand_in_their_order_and_a_gap_where_some_were_left_out() -> None:
    lane = _lane(*["text"] * 6)
    for mark in lane["marks"][3:]:
        mark["n"] += 100
    (line,) = lines([{**lane, "total": 106}])
    places = [mark.x for mark in line.marks]
    assert places == sorted(set(places))
    assert line.gap is not None
    assert places[2] < line.gap[0] < places[3]
    assert line.gap[1] == 100
    assert line.words.startswith("c: 106 marks: ")
    (whole,) = lines([_lane("input", "end")])
    assert whole.gap is None
    assert whole.words == "c: 2 marks: input, end"


def test_a_lane_in_words_names_its_wounds() -> None:
    lane = _lane("input", "call")
    lane["marks"][1]["wounds"] = ["AX110", "AX203"]
    (line,) = lines([lane])
    assert line.words == "c: 2 marks: input, call with AX110 AX203"
    assert [mark.wounded for mark in line.marks] == [False, True]
    (bare,) = lines([_lane()])
    assert bare.words == "c: 0 marks: no row"


def test_long_and_hostile_ids_stay_in_their_place() -> None:
    for text in ("x" * 10**6, "漢" * 500, "<b>\u202e" * 50, "e\u0301" * 500):
        (line,) = lines([_lane("input", conversation_id=text)])
        assert len(line.label) <= 60
        assert len(line.words) <= 400


def _drawn(log: LogBuilder, conversation_id: str) -> list[tuple[int | None, str]]:
    (lane,) = [x for x in result_of(log).lanes if x["conversation_id"] == conversation_id]
    return [(mark["step"], mark["kind"]) for mark in lane["marks"]]


def test_each_part_of_a_log_is_one_mark() -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", call("t", {}), answer({"ok": True}), say("done"), ask("May I?"))
    log.turn("c", "yes", decide("approved"))
    assert [kind for _, kind in _drawn(log, "c")] == [
        *("input", "call", "result", "text", "question", "end"),
        *("input", "input", "end"),
    ]


def test_a_row_that_cannot_be_read_is_drawn() -> None:
    (lane,) = [x for x in made("failed").lanes if x["conversation_id"] == "broken"]
    assert [mark["kind"] for mark in lane["marks"]] == ["input", "end", "unreadable"]


def test_a_wound_stands_once_at_the_last_mark_of_its_step() -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", say("a"), say("b"))
    log.rows.append(log.rows[1])
    (lane,) = result_of(log).lanes
    twice = [mark["wounds"] for mark in lane["marks"] if mark["step"] == 2]
    assert len(twice) == 2
    assert twice[0] == []
    assert twice[1]


def test_a_note_is_no_wound() -> None:
    drawn = {w for lane in made("failed").lanes for m in lane["marks"] for w in m["wounds"]}
    assert "AX110" in drawn
    severities = {f["id"]: f["severity"] for f in made("failed").findings}
    assert "info" not in {severities[identity] for identity in drawn}


def test_long_conversations_and_many_are_cut_and_counted() -> None:
    log = LogBuilder("G8")
    log.interrupted("c00", "hi", *(say(str(n)) for n in range(99)))
    for n in range(1, 30):
        log.interrupted(f"c{n:02}", "hi")
    result = result_of(log)
    assert len(result.lanes) == lanes.MOST_LANES
    long = result.lanes[0]
    numbers = [mark["n"] for mark in long["marks"]]
    assert (long["total"], len(numbers), numbers[0], numbers[-1]) == (100, lanes.MOST_MARKS, 1, 100)
    page = BeautifulSoup(render_report(result), "html.parser")
    assert "24 of 30 conversations are shown" in page.get_text()
    descriptions = page.find(id="lanes-desc")
    assert descriptions is not None
    assert "c00: 100 marks: " in descriptions.get_text()


def test_the_most_urgent_are_drawn_first() -> None:
    result = made("failed")
    actions = [group["action"] for group in result.actions]
    order = [actions.index(lane["action"]) for lane in result.lanes]
    assert order == sorted(order)
    assert "nothing" not in {lane["action"] for lane in result.lanes}
    assert {lane["action"] for lane in made("ok").lanes} == {"nothing"}


def test_a_result_without_lanes_has_no_picture() -> None:
    assert "Step by step" not in render_report(by_hand())
    assert "Step by step" not in render_report(made("empty"))
