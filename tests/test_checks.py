"""Every finding class: found where its wound is, and nowhere else."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from axnb.ax.rows import Part, Row
from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.checks.registry import checks
from axnb.loading import load, load_witnesses
from axnb.result import Finding
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, decide, say, think
from axnb.triaging import Expectation, Question, triage
from tests import ax_logs
from tests.ax_logs import RealLog

# --- wounds --------------------------------------------------------------------------------------

#: conversation, step, steps of the witness
Found = tuple[str | None, int | None, list[int | None]]


@dataclass(frozen=True)
class Evidence:
    """A log with what stands beside it: another log, files of lines, expectations."""

    log: LogBuilder
    other: LogBuilder | None = None
    client: tuple[dict[str, Any], ...] = ()
    server_log: tuple[dict[str, Any], ...] = ()
    expected: tuple[Expectation, ...] = ()

    def load(self, case: Case, folder: Path) -> None:
        """Write it all into a folder and load it."""
        logs = [log for log in (self.log, self.other) if log is not None]
        load(case, [str(log.write_sqlite(folder / f"{n}.sqlite")) for n, log in enumerate(logs)])
        files = {}
        for name, lines in (("client", self.client), ("server", self.server_log)):
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            files[name] = [folder / name] if lines else []
            (folder / name).write_text(text, encoding="utf-8")
        assert load_witnesses(case, files["client"], files["server"]) == ()


@dataclass(frozen=True)
class Pair:
    """A log with the wound of a check, one without it, and what must be found in the first."""

    wounded: Callable[[], LogBuilder | Evidence]
    found: list[Found]
    healthy: Callable[[], LogBuilder | Evidence]
    ask_wounded_as: str | None = None
    ask_healthy_as: str | None = None


def _healthy(generation: str = "G8") -> LogBuilder:
    log = LogBuilder(generation)
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}), say("done"))
    return log


def _older() -> LogBuilder:
    return _healthy("G6")


def _interrupted() -> LogBuilder:
    log = _healthy()
    log.turn("c", "hi")
    log.interrupted("c", "again", say("on it"))
    return log


def _resumed() -> LogBuilder:
    log = _interrupted()
    log.add(Row("c", 3))
    return log


def _broken_row() -> LogBuilder:
    log = _healthy()
    log.turn("c", "hi", say("a"), say("b"))
    log.rows[-2] = StoredRow("c", 3, '{"conversation_id":"c"')
    return log


def _mixed() -> LogBuilder:
    log = _healthy("G6")
    newer = LogBuilder("G8")
    newer.turn("newer", "hi")
    log.rows += newer.rows
    return log


def _unanswered() -> LogBuilder:
    log = _healthy()
    log.turn("c", "hi", say("wait"), call("charge", {"n": 2}))
    return log


def _timed_out() -> LogBuilder:
    log = _healthy()
    log.turn("c", "hi", call("charge"), answer({"error": "deadline exceeded"}, is_error=True))
    return log


def _silent() -> LogBuilder:
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {"n": 1}))
    log.turn("d", "hi", call("charge", {"n": 2}))
    return log


# --- what stands beside a log: `fine` has the steps 1 to 5, the last text is `done` ---------------


def _expected(conversation_id: str, last: int) -> Callable[[], Evidence]:
    return lambda: Evidence(_healthy(), expected=(Expectation(conversation_id, last),))


def _sent(number: int, kind: str = "text", text: str = "done", to: str = "fine") -> dict[str, Any]:
    digest = hashlib.sha256(text.encode()).hexdigest() if kind == "text" else None
    return {"conversation": to, "number": number, "kind": kind, "digest": digest}


def _client(*lines: dict[str, Any]) -> Callable[[], Evidence]:
    return lambda: Evidence(_healthy(), client=lines)


def _warned(message: str, level: str = "WARN") -> Callable[[], Evidence]:
    line = {
        "time": "2026-07-22T12:00:00.5Z",
        "level": level,
        "msg": message,
        "conversation_id": "fine",
        "error": "eventlog: begin tx: sql: database is closed",
    }
    return lambda: Evidence(_healthy(), server_log=(line,))


def _with_copy(change: Callable[[LogBuilder], None]) -> Callable[[], Evidence]:
    def make() -> Evidence:
        copy = _healthy()
        change(copy)
        return Evidence(_healthy(), copy)

    return make


def _go_on(log: LogBuilder) -> None:
    log.turn("fine", "again", say("and on"))


def _part_ways(log: LogBuilder) -> None:
    log.rows[3] = replace(log.rows[3], payload=log.rows[3].payload.replace("done", "lost"))


def _share_the_id_only(log: LogBuilder) -> None:
    _part_ways(log)
    log.rows[0] = replace(log.rows[0], payload=log.rows[0].payload.replace('"hi"', '"other"'))


def _respell(log: LogBuilder) -> None:
    log.rows = [replace(row, payload=json.dumps(json.loads(row.payload))) for row in log.rows]


def _lack_one(log: LogBuilder) -> None:
    log.turn("only here", "hi")


PAIRS: dict[str, list[Pair]] = {
    "AX103": [
        Pair(_expected("fine", 7), [("fine", 5, [5])], _expected("fine", 5)),
        Pair(_expected("gone", 1), [("gone", None, [])], _expected("fine", 1)),
        Pair(_client(_sent(6, "tool_call")), [("fine", 5, [5])], _client(_sent(4))),
        Pair(_with_copy(_go_on), [("fine", 5, [5])], _with_copy(_respell)),
        Pair(_with_copy(_lack_one), [("only here", None, [])], _with_copy(_share_the_id_only)),
    ],
    "AX107": [
        Pair(
            _with_copy(_part_ways),
            [("fine", 4, [4]), ("fine", 4, [4])],
            _with_copy(_share_the_id_only),
        ),
        Pair(_client(_sent(4, text="lost")), [("fine", 4, [4])], _client(_sent(4))),
        Pair(_client(_sent(3)), [("fine", 3, [3])], _with_copy(_respell)),
    ],
    "AX118": [
        Pair(
            _warned("Failed to log streamed message to event log"),
            [("fine", None, [])],
            _warned("Failed to parse harness config for logging"),
        ),
        Pair(
            _warned("Failed to log completion event to event log"),
            [("fine", None, [])],
            _warned("Stream failed", "ERROR"),
        ),
    ],
    "AX119": [
        Pair(_client(_sent(4), _sent(0, "tool_call")), [("fine", None, [])], _client(_sent(4))),
        Pair(_client(_sent(0, to="gone")), [("gone", None, [])], _client(_sent(4))),
    ],
    "AX110": [Pair(_interrupted, [("c", 4, [4])], _resumed)],
    "AX120": [Pair(_broken_row, [("c", 3, [3])], _healthy)],
    "AX121": [Pair(_broken_row, [("c", 3, [3])], _healthy)],
    "AX140": [Pair(_mixed, [(None, None, [])], _healthy)],
    "AX141": [Pair(_older, [("fine", None, [])], _older, "G8", "G6")],
    "AX142": [Pair(_older, [(None, None, [])], _older, "G5", "G6")],
    "AX203": [
        Pair(_unanswered, [("c", 3, [3])], _healthy),
        Pair(_timed_out, [("c", 2, [2])], _silent),
    ],
    "AX204": [Pair(_silent, [(None, None, [])], _unanswered)],
}


def _findings(made: LogBuilder | Evidence, asked: str | None = None) -> tuple[Finding, ...]:
    evidence = made if isinstance(made, Evidence) else Evidence(made)
    with tempfile.TemporaryDirectory() as folder, Case(settings=Settings()) as case:
        evidence.load(case, Path(folder))
        return triage(case, Question(asked, expectations=evidence.expected)).findings


@cache
def _found(make: Callable[[], LogBuilder | Evidence], asked: str | None) -> tuple[Finding, ...]:
    """The findings of a log of this module, looked for once."""
    return _findings(make(), asked)


def _seen(findings: tuple[Finding, ...], identity: str) -> list[Found]:
    return [
        (f.conversation_id, f.step, [witness.step for witness in f.witness])
        for f in findings
        if f.id == identity
    ]


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.id)
def test_a_check_finds_its_wound_and_no_other(check: Any) -> None:
    assert check.id in PAIRS, f"{check.id} needs a wounded and a healthy log here"
    for pair in PAIRS[check.id]:
        found = _found(pair.wounded, pair.ask_wounded_as)
        assert _seen(found, check.id) == pair.found
        mine = [finding for finding in found if finding.id == check.id]
        assert {(f.name, f.severity) for f in mine} == {(check.name, check.severity)}
        healthy = _found(pair.healthy, pair.ask_healthy_as)
        assert _seen(healthy, check.id) == []


def test_no_pair_is_left_over() -> None:
    assert set(PAIRS) == {check.id for check in checks()}


@pytest.mark.parametrize("check", [c for c in checks() if not c.needs], ids=lambda check: check.id)
def test_what_needs_no_server_is_kept_in_the_case(check: Any, case: Case, tmp_path: Path) -> None:
    pair = PAIRS[check.id][0]
    load(case, [str(pair.wounded().write_sqlite(tmp_path / "log.sqlite"))])
    found = case.rows("select conversation_id, step from findings where id = ?", [check.id])
    assert found == [(conversation, step) for conversation, step, _ in pair.found]


@pytest.mark.parametrize("log", ax_logs.sqlite_logs(), ids=lambda log: log.name)
def test_what_is_kept_is_what_would_be_found(log: RealLog, tmp_path: Path) -> None:
    """A case of other checks, or one that was filled without them, is looked at anew."""
    kept, stale = Case(tmp_path / "kept", Settings()), Case(tmp_path / "stale", Settings())
    for case in (kept, stale):
        load(case, [str(log.sqlite)])
    with stale.writing() as session:
        session.execute("delete from findings")
        session.execute("update meta set value = 'other checks' where name = 'findings'")
        session.execute("delete from meta where name = 'digest key'")
    questions = [Question(target.split()[0]) for target in log.truth["targets"]]
    for question in {question.ax_version: question for question in questions}.values():
        assert triage(kept, question) == triage(stale, question)


@pytest.mark.parametrize("log", ax_logs.sqlite_logs(), ids=lambda log: log.name)
def test_a_named_conversation_is_judged_as_among_all(log: RealLog) -> None:
    with Case(settings=Settings()) as case:
        load(case, [str(log.sqlite)])
        whole = triage(case)
        ids = [c.conversation_id for c in whole.conversations]
        for chosen in [*([name] for name in ids[::7]), ids[::3]]:
            named = triage(case, None, chosen)
            assert named.conversations == tuple(
                c for c in whole.conversations if c.conversation_id in chosen
            )
            assert named.findings == tuple(
                f for f in whole.findings if f.conversation_id in (None, *chosen)
            )


def test_a_second_source_is_looked_at_with_the_first(case: Case, tmp_path: Path) -> None:
    load(case, [str(_interrupted().write_sqlite(tmp_path / "a.sqlite"))])
    first = triage(case).findings
    load(case, [str(_unanswered().write_sqlite(tmp_path / "b.sqlite"))])
    found = triage(case).findings
    assert {(f.id, f.source) for f in found} == {("AX110", "log"), ("AX203", "log-2")}
    assert found[0].witness[0].step == first[0].witness[0].step
    assert found[0].witness[0].digest != first[0].witness[0].digest, "the key is of all sources"


def test_a_witness_is_known_by_a_keyed_digest() -> None:
    """The plain digest of a short payload could be guessed; the key comes from all of the log."""
    log = _interrupted()
    first, second = (_findings(log) for _ in range(2))
    assert first == second
    (witness,) = first[0].witness
    plain = {hashlib.sha256(row.payload.encode()).hexdigest() for row in log.rows}
    assert witness.digest is not None
    assert witness.digest not in plain
    log.turn("one more", "hi")
    assert _findings(log)[0].witness[0].digest != witness.digest


def test_a_finding_is_told_once(tmp_path: Path) -> None:
    """Without a key two rows may share a number: still one turn has no end."""
    log = _interrupted()
    steps = [*range(1, len(log.rows)), len(log.rows) - 1]
    log.rows = [StoredRow("c", n, r.payload) for n, r in zip(steps, log.rows, strict=True)]
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False)
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        found = [f.id for f in triage(case).findings]
    assert found.count("AX110") == 1


# --- health --------------------------------------------------------------------------------------

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_tools = st.sampled_from(["charge", "http_get", "отправить", 'a"b'])
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_ids, inner, max_size=2),
    max_leaves=4,
)
_arguments = st.dictionaries(_ids, _values, max_size=3)
#: Names that tell nothing: `error`, `status` and their like say that something went wrong.
_results = st.dictionaries(st.sampled_from(["ok", "amount", "note", "rows"]), _values, max_size=3)


@st.composite
def _answered_calls(draw: st.DrawFn) -> list[Part]:
    """Calls that are open together, each answered once, in any order where they have ids."""
    tools = draw(st.lists(_tools, min_size=1, max_size=3))
    named = draw(st.booleans())
    ids = [f"call_{n}" if named else "" for n in range(len(tools))]
    pairs = list(zip(ids, tools, strict=True))
    calls = [call(tool, draw(_arguments), call_id) for call_id, tool in pairs]
    order = draw(st.permutations(pairs)) if named else pairs
    return [*calls, *(answer(draw(_results), tool, call_id) for call_id, tool in order)]


@st.composite
def _asked_calls(draw: st.DrawFn) -> list[Part]:
    """A call that waits for a person: approved and answered, or declined and never run."""
    tool = draw(_tools)
    asked = [call(tool, draw(_arguments), "asked"), ask(draw(_texts), "asked")]
    if draw(st.booleans()):
        return [*asked, decide("approved", "asked"), answer(draw(_results), tool, "asked")]
    return [*asked, decide("declined", "asked")]


_contents = st.one_of(
    _texts.map(lambda text: [say(text)]),
    _texts.map(lambda text: [think(text)]),
    _answered_calls(),
    _asked_calls(),
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
    assert found["findings"] == []
    assert {c["action"] for c in found["conversations"]} == {"nothing"}
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


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_healthy_log_has_no_finding(generation: str, axnb: Callable[..., Result]) -> None:
    _check_health_of(generation, axnb, 3)


@pytest.mark.slow
@pytest.mark.parametrize("generation", GENERATIONS)
def test_many_healthy_logs_have_no_finding(generation: str, axnb: Callable[..., Result]) -> None:
    _check_health_of(generation, axnb, 60)


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
