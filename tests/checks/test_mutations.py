"""Any single mutation of a healthy log is reported, or provably invisible.

That it is invisible says an oracle that knows nothing of axnb's checks: the row says what it said
before (`reading`), or the log is one that AX could have left in a healthy history (`grammar`).
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.checks.registry import checks
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.loading import look_closer
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder
from axnb.triaging import Question, Triage, triage
from tests.checks.grammar import Stored, is_healthy, says_the_same, stored
from tests.checks.healthy import healthy_logs
from tests.checks.mutations import MUTATIONS, InapplicableError, Mutant

#: Mutants of one healthy log; they share a case with it: most of a triage is the same for all.
_MUTANTS = 8
#: These hold one log against another, and the mutants are not each other's copies.
_COMPARING = {check.id for check in checks() if "witnesses" in check.needs}


@st.composite
def _mutants(draw: st.DrawFn, log: LogBuilder) -> list[Mutant]:
    names = st.lists(
        st.sampled_from(list(MUTATIONS)), min_size=_MUTANTS, max_size=_MUTANTS, unique=True
    )
    found = []
    for name in draw(names):
        try:
            mutant = MUTATIONS[name](draw, log)
        except InapplicableError:
            continue
        mutant.what = f"{name}: {mutant.what}"
        found.append(mutant)
    return found


def _write(mutant: Mutant, path: Path) -> Path:
    mutant.log.write_sqlite(path, keyed=mutant.keyed, typed=mutant.typed)
    if mutant.as_text:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                "update conversation_log set payload = cast(payload as text) "
                "where typeof(payload) = 'blob'"
            )
    return path


def _load(case: Case, path: Path) -> str:
    return load_log(case, locate(str(path), {}).log, after=look_closer)


def _told(answer: Triage, source: str, touched: Iterable[str]) -> set[tuple[Any, ...]]:
    """What a triage reports of a source and some of its conversations.

    A finding is one of its step, and of its conversation where it is only information: that a
    sentence counts one more or less of something is no report.
    """
    about = {None, *touched}
    found: set[tuple[Any, ...]] = {
        (f.id, f.severity, f.conversation_id, f.step if f.severity != "info" else None)
        for f in answer.findings
        if f.source == source and f.id not in _COMPARING and f.conversation_id in about
    }
    for s in answer.sources:
        if s.name == source:
            found.add(("doubts", s.rejected, s.incomplete))
    for c in answer.conversations:
        if c.source == source and c.conversation_id in about:
            open_calls = {o: n for o, n in c.calls.items() if o not in ("completed", "declined")}
            looks = c.state, c.next.empty, c.next.input, c.next.history, c.open_questions
            found.add((c.conversation_id, *looks, *sorted(open_calls.items())))
    return found


def _is_calm(answer: Triage, source: str) -> bool:
    """Has a source no finding above info, but that a request must name an owner (G4, G5)?"""
    found = {f.id for f in answer.findings if f.source == source and f.severity != "info"}
    return found - _COMPARING <= {"AX146"}


def _is_invisible(before: Stored, after: Stored, log: LogBuilder) -> bool:
    return says_the_same(before, after, log.generation) or is_healthy(after)


def _check(log: LogBuilder, mutants: Sequence[Mutant]) -> None:
    with tempfile.TemporaryDirectory() as folder, Case(settings=Settings()) as case:
        path = log.write_sqlite(Path(folder, "healthy.sqlite"))
        before = stored(path, log.generation)
        assert is_healthy(before), "the oracle does not know a healthy log"
        healthy = _load(case, path)
        paths = [_write(m, Path(folder, f"{n}.sqlite")) for n, m in enumerate(mutants)]
        sources = [_load(case, path) for path in paths]
        answer = triage(case, Question(log.generation.name))
        assert _is_calm(answer, healthy), "a healthy log has a finding"
        after = [stored(path, log.generation) for path in paths]
    for mutant, source, now in zip(mutants, sources, after, strict=True):
        was = _told(answer, healthy, mutant.touched)
        new = _told(answer, source, mutant.touched) - was
        if not new:
            note(f"healthy: {was}\n{mutant.what}\nis neither reported nor invisible")
            assert _is_invisible(before, now, log), mutant.what


def check_mutations_of(generation: str, examples: int) -> None:
    """Mutate some healthy logs of a generation."""

    # A log that fails is small already: shrinking it would take minutes.
    @settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        log = data.draw(healthy_logs(generation))
        note("\n".join(map(str, (*log.rows, *log.executions))))
        _check(log, data.draw(_mutants(log)))

    check()


#: The oldest and the newest shape of a row; the others are in `make test-all`.
_QUICK = ("G3", "G8")


@pytest.mark.parametrize("generation", _QUICK)
def test_a_mutation_is_reported_or_invisible(generation: str) -> None:
    check_mutations_of(generation, 2)


@pytest.mark.slow
@pytest.mark.parametrize("generation", [g for g in GENERATIONS if g not in _QUICK])
def test_many_mutations_are_reported_or_invisible(generation: str) -> None:
    check_mutations_of(generation, 4)
