"""What a report shows of a result: bounded, counted, in plain words; and why the verdict is so."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from axnb.checks.registry import checks
from axnb.report import view as views
from axnb.report.reach import sentences
from axnb.report.view import brief, view
from axnb.testing.logs import LogBuilder, say
from axnb.text import columns, is_hidden, safe
from axnb.triaging import Triage
from tests.checks import pairs
from tests.checks.test_pairs import PAIRS
from tests.report.made import NAMES, by_hand, finding, made

# --- texts ---------------------------------------------------------------------------------------


@given(st.text(max_size=400), st.integers(1, 60))
@example("e\u0301\u0302\u0303\u0304" * 100, 40)
@example('"' * 100, 40)
@example("\U0001f600" * 100, 7)
@example("\ud800", 1)
def test_a_text_is_one_short_line(text: str, width: int) -> None:
    shown = brief(text, width)
    assert columns(shown) <= width
    assert len(escape(shown).encode()) <= 2 * width
    assert [c for c in shown if is_hidden(c)] == []


@given(st.text(alphabet="abcé漢'", max_size=30))
def test_a_text_that_fits_is_whole(text: str) -> None:
    assert brief(text) == text


def test_a_text_of_megabytes_shows_both_its_ends() -> None:
    text = "begin" + "x\u0301" * 1_000_000 + "end"
    assert brief(text).startswith("begin")
    assert brief(text).endswith("end")
    assert "…" in brief(text)


def test_no_value_is_no_text() -> None:
    assert (brief(None), brief(0), brief("")) == ("", "0", "")


# --- counts --------------------------------------------------------------------------------------


def test_one_is_not_many() -> None:
    measures = dict.fromkeys(("conversations", "unknown_calls", "open_questions", "rows_read"), 1)
    words = [word for _, word in view(by_hand(measures=measures)).numbers]
    assert words == [
        "conversation",
        "tool call with an unknown outcome",
        "open question",
        "row read",
    ]
    many = {**dict.fromkeys(measures, 2000), "odd_things": 0, "rate": 0.5, "done": True}
    numbers = view(by_hand(measures=many)).numbers
    assert numbers[0] == ("2,000", "conversations")
    assert numbers[-1] == ("0", "odd things"), "what is no count is none of the numbers"


@pytest.mark.parametrize(
    ("severities", "tally"),
    [
        ([], "nothing was found"),
        (["info"], "1 note"),
        (["info"] * 2 + ["error"], "1 error, 2 notes"),
        (["info"] * 21 + ["warning"] + ["error"] * 1001, "1,001 errors, 1 warning, 21 notes"),
    ],
)
def test_the_tally(severities: list[str], tally: str) -> None:
    found = tuple(finding(n, severity) for n, severity in enumerate(severities))
    assert view(by_hand(findings=found)).tally == tally


def test_classes_stand_worst_first() -> None:
    severities = {1: "info", 2: "error", 3: "warning", 4: "error"}
    found = tuple(finding(n, severity) for n, severity in severities.items())
    assert [c.id for c in view(by_hand(findings=found)).classes] == [
        "AX002",
        "AX004",
        "AX003",
        "AX001",
    ]


def test_findings_are_cut_and_every_class_is_there() -> None:
    found = tuple(finding(1 + n % 7) for n in range(5000))
    looked = view(by_hand(findings=found))
    assert len(looked.classes) == 7
    assert sum(c.count for c in looked.classes) == 5000
    assert all(len(c.first) == views.FIRST_FINDINGS for c in looked.classes)
    assert sum(len(c.more) for c in looked.classes) == views.MOST_FINDINGS


def test_conversations_are_cut_from_the_least_urgent() -> None:
    groups = tuple({"action": f"a{n}", "count": 150, "conversations": [{}] * 150} for n in range(3))
    looked = view(by_hand(actions=groups))
    assert [len(group["conversations"]) for group in looked.actions] == [
        150,
        views.MOST_CONVERSATIONS - 150,
        0,
    ]
    assert [group["count"] for group in looked.actions] == [150] * 3


# --- why -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_verdict_has_reasons(name: str) -> None:
    result = made(name)
    told = " ".join(result.why)
    errors = {f["id"] for f in result.findings if f["severity"] == "error"}
    assert result.why[0][0].isupper() or result.why[0][0].isdigit()
    assert bool(errors) == (result.verdict == "failed")
    for identity in sorted(errors)[:3]:
        assert identity in result.why[0]
    assert ("No check found an error" in told) == (result.verdict == "ok")
    assert [sentence for sentence in result.why if not sentence.endswith(".")] == []


#: Logs with errors of which no other sentence tells; in the last one AX runs the turn again.
_UNTOLD = [PAIRS[identity][0] for identity in ("AX101", "AX102", "AX104", "AX108")]
_UNTOLD += PAIRS["AX149"][2:3]


@pytest.mark.parametrize("pair", _UNTOLD)
def test_an_error_that_no_other_sentence_tells_is_named(pair: pairs.Pair) -> None:
    answer = pairs.look(pair.wounded, pair.ask_wounded_as).triage
    errors = {f.id for f in answer.findings if f.severity == "error"}
    assert errors
    told = sentences(answer)
    assert all(identity in told[0] for identity in errors)
    assert "every logged call answered" not in " ".join(told)


def _triage(log: LogBuilder) -> Triage:
    return pairs.triage_of(log)


def test_one_conversation_is_told_as_one() -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi", say("a"))
    assert "1 of 1 conversation is blocked for good." in sentences(_triage(log))
    log.interrupted("d", "hi", say("a"))
    assert "2 of 2 conversations are blocked for good." in sentences(_triage(log))


def test_several_findings_of_one_conversation_are_one_conversation() -> None:
    pair = next(p for p in PAIRS["AX119"] if len(p.found) == 1)
    answer = pairs.look(pair.wounded, pair.ask_wounded_as).triage
    doubled: Any = type(answer)(**{**vars(answer), "findings": answer.findings * 2})
    (told,) = [sentence for sentence in sentences(doubled) if "(AX119)" in sentence]
    assert told.startswith("1 conversation ")


def test_an_empty_log_beside_a_full_one_is_named() -> None:
    from tests.report.made import empty, healthy, result_of

    result = result_of(healthy(), empty())
    assert result.verdict == "inconclusive"
    assert "log-2 holds no rows: that is no proof that there were none." in result.why


def test_every_check_that_ran_is_there_with_its_version() -> None:
    result = made("failed")
    assert [check["id"] for check in result.checks] == [
        check.id for check in checks() if "snapshots" not in check.needs
    ]
    found = {f["id"] for f in result.findings}
    assert {check["id"] for check in result.checks if "sql" in check} == found
    assert all(len(check["version"]) == 12 for check in result.checks)
    for check in result.checks:
        assert check["found"] == sum(f["id"] == check["id"] for f in result.findings)


def test_numbers_are_those_of_the_triage() -> None:
    for name in NAMES:
        result = made(name)
        conversations = result.answer["conversations"]
        counts: dict[str, int] = {}
        for c in conversations:
            counts[c["action"]] = counts.get(c["action"], 0) + 1
        assert {group["action"]: group["count"] for group in result.actions} == counts
        calls = [
            call for c in conversations for call in c["unresolved_calls"] if call["consequential"]
        ]
        assert result.unresolved["count"] == result.measures["unknown_calls"] == len(calls)
        assert result.measures["conversations"] == len(conversations)
        assert list(result.findings) == result.answer["findings"]
        questions = sum(c["open_questions"] for c in conversations)
        assert result.measures["open_questions"] == questions
        assert json.dumps(result.answer) == json.dumps(json.loads(json.dumps(result.answer)))
        assert [s for s in result.why if safe(s) != s] == []
