"""What stands beside a log, on real logs and on the command line."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.ax.rows import Row
from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.evidence.load import LoadOptions
from axnb.loading import load, load_witnesses
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, call, say
from axnb.triaging import Expectation, Question, Triage, triage
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.servers import PostgresServer

RESTORED = ax_logs.ROOT / "restored-sqlite"


# --- real logs -----------------------------------------------------------------------------------


def _responses(found: Any) -> Iterator[tuple[int, list[str]]]:
    """(number, kinds) of every response that a client got."""
    if isinstance(found, list):
        for item in found:
            yield from _responses(item)
    elif isinstance(found, dict):
        yield from found.get("outputs", ())


def _output(conversation_id: str, number: int, told: str) -> dict[str, Any]:
    kind, _, text = told.partition(":")
    is_whole = kind == "text" and not text.endswith(" characters)")
    digest = hashlib.sha256(text.encode()).hexdigest() if is_whole else None
    return {"conversation": conversation_id, "number": number, "kind": kind, "digest": digest}


def _transcript(log: RealLog, path: Path) -> list[dict[str, Any]]:
    """Write what the clients of a log got, and return it."""
    outputs = [
        _output(conversation_id, number, told)
        for conversation_id, about in log.truth["conversations"].items()
        for number, kinds in _responses([about.get("client"), about.get("then")])
        for told in kinds or ["unknown"]
    ]
    path.write_text("".join(f"{json.dumps(o)}\n" for o in outputs), encoding="utf-8")
    return outputs


def _found(answer: Triage, identity: str) -> set[str | None]:
    return {f.conversation_id for f in answer.findings if f.id == identity}


def _check_against_truth(log: RealLog, source: str, folder: Path) -> None:
    outputs = _transcript(log, folder / "client.jsonl")
    with Case(settings=Settings()) as case:
        load(case, [source])
        assert load_witnesses(case, [folder / "client.jsonl"], log.server_logs).skipped == ()
        answer = triage(case)
    lost = Counter(o["conversation"] for o in outputs if o["number"] == 0)
    assert _found(answer, "AX119") == set(lost)
    # What a client was told of is what the server warned of, but for ends, which no client sees.
    warned = {f.conversation_id: f.sentence for f in answer.findings if f.id == "AX118"}
    assert {c for c, sentence in warned.items() if "output" in sentence} == set(lost)
    for conversation_id, number in lost.items():
        assert f"could not log {number} output" in warned[conversation_id]
    # Nothing was restored here: every number is in its log, and every text where it belongs.
    assert _found(answer, "AX103") == set()
    assert _found(answer, "AX107") == set()


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(
        [log for log in ax_logs.sqlite_logs() if log.server_logs], "g3-sqlite", "g8-sqlite"
    ),
)
def test_what_was_lost_on_sqlite(log: RealLog, tmp_path: Path) -> None:
    _check_against_truth(log, str(log.sqlite), tmp_path)


@pytest.mark.parametrize("log", ax_logs.some_quick(ax_logs.postgres_logs(), "g5-custom-postgres"))
def test_what_was_lost_on_postgres(log: RealLog, tmp_path: Path, postgres: PostgresServer) -> None:
    dsn = postgres.create_database()
    postgres.execute(log.dump, dsn.rsplit("/", 1)[1])
    _check_against_truth(log, dsn, tmp_path)


def _restored(case: Case, *names: str) -> dict[tuple[str, str | None], str]:
    load(case, [str(RESTORED / f"{name}.sqlite") for name in names])
    sources = dict(zip(["log", "log-2", "log-3"], names, strict=False))
    return {
        (f"{f.id} {sources[f.source]}", f.conversation_id): f.sentence
        for f in triage(case).findings
        if f.id in ("AX103", "AX107")
    }


def test_a_restored_log_beside_the_lost_one(case: Case) -> None:
    assert _restored(case, "log", "lost") == {
        ("AX107 log", "orders"): "it begins as in log-2, where step 7 is another one.",
        ("AX107 lost", "orders"): "it begins as in log, where step 7 is another one.",
        ("AX103 log", "lost"): (
            "it is not in this log, and log-2 holds it up to step 6: 6 steps are missing."
        ),
        ("AX103 lost", "after"): (
            "it is not in this log, and log holds it up to step 3: 3 steps are missing."
        ),
    }


def test_a_backup_beside_the_log_that_went_on(case: Case) -> None:
    assert _restored(case, "backup", "lost") == {
        ("AX103 backup", "orders"): (
            "it ends at step 6, and log-2 goes on to step 15: 9 steps are missing."
        ),
        ("AX103 backup", "lost"): (
            "it is not in this log, and log-2 holds it up to step 6: 6 steps are missing."
        ),
    }


def test_the_client_of_the_lost_log(case: Case, tmp_path: Path) -> None:
    """No other log is needed: what the client was sent is not what the log holds."""
    truth = json.loads((RESTORED / "truth.json").read_text(encoding="utf-8"))
    outputs = [
        _output(conversation_id, number, told)
        for conversation_id, _, got in truth["lost"]
        for number, kinds in got["outputs"]
        for told in kinds
    ]
    (tmp_path / "c").write_text("\n".join(map(json.dumps, outputs)), encoding="utf-8")
    load(case, [str(RESTORED / "log.sqlite")])
    load_witnesses(case, [tmp_path / "c"])
    found = {(f.id, f.conversation_id, f.step): f.sentence for f in triage(case).findings}
    assert found["AX107", "orders", 11] == "client was sent another text as step 11."
    assert found["AX103", "orders", 12] == (
        "it ends at step 12, and client was sent step 14: 2 steps are missing."
    )
    assert found["AX103", "lost", None] == (
        "it is in no log, and client was sent step 5: 5 steps are missing."
    )


# --- copies --------------------------------------------------------------------------------------


def _log(generation: str = "G8", text: str = "done") -> LogBuilder:
    log = LogBuilder(generation)
    log.turn("c", "hi", call("charge", {"n": 1}), say(text))
    return log


def _triage(
    case: Case, folder: Path, *logs: LogBuilder, question: Question | None = None
) -> Triage:
    paths = [str(log.write_sqlite(folder / f"{n}.sqlite")) for n, log in enumerate(logs)]
    load(case, paths)
    return triage(case, question)


def test_rows_of_other_generations_are_not_compared(case: Case, tmp_path: Path) -> None:
    """A migrated copy says the same in other words: the texts tell nothing."""
    answer = _triage(case, tmp_path, _log("G6"), _log("G8", "other"))
    assert _found(answer, "AX107") == _found(answer, "AX103") == set()
    assert any(s.startswith("4 rows of log not compared with what log-2 has") for s in answer.scope)


def test_a_row_that_cannot_be_read_is_not_compared(case: Case, tmp_path: Path) -> None:
    log, other = _log(), _log()
    for made, damage in ((log, "{"), (other, "[")):
        made.rows[2] = made.rows[2].__class__("c", 3, damage)
    answer = _triage(case, tmp_path, log, other)
    assert _found(answer, "AX107") == set()
    assert any(s.startswith("1 row of log not compared") for s in answer.scope)


@pytest.mark.slow
def test_many_rows_in_another_spelling(case: Case, tmp_path: Path) -> None:
    """More than are compared at once; the one that differs is found all the same."""
    log, other = LogBuilder("G8"), LogBuilder("G8")
    log.interrupted("c", "hi")
    for n in range(10_500):
        # Without its number the builder would look for it in all rows before.
        log.add(Row("c", 1, parts=(say(f"text {n}"),)), step=n + 2)
    other.rows = [
        row.__class__(row.conversation_id, row.step, json.dumps(json.loads(row.payload)))
        for row in log.rows
    ]
    answer = _triage(case, tmp_path, log, other)
    assert _found(answer, "AX107") == _found(answer, "AX103") == set()
    last = other.rows[-1]
    other.rows[-1] = last.__class__("c", last.step, last.payload.replace("text", "words"))
    (tmp_path / "1.sqlite").unlink()
    load(case, [str(other.write_sqlite(tmp_path / "1.sqlite"))])
    steps = [f.step for f in triage(case).findings if f.id == "AX107"]
    assert steps == [last.step, last.step]


# --- times ---------------------------------------------------------------------------------------


def _recorded(log: LogBuilder, path: Path, times: list[str]) -> str:
    """A G3 log whose executions were recorded at these times."""
    log.write_sqlite(path)
    with closing(sqlite3.connect(path)) as connection:
        for rowid, text in enumerate(times, 1):
            values = (text, rowid)
            connection.execute("update execution_log set timestamp = ? where rowid = ?", values)
        connection.commit()
    return str(path)


@pytest.mark.parametrize(
    ("first", "last", "seen"),
    [
        (
            "2026-05-22 10:00:00.475012409 +0000 UTC",
            "2026-05-22 12:00:01 +0200 CEST",
            ("2026-05-22T10:00:00.475012Z", "2026-05-22T10:00:01.000000Z"),
        ),
        (
            "2026-05-22T15:30:00.5+05:30",
            "2026-05-22 05:30:00.25-05:30",
            ("2026-05-22T10:00:00.500000Z", "2026-05-22T11:00:00.250000Z"),
        ),
        (
            "2026-05-22 10:00:00",
            "2026-05-22 13:00:00+02",
            ("2026-05-22T10:00:00.000000Z", "2026-05-22T11:00:00.000000Z"),
        ),
        (
            "0001-01-01 00:00:00 +0000 UTC",
            "2026-05-22 10:00:00 +0000 UTC m=+0.5",
            ("2026-05-22T10:00:00.000000Z", "2026-05-22T10:00:00.000000Z"),
        ),
        ("0001-01-01T00:00:00Z", "in the morning", (None, None)),
    ],
)
@pytest.mark.parametrize("zone", [pytest.param("UTC", marks=pytest.mark.slow), "Asia/Kolkata"])
def test_executions_of_g3_tell_the_time(
    first: str,
    last: str,
    seen: tuple[Any, Any],
    zone: str,
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "TZ", zone)
    time.tzset()
    try:
        load(case, [_recorded(_log("G3"), tmp_path / "log.sqlite", [first, last])])
        (conversation,) = triage(case).as_dict()["conversations"]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (conversation["first_seen"], conversation["last_seen"]) == seen


def test_the_server_log_is_a_clock(axnb: Callable[..., Result], tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi")
    log.turn("calm", "hi")
    path = log.write_sqlite(tmp_path / "log.sqlite")
    server = tmp_path / "server.log"
    server.write_text(
        '{"time":"2026-07-22T14:00:00+02:00","msg":"Starting AX server"}\n'
        '{"time":"2026-07-22T12:00:01.25Z","msg":"Executing request",'
        '"request":"conversation_id:\\"c\\" inputs:{}"}\n'
        '{"time":"2026-07-22T12:00:09.000000Z","msg":"Stopping","conversation_id":"c"}\n'
        '{"time":"2026-07-22T13:00:00.000000Z","msg":"Executing request",'
        '"request":"conversation_id:\\"calm\\""}\n',
        encoding="utf-8",
    )
    found = json.loads(axnb("triage", path, "--server-log", server, "--json").stdout)
    times = {
        c["conversation_id"]: (c["first_seen"], c["last_seen"]) for c in found["conversations"]
    }
    assert times == {
        "c": ("2026-07-22T12:00:01.250000Z", "2026-07-22T12:00:09.000000Z"),
        "calm": ("2026-07-22T13:00:00.000000Z", "2026-07-22T13:00:00.000000Z"),
    }
    # Of the whole log the time of those that need attention is told.
    assert (found["first_seen"], found["last_seen"]) == times["c"]
    shown = axnb("triage", path, "--server-log", server).stdout
    assert "First seen 2026-07-22T12:00:01Z, last seen 2026-07-22T12:00:09Z." in shown
    assert "Not looked at: snapshots, ledgers, client transcripts." in shown
    assert "server.log   server log   read 4 = parsed 4 + rejected 0" in shown
    without = axnb("triage", path).stdout
    assert "When: unknown. The log has no times; give --server-log to get them." in without
    assert "Not looked at: snapshots, ledgers, server logs, client transcripts." in without


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    """A log of which nothing is wrong; `c=1` is an id."""
    log = LogBuilder("G8")
    log.turn("c", "hi", say("done"))
    log.turn("c=1", "hi", say("done"))
    return log.write_sqlite(tmp_path / "log.sqlite")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "found"),
    [
        (["--expect-last", "c=3"], 0, set()),
        (["--expect-last", "c=4"], 1, {"c"}),
        (["--expect-last", "c=1=4"], 1, {"c=1"}),
        (["--expect-last", "c=1=3", "--expect-last", "gone=1"], 1, {"gone"}),
        (["--conversation", "c", "--expect-last", "9"], 1, {"c"}),
        (["--conversation", "gone", "--expect-last", "9"], 1, {"gone"}),
        (["--conversation", "c", "--expect-last", "c=9", "--expect-last", "2"], 1, {"c"}),
    ],
)
def test_what_somebody_expects(
    arguments: list[str],
    exit_code: int,
    found: set[str],
    healthy: Path,
    axnb: Callable[..., Result],
) -> None:
    result = axnb("triage", healthy, "--json", *arguments)
    assert result.exit_code == exit_code, result.stderr
    answer = json.loads(result.stdout)
    lost = [f for f in answer["findings"] if f["severity"] != "info"]
    assert {f["keys"]["conversation_id"] for f in lost} == found
    assert {f["id"] for f in lost} <= {"AX103"}
    assert [s["name"] for s in answer["sources"]] == ["log"]
    shown = axnb("triage", healthy, *arguments)
    assert shown.exit_code == exit_code
    assert "holds no conversation" not in shown.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--expect-last", "5"],
        ["--expect-last", "c="],
        ["--expect-last", "c=0"],
        ["--expect-last", "c=-1"],
        ["--expect-last", "=4"],
        ["--expect-last", "c=٣"],
        ["--expect-last", f"c={10**30}"],
        ["--conversation", "c", "--conversation", "c=1", "--expect-last", "5"],
        ["--conversation", "c", "--expect-last", "c=1=4"],
    ],
)
def test_an_expectation_that_cannot_be_meant(
    arguments: list[str], healthy: Path, axnb: Callable[..., Result]
) -> None:
    result = axnb("triage", healthy, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1


def test_an_expectation_keeps_the_case_as_it_is(healthy: Path, tmp_path: Path) -> None:
    with Case(tmp_path / "case.duckdb", Settings()) as case:
        load(case, [str(healthy)])
        before = (tmp_path / "case.duckdb").read_bytes()
        expected = (Expectation("c", 9, "the ticket"),)
        found = triage(case, Question(expectations=expected)).findings
        (finding,) = (f for f in found if f.id == "AX103")
        assert "step 9 was expected (the ticket)" in finding.sentence
        assert "AX103" not in {f.id for f in triage(case).findings}
        assert (tmp_path / "case.duckdb").read_bytes() == before
        with pytest.raises(UsageError, match="'gone'"):
            triage(case, Question(expectations=(Expectation("gone", 1),)), ["c"])


def test_sources_of_every_kind_are_told(
    healthy: Path, tmp_path: Path, axnb: Callable[..., Result]
) -> None:
    client, server = tmp_path / "client.jsonl", tmp_path / "server.log"
    client.write_text('{"conversation":"c","number":2,"kind":"text"}\n', encoding="utf-8")
    server.write_text('{"msg":"Starting AX server"}\npanic: x\n', encoding="utf-8")
    before = {path: path.read_bytes() for path in (healthy, client, server)}
    arguments = ["--client", client, "--server-log", server]
    result = axnb("triage", healthy, *arguments, "--json")
    assert result.exit_code == 0, "lines of another program are no doubt"
    told = json.loads(result.stdout)
    assert [(s["name"], s["kind"], s["read"], s["rejected"]) for s in told["sources"]] == [
        ("log", "eventlog", 6, 0),
        ("client", "client", 1, 0),
        ("server-log", "server-log", 2, 1),
    ]
    digest, size = hashlib.sha256(before[client]).hexdigest(), len(before[client])
    assert told["sources"][1]["custody"] == {
        "sha256": digest,
        "bytes": size,
        "files": {"client.jsonl": {"size": size, "sha256": digest}},
    }
    assert "Not looked at: snapshots, ledgers." in told["scope"]
    assert {path: path.read_bytes() for path in before} == before
    shown = axnb("show", healthy, "c", *arguments)
    assert shown.exit_code == 0
    assert "AX103" in axnb("show", healthy, "c", *arguments, "--expect-last", "7").stdout


def test_a_file_that_cannot_be_read_hides_nothing(
    healthy: Path, tmp_path: Path, axnb: Callable[..., Result]
) -> None:
    client = tmp_path / "client.jsonl"
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.touch()
    client.write_text('{"conversation":"c","number":2,"kind":"text"}\n', encoding="utf-8")
    arguments = ["--client", missing, "--client", client, "--server-log", empty]
    result = axnb("triage", healthy, *arguments, "--json")
    assert result.exit_code == 3
    assert result.stderr.splitlines() == [
        f"axnb: {missing} cannot be read: No such file or directory.",
        f"axnb: {empty} holds no line of an AX server log: it is empty.",
    ]
    told = json.loads(result.stdout)
    assert told["verdict"] == "inconclusive"
    assert [s["name"] for s in told["sources"]] == ["log", "client"]
    client.write_text('{"conversation":"c","number":0,"kind":"text"}\n{\n', encoding="utf-8")
    shown = axnb("triage", healthy, *arguments)
    assert shown.exit_code == 1
    assert "1 output was sent to a client and is in no log: text 1." in shown.stdout.replace(
        "\n                ", " "
    )
    assert "1 line of client is not used (not JSON): 2." in shown.stdout


def test_a_case_keeps_its_witnesses(
    healthy: Path, tmp_path: Path, axnb: Callable[..., Result]
) -> None:
    client, kept = tmp_path / "client.jsonl", tmp_path / "case.duckdb"
    client.write_text('{"conversation":"c","number":0,"kind":"text"}\n', encoding="utf-8")
    assert axnb("load", healthy, "--case", kept).exit_code == 0
    assert axnb("triage", "--case", kept).exit_code == 0
    assert axnb("triage", "--case", kept, "--client", client).exit_code == 1
    assert axnb("triage", "--case", kept).exit_code == 1
    # One conversation that is fine is fine, whatever became of another.
    assert axnb("triage", "--case", kept, "--conversation", "c=1").exit_code == 0


def test_a_deletion_is_told(healthy: Path, tmp_path: Path, axnb: Callable[..., Result]) -> None:
    server = tmp_path / "server.log"
    server.write_text(
        '{"msg":"Deleting conversation...","conversation_id":"gone"}\n', encoding="utf-8"
    )
    arguments = ["--server-log", server, "--expect-last", "gone=2", "--json"]
    found = json.loads(axnb("triage", healthy, *arguments).stdout)["findings"]
    (finding,) = (f for f in found if f["severity"] != "info")
    assert finding["sentence"] == (
        "it is in no log, and step 2 was expected (--expect-last): 2 steps are missing; the server "
        "log tells of a deletion."
    )


def test_one_conversation_of_a_server_says_nothing_of_others(
    case: Case, tmp_path: Path, postgres: PostgresServer, axnb: Callable[..., Result]
) -> None:
    """Only the asked one was read: another is not missing."""
    client = tmp_path / "client.jsonl"
    dsn = _log().write_postgres(postgres.create_database())
    lines = [{"conversation": c, "number": 2, "kind": "tool_call"} for c in ("c", "gone")]
    client.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    arguments = ["triage", dsn, "--client", client, "--json"]
    one = json.loads(axnb(*arguments, "--conversation", "c").stdout)
    assert {f["id"] for f in one["findings"]} & {"AX103", "AX119"} == set()
    load(case, [dsn], LoadOptions(conversation="c"))
    assert load_witnesses(case, [client]).skipped == ()
    assert _found(triage(case), "AX103") == set()
    everything = json.loads(axnb(*arguments).stdout)
    missing = [f["keys"] for f in everything["findings"] if f["id"] == "AX103"]
    assert missing == [{"conversation_id": "gone"}]


def test_words_of_strangers_are_shown_harmless(
    healthy: Path, tmp_path: Path, axnb: Callable[..., Result]
) -> None:
    client = tmp_path / "client.jsonl"
    name = "x'); drop table events; --\x1b[2J\u202e{}"
    line = {"conversation": name, "number": 0, "kind": "text", "text": "TOP SECRET"}
    client.write_text(json.dumps(line), encoding="utf-8")
    result = axnb("triage", healthy, "--client", client)
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "x'); drop" in result.stdout
    assert "TOP SECRET" not in result.stdout + result.stderr
