"""Plans on copies of logs that real servers wrote, asked as servers were asked for real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from axnb.ax.behaviour import Harness
from axnb.case.case import Case
from axnb.loading import load
from axnb.plans import Plan, plan
from axnb.settings import Settings
from axnb.triaging import Question, Triage, triage
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.plans.stores import PostgresStore, SqliteStore, Store, apply, ask, changing, undo
from tests.servers import PostgresServer

#: Where a conversation cannot go on.
_STUCK = {"blocked", "unreadable", "lost-pending"}

#: A migration, then what it brings to light.
_MAX_ROUNDS = 4


def _questions(log: RealLog) -> Iterator[Question]:
    for target, about in log.truth["targets"].items():
        yield Question(target.split()[0], tuple(map(Harness.parse, about["harnesses"])))


def _stuck(found: Triage, conversations: set[str]) -> set[str]:
    return {
        c.conversation_id
        for c in found.conversations
        if c.conversation_id in conversations
        and ({c.next.empty, c.next.input} & _STUCK or c.action in ("unblock", "quarantine"))
    }


def _carry_out(store: Store, question: Question, script: Plan | None = None) -> int:
    """Follow plan after plan until none changes the store, then undo all; returns how many.

    `script` is the first plan, if it is known.
    """
    trail = []
    script = script or ask(store, question)[1]
    for _ in range(_MAX_ROUNDS):
        helped = {name for s in changing(script) for name in s.conversation_ids}
        if not helped:
            break
        trail.append((script, store.rows()))
        apply(store, script)
        after, following = ask(store, question)
        if changing(script)[0].action == "migrate":
            assert "wrong-column" not in {c.next.empty for c in after.conversations}
            assert not {"AX141", "AX142"} & {f.id for f in after.findings}
        else:
            assert _stuck(after, helped) == set()
            named = {c.conversation_id for c in after.conversations if c.action == "name-owner"}
            missing = {c.conversation_id for c in after.conversations if c.next.harness is None}
            assert named & helped <= missing
        script = following
    else:
        pytest.fail("there is no end of plans")
    for script, before in reversed(trail):
        undo(store, script)
        assert store.rows() == before
    return len(trail)


#: Logs that are quick enough for `make test`.
_QUICK = ("crafted-sqlite", "upgraded-g6-g8-sqlite")


@pytest.mark.parametrize(
    "log", [log for log in ax_logs.sqlite_logs() if log.name in _QUICK], ids=lambda log: log.name
)
def test_sqlite(log: RealLog, tmp_path: Path) -> None:
    """The first and the last server that a log was tried on."""
    questions = list(_questions(log))
    for question in dict.fromkeys((questions[0], questions[-1])):
        _carry_out(SqliteStore.copy(log.sqlite, tmp_path), question)


@pytest.mark.slow
@pytest.mark.parametrize("log", ax_logs.sqlite_logs(), ids=lambda log: log.name)
def test_sqlite_and_every_server(log: RealLog, tmp_path: Path) -> None:
    """Every second server and the newest; of two logs that are neighbours it is not the same."""
    plans = []
    questions = list(dict.fromkeys(_questions(log)))
    begin = ax_logs.sqlite_logs().index(log) % 2
    with Case(settings=Settings()) as case:
        load(case, [SqliteStore.copy(log.sqlite, tmp_path).source])
        for question in dict.fromkeys((*questions[begin::2], questions[-1])):
            store = SqliteStore.copy(log.sqlite, tmp_path)
            first = plan(case, triage(case, question))
            plans.append(_carry_out(store, question, first))
    assert any(plans) or log.name == "checkpointd-shaped-sqlite"


@pytest.mark.slow
@pytest.mark.parametrize("log", ax_logs.some_quick(ax_logs.postgres_logs(), "g5-custom-postgres"))
def test_postgres(log: RealLog, postgres: PostgresServer) -> None:
    store = PostgresStore(postgres)
    store.run(log.dump)
    generation = "G6" if log.name.startswith(("g4", "g5")) else "G7"
    refusing = (Harness("antigravity", False), Harness("drill", False))
    plans = [
        _carry_out(store, Question(asked, refusing)) for asked in (None, generation, "G8", "G6")
    ]
    assert sum(plans) > 2
