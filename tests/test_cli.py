"""The command line: exit codes, stable output, and how it shows what strangers wrote."""

from __future__ import annotations

import atexit
import csv
import json
import os
import pty
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.ax.rows import Row
from axnb.case.case import Case
from axnb.checks.registry import checks
from axnb.cli import main
from axnb.loading import load
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, say, think
from axnb.triaging import ACTIONS
from tests import ax_logs
from tests.servers import PostgresServer

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
SAMPLE = REPOSITORY / "sample_data"
PRINTS_PLANS = any("--plan" in parameter.opts for parameter in main.commands["triage"].params)

Cli = Callable[..., Result]


def _healthy(generation: str = "G8", harness: str = "antigravity") -> LogBuilder:
    log = LogBuilder(generation, harness)
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}), say("done"))
    return log


def _failed() -> LogBuilder:
    log = _healthy()
    log.interrupted("stopped", "hi", call("charge", {"n": 2}))
    return log


def _inconclusive() -> LogBuilder:
    log = _healthy()
    log.turn("unknown", "hi", call("charge", {"n": 2}))
    return log


def _write(log: LogBuilder, name: str = "log.sqlite", *, keyed: bool = True) -> str:
    """Write into the working directory, which the fixture `axnb` has made a fresh one."""
    log.write_sqlite(Path(name), keyed=keyed)
    return name


def _json(result: Result) -> Any:
    return json.loads(result.stdout)


def _one_sentence(result: Result) -> str:
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert "fault of axnb" not in result.stderr
    return result.stderr


# --- exit codes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "code", "word"),
    [(_healthy, 0, "✓ OK"), (_failed, 1, "✗ FAILED"), (_inconclusive, 3, "? INCONCLUSIVE")],
)
def test_the_verdict_is_the_exit_code(
    axnb: Cli, log: Callable[[], LogBuilder], code: int, word: str
) -> None:
    result = axnb("triage", _write(log()))
    assert (result.exit_code, result.stderr) == (code, "")
    assert word in result.stdout


def test_quiet_when_all_is_well(axnb: Cli) -> None:
    lines = axnb("triage", _write(_healthy())).stdout.splitlines()
    assert len([line for line in lines if line]) == 3


WRONG_USAGE = {
    "no source": ["triage"],
    "no source to load": ["load", "--case", "case.duckdb"],
    "nowhere to keep it": ["load", "log.sqlite"],
    "no case to query": ["sql", "select 1"],
    "a version that never was": ["triage", "log.sqlite", "--ax-version", "v9.9.9"],
    "a generation that never was": ["triage", "log.sqlite", "--ax-version", "G9"],
    "a harness that maybe accepts": ["triage", "log.sqlite", "--harness", "drill=maybe"],
    "a harness without a name": ["triage", "log.sqlite", "--harness", "=accepts"],
    "an empty harness": ["triage", "log.sqlite", "--harness", ""],
    "a conversation that is not there": ["triage", "log.sqlite", "--conversation", "nobody"],
    "one that is and one that is not": [
        *("triage", "log.sqlite", "--conversation", "fine", "--conversation", "nobody")
    ],
    "a conversation with a lone surrogate": ["triage", "log.sqlite", "--conversation", "\udcff"],
    "a conversation to show that is not there": ["show", "log.sqlite", "nobody"],
    "a finding that is not there": ["explain", "AX999"],
    "another database": ["triage", "mysql://user:hunter2@host/db"],
    "a variable that is not set": ["triage", "NO_SUCH_VARIABLE"],
}


@pytest.mark.parametrize("what", WRONG_USAGE)
def test_wrong_usage_is_2_and_one_sentence(axnb: Cli, what: str) -> None:
    _write(_healthy())
    result = axnb(*WRONG_USAGE[what])
    assert result.exit_code == 2
    assert "hunter2" not in _one_sentence(result)


