"""Every finding class: found where its wound is, and nowhere else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from axnb.ax.rows import Row
from axnb.case.case import Case
from axnb.checks.registry import Check, checks
from axnb.loading import load
from axnb.report.reach import sentences
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, call
from axnb.triaging import Triage, triage
from tests.checks import (
    states,
    wounds_calls,
    wounds_contexts,
    wounds_objects,
    wounds_owners,
    wounds_records,
    wounds_rows,
    wounds_secrets,
    wounds_steps,
    wounds_turns,
    wounds_versions,
    wounds_witnesses,
)
from tests.checks.pairs import Pair, findings, look, seen
from tests.checks.states import StatePair

_MODULES = (
    wounds_steps,
    wounds_turns,
    wounds_versions,
    wounds_rows,
    wounds_calls,
    wounds_witnesses,
    wounds_contexts,
    wounds_secrets,
)

#: Wounds of buckets and records, which a map tells.
_STATE_MODULES = (wounds_objects, wounds_records, wounds_owners)

PAIRS: dict[str, list[Pair]] = {
    identity: pairs for module in _MODULES for identity, pairs in module.PAIRS.items()
}
STATE_PAIRS: dict[str, list[StatePair]] = {
    identity: pairs for module in _STATE_MODULES for identity, pairs in module.PAIRS.items()
}

_OF_STATE = [check for check in checks() if check.id.startswith("AX3")]


_OF_LOG = [check for check in checks() if check not in _OF_STATE]


# The first wound of each check is looked for in `make test`, all else in `make test-all`.


@pytest.mark.parametrize("check", _OF_STATE, ids=lambda check: check.id)
def test_a_map_finds_the_wound_of_a_check_and_no_other(check: Check) -> None:
    assert check.id in STATE_PAIRS, f"{check.id} needs a wounded and a healthy state here"
    _look_at_states(check, STATE_PAIRS[check.id][:1])


@pytest.mark.slow
@pytest.mark.parametrize("check", _OF_STATE, ids=lambda check: check.id)
def test_a_map_finds_every_wound_of_a_check(check: Check) -> None:
    _look_at_states(check, STATE_PAIRS[check.id][1:])
    for pair in STATE_PAIRS[check.id]:
        assert states.seen(states.look(pair.healthy), check.id) == []


def _look_at_states(check: Check, pairs: Sequence[StatePair]) -> None:
    for pair in pairs:
        found = states.look(pair.wounded)
        assert states.seen(found, check.id) == sorted(pair.found, key=repr)
        mine = [finding for finding in found.findings if finding.id == check.id]
        assert {(f.name, f.severity) for f in mine} == {(check.name, check.severity)}
        for finding in found.findings:
            assert re.fullmatch(r"[^\n!{}]+\.", finding.sentence), finding.sentence


@pytest.mark.parametrize("check", _OF_LOG, ids=lambda check: check.id)
def test_a_check_finds_its_wound_and_no_other(check: Check) -> None:
    assert check.id in PAIRS, f"{check.id} needs a wounded and a healthy log here"
    _look_at_logs(check, PAIRS[check.id][:1])


@pytest.mark.slow
@pytest.mark.parametrize("check", _OF_LOG, ids=lambda check: check.id)
def test_a_check_finds_its_every_wound(check: Check) -> None:
    _look_at_logs(check, PAIRS[check.id][1:])
    for pair in PAIRS[check.id]:
        healthy = look(pair.healthy, pair.ask_healthy_as).triage.findings
        assert seen(healthy, check.id) == []


def _look_at_logs(check: Check, pairs: Sequence[Pair]) -> None:
    for pair in pairs:
        looked = look(pair.wounded, pair.ask_wounded_as)
        assert seen(looked.findings, check.id) == pair.found
        mine = [finding for finding in looked.findings if finding.id == check.id]
        assert {(f.name, f.severity) for f in mine} == {(check.name, check.severity)}
        for finding in looked.findings:
            assert re.fullmatch(r"[^\n!{}]+\.", finding.sentence), finding.sentence
        # What needs no server is kept in the case.
        kept = [(where, step) for name, where, step in looked.kept if name == check.id]
        assert kept == ([] if check.needs else [(where, step) for where, step, _ in pair.found])
        _look_at_what_is_said(looked.triage)


def _look_at_what_is_said(answer: Triage) -> None:
    """No verdict but ok says that all is well, and every error is named."""
    errors = {finding.id for finding in answer.findings if finding.severity == "error"}
    for told in (sentences(answer), sentences(answer, every_error=True)):
        if answer.verdict != "ok":
            assert "every logged call answered" not in " ".join(told)
    assert {identity for identity in errors if identity not in told[0]} == set()


def test_no_pair_is_left_over() -> None:
    assert {*PAIRS, *STATE_PAIRS} == {check.id for check in checks()}
    assert set(STATE_PAIRS) == {check.id for check in _OF_STATE}
    assert sum(len(module.PAIRS) for module in _MODULES) == len(PAIRS)
    assert sum(len(module.PAIRS) for module in _STATE_MODULES) == len(STATE_PAIRS)


def test_a_witness_is_known_by_a_keyed_digest() -> None:
    """The plain digest of a short payload could be guessed; the key comes from all of the log."""
    log = wounds_turns.interrupted()
    first, second = (findings(log) for _ in range(2))
    assert first == second
    (witness,) = first[0].witness
    plain = {hashlib.sha256(row.payload.encode()).hexdigest() for row in log.rows}
    assert witness.digest is not None
    assert witness.digest not in plain
    log.turn("one more", "hi")
    assert findings(log)[0].witness[0].digest != witness.digest


#: So many rows that each with each other would be a billion pairs.
_MANY = 30_000

# --- tables without a key ------------------------------------------------------------------------


def test_a_finding_is_told_once(tmp_path: Path) -> None:
    """Without a key two rows may share a number: still one turn has no end."""
    log = wounds_turns.interrupted()
    steps = [*range(1, len(log.rows)), len(log.rows) - 1]
    log.rows = [StoredRow("c", n, r.payload) for n, r in zip(steps, log.rows, strict=True)]
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False)
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        found = [f.id for f in triage(case).findings]
    assert found.count("AX110") == 1


def test_calls_at_one_number_are_told_once_each(tmp_path: Path) -> None:
    """Rows are known by their place in the table, and not by a number that they share."""
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {"n": 0}, "a"), answer({"ok": True}, call_id="a"))
    unanswered = [call("charge", {"n": n}, f"call_{n}") for n in range(3)]
    log.turn("c", "again", *unanswered)
    shared = [r if n < 5 else StoredRow("c", 6, r.payload) for n, r in enumerate(log.rows)]
    log.rows = [*shared[:-1], StoredRow("c", 7, shared[-1].payload)]
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False)
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        found = triage(case).findings
    by_id = {name: [f for f in found if f.id == name] for name in ("AX113", "AX203")}
    assert [len(f.witness) for f in by_id["AX113"]] == [3]
    assert sorted(f.sentence.split()[1] for f in by_id["AX203"]) == [
        "call_0:",
        "call_1:",
        "call_2:",
    ]
    digests = {f.witness[0].digest for f in by_id["AX203"]}
    assert len(digests) == 3


@pytest.mark.slow
def test_many_rows_at_one_number_and_many_turns_take_no_square_of_time(tmp_path: Path) -> None:
    """A comparison of each row with each other would take minutes here."""
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {"n": 0}, "a"), answer({"ok": True}, call_id="a"))
    first, one_call, _, end = (row.payload for row in log.rows)
    calls = [first, *(one_call.replace('"a"', f'"call {n}"') for n in range(_MANY))]
    log.rows += [StoredRow("one", 1, payload) for payload in calls]
    turns = [first, end] * _MANY
    log.rows += [StoredRow("many", n, payload) for n, payload in enumerate(turns, 1)]
    log.rows += [StoredRow("cut", n + 1, '{"conversation_id":"cut"') for n in range(_MANY // 10)]
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False)
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        found = triage(case).findings
    count = {
        name: sum(f.id == name for f in found) for name in ("AX104", "AX120", "AX133", "AX203")
    }
    assert count == {"AX104": 1, "AX120": _MANY // 10 - 1, "AX133": 1, "AX203": _MANY}


def test_extreme_numbers_stop_no_check(tmp_path: Path) -> None:
    """The smallest and the largest number of a column, and a number that is none."""
    log = LogBuilder("G8")
    for step in (-(2**63), -1, 1, 2**62, 2**63 - 1):
        log.add(Row("c", 1, "antigravity"), step=step)
    log.rows.append(StoredRow("c", None, log.rows[0].payload))
    path = log.write_sqlite(tmp_path / "log.sqlite", typed=False, keyed=False)
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        found = triage(case, wounds_witnesses.expecting("c", 9)).findings
    steps = {(f.id, f.step) for f in found}
    assert steps >= {("AX101", 2), ("AX101", 2**62 + 1), ("AX108", 2**63 - 1), ("AX134", None)}
    assert [f.step for f in found if f.id == "AX115"] == [-(2**63), -1]
    log.rows = log.rows[:1]
    path = log.write_sqlite(tmp_path / "below.sqlite")
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        found = triage(case, wounds_witnesses.expecting("c", 9)).findings
    assert [f.sentence for f in found if f.id == "AX103"] == [
        f"it ends at step {-(2**63)}, and step 9 was expected (--expect-last): 9 steps are missing."
    ]


def test_ids_with_braces_are_shown_as_they_are() -> None:
    """They are arguments of the sentence, and never its template."""
    log = LogBuilder("G8")
    odd = "{0}{} {x!r}"
    log.turn("c", "hi", call("charge", {"n": 0}, "a"), answer({"ok": True}, call_id="a"))
    log.turn(odd, "hi", call(odd, {"n": 1}, odd))
    (found,) = (f for f in findings(log) if f.id == "AX203")
    assert found.sentence == f"{odd} {odd}: no result was logged."
    assert found.conversation_id == odd
