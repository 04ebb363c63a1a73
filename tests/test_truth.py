"""Predictions against what real servers of seven generations did."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from axnb.ax.behaviour import Harness, History, Target, predict
from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from axnb.triaging import Question, Triage, histories, triage
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.servers import PostgresServer

#: An answer of a real server: target, conversation, request, and what it did.
Answer = tuple[str, str, str, dict[str, Any]]


def _plain(log: RealLog) -> list[Answer]:
    """Answers to empty requests and new inputs that name no harness."""
    return [answer for answer in log.answers() if answer[2] in ("empty", "input")]


def _naming(log: RealLog) -> list[Answer]:
    """Answers to requests that name their harness."""
    return [answer for answer in log.answers() if answer[2].startswith("input naming ")]


def _decoding(log: RealLog) -> list[Answer]:
    """Answers that tell what the real server decoded of rows with content."""
    return [a for a in log.answers() if a[2] == "input" and (a[3].get("seen") or {}).get("rows")]


def test_there_are_answers_of_every_kind() -> None:
    logs = ax_logs.sqlite_logs()
    assert sum(len(_plain(log)) for log in logs) == ax_logs.SQLITE_ANSWERS
    assert sum(len(_plain(log)) for log in ax_logs.postgres_logs()) == ax_logs.POSTGRES_ANSWERS
    assert any(map(_naming, logs))
    assert any(map(_decoding, logs))


def _servers(log: RealLog) -> dict[str, Target]:
    """The servers that were asked about a log."""
    return {
        target: Target(
            GENERATIONS[target.split()[0]],
            tuple(map(Harness.parse, about["harnesses"])),
            declared=True,
        )
        for target, about in log.truth["targets"].items()
    }


def _histories(case: Case, log: RealLog) -> dict[str, dict[str, History]]:
    """What each server decodes: target -> conversation -> history. Its harnesses change nothing."""
    servers = _servers(log)
    with case.reading() as session:
        by_generation = {
            generation: {name: h for (_, name), h in histories(session, generation).items()}
            for generation in dict.fromkeys(server.generation for server in servers.values())
        }
    return {target: by_generation[server.generation] for target, server in servers.items()}


def _check_answers(log: RealLog, source: str) -> None:
    """Compare every answer. As one of the servers a whole triage is asked as well, which says the
    same."""
    servers = _servers(log)
    with Case(settings=Settings()) as case:
        load_log(case, locate(source, {}).log)
        seen = _histories(case, log)
        target, server = list(servers.items())[-1]
        answer = triage(case, Question(server.generation.name, server.harnesses))
    nexts = {t: {n: predict(servers[t], h) for n, h in seen[t].items()} for t in servers}
    assert {c.conversation_id: c.next for c in answer.conversations} == nexts[target]
    for target, conversation_id, request, truth in _plain(log):
        predicted = nexts[target][conversation_id]
        does = predicted.empty if request == "empty" else predicted.input
        where = f"{log.name}, {target}, {conversation_id}, {request}"
        assert does == truth["does"], where
        assert truth.get("harness") in (None, predicted.harness), where
    for target, conversation_id, request, truth in _naming(log):
        naming = request.removeprefix("input naming ")
        does = predict(servers[target], seen[target][conversation_id], naming).input
        assert does == truth["does"], f"{log.name}, {target}, {conversation_id}, {naming}"
    decoding = _decoding(log)
    assert not decoding or any(nexts[target][name].history for target, name, *_ in decoding)
    for target, conversation_id, _, truth in decoding:
        # `seen` counts the steps that the real server decoded: none of some is a lost history.
        steps, history = truth["seen"]["steps"], nexts[target][conversation_id].history
        if history is not None:
            where = f"{log.name}, {target}, {conversation_id}"
            assert (history == "lost") <= (steps == 0), where
            assert (history in ("read", "part")) or steps == 0, where


#: Of two logs that say the same under another harness or another name, one is slow.
_SLOW = ("g4-builtin-sqlite", "g5-custom-sqlite", "g6-builtin-sqlite", "mixed-renamed-sqlite")
_QUICK = [log.name for log in ax_logs.sqlite_logs() if log.name not in _SLOW]


@pytest.mark.parametrize("log", ax_logs.some_quick(ax_logs.sqlite_logs(), *_QUICK))
def test_every_answer_on_sqlite(log: RealLog) -> None:
    _check_answers(log, str(log.sqlite))


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(ax_logs.postgres_logs(), "g5-custom-postgres", "g8-endings-postgres"),
)
def test_every_answer_on_postgres(log: RealLog, postgres: PostgresServer) -> None:
    dsn = postgres.create_database()
    postgres.execute(log.dump, dsn.rsplit("/", 1)[1])
    _check_answers(log, dsn)


@pytest.mark.parametrize(
    "log", ax_logs.some_quick(ax_logs.sqlite_logs(), "crafted-sqlite", "g3-sqlite", "g8-sqlite")
)
def test_names_of_conversations_mean_nothing(log: RealLog, tmp_path: Path) -> None:
    names = ax_logs.rename_conversations(log.sqlite, tmp_path / "log.sqlite")
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(tmp_path / "log.sqlite"), {}).log)
        seen = _histories(case, log)
    servers = _servers(log)
    assert _plain(log) != []
    for target, conversation_id, request, truth in _plain(log):
        predicted = predict(servers[target], seen[target][names[conversation_id]])
        does = predicted.empty if request == "empty" else predicted.input
        assert does == truth["does"], f"{log.name}, {target}, {conversation_id}, {request}"


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(ax_logs.postgres_logs(), "g5-custom-postgres", "g8-endings-postgres"),
)
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