@pytest.mark.parametrize(
    "arguments", [[], ["nope"], ["triage", "--nope"], ["show"], ["triage", "--wal", "maybe"]]
)
def test_what_is_no_command_is_2(axnb: Cli, arguments: list[str]) -> None:
    result = axnb(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage:" in result.stderr


def test_sources_that_cannot_be_read_are_3(axnb: Cli) -> None:
    Path("empty.sqlite").touch()
    Path("text.sqlite").write_text("no database")
    Path("folder").mkdir()
    for source in ("missing.sqlite", "empty.sqlite", "text.sqlite", "folder"):
        result = axnb("triage", source)
        assert result.exit_code == 3
        assert source in _one_sentence(result)


def test_a_source_that_was_skipped_is_why_it_is_3(axnb: Cli) -> None:
    Path("empty.sqlite").touch()
    result = axnb("triage", _write(_healthy()), "empty.sqlite")
    assert result.exit_code == 3
    # The sentences of the verdict end at the first empty line after it.
    verdict = result.stdout[result.stdout.index("INCONCLUSIVE") :].split("\n\n")[0]
    assert "empty.sqlite" in verdict
    assert "every logged call answered" not in verdict


def test_a_log_without_rows_is_3(axnb: Cli) -> None:
    result = axnb("triage", _write(LogBuilder("G8")))
    assert result.exit_code == 3
    assert "INCONCLUSIVE" in result.stdout


def test_a_pipe_is_no_log(axnb: Cli) -> None:
    """Nobody may ever write into it again, so it must not be read."""
    os.mkfifo("pipe")
    handle = os.open("pipe", os.O_RDWR | os.O_NONBLOCK)
    os.write(handle, b"x" * 100)
    result = axnb("triage", "pipe")
    assert result.exit_code == 3
    assert "pipe" in _one_sentence(result)
    assert os.read(handle, 200) == b"x" * 100
    os.close(handle)


def test_where_axnb_cannot_write_is_4(axnb: Cli) -> None:
    log = _write(_healthy())
    Path("file").touch()
    for option in ("--csv", "--parquet"):
        result = axnb("triage", log, option, "file/table")
        assert result.exit_code == 4
        assert "file/table" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["file", "log.sqlite"]


def test_a_fault_is_4_and_says_its_kind(axnb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("S3CRET")

    monkeypatch.setattr("axnb.loading.load", fail)
    result = axnb("triage", _write(_healthy()))
    assert result.exit_code == 4
    assert "ZeroDivisionError" in result.stderr
    assert "S3CRET" not in result.output


# --- stable output -------------------------------------------------------------------------------

TRIAGE = {"schema", "verdict", "target", "sources", "conversations", "findings"}
SOURCE = {"name", "kind", "generations", "read", "parsed", "rejected", "custody"}
CONVERSATION = {
    *("source", "conversation_id", "state", "open_questions", "turns", "last_step"),
    *("harness", "generations", "calls", "next", "action", "findings"),
}
FINDING = {"id", "name", "severity", "source", "keys", "sentence", "witness"}


@pytest.mark.parametrize(
    "log",
    [None, _healthy, _failed, _inconclusive, lambda: LogBuilder("G8")],
    ids=["sample", "healthy", "failed", "inconclusive", "empty"],
)
def test_json_has_the_keys_that_other_programs_read(
    axnb: Cli, log: Callable[[], LogBuilder] | None
) -> None:
    source = str(ax_logs.ROOT / "crafted-sqlite/log.sqlite") if log is None else _write(log())
    result = axnb("triage", source, "--json")
    found = _json(result)
    assert found.keys() >= TRIAGE
    assert found["schema"] == "axnb.triage/1"
    assert {"ok": 0, "failed": 1, "inconclusive": 3}[found["verdict"]] == result.exit_code
    assert found["target"].keys() >= {"generation", "harnesses"}
    assert all(entry.keys() >= SOURCE for entry in found["sources"])
    assert all(len(entry["custody"]["sha256"]) == 64 for entry in found["sources"])
    for entry in found["conversations"]:
        assert entry.keys() >= CONVERSATION
        assert entry["next"].keys() >= {"empty", "input", "harness", "history"}
        assert entry["state"] in ("finished", "interrupted", "unreadable")
        assert entry["action"] in ACTIONS
        assert set(entry["findings"]) <= {check.id for check in checks()}
    for entry in found["findings"]:
        assert entry.keys() >= FINDING
        assert all(witness.keys() == {"step", "digest"} for witness in entry["witness"])
    assert all(s["read"] == s["parsed"] + s["rejected"] for s in found["sources"])


def test_what_depends_on_the_harness_says_so(axnb: Cli) -> None:
    log = LogBuilder("G8", "drill")
    log.interrupted("c", "hi")
    path = _write(log)
    (found,) = _json(axnb("triage", path, "--json"))["conversations"]
    assert found["next"]["empty"] == found["next"]["input"] == "depends"
    assert found["next"]["if_accepted"] == {"empty": "resumes", "input": "resumes-then-new-turn"}
    assert found["next"]["if_refused"] == {"empty": "blocked", "input": "blocked"}
    told = _json(axnb("triage", path, "--json", "--harness", "drill=accepts"))
    assert told["target"]["harnesses"] == ["drill=accepts"]
    assert told["conversations"][0]["next"]["empty"] == "resumes"


def test_all_names_every_conversation(axnb: Cli) -> None:
    log = LogBuilder("G8")
    for number in range(30):
        log.interrupted(f"conversation-{number:02}", "hi")
        log.turn(f"fine-{number:02}", "hi")
    path = _write(log)
    few, everything = axnb("triage", path).stdout, axnb("triage", path, "--all").stdout
    assert "10 more (--all)" in few
    for number in range(30):
        assert f"conversation-{number:02}" in everything
        assert f"fine-{number:02}" in everything


def test_a_question_is_shown_though_nothing_failed(axnb: Cli) -> None:
    """Somebody must decide, whatever the verdict is."""
    log = LogBuilder("G8")
    log.turn("c", "hi", ask("Delete 3 backups?"))
    result = axnb("triage", _write(log))
    assert _json(axnb("triage", "log.sqlite", "--json"))["conversations"][0]["action"] == "decide"
    assert "DECIDE" in result.stdout
    assert "all finished, every logged call answered" not in result.stdout


def test_what_every_request_is_refused_for_is_shown(axnb: Cli) -> None:
    path = _write(_healthy())
    result = axnb("triage", path, "--harness", "drill=accepts")
    assert "NAME THE OWNER" in result.stdout


# --- findings by class ---------------------------------------------------------------------------


def _mixed_and_fine() -> LogBuilder:
    """Nothing to do, and still something to know: two generations wrote one log."""
    log, newer = LogBuilder("G5"), LogBuilder("G5b")
    log.turn("older", "hi", say("a"))
    newer.turn("newer", "hi", say("a"))
    log.rows += newer.rows
    return log


def test_a_warning_is_seen_though_there_is_nothing_to_do(axnb: Cli) -> None:
    path = _write(_mixed_and_fine())
    found = _json(axnb("triage", path, "--json"))
    assert {c["action"] for c in found["conversations"]} == {"nothing"}
    result = axnb("triage", path)
    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if "AX140" in line)
    assert line.split()[:4] == ["?", "AX140", "mixed-generations", "1"]


def _classes(text: str) -> list[str]:
    block = text.split("ALSO FOUND\n")[1].split("\n\n")[0]
    return [" ".join(line.split()) for line in block.splitlines()]


def test_classes_are_told_errors_first_and_infos_only_counted(axnb: Cli) -> None:
    log = LogBuilder("G6", "drill")
    log.turn("quiet", "hi", call("charge"))
    log.interrupted("b", "hi", say("a"))
    log.interrupted("a", "hi")
    log.rows.append(StoredRow("a", 9, "{"))
    path = _write(log)
    # Asked as G8 nobody may touch them, and why they were stopped is another matter.
    text = axnb("triage", path, "--ax-version", "G8").stdout
    lines = _classes(text)
    assert [line.split()[:3] for line in lines] == [
        ["✗", "AX101", "gap"],
        ["✗", "AX110", "interrupted-turn"],
        ["?", "AX133", "torn-row"],
        ["?", "AX143", "dropped-fields"],
        ["?", "AX145", "owner-lost"],
    ]
    assert "2 conversations first: a step 9: turn 1 has no end." in lines[1]
    assert "3 notes (AX114, AX204, AX208) besides; --all shows them." in " ".join(text.split())
    everything = _classes(axnb("triage", path, "--ax-version", "G8", "--all").stdout)
    assert "a step 9: turn 1 has no end." in everything
    assert "b step 2: turn 1 has no end." in everything


def test_what_explains_a_group_stands_in_its_head(axnb: Cli) -> None:
    text = axnb("triage", _write(_failed())).stdout
    (head,) = (line for line in text.splitlines() if line.startswith("READ BACK, THEN UNBLOCK"))
    assert head.endswith("a side effect may have happened                            AX110 AX203")
    assert "ALSO FOUND" not in text


def test_a_plan_is_offered_where_there_is_something_to_plan(axnb: Cli) -> None:
    assert "--plan > plan.sql" in axnb("triage", _write(_failed())).stdout
    assert "--plan" not in axnb("triage", _write(_healthy(), "healthy.sqlite")).stdout
    log = LogBuilder("G8")
    log.turn("c", "hi", ask("Delete?"))
    assert "--plan" not in axnb("triage", _write(log, "asking.sqlite")).stdout


# --- one conversation of a log -------------------------------------------------------------------


def _upgraded() -> LogBuilder:
    log = _healthy("G6")
    newer = LogBuilder("G8")
    newer.turn("newer", "hi")
    log.rows += newer.rows
    return log


ADVICE = {
    "do-not-touch": r"do not touch; .+",
    "quarantine": r"quarantine: .+",
    "name-owner": r"(name the owner|register harness|ask the harness).+",
    "read-back-then-unblock": r"read .+ back from .+; then unblock.*",
    "read-back-then-resume": r"read .+ back from .+; (then resume.*|the log itself needs nothing)",
    "unblock": r"unblock: .+",
    "resume": r"resume.*",
    "decide": r"decide.*",
    "nothing": r"nothing to do",
}


def _check_one_by_one(axnb: Cli, source: str) -> None:
    """What a person pastes from a triage (`axnb show LOG ID`) must not say the contrary."""
    for whole in _json(axnb("triage", source, "--json"))["conversations"]:
        name = whole["conversation_id"]
        (alone,) = _json(axnb("triage", source, "--json", "--conversation", name))["conversations"]
        assert alone == whole
        shown = axnb("show", source, name).stdout
        assert re.search(rf"^  Advice: {ADVICE[whole['action']]}\.$", shown, re.MULTILINE)


@pytest.mark.parametrize("log", [_upgraded, _inconclusive])
def test_one_conversation_is_judged_as_in_the_whole_log(
    axnb: Cli, log: Callable[[], LogBuilder]
) -> None:
    _check_one_by_one(axnb, _write(log()))


@pytest.mark.parametrize("log", [_inconclusive, pytest.param(_failed, marks=pytest.mark.slow)])
def test_one_conversation_is_judged_as_in_the_whole_database(
    axnb: Cli, log: Callable[[], LogBuilder], postgres: PostgresServer
) -> None:
    dsn = postgres.create_database()
    log().write_postgres(dsn)
    _check_one_by_one(axnb, dsn)


# --- tables --------------------------------------------------------------------------------------

FORMULAS = (
    '=HYPERLINK("http://x";"y")',
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "a\r=1+1",
    "a\n=1+1",
    "＝1+1",
    "＋1",
    "－1",
    "＠A1",
)


def _formulas() -> LogBuilder:
    log = LogBuilder("G8")
    for text in FORMULAS:
        log.turn(text, "hi", call(text, {}, text))
    log.add(Row("numbers", 3), step=-3)
    return log


def _csv_rows(name: str) -> list[dict[str, str]]:
    with Path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_spreadsheet_runs_nothing(axnb: Cli) -> None:
    axnb("triage", _write(_formulas()), "--csv", "table.csv")
    rows = {row["conversation_id"]: row for row in _csv_rows("table.csv")}
    assert set(rows) == {"numbers", *(t if t[0] == "a" else f"'{t}" for t in FORMULAS)}
    for row in rows.values():
        texts = [value for name, value in row.items() if name != "last_step"]
        assert [text for text in texts if text.startswith(tuple("=+-@＝＋－＠\t\r"))] == []
    assert rows["numbers"]["last_step"] == "-3"


def test_a_line_break_in_a_cell_begins_no_row(axnb: Cli) -> None:
    """A spreadsheet takes a bare CR for the end of a row, too, unless it stands in quotes."""
    log = LogBuilder("G8")
    log.turn("a\r=1+1", "hi")
    axnb("triage", _write(log), "--csv", "table.csv")
    (row,) = _csv_rows("table.csv")
    assert row["conversation_id"] == "a\r=1+1"


def test_json_is_untouched_by_what_tables_need(axnb: Cli) -> None:
    found = _json(axnb("triage", _write(_formulas()), "--json"))
    assert {c["conversation_id"] for c in found["conversations"]} == {"numbers", *FORMULAS}


def test_parquet_holds_the_same_with_types(axnb: Cli) -> None:
    import pyarrow.parquet as pq

    log = _failed()
    log.add(Row("numbers", 3), step=-3)
    axnb("triage", _write(log), "--parquet", "table.parquet", "--csv", "table.csv")
    table = pq.read_table("table.parquet")
    rows = [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in table.to_pylist()
    ]
    assert rows == _csv_rows("table.csv")
    assert str(table.schema.field("last_step").type) == "int64"
    assert table.column_names == list(rows[0])


# --- what strangers wrote ------------------------------------------------------------------------

HOSTILE = {
    "colours": "\x1b[31mred\x1b[0m\x1b[2J",
    "a title": "\x1b]0;owned\x07",
    "a link": "\x1b]8;;http://evil\x1b\\here\x1b]8;;\x1b\\",
    "eight bits": "\x9b31m\x90x\x9c",
    "bidi": "a\u202eb\u2066c",
    "zero width": "a\u200bb\ufeffc\u2060d",
    "lines": "a\nb\r\nc\td",
    "separators": "a\u2028b\u2029c",
    "nul": "a\0b",
    "long": "x" * 5000,
    "wide": "漢字" * 40,
    "emoji": "\U0001f600" * 40,
    "marks": "e\u0301" * 60,
    "html": "</td><script>alert(1)</script><img src=x onerror=alert(1)>",
    "equals": "a=b=accepts",
    "shell": "$(touch owned); `touch owned` 'a' \"b\" \\",
    "format": "{} {0} %s {conversation_id}",
    "dash": "--json",
}


def _cells(text: str) -> int:
    """Columns that a terminal needs."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
    return len(text) + wide - marks


def _raw_controls(text: str) -> set[str]:
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {c for c in text if c != "\n" and unicodedata.category(c) in hidden}


def _hostile(log: LogBuilder, text: str) -> None:
    """Put a text into every place that a stranger can fill."""
    log.interrupted(text, text, think(text), call(text, {text: text}, text))
    log.turn(f"{text}q", text, ask(text, text))
    log.turn(f"{text}u", text, call(text, {}, text), call(text, {"a": text}, ""))
    log.rows.append(StoredRow(f"{text}r", 1, f"broken {text}"))


@cache
def _hostile_case() -> tuple[Path, Path]:
    """A log with every hostile text, and a case that holds it."""
    folder = Path(tempfile.mkdtemp(prefix="axnb-test-cli-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    log = _healthy()
    for text in HOSTILE.values():
        _hostile(log, text)
    path = log.write_sqlite(folder / "log.sqlite")
    load(Case(folder / "case.duckdb", Settings()), [str(path)])
    return path, folder / "case.duckdb"


@pytest.mark.parametrize(
    "verb",
    [
        ["triage"],
        ["triage", "--all", "--ax-version", "G5"],
        ["sql", "from conversations"],
        ["sql", "from findings"],
    ],
)
def test_no_control_character_reaches_the_terminal(axnb: Cli, verb: list[str]) -> None:
    result = axnb(*verb, "--case", _hostile_case()[1])
    assert result.exit_code == (0 if verb[0] == "sql" else 1), result.stderr
    assert _raw_controls(result.output) == set()


@pytest.mark.parametrize(
    "what",
    [
        *("colours", "bidi", "nul", "long", "dash"),
        *(
            pytest.param(what, marks=pytest.mark.slow)
            for what in ("a link", "eight bits", "lines", "shell")
        ),
    ],
)
def test_a_hostile_conversation_can_be_shown(axnb: Cli, what: str) -> None:
    result = axnb("show", _hostile_case()[0], "--reveal", "--", HOSTILE[what])
    assert result.exit_code == 1, result.stderr
    assert _raw_controls(result.output) == set()
    assert not Path("owned").exists()


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_no_line_of_a_triage_is_wider_than_100_columns(
    axnb: Cli, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _hostile_case()[0]
    # A long temporary path would be nobody's fault.
    monkeypatch.chdir(log.parent)
    lines = axnb("triage", log.name, *options).stdout.splitlines()
    assert [line for line in lines if _cells(line) > 100] == []


def test_no_command_is_wider_than_100_columns(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.interrupted(HOSTILE["long"], "hi")
    lines = axnb("triage", _write(log)).stdout.splitlines()
    assert [line for line in lines if _cells(line) > 100] == []


def test_json_of_hostile_text_is_the_text(axnb: Cli) -> None:
    result = axnb("triage", "--case", _hostile_case()[1], "--json")
    found = {c["conversation_id"]: c for c in _json(result)["conversations"]}
    for text in HOSTILE.values():
        assert found[text]["unresolved_calls"][0]["tool"] == text
    assert {c for c in result.stdout if unicodedata.category(c) == "Cc"} <= {"\n"}


@pytest.mark.parametrize("what", ["colours", "long", "html", "equals", "shell"])
def test_a_hostile_harness_is_a_name_and_no_option(axnb: Cli, what: str) -> None:
    log = LogBuilder("G8", HOSTILE[what])
    log.interrupted("c", "hi")
    path = _write(log)
    result = axnb("triage", path, "--json")
    assert result.exit_code == 1, result.stderr
    (found,) = _json(result)["conversations"]
    assert (found["harness"], found["next"]["empty"]) == (HOSTILE[what], "depends")
    assert _raw_controls(axnb("triage", path).output) == set()


@pytest.mark.parametrize("name", ["antigravity=accepts", "drill=refuses"])
def test_a_log_cannot_declare_what_its_harness_accepts(axnb: Cli, name: str) -> None:
    log = LogBuilder("G8", name)
    log.interrupted("c", "hi")
    (found,) = _json(axnb("triage", _write(log), "--json"))["conversations"]
    assert (found["harness"], found["next"]["empty"]) == (name, "depends")


@pytest.mark.parametrize(
    "what",
    ["lines", "shell", *(pytest.param(what, marks=pytest.mark.slow) for what in ("html", "dash"))],
)
def test_offered_commands_can_be_pasted(axnb: Cli, what: str) -> None:
    log = LogBuilder("G8")
    log.interrupted(HOSTILE[what], "hi")
    path = _write(log)
    for text in (axnb("triage", path).stdout, axnb("show", path, "--", HOSTILE[what]).stdout):
        _check_offered(axnb, list(_offered(text)))


def _check_offered(axnb: Cli, offered: list[list[str]]) -> None:
    assert offered, "at least the finding can be explained"
    for program, *arguments in offered:
        assert program == "axnb"
        assert axnb(*arguments).exit_code in (0, 1), arguments


def _offered(text: str) -> Iterator[list[str]]:
    """The commands at the end of an output, as a shell takes them, without where they write to."""
    for line in text.replace(" \\\n", " ").splitlines():
        if re.match(r"( *Next:| {5,}) *axnb ", line):
            words = shlex.split(line.strip().removeprefix("Next:"))
            words = words[: words.index(">")] if ">" in words else words
            # A command line that prints no plans yet is asked without it.
            yield [word for word in words if word != "--plan" or PRINTS_PLANS]


def test_a_long_command_goes_on_in_the_next_line(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.interrupted("c" * 60, "hi")
    options = ["--ax-version", "v0.2.3", "--harness", "drill=accepts"]
    text = axnb("triage", _write(log), *options).stdout
    show = next(words for words in _offered(text) if words[1] == "show")
    assert show == [
        *("axnb", "show", "log.sqlite", "c" * 60),
        *("--ax-version", "v0.2.3", "--harness=drill=accepts"),
    ]
    assert " \\\n" in text


def test_lone_surrogates_are_rows_that_cannot_be_read(axnb: Cli) -> None:
    log = _healthy()
    log.turn("c", "hi", call("LONE", {"a": "LONE"}))
    log.rows = [
        StoredRow(row.conversation_id, row.step, row.payload.replace("LONE", "\\ud800"))
        for row in log.rows
    ]
    for options in ([], ["--json"]):
        result = axnb("triage", _write(log, f"{len(options)}.sqlite"), *options)
        assert result.exit_code == 1, result.stderr
        assert _raw_controls(result.output) == set()
    assert _json(result)["sources"][0]["rejected"] == 1


def test_an_id_that_is_no_text_is_shown_as_one(axnb: Cli) -> None:
    log = _healthy()
    log.rows.append(StoredRow(b"\xed\xa0\x80\xff\x1b", 1, log.rows[0].payload))
    result = axnb("triage", _write(log, keyed=False), "--all")
    assert "unreadable-key" in result.stdout
    assert _raw_controls(result.output) == set()


def test_file_names_are_text_too(axnb: Cli) -> None:
    path = _write(_healthy(), "\x1b[31m\u202elog.sqlite")
    Path("\x1b[32mnone").mkdir()
    for arguments in (["triage", path], ["load", path, "--case", "k"], ["triage", "\x1b[32mnone"]):
        assert _raw_controls(axnb(*arguments).output) == set(), arguments


def test_notes_do_not_wrap(axnb: Cli) -> None:
    path = _write(_healthy())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"alter table conversation_log add column {'x' * 300} text")
    lines = axnb("triage", path).stdout.splitlines()
    assert [line for line in lines if _cells(line) > 100] == []


@pytest.mark.parametrize("name", ["mixed-seq-sqlite", "mixed-renamed-sqlite", "lived-g7-g8-sqlite"])
def test_many_generations_do_not_wrap(axnb: Cli, name: str) -> None:
    lines = axnb("triage", ax_logs.ROOT / name / "log.sqlite", "--all").stdout.splitlines()
    assert [line for line in lines if _cells(line) > 100] == []


# --- no message holds a payload ------------------------------------------------------------------

SECRET = "S3CRET"
BROKEN = (
    SECRET,
    f'{{"{SECRET}',
    f'{{"conversation_id":{SECRET}}}',
    f'{{"conversation_id":"c","state":"{SECRET}"}}',
    f'{{"conversation_id":"c","agent_id":{{"{SECRET}":1}}}}',
    f'{{"conversation_id":"c","steps":"{SECRET}"}}',
    f'{{"conversation_id":"c","steps":[{{"content":{{"role":["{SECRET}"]}}}}]}}',
    f'{{"conversation_id":"c","steps":[{{"thought":{{"signature":"{SECRET}!"}}}}]}}',
    f'{{"conversation_id":"c","agent_id":"a","agent_id":"{SECRET}"}}',
    f'{{"conversation_id":"c","steps":[{{"content":{{"role":"user","content":[{{"text":{{"text":"{SECRET}"}}}}]}}}}]}}',
)


def _secretive() -> LogBuilder:
    log = _healthy()
    log.interrupted("s", SECRET, say(SECRET), call("charge", {"card": SECRET}, "id"))
    log.turn("t", SECRET, call("charge", {SECRET: 1}), answer({"error": SECRET}), ask(SECRET))
    log.rows += [StoredRow("broken", number, payload) for number, payload in enumerate(BROKEN)]
    log.rows += [StoredRow("odd", SECRET, BROKEN[0]), StoredRow("odd", 1.5, BROKEN[4])]
    return log


@pytest.mark.slow
def test_nothing_shows_a_payload_unasked(axnb: Cli) -> None:
    path = _secretive().write_sqlite(Path("log.sqlite"), keyed=False, typed=False)
    shown = [
        axnb("triage", path),
        axnb("triage", path, "--all", "--ax-version", "G6"),
        axnb("triage", path, "--json"),
        axnb("load", path, "--case", "case.duckdb"),
        *(axnb("show", path, name) for name in ("s", "t", "broken", "odd")),
    ]
    assert {result.exit_code for result in shown} <= {0, 1, 3}
    assert [result.output for result in shown if SECRET in result.output] == []
    assert SECRET in axnb("show", path, "s", "--reveal").stdout


@cache
def _secret_case() -> Path:
    """A case that is only read."""
    folder = Path(tempfile.mkdtemp(prefix="axnb-test-cli-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    log = LogBuilder("G8")
    log.rows = [StoredRow("c", 1, f'{{"{SECRET}":"{SECRET}"}}')]
    load(Case(folder / "case.duckdb", Settings()), [str(log.write_sqlite(folder / "log.sqlite"))])
    return folder / "case.duckdb"


@pytest.mark.parametrize(
    "query",
    [
        "select payload::int from events",
        "select payload::date from events",
        "select strptime(payload, '%Y') from events",
        "select json_extract(payload || 'x', '$.a') from events",
        "select error(payload) from events",
        "select date_part(payload, date '2020-01-01') from events",
        "select payload::decimal(3, 1) from events",
        "select ('{' || payload)::struct(a int) from events",
        "select sum(payload::hugeint) from events",
        "select nothing",
        "select",
    ],
)
def test_a_query_that_fails_does_not_quote_what_it_read(axnb: Cli, query: str) -> None:
    result = axnb("sql", query, "--case", _secret_case())
    assert result.exit_code == 2
    assert SECRET not in _one_sentence(result)


DSNS = (
    "postgresql://user:hunter2@127.0.0.1:1/db",
    "postgres://user:hunter2@127.0.0.1:1/db?schema=x",
    "postgresql://127.0.0.1:1/db?user=u&password=hunter2",
    "host=127.0.0.1 port=1 dbname=db password=hunter2",
    "host=127.0.0.1 port=1 dbname=db password='host=hunter2'",
    "postgresql://user:hunter2@[broken/db",
    "postgresql://user:hun@ter:hunter2@127.0.0.1:1/db",
    "mysql://user:hunter2@127.0.0.1/db",
)


@pytest.mark.parametrize("dsn", DSNS)
def test_no_message_holds_a_password(axnb: Cli, dsn: str) -> None:
    shown = [
        axnb("triage", dsn),
        axnb("triage", env={"AX_EVENTLOG_DSN": dsn}),
        axnb("load", dsn, "--case", "case.duckdb"),
    ]
    assert {result.exit_code for result in shown} <= {2, 3}
    assert [result.output for result in shown if "hunter2" in result.output] == []


# --- where the log comes from --------------------------------------------------------------------


def test_the_dsn_of_the_environment_is_the_default(axnb: Cli) -> None:
    path = _write(_failed())
    for value in (path, str(Path(path).resolve()), f"sqlite:///{path}"):
        result = axnb("triage", "--json", env={"AX_EVENTLOG_DSN": value})
        assert result.exit_code == 1
        assert _json(result)["sources"][0]["read"] == 7


def test_a_variable_may_name_another_but_not_itself(axnb: Cli) -> None:
    path = _write(_failed())
    assert axnb("triage", "LOG", env={"LOG": "OTHER", "OTHER": path}).exit_code == 1
    result = axnb("triage", "LOG", env={"LOG": "LOG"})
    assert result.exit_code == 2
    assert "LOG" in _one_sentence(result)


def test_an_ax_yaml_names_the_log_and_the_harnesses(axnb: Cli) -> None:
    Path("eventlog").mkdir()
    log = LogBuilder("G8", "drill")
    log.interrupted("c", "hi")
    _write(log, "eventlog/log.sqlite")
    Path("ax.yaml").write_text(
        "eventlog: {sqlite: {filename: eventlog/log.sqlite}}\n"
        "antigravity: {}\n"
        "registry: {substrate_agents: [{id: drill, default: true}]}\n"
    )
    found = _json(axnb("triage", "ax.yaml", "--json"))
    assert found["target"]["harnesses"] == ["drill", "antigravity=refuses"]
    told = _json(axnb("triage", "ax.yaml", "--json", "--harness", "drill=refuses"))
    assert told["target"]["harnesses"] == ["drill=refuses"]


def test_an_ax_yaml_takes_its_password_from_the_environment(
    axnb: Cli, postgres: PostgresServer
) -> None:
    dsn = postgres.create_database()
    _failed().write_postgres(dsn)
    Path("ax.yaml").write_text(
        f"eventlog: {{postgres: {{dsn: '{dsn.replace(postgres.password, '${PASSWORD_OF_LOG}')}'}}}}"
    )
    result = axnb("triage", "ax.yaml", "--json", env={"PASSWORD_OF_LOG": postgres.password})
    assert result.exit_code == 1, result.stderr
    assert _json(result)["sources"][0]["custody"]["lsn"]
    loaded = axnb("load", "ax.yaml", "--case", "k", env={"PASSWORD_OF_LOG": postgres.password})
    assert loaded.exit_code == 0
    assert postgres.password not in result.output + loaded.output
    assert postgres.password.encode() not in Path("k").read_bytes()
    assert axnb("triage", "ax.yaml").exit_code == 3


def test_a_case_is_reused_without_its_source(axnb: Cli) -> None:
    path = _write(_failed())
    direct = _json(axnb("triage", path, "--json"))
    assert axnb("load", path, "--case", "case.duckdb").exit_code == 0
    Path(path).unlink()
    assert _json(axnb("triage", "--case", "case.duckdb", "--json")) == direct


def test_several_sources_are_triaged_together(axnb: Cli) -> None:
    first, second = _write(_failed(), "a.sqlite"), _write(_healthy(), "b.sqlite")
    found = _json(axnb("triage", first, second, "--json"))
    assert [source["name"] for source in found["sources"]] == ["log", "log-2"]
    ids = [(c["source"], c["conversation_id"]) for c in found["conversations"]]
    assert ids == [("log", "fine"), ("log", "stopped"), ("log-2", "fine")]


# --- queries -------------------------------------------------------------------------------------


def test_queries_come_from_stdin(axnb: Cli) -> None:
    axnb("load", _write(_failed()), "--case", "case.duckdb")
    one = axnb("sql", "--case", "case.duckdb", input="select count(*) as n from events\n")
    assert (one.exit_code, one.stdout.split()) == (0, ["n", "7"])
    empty = axnb("sql", "--case", "case.duckdb", input="")
    assert "tool_calls" in empty.stdout


def test_each_query_of_stdin_is_answered(axnb: Cli) -> None:
    """So says `axnb sql --help`."""
    axnb("load", _write(_failed()), "--case", "case.duckdb")
    both = axnb("sql", "--case", "case.duckdb", input="select 1 as a; select 2 as b;")
    assert both.stdout.split() == ["a", "1", "b", "2"]


def test_answers_to_queries_are_safe_to_show(axnb: Cli) -> None:
    for query in (
        "select * from events",
        "pivot (select conversation_id from events) on conversation_id using count(*)",
        "select '\x1b[31m' as \"\x1b[31m\"",
        "select \x1b[31m",
    ):
        result = axnb("sql", query, "--case", _hostile_case()[1])
        assert _raw_controls(result.output) == set(), query


def test_a_long_answer_says_that_it_is_cut(axnb: Cli) -> None:
    axnb("load", _write(_failed()), "--case", "case.duckdb")
    result = axnb("sql", "select * from range(5000)", "--case", "case.duckdb")
    assert "more than 1,000 rows" in result.stdout
    assert len(result.stdout.splitlines()) == 1002


# --- a terminal, a pipe --------------------------------------------------------------------------


def _environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    return {**kept, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1", **more}


def _on_a_terminal(*arguments: str, **environment: str) -> str:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "axnb.cli", *arguments]
    with subprocess.Popen(command, env=_environment(**environment), stdout=theirs) as process:
        os.close(theirs)
        text = b"".join(iter(lambda: _read(ours), b""))
        process.wait()
    os.close(ours)
    return text.decode()


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 1 << 16)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.slow
def test_colour_is_for_terminals_that_want_it(axnb: Cli) -> None:
    path = _write(_failed())
    coloured = _on_a_terminal("triage", path, TERM="xterm")
    assert "\x1b[31" in coloured
    assert "\x1b" not in _on_a_terminal("triage", path, TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in axnb("triage", path, env={"TERM": "xterm"}).stdout
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace("\r\n", "\n")
    assert plain == axnb("triage", path).stdout


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_fault(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.rows = [StoredRow(f"{n}" * 50, 1, _healthy().rows[0].payload) for n in range(2000)]
    command = [sys.executable, "-m", "axnb.cli", "triage", _write(log), "--all"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=_environment(), stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


# --- the map -------------------------------------------------------------------------------------


def test_a_map_leaves_a_result_folder_that_can_be_reported_anew(axnb: Cli) -> None:
    words = ["--snapshots", str(SAMPLE / "snapshots"), "--records", str(SAMPLE / "records")]
    words += ["--settings", str(SAMPLE / "axnb.toml"), "--verify", "--all-atespaces"]
    told = axnb("map", str(SAMPLE / "log.sqlite"), *words, "--out", "out")
    assert told.exit_code == 1
    assert max(len(line) for line in told.stdout.splitlines()) <= 100
    found = json.loads(Path("out/result.json").read_text("utf-8"))
    assert (found["drill"], found["verdict"]) == ("map", "failed")
    said = json.loads(axnb("map", str(SAMPLE / "log.sqlite"), *words, "--json").stdout)
    assert said["snapshots"] == found["answer"]["snapshots"]
    assert axnb("report", "out").exit_code == 0
    assert "# ✗ failed: map" in axnb("report", "out", "--as", "markdown").stdout


def test_a_conversation_is_shown_with_its_snapshot_where_the_case_holds_a_bucket(axnb: Cli) -> None:
    shutil.copyfile(SAMPLE / "log.sqlite", "log.sqlite")
    words = ["--snapshots", str(SAMPLE / "snapshots"), "--records", str(SAMPLE / "records")]
    axnb("triage", "log.sqlite", *words, "--case", "case.duckdb")
    shown = axnb("show", "log", "resumed", "--case", "case.duckdb").stdout
    assert "its record names it, and it is not in the bucket" in " ".join(shown.split())
    assert "snapshot" not in axnb("show", "log.sqlite", "hello-world").stdout


# --- README and help -----------------------------------------------------------------------------


def _shown_commands() -> Iterator[list[str]]:
    for block in re.findall(r"```\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            # What lies elsewhere is not here: a bucket, a database, a binary.
            if line.startswith("axnb ") and not re.search("s3://|AX_EVENTLOG_DSN|/opt/", line):
                yield shlex.split(line.replace("CONVERSATION", "kill9-after-effect"))[1:]


#: Verbs that end with their verdict; the sample has wounds, which a drill does not count.
_JUDGE = ("triage", "show", "notebook", "map", "drill")
_FINE = (
    ["drill", "restore", "log.sqlite"],
    ["drill", "migration", "log.sqlite"],
    ["notebook", "run", "restore"],
    ["notebook", "run", "migration"],
)


@pytest.mark.slow
def test_every_command_of_the_readme_runs(axnb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    for name, source in (
        ("log.sqlite", SAMPLE / "log.sqlite"),
        ("backup.sqlite", ax_logs.ROOT / "restored-sqlite" / "backup.sqlite"),
        ("lost.sqlite", ax_logs.ROOT / "restored-sqlite" / "lost.sqlite"),
    ):
        shutil.copyfile(source, name)
    shutil.copytree(SAMPLE, "sample_data")
    ran = []
    for arguments in _shown_commands():
        if arguments[:2] == ["drill", "resume"]:
            # One point is enough here; of an option that is given twice the second one counts.
            arguments += ["--points", "3", "--repeat", "1"]
        if "resume_drill" in arguments:
            arguments += ["-p", "points", "3"]
        result = axnb(*arguments)
        ran.append(arguments[0])
        is_fine = arguments[:3] in _FINE and "--backup" not in arguments
        fails = arguments[0] in _JUDGE and not is_fine
        assert result.exit_code == int(fails), arguments
        assert result.stdout
    assert {*_JUDGE, "load", "sql", "explain", "report", "migrate"} <= set(ran)


def test_the_python_of_the_readme_runs(axnb: Cli) -> None:
    shutil.copyfile(SAMPLE / "log.sqlite", "log.sqlite")
    snippet, *drills = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    found: dict[str, Any] = {}
    exec(snippet, found)
    # A drill takes long and has tests of its own: what its lines name is there.
    for drill in drills:
        exec(drill.partition("\nresult = ")[0], found)
    assert all(callable(found[name].run) for name in ("resume", "restore", "migration"))
    assert found["answer"].verdict == "failed"


def test_the_readme_shows_what_axnb_prints(axnb: Cli) -> None:
    (shown,) = re.findall(r"```\n(log\.sqlite .*?)```", README, re.DOTALL)
    settings = SAMPLE / "axnb.toml"
    printed = axnb("triage", SAMPLE / "log.sqlite", "--settings", settings).stdout

    def lines(text: str) -> list[str]:
        return [" ".join(line.split()) for line in text.splitlines() if line.strip(" …")]

    assert [line for line in lines(shown) if line not in lines(printed)] == []


def test_the_readme_names_targets_of_the_makefile() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", README)) - {"are"} <= targets


def test_the_readme_tells_the_exit_codes() -> None:
    from axnb.result import EXIT_CODES

    rows = dict(re.findall(r"^\| (\d) \| (\w+)", README, re.MULTILINE))
    assert rows.keys() == {"0", "1", "2", "3", "4"}
    for verdict in ("ok", "failed", "inconclusive"):
        assert rows[str(EXIT_CODES[verdict])] == verdict


@pytest.mark.parametrize("verb", sorted(main.commands))
def test_help_of_every_verb(axnb: Cli, verb: str) -> None:
    result = axnb(verb, "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    for parameter in main.commands[verb].params:
        for name in parameter.opts if parameter.param_type_name == "option" else []:
            assert name in result.stdout
    assert axnb(verb, "-h").stdout == result.stdout


def test_colour_is_not_for_a_pipe(axnb: Cli) -> None:
    path = _write(_failed())
    for environment in ({}, {"TERM": "xterm"}, {"NO_COLOR": "1"}):
        assert "\x1b" not in axnb("triage", path, env=environment).stdout


def test_help_needs_no_database() -> None:
    probe = "import sys, axnb.cli; print(set(sys.argv[1:]) & set(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", probe, "duckdb", "pyarrow", "pandas", "papermill", "jinja2"],
        env=_environment(),
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.id)
def test_every_finding_is_explained(axnb: Cli, check: Any) -> None:
    for name in (check.id, check.id.lower(), check.name):
        result = axnb("explain", name)
        assert result.exit_code == 0
        assert check.explanation in result.stdout
        assert check.sql in result.stdout
