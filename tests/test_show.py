"""One conversation as a timeline: what it tells, what it hides, and who had it shown."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.ax.rows import Row
from axnb.case.case import Case
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, decide, say, think
from tests.servers import PostgresServer
from tests.test_cli import HOSTILE, _cells, _hostile_case, _raw_controls

Cli = Callable[..., Result]

SECRET = "S3CRET"


def _write(log: LogBuilder, name: str = "log.sqlite") -> str:
    return str(log.write_sqlite(Path(name), keyed=False))


def _stopped() -> LogBuilder:
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}))
    log.turn("stopped", "hi", say("done"))
    log.interrupted("stopped", "again", call("charge", {"n": 2}, "order-4"), say("wait"))
    return log


def _every_kind(text: str = SECRET) -> LogBuilder:
    """A payload of every kind, all of them `text`."""
    log = LogBuilder("G8")
    log.turn("c", text, think(text), say(text), ask(text, "q"), decide("approved", "q"))
    log.turn("c", text, call("charge", {"card": text}, "1"), answer({"note": text}, call_id="1"))
    log.rows.append(StoredRow("c", 99, f'{{"{text}'))
    return log


def _lines(result: Result) -> list[str]:
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def _without_digests(lines: list[str]) -> list[str]:
    return [re.sub(r"( [\d,]+ B)? [0-9a-f]{12}$", "", line) for line in lines]


# --- what it tells -------------------------------------------------------------------------------


def test_a_timeline_tells_what_happened_and_what_to_do(axnb: Cli) -> None:
    assert _without_digests(_lines(axnb("show", _write(_stopped()), "stopped"))) == [
        "stopped G8, harness antigravity, 6 steps, interrupted",
        "1 turn 1 ▸ user",
        "2 ▪ text",
        "3 ■ end completed",
        "4 turn 2 ▸ user",
        "5 ◆ call charge order-4 outcome unknown",
        "? AX203 charge order-4: no result was logged.",
        "6 ▪ text",
        "✗ AX110 turn 2 has no end.",
        "v0.2.3 would answer: no input messages queued … (blocked).",
        "Advice: read order-4 back from charge; then unblock.",
        "Next: axnb triage log.sqlite --conversation stopped --plan",
        "axnb explain AX110",
        "axnb show log.sqlite stopped --reveal",
    ]


def test_it_tells_how_a_result_was_paired(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.turn("id", "hi", call("charge"), answer({}))
    log.turn("order", "hi", call("charge", {}, ""), answer({}, call_id=""))
    log.turn("orphan", "hi", answer({}, "charge", "nobody"))
    log.turn("late", "hi", call("charge"), answer({"error": "timeout"}, is_error=True))
    path = _write(log)
    told = {name: axnb("show", path, name).stdout for name in ("id", "order", "orphan", "late")}
    assert "charge  of step 2, by id" in told["id"]
    assert "charge  of step 2, by order" in told["order"]
    assert "no call claims it" in told["orphan"]
    assert "charge  of step 2, by id  a time-out" in told["late"]
    assert "outcome unknown" in told["late"]


def test_it_tells_decisions(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", ask("Charge?", "q1"), ask("Delete?", "q2"), ask("Send?", "q3"))
    log.turn("c", "so", decide("approved", "q1"), decide("declined", "q2"))
    lines = _without_digests(_lines(axnb("show", _write(log), "c")))
    assert lines[2:5] == [
        "2 ▪ question q1 approved",
        "3 ▪ question q2 declined",
        "4 ▪ question q3 waits for a person",
    ]
    assert [line for line in lines if "▸" in line and "user" not in line] == [
        "7 ▸ approved q1",
        "8 ▸ declined q2",
    ]
    assert "Advice: decide: a person answers the question of step 4." in lines


def test_an_operation_id_says_where_it_is_from(axnb: Cli) -> None:
    Path("axnb.toml").write_text("[tools.charge]\noperation_id = '$.key'\n")
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {"key": "order-7"}), answer({}))
    shown = axnb("show", _write(log), "c").stdout
    assert "order-7" in shown
    assert "(from $.key)" in shown


def test_each_row_is_told_once_where_numbers_repeat(axnb: Cli) -> None:
    log = _stopped()
    log.rows = [StoredRow("c", min(n, 3), row.payload) for n, row in enumerate(log.rows)]
    lines = axnb("show", _write(log), "c").stdout.splitlines()
    assert len([line for line in lines if re.match(r" +\d+  ", line)]) == len(log.rows)
    assert len([line for line in lines if "AX110" in line and "turn" in line]) == 1


def test_a_row_that_cannot_be_read_is_in_its_place(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", say("a"), say("b"))
    log.rows[1] = StoredRow("c", 2, "{broken")
    lines = _without_digests(_lines(axnb("show", _write(log), "c")))
    at = next(n for n, line in enumerate(lines) if line.startswith("2 ✗ unreadable"))
    assert lines[at + 1].startswith("✗ AX121 v0.2.3 (G8) cannot decode the row at step 2")
    assert lines[at + 2].startswith("? AX120 row 2 cannot be read")
    assert (
        "Advice: quarantine: v0.2.3 cannot decode the row at step 2, and it hides all the others."
        in lines
    )


@pytest.mark.parametrize(
    ("generation", "harness", "asked", "told"),
    [
        ("G3", "drill", "G3", "v0.1.0 would answer: the agent runs again on the whole history"),
        (
            "G4",
            "antigravity",
            "G4",
            "G4 would answer an empty request: an error, and one more input row",
        ),
        ("G6", "drill", "G5b", "v0.2.1 would answer: no such column … (wrong-column)"),
        ("G8", "drill", "G8", "v0.2.3 would answer as harness drill decides."),
    ],
)
def test_it_tells_what_the_asked_server_would_answer(
    axnb: Cli, generation: str, harness: str, asked: str, told: str
) -> None:
    log = LogBuilder(generation, harness)
    log.interrupted("c", "hi")
    assert told in axnb("show", _write(log), "c", "--ax-version", asked).stdout


def test_a_row_that_ax_does_not_find_is_marked(axnb: Cli) -> None:
    log = _stopped()
    log.rows.append(StoredRow(b"stopped", 7, log.rows[0].payload))
    path = log.write_sqlite(Path("log.sqlite"), keyed=False, typed=False)
    assert "AX does not find this row" in axnb("show", path, "stopped").stdout
    assert "AX does not find this row" not in axnb("show", path, "fine").stdout


def test_a_server_log_gives_the_times(axnb: Cli) -> None:
    """Beside the rows: which row an event belongs to, no log tells."""
    said = [
        (
            "2026-08-14T09:00:00Z",
            "INFO",
            "Executing request",
            {"request": 'conversation_id:"stopped"'},
        ),
        (
            "2026-08-14T09:05:00.5Z",
            "WARN",
            "Failed to log streamed message to event log",
            {"conversation_id": "stopped", "error": "sql: database is closed"},
        ),
    ]
    lines = [{"time": at, "level": level, "msg": msg, **more} for at, level, msg, more in said]
    Path("server.log").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    path = _write(_stopped())
    shown = axnb("show", path, "stopped", "--server-log", "server.log").stdout.splitlines()
    assert shown[1].startswith("  first seen 2026-08-14T09:00:00")
    assert "last seen 2026-08-14T09:05:00.5" in shown[1]
    events = [line.split(maxsplit=2)[2] for line in shown if line.startswith("  server log")]
    assert events == [
        "2026-08-14 09:00:00.000   request",
        "2026-08-14 09:05:00.500   append-failed (database is closed)",
    ]
    assert "server log" not in axnb("show", path, "fine", "--server-log", "server.log").stdout


def test_every_source_that_has_the_conversation_has_a_block(axnb: Cli) -> None:
    older = LogBuilder("G8")
    older.turn("fine", "hi")
    first, second = _write(_stopped(), "a.sqlite"), _write(older, "b.sqlite")
    axnb("load", first, second, "--case", "case.duckdb")
    blocks = axnb("show", first, "fine", "--case", "case.duckdb").stdout.split("\n\n")
    assert [" ".join(block.split()[:3]) for block in blocks] == ["fine log, G8,", "fine log-2, G8,"]
    assert "◆ call" in blocks[0]
    assert "◆ call" not in blocks[1]


def test_a_conversation_that_is_not_there_is_answered_by_its_likes(axnb: Cli) -> None:
    path = _write(_stopped())
    result = axnb("show", path, "stoped")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'stopped'" in result.stderr
    assert "'fine'" not in result.stderr
    assert axnb("show", path, "x" * 100).stderr.count("'") == 2


def test_a_row_without_content_is_no_end(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi")
    log.add(Row("c", 1))
    log.add(Row("c", 2))
    lines = _without_digests(_lines(axnb("show", _write(log), "c")))
    assert lines[2] == "2 ▪ nothing a row without content"
    assert "3 ■ end failed" in lines


# --- long ones -----------------------------------------------------------------------------------


def _long() -> LogBuilder:
    log = LogBuilder("G8")
    log.turn(
        "c", "hi", *(say("a") for _ in range(500)), call("charge"), *(say("b") for _ in range(500))
    )
    return log


def _shown_steps(result: Result) -> list[int]:
    return [int(n) for n in re.findall(r"^ *(\d+)  ", result.stdout, re.MULTILINE)]


def test_a_long_timeline_shows_its_ends_and_its_wounds(axnb: Cli) -> None:
    path = _write(_long())
    few = axnb("show", path, "c")
    assert _shown_steps(few) == [*range(1, 21), 502, *range(904, 1004)]
    gaps = [int(n) for n in re.findall(r"… (\d+) rows between \(--all\)", few.stdout)]
    assert gaps == [481, 401]
    everything = axnb("show", path, "c", "--all")
    assert _shown_steps(everything) == [*range(1, 1004)]
    assert "between" not in everything.stdout


def test_a_timeline_of_wounds_is_no_longer_than_others(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", *(call("charge", {}, f"c{n}") for n in range(600)))
    log.turn("d", "hi", call("charge"), answer({}))
    result = axnb("show", _write(log), "c")
    shown = _shown_steps(result)
    assert len(shown) == 200
    assert {*range(1, 21), *range(503, 603)} <= set(shown)
    gaps = [int(n.replace(",", "")) for n in re.findall(r"… ([\d,]+) rows? between", result.stdout)]
    assert sum(gaps) + len(shown) == 602


# --- the width -----------------------------------------------------------------------------------


#: The conversations of a hostile id, by what follows it; each in turn, the others are slow.
_SUFFIXES = ("", "q", "u", "r")
_IDS = [
    pytest.param(
        text + suffix,
        id=f"{suffix}-{what}",
        marks=() if n % len(_SUFFIXES) == m else (pytest.mark.slow,),
    )
    for m, suffix in enumerate(_SUFFIXES)
    for n, (what, text) in enumerate(HOSTILE.items())
]


@pytest.mark.parametrize("conversation", _IDS)
def test_no_line_is_wider_than_100_columns(
    axnb: Cli, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, case_file = _hostile_case()
    monkeypatch.chdir(log.parent)
    result = axnb("show", "--case", case_file.name, "--", "log", conversation)
    assert result.exit_code in (0, 1, 3), result.stderr
    assert [line for line in result.stdout.splitlines() if _cells(line) > 100] == []
    assert _raw_controls(result.output) == set()


# --- what it hides, and who had it shown ---------------------------------------------------------


def test_payloads_are_told_by_kind_size_and_the_digest_of_the_witness(axnb: Cli) -> None:
    path = _write(_stopped())
    found = json.loads(axnb("triage", path, "--json").stdout)["findings"]
    witnesses = {f["id"]: f["witness"][0]["digest"][:12] for f in found if f["witness"]}
    shown = axnb("show", path, "stopped").stdout
    (called,) = (line for line in shown.splitlines() if "◆ call" in line)
    assert called.endswith(f"7 B  {witnesses['AX203']}")
    (last,) = (line for line in shown.splitlines() if "▪ text" in line and line[:5] == "    6")
    assert last.endswith(f"4 B  {witnesses['AX110']}")


def test_nothing_is_shown_unasked(axnb: Cli) -> None:
    path = _write(_every_kind())
    assert SECRET not in axnb("show", path, "c").output
    assert SECRET not in axnb("show", path, "c", "--all").output


def test_every_kind_of_payload_can_be_revealed(axnb: Cli) -> None:
    result = axnb("show", _write(_every_kind()), "c", "--reveal")
    revealed = [line.strip() for line in result.stdout.splitlines() if line.strip()[:1] == "│"]
    assert revealed == [
        *[f"│ {SECRET}"] * 5,
        f'│ {{"card":"{SECRET}"}}',
        f'│ {{"note":"{SECRET}"}}',
        f'│ {{"{SECRET}',
    ]
    assert result.stdout.splitlines()[-1].endswith(": 8 parts")


@pytest.mark.parametrize("what", ["colours", "bidi", "lines", "nul", "wide", "html"])
def test_what_is_revealed_is_escaped(axnb: Cli, what: str) -> None:
    result = axnb("show", _write(_every_kind(HOSTILE[what])), "c", "--reveal")
    assert _raw_controls(result.output) == set()
    assert [line for line in result.stdout.splitlines() if _cells(line) > 100] == []


def test_bytes_that_are_no_text_are_revealed_too(axnb: Cli) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi")
    log.rows.append(StoredRow("c", 3, b"\xff\xfe{\x1b"))
    assert "│ \\xff\\xfe{\\u001b" in axnb("show", _write(log), "c", "--reveal").stdout


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a" * 4096, 4096), ("a" * 4097, 4096), ("é" * 5000, 4096), ("aあ" * 3000, 4096)],
)
def test_a_revealed_payload_is_cut_between_characters(axnb: Cli, text: str, shown: int) -> None:
    log = LogBuilder("G8")
    log.turn("c", text)
    result = axnb("show", _write(log), "c", "--reveal")
    pieces = re.findall(r"^ +│ (.*)$", result.stdout, re.MULTILINE)
    size = len(text.encode())
    note = pieces.pop() if size > 4096 else ""
    told = "".join(pieces)
    assert text.startswith(told)
    assert shown - 3 <= len(told.encode()) <= shown
    assert (note == "") if size <= 4096 else note.endswith(f" of {size:,} bytes are shown")


def _reveals() -> list[Any]:
    return Case("case.duckdb", Settings()).rows(
        "select who, source, conversation_id, parts from reveals order by all"
    )


def test_a_case_records_who_had_what_shown(axnb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "night-shift")
    path = _write(_every_kind())
    axnb("load", path, "--case", "case.duckdb")
    axnb("show", path, "c", "--case", "case.duckdb")
    assert _reveals() == []
    result = axnb("show", path, "c", "--case", "case.duckdb", "--reveal")
    assert SECRET in result.stdout
    assert result.stderr == ""
    assert _reveals() == [("night-shift", "log", "c", 8)]
    axnb("load", path, "--case", "case.duckdb")
    assert _reveals() == [("night-shift", "log", "c", 8)], "loading again forgets no reveal"


def test_what_cannot_be_recorded_is_not_shown(axnb: Cli) -> None:
    path = _write(_every_kind())
    axnb("load", path, "--case", "case.duckdb")
    hold = (
        "import duckdb; held = duckdb.connect('case.duckdb', read_only=True); "
        "print(1, flush=True); input()"
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", hold]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert axnb("show", path, "c", "--case", "case.duckdb").exit_code == 1
        result = axnb("show", path, "c", "--case", "case.duckdb", "--reveal")
        holder.communicate("\n")
    assert (result.exit_code, result.stdout) == (4, "")
    assert SECRET not in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "nothing is revealed" in result.stderr
    assert _reveals() == []


def test_without_a_case_the_output_is_the_record(
    axnb: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "\x1b[31mnobody")
    result = axnb("show", _write(_stopped()), "stopped", "--reveal")
    last = result.stdout.splitlines()[-1]
    at = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(rf"revealed by \\u001b\[31mnobody at {at}: 5 parts", last)
    assert "recorded in the output alone" in result.stderr


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from axnb.report.reveal import user

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    assert user() == "uid 4000000000"


# --- a case that holds the log -------------------------------------------------------------------


def test_a_case_is_shown_without_its_source(axnb: Cli) -> None:
    path = _write(_stopped())
    direct = axnb("show", path, "stopped").stdout
    axnb("load", path, "--case", "case.duckdb")
    Path(path).unlink()
    for source in (path, str(Path(path).resolve()), "log"):
        kept = axnb("show", source, "stopped", "--case", "case.duckdb")
        assert (kept.exit_code, kept.stderr) == (1, "")
        assert kept.stdout.split("Next:")[0] == direct.split("Next:")[0]
    assert "axnb triage --case case.duckdb --conversation stopped --plan" in kept.stdout


def test_what_a_case_does_not_hold_is_loaded(axnb: Cli) -> None:
    first, second = _write(_stopped(), "a.sqlite"), _write(_long(), "b.sqlite")
    axnb("load", first, "--case", "case.duckdb")
    assert axnb("show", second, "c", "--case", "case.duckdb").exit_code == 3
    assert axnb("show", "log-2", "c", "--case", "case.duckdb").exit_code == 3
    assert axnb("show", "log-3", "c", "--case", "case.duckdb").exit_code == 3


def test_a_file_is_meant_before_a_name_in_the_case(axnb: Cli) -> None:
    axnb("load", _write(_stopped(), "a.sqlite"), "--case", "case.duckdb")
    _write(_long(), "log")
    assert "outcome unknown" in axnb("show", "log", "c", "--case", "case.duckdb").stdout


def test_a_database_in_a_case_is_shown_without_its_table(
    axnb: Cli, postgres: PostgresServer
) -> None:
    dsn = postgres.create_database()
    _stopped().write_postgres(dsn)
    _long().write_postgres(dsn, "other")
    axnb("load", dsn, "--case", "case.duckdb")
    postgres.execute("drop table public.conversation_log", dsn.rsplit("/", 1)[1])
    for source in (dsn, f"{dsn}?schema=public"):
        result = axnb("show", source, "stopped", "--case", "case.duckdb")
        assert (result.exit_code, result.stderr) == (1, "")
    result = axnb("show", f"{dsn}?schema=other", "c", "--case", "case.duckdb")
    assert "outcome unknown" in result.stdout, "another schema is another log"
