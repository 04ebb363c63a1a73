"""Predictions against what real servers of seven generations did."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from axnb.ax.behaviour import Harness, History, Next, Target, predict
from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from axnb.triaging import Question, Triage, histories, triage
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.servers import PostgresServer


def _nexts(log: RealLog, source: str) -> dict[str, dict[str, Next]]:
    """What is predicted of a log as each of its targets: target -> conversation -> answer.

    As one of them a whole triage is asked as well: it says the same.
    """
    found = {}
    with Case(settings=Settings()) as case:
        load_log(case, locate(source, {}).log)
        for target, about in log.truth["targets"].items():
            harnesses = tuple(Harness.parse(text) for text in about["harnesses"])
            server = Target(GENERATIONS[target.split()[0]], harnesses, declared=True)
            seen = _histories(case, server)
            found[target] = {name: predict(server, history) for name, history in seen.items()}
        answer = triage(case, Question(target.split()[0], harnesses))
        assert {c.conversation_id: c.next for c in answer.conversations} == found[target]
    return found


def _compare(log: RealLog, source: str) -> int:
    """Compare every answer; returns how many were compared."""
    nexts = _nexts(log, source)
    compared = 0
    for target, conversation_id, request, truth in log.answers():
        if request not in ("empty", "input"):
            continue
        predicted = nexts[target][conversation_id]
        does = predicted.empty if request == "empty" else predicted.input
        where = f"{log.name}, {target}, {conversation_id}, {request}"
        assert does == truth["does"], where
        assert truth.get("harness") in (None, predicted.harness), where
        compared += 1
    return compared


def test_every_answer_on_sqlite() -> None:
    compared = sum(_compare(log, str(log.sqlite)) for log in ax_logs.sqlite_logs())
    assert compared == ax_logs.SQLITE_ANSWERS


def test_every_answer_on_postgres(postgres: PostgresServer) -> None:
    compared = 0
    for log in ax_logs.postgres_logs():
        dsn = postgres.create_database()
        postgres.execute(log.dump, dsn.rsplit("/", 1)[1])
        compared += _compare(log, dsn)
    assert compared == ax_logs.POSTGRES_ANSWERS


@pytest.mark.parametrize("log", ax_logs.sqlite_logs(), ids=lambda log: log.name)
def test_names_of_conversations_mean_nothing(log: RealLog, tmp_path: Path) -> None:
    names = ax_logs.rename_conversations(log.sqlite, tmp_path / "log.sqlite")
    compared = 0
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(tmp_path / "log.sqlite"), {}).log)
        for server, target, answers in _asked(log):
            seen = _histories(case, server)
            for conversation_id, request, truth in answers:
                if request in ("empty", "input"):
                    predicted = predict(server, seen[names[conversation_id]])
                    does = predicted.empty if request == "empty" else predicted.input
                    assert does == truth["does"], f"{target}, {conversation_id}, {request}"
                    compared += 1
    assert compared > 0


def test_requests_that_name_their_harness() -> None:
    compared = 0
    for log in ax_logs.sqlite_logs():
        with Case(settings=Settings()) as case:
            load_log(case, locate(str(log.sqlite), {}).log)
            for server, target, answers in _asked(log):
                seen = _histories(case, server)
                for conversation_id, request, truth in answers:
                    naming = request.removeprefix("input naming ")
                    if naming != request:
                        predicted = predict(server, seen[conversation_id], naming).input
                        assert predicted == truth["does"], f"{target}, {conversation_id}, {naming}"
                        compared += 1
    assert compared > 0


Asked = Iterator[tuple[Target, str, list[tuple[str, str, dict[str, Any]]]]]


def _asked(log: RealLog) -> Asked:
    """The servers that were asked about a log, with (conversation, request, answer) of each."""
    for target, about in log.truth["targets"].items():
        harnesses = tuple(map(Harness.parse, about["harnesses"]))
        server = Target(GENERATIONS[target.split()[0]], harnesses, declared=True)
        yield (
            server,
            f"{log.name}, {target}",
            [(c, request, truth) for t, c, request, truth in log.answers() if t == target],
        )


def _histories(case: Case, server: Target) -> dict[str, History]:
    with case.reading() as session:
        return {name: h for (_, name), h in histories(session, server.generation).items()}


def test_what_a_server_reads_of_the_history() -> None:
    """`seen` counts the steps that the real server decoded: none of some is a lost history."""
    compared = 0
    for log in ax_logs.sqlite_logs():
        nexts = _nexts(log, str(log.sqlite))
        for target, conversation_id, request, truth in log.answers():
            seen = truth.get("seen")
            history = nexts[target][conversation_id].history
            if request != "input" or not seen or history is None or not seen["rows"]:
                continue
            where = f"{log.name}, {target}, {conversation_id}"
            assert (history == "lost") <= (seen["steps"] == 0), where
            assert (history in ("read", "part")) or seen["steps"] == 0, where
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("log", ax_logs.postgres_logs(), ids=lambda log: log.name)
def test_the_same_rows_in_sqlite_and_postgres(
    log: RealLog, postgres: PostgresServer, tmp_path: Path
) -> None:
    dsn = postgres.create_database()
    postgres.execute(log.dump, dsn.rsplit("/", 1)[1])
    copy = _copy_to_sqlite(dsn, tmp_path / "log.sqlite")
    assert _without_custody(_one(dsn)) == _without_custody(_one(str(copy)))


def _one(source: str) -> Triage:
    with Case(settings=Settings()) as case:
        load_log(case, locate(source, {}).log)
        return triage(case)


def _without_custody(answer: Triage) -> dict[str, object]:
    found = answer.as_dict()
    for source in found["sources"]:
        del source["custody"]
    return found


def _copy_to_sqlite(dsn: str, path: Path) -> Path:
    import psycopg

    with psycopg.connect(dsn) as server, closing(sqlite3.connect(path)) as file:
        cursor = server.execute("select * from conversation_log limit 0")
        columns = [column.name for column in cursor.description or ()]
        number = "step" if "step" in columns else "seq"
        file.execute(
            f"create table conversation_log (conversation_id text not null, {number} integer not "
            f"null, payload text not null, primary key (conversation_id, {number}))"
        )
        rows = server.execute(f"select conversation_id, {number}, payload from conversation_log")
        file.executemany("insert into conversation_log values (?, ?, ?)", rows.fetchall())
        if server.execute("select to_regclass('execution_log') is not null").fetchone() == (True,):
            file.execute("create table execution_log (exec_id text, payload text, timestamp text)")
        file.commit()
    return path
