"""Findings that a case keeps: the same as if they were looked for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from axnb.case.case import Case
from axnb.loading import load
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, call, say
from axnb.triaging import Question, triage
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.checks import wounds_turns
from tests.checks.pairs import healthy


def _unanswered() -> LogBuilder:
    log = healthy()
    log.turn("c", "hi", say("wait"), call("charge", {"n": 2}))
    return log


#: Logs with many kinds of findings; `make test-all` takes the others as well.
_QUICK = ("crafted-sqlite",)
LOGS = ax_logs.some_quick(ax_logs.sqlite_logs(), *_QUICK)


@pytest.mark.parametrize("log", LOGS)
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
    # What is kept needs no server: the oldest and the newest that was asked show it.
    for question in dict.fromkeys((questions[0], questions[-1])):
        assert triage(kept, question) == triage(stale, question)


@pytest.mark.parametrize("log", LOGS)
def test_a_named_conversation_is_judged_as_among_all(log: RealLog) -> None:
    with Case(settings=Settings()) as case:
        load(case, [str(log.sqlite)])
        whole = triage(case)
        ids = [c.conversation_id for c in whole.conversations]
        for chosen in [*([name] for name in ids[:: 1 + len(ids) // 4]), ids[::3]]:
            named = triage(case, None, chosen)
            assert named.conversations == tuple(
                c for c in whole.conversations if c.conversation_id in chosen
            )
            assert named.findings == tuple(
                f for f in whole.findings if f.conversation_id in (None, *chosen)
            )


def test_a_second_source_is_looked_at_with_the_first(case: Case, tmp_path: Path) -> None:
    load(case, [str(wounds_turns.interrupted().write_sqlite(tmp_path / "a.sqlite"))])
    (first,) = (f for f in triage(case).findings if f.id == "AX110")
    load(case, [str(_unanswered().write_sqlite(tmp_path / "b.sqlite"))])
    found = {f.id: f for f in triage(case).findings if f.id in ("AX110", "AX203")}
    assert {(f.id, f.source) for f in found.values()} == {("AX110", "log"), ("AX203", "log-2")}
    assert found["AX110"].witness[0].step == first.witness[0].step
    assert found["AX110"].witness[0].digest != first.witness[0].digest, "the key is of all sources"


def test_sources_are_looked_at_though_the_last_one_cannot_be_read(
    case: Case, tmp_path: Path
) -> None:
    first = wounds_turns.interrupted().write_sqlite(tmp_path / "a.sqlite")
    second = _unanswered().write_sqlite(tmp_path / "b.sqlite")
    skipped = load(case, [str(first), str(second), str(tmp_path / "none.sqlite")]).skipped
    assert len(skipped) == 1
    assert {("AX110", "log"), ("AX203", "log-2")} <= set(
        case.rows("select id, source from findings")
    )
    assert case.rows("select count(*) from meta where name = 'findings'") == [(1,)]
