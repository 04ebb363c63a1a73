"""What is healthy has no finding above info: logs that were made up, and those of real servers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.loading import load
from axnb.result import Finding
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, ask, call, decide, say, think
from axnb.triaging import Question, triage
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.checks.healthy import answered_calls, asked_calls
from tests.servers import PostgresServer

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_ids, inner, max_size=2),
    max_leaves=4,
)
_arguments = st.dictionaries(_ids, _values, max_size=3)
#: Names that tell nothing: `error`, `status` and their like say that something went wrong.
_results = st.dictionaries(st.sampled_from(["ok", "amount", "note", "rows"]), _values, max_size=3)


_contents = st.one_of(
    _texts.map(lambda text: [say(text)]),
    _texts.map(lambda text: [think(text)]),
    answered_calls(_arguments, _results, most=3),
    asked_calls(_texts, _arguments, _results),
    st.tuples(_texts, st.sampled_from(["approved", "declined"])).map(
        lambda asked: [ask(asked[0], "q"), decide(asked[1], "q")]
    ),
)


@st.composite
def _healthy_logs(draw: st.DrawFn, generation: str) -> LogBuilder:
    """Several conversations whose turns come in any order, all of them whole."""
    by_name = GENERATIONS[generation].names_default
    harnesses = ["antigravity", "drill", "antigravity-interactions"] if by_name else ["antigravity"]
    log = LogBuilder(generation, draw(st.sampled_from(harnesses)))
    ids = draw(st.lists(_ids, min_size=1, max_size=4, unique=True))
    for conversation_id in draw(st.lists(st.sampled_from(ids), min_size=1, max_size=8)):
        contents = draw(st.lists(_contents, max_size=3))
        # An id is used once a turn, and again in the next, as by a harness that counts.
        parts = [
            replace(part, call_id=part.call_id and f"{number}-{part.call_id}")
            for number, content in enumerate(contents)
            for part in content
        ]
        log.turn(conversation_id, draw(_texts), *parts)
    return log


def _check_health(log: LogBuilder, axnb: Callable[..., Result]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = log.write_sqlite(Path(folder, "log.sqlite"))
        result = axnb("triage", path, "--json", "--ax-version", log.generation.name)
    assert result.stdout, result.stderr
    found = json.loads(result.stdout)
    assert [f for f in found["findings"] if f["severity"] != "info"] == []
    # There an empty request runs the agent again, or leaves a row behind (AX149).
    harmful = log.generation.name in ("G3", "G4")
    actions = {"do-not-touch"} if harmful else {"nothing"}
    assert {c["action"] for c in found["conversations"]} == actions
    assert {c["state"] for c in found["conversations"]} == {"finished"}
    assert found["sources"][0]["read"] == len(log.rows)
    assert (found["verdict"], result.exit_code, result.stderr) == ("ok", 0, "")


def _check_health_of(generation: str, axnb: Callable[..., Result], examples: int) -> None:
    calm = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

    @settings(max_examples=examples, deadline=None, suppress_health_check=calm)
    @given(log=_healthy_logs(generation))
    def check(log: LogBuilder) -> None:
        note("\n".join(map(str, log.rows)))
        _check_health(log, axnb)

    check()


#: One of each shape of a row; all are in `make test-all`.
_QUICK = ("G3", "G5b", "G8")


@pytest.mark.parametrize("generation", _QUICK)
def test_a_healthy_log_has_no_finding_above_info(
    generation: str, axnb: Callable[..., Result]
) -> None:
    _check_health_of(generation, axnb, 3)


@pytest.mark.slow
@pytest.mark.parametrize("generation", [g for g in GENERATIONS if g not in _QUICK])
def test_many_healthy_logs_have_no_finding_above_info(
    generation: str, axnb: Callable[..., Result]
) -> None:
    _check_health_of(generation, axnb, 15)


def test_a_declined_call_needs_no_result(axnb: Callable[..., Result]) -> None:
    """A harness whose only call was declined has not been silent about anything."""
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {}, "q"), ask("Charge?", "q"), decide("declined", "q"))
    _check_health(log, axnb)


def test_a_decision_is_about_the_call_of_its_own_turn(case: Case, tmp_path: Path) -> None:
    """Harnesses count from one in every turn: a later `no` says nothing of an earlier call."""
    log = LogBuilder("G8")
    asked = call("charge", {}, "q"), ask("Charge?", "q")
    log.turn("c", "hi", *asked, decide("approved", "q"))
    log.turn("c", "again", *asked, decide("declined", "q"))
    load(case, [str(log.write_sqlite(tmp_path / "log.sqlite"))])
    found = case.rows("select turn, outcome from tool_calls order by turn")
    assert found == [(1, "unknown"), (2, "declined")]


# --- the ordinary conversations of real servers --------------------------------------------------

#: Ended, with whatever an agent does, and without a wound that somebody made.
ORDINARY = (
    "hello-world", "ticket-printer", "many-steps", "long-text", "last-good", "untouched",
    "approve-delete", "decline-delete", "empty-text", "numbers", "media", "reborn",
    "Not_A_DNS.Name", "harness-canceled", "harness-end-pending", "harness-end-unspecified",
    "one-frame", "client-two-steps", "after-end", "agent-named", "client-index", "harness-index",
)  # fmt: skip

#: Logs that one generation wrote alone, so that it can be asked about them.
_OF_ONE = ("g3-", "g4-", "g5-", "g5b-", "g6-", "g7-", "g8-")


def _of_one(logs: list[RealLog]) -> list[RealLog]:
    """In `endings` every conversation was wounded on purpose."""
    return [log for log in logs if log.name.startswith(_OF_ONE) and "endings" not in log.name]


def _above_info(source: str, generation: str) -> tuple[int, list[Finding]]:
    """How many ordinary conversations a log has, and what is found about them."""
    with Case(settings=Settings()) as case:
        load(case, [source])
        found = triage(case, Question(generation))
    ordinary = [c for c in found.conversations if c.conversation_id in ORDINARY]
    assert {c.state for c in ordinary} == {"finished"}
    calm = {"do-not-touch"} if generation in ("G3", "G4") else {"nothing"}
    assert {c.action for c in ordinary} == calm
    severe = [f for f in found.findings if f.severity != "info"]
    return len(ordinary), [f for f in severe if f.conversation_id in (None, *ORDINARY)]


def _generation(log: RealLog) -> str:
    return log.name.split("-")[0].upper().replace("B", "b")


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(
        _of_one(ax_logs.sqlite_logs()), "g3-sqlite", "g5-builtin-sqlite", "g8-sqlite"
    ),
)
def test_ordinary_conversations_have_no_finding_above_info(log: RealLog) -> None:
    looked_at, found = _above_info(str(log.sqlite), _generation(log))
    assert found == []
    assert looked_at > 0


@pytest.mark.parametrize(
    "log", ax_logs.some_quick(_of_one(ax_logs.postgres_logs()), "g5-custom-postgres")
)
def test_ordinary_conversations_on_postgres(log: RealLog, postgres: PostgresServer) -> None:
    dsn = postgres.create_database()
    postgres.execute(log.dump, dsn.rsplit("/", 1)[1])
    looked_at, found = _above_info(dsn, _generation(log))
    assert found == []
    assert looked_at > 0
