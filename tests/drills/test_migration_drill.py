"""The migration drill as a whole, with servers on copies of a log."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result as CliResult

from axnb.drills.migration import MigrationDrillOptions, run, run_with
from axnb.drills.migration.ground import Migrate
from axnb.errors import NotALogError, UsageError
from axnb.migrating import migrate
from axnb.result import Result
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, call, say
from tests.ax_logs import ROOT
from tests.drills.migration_logs import executing, small
from tests.runtimes.ax_binary import wrapper
from tests.servers import PostgresServer

Cli = Callable[..., CliResult]

COPY = ["rows", "content", "owners", "losses", "left-as-is", "round-trip", "source"]
STEPS = {
    "matrix": ["as-it-is"],
    "copy": COPY,
    "serve": ["starts", "answers", "interrupted", "history"],
    "rollback": ["numbers", "owner", "calls", "effects", "state", "without-migration"],
    "plan": ["statements"],
}

#: Small names of all that stands in a matrix.
MEASURES = {
    "conversations": 3,
    "interrupted": 1,
    "asked": 3,
    "rows": 11,
    "rows_copied": 11,
    "losses": 0,
    "loses_unmigrated": 3,
    "works_migrated": 3,
    "owners_lost_unmigrated": 3,
}


def steps_of(result: Result) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for step in result.steps:
        found.setdefault(step["point"], []).append(step["check"])
    return found


def bad(result: Result) -> dict[str, str]:
    """Steps that are not ok."""
    return {
        f"{step['point']}/{step['check']}": step["verdict"]
        for step in result.steps
        if step["verdict"] != "ok"
    }


def conversation(result: Result, name: str) -> dict[str, Any]:
    (found,) = (c for c in result.answer["conversations"] if c["conversation_id"] == name)
    return dict(found)


def test_a_whole_drill(axnb: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command line, so that both are tried by one rehearsal."""
    source = small("G6").write_sqlite(tmp_path / "log.sqlite")
    before, scratch = source.read_bytes(), tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("AXNB_SCRATCH", str(scratch))
    told = axnb("drill", "migration", source, "--to", "v0.2.3", "--out", tmp_path / "out")
    assert told.exit_code == 0, told.stdout
    result = Result.read(tmp_path / "out")
    assert steps_of(result) == STEPS
    assert (result.verdict, bad(result)) == ("ok", {})
    assert {name: result.measures[name] for name in MEASURES} == MEASURES
    assert (source.read_bytes(), list(scratch.iterdir())) == (before, [])
    _check_conversations(result)
    _check_damage(result)
    for number in range(1, 8):
        assert f"# --- {number}. " in result.plan
    assert "axnb migrate log.sqlite migrated.sqlite --to G8" in result.plan
    assert len(result.answer["matrix"]) == 7
    assert "✓ OK" in told.stdout
    assert "copy round-trip" in told.stderr


def _check_conversations(result: Result) -> None:
    drilled, cut = conversation(result, "drilled"), conversation(result, "cut")
    assert drilled["before"]["server"]["input"]["does"] == "new-turn"
    assert (drilled["before"]["harness"], drilled["after"]["harness"]) == ("antigravity", "drill")
    assert (drilled["before"]["history"], drilled["after"]["history"]) == ("lost", "read")
    assert drilled["outcome"] == "works"
    assert cut["after"]["server"]["empty"]["does"] == "blocked"
    (journey,) = result.answer["rollback"]
    assert journey["conversation_id"] == "cut"
    assert {stage["owner"] for stage in journey["stages"]} == {"antigravity"}
    assert {stage["state"] for stage in journey["stages"]} == {"interrupted"}


def _check_damage(result: Result) -> None:
    """What G8 leaves in a file of G6 that it was simply opened on."""
    found = {(d["conversation_id"], d["kind"]): d for d in result.answer["damage"]}
    assert {d["way"] for d in found.values()} == {"unmigrated"}
    assert found.keys() == {
        ("done", "other-words"),
        ("drilled", "other-words"),
        ("drilled", "owner-rebound"),
    }
    assert found["drilled", "owner-rebound"]["steps"] == [4]


@pytest.mark.slow
def test_two_drills_are_the_same_and_tell_what_was_closed(tmp_path: Path) -> None:
    """A harness that takes an empty start ends a turn that never ran."""
    log = LogBuilder("G6", harness="drill")
    log.interrupted("cut", "Charge the card", call("charge_card", {"amount": 9}))
    source = log.write_sqlite(tmp_path / "log.sqlite")
    one, other = (run(str(source), to="G8", harnesses=["drill=accepts"]) for _ in "12")
    assert one.digest() == other.digest()
    assert {**one.as_dict(), "run": {}} == {**other.as_dict(), "run": {}}
    assert bad(one) == {"serve/answers": "not-run"}
    assert {(d["way"], d["kind"]) for d in one.answer["damage"]} >= {
        ("migrated", "closed-unrun"),
        ("unmigrated", "closed-unrun"),
    }


def wounding(place: str, wounds: dict[str, tuple[str, str, set[str]]]) -> Migrate:
    """A migration that wounds one conversation of a copy each, by replacing a piece of a row."""
    wounded = migrate
    for name, (old, new, _) in wounds.items():
        text = f"replace(payload, '{old}', '{new}')"
        statement = f"update conversation_log set payload = {text} where conversation_id = '{name}'"
        wounded = executing(statement, place, wounded)
    return wounded


def turned(result: Result, point: str, names: Iterable[str]) -> dict[str, set[str]]:
    """Conversation -> steps of a point whose evidence names it."""
    return {
        name: {
            step["check"]
            for step in result.steps
            if step["point"] == point and step["verdict"] == "failed"
            if any(e["conversation_id"] == name for e in step["evidence"])
        }
        for name in names
    }


def wounded_log(path: Path, names: Iterable[str], *, is_cut: bool) -> Path:
    """A conversation for each wound, and one that is whole."""
    log = LogBuilder("G6")
    for name in [*names, "whole"]:
        begin = log.interrupted if is_cut else log.turn
        begin(name, "Charge the card", call("charge_card", {"amount": 9}))
    log.interrupted("closed", "Charge the card", say("I will."))
    return log.write_sqlite(path)


#: Conversation -> what is replaced in the migrated copy, and steps of its server that turn.
SERVED = {
    "closed": ("PENDING", "COMPLETED", {"interrupted"}),
    "other-owner": ('"antigravity"', '"other"', {"answers"}),
    "other-words": ('"steps"', '"messages"', {"history"}),
}


@pytest.mark.slow
def test_wounds_of_the_copy_turn_what_its_server_does(tmp_path: Path) -> None:
    source = wounded_log(tmp_path / "log.sqlite", list(SERVED)[1:], is_cut=False)
    options = MigrationDrillOptions(to="G8")
    result = run_with(wounding("migrated", SERVED), str(source), options)
    assert turned(result, "serve", SERVED) == {name: steps for name, (*_, steps) in SERVED.items()}
    assert turned(result, "serve", ["whole"]) == {"whole": set()}
    assert result.verdict == "failed"


#: Conversation -> what is replaced in the log on its way back, and steps of the rollback that turn.
BACK = {
    "other-owner": ('"antigravity"', '"drill"', {"owner"}),
    "other-call": ('"amount":9', '"amount":8', {"calls"}),
    "closed": ("PENDING", "COMPLETED", {"state"}),
}


@pytest.mark.slow
def test_wounds_on_the_way_back_turn_the_rollback(tmp_path: Path) -> None:
    source = wounded_log(tmp_path / "log.sqlite", ["gone", *list(BACK)[:2]], is_cut=True)
    gone = "delete from conversation_log where conversation_id = 'gone' and step = 2"
    wounded = executing(gone, "rollback-old", wounding("rollback-old", BACK))
    options = MigrationDrillOptions(to="G8", harnesses=["antigravity", "drill"])
    result = run_with(wounded, str(source), options)
    expected = {name: steps for name, (*_, steps) in BACK.items()}
    expected |= {"gone": {"numbers", "calls", "state"}, "whole": set()}
    assert turned(result, "rollback", expected) == expected
    assert {name.split("/")[0] for name in bad(result)} <= {"rollback", "serve"}


# --- real binaries -------------------------------------------------------------------------------


@pytest.mark.slow
def test_binaries_are_asked_and_a_disagreement_is_failed(tmp_path: Path) -> None:
    """One is as its generation; one goes on with an interrupted turn where AX never would."""
    source = small("G6").write_sqlite(tmp_path / "log.sqlite")
    honest = wrapper(tmp_path / "one", "G8")
    odd = wrapper(tmp_path / "two", "G8")
    odd.write_text(odd.read_text().replace("--generation", "--policy requeue --generation"))
    none = tmp_path / "none"
    none.write_text("#!/bin/sh\nexit 1\n")
    none.chmod(none.stat().st_mode | stat.S_IXUSR)
    result = run(str(source), to="G8", ax_bin=[honest, odd, none])
    assert bad(result) == {
        "matrix/real-ax-2": "failed",
        "serve/real-ax-2": "failed",
        "matrix/real-none": "not-run",
    }
    names = [(p["name"], p["kind"], p["generation"]) for p in result.answer["programs"]]
    assert names == [("ax", "embedded", "G8"), ("ax-2", "embedded", "G8"), ("none", "unknown", "")]


# --- stores, and logs of real servers ------------------------------------------------------------


@pytest.mark.slow
def test_a_log_in_postgres_is_served_from_postgres(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    dsn = postgres.create_database()
    small("G8").write_postgres(dsn, 'odd "schema\\')
    result = run(dsn, to="G6", settings=Settings(scratch=tmp_path))
    assert bad(result) == {}
    assert postgres.password not in result.text()
    assert "AX_EVENTLOG_DSN" in result.plan
    assert not list(tmp_path.iterdir())


#: Logs of real servers, and steps that are not ok: what cannot be rehearsed is not.
NO_WAY_BACK = {f"rollback/{name}": "not-run" for name in STEPS["rollback"][:5]}
REAL = {
    "g3-sqlite": {**NO_WAY_BACK, "rollback/without-migration": "not-run"},
    "mixed-renamed-sqlite": {},
    "upgraded-g6-g8-sqlite": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_logs_of_real_servers_go_on_after_a_migration(name: str, tmp_path: Path) -> None:
    """Every conversation that was readable goes on with its owner and its whole content."""
    folder = ROOT / name
    if not folder.is_dir():
        pytest.skip("the whole collection is not there")
    result = run(
        str(folder / "log.sqlite"), to="G8", conversations=6, settings=Settings(scratch=tmp_path)
    )
    assert bad(result) == REAL[name]
    assert {c["outcome"] for c in result.answer["conversations"]} == {"works"}
    assert result.measures["works_unmigrated"] < result.measures["conversations"]
    for c in result.answer["conversations"]:
        assert c["after"]["history"] == "read"
        assert c["owner_after"] == c["owner_expected"]


# --- what cannot be meant ------------------------------------------------------------------------

WRONG = {
    "a version that is no target": ({"to": "G3"}, "no log is migrated to v0.1.0"),
    "no version": ({"to": "G9"}, "not known"),
    "no conversation": ({"conversations": 0}, "between 1 and"),
    "a harness twice": ({"harnesses": ["a", "a=refuses"]}, "twice"),
    "a harness that no server takes": ({"harnesses": ["a b"]}, "registers"),
    "a default that no server takes": ({"default_harness": "ä"}, "registers"),
    "a binary that is none": ({"ax_bin": [Path("no-such")]}, "is no program"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_meant_is_one_sentence(name: str) -> None:
    asked, told = WRONG[name]
    with pytest.raises(UsageError, match=told):
        MigrationDrillOptions(**asked)


def test_what_is_no_log_is_said_before_anything_is_started(axnb: Cli, tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("create table t (x)")
    with pytest.raises(NotALogError):
        run(str(path), to="G8", settings=Settings(scratch=tmp_path))
    told = axnb("drill", "migration", path, "--to", "G8", "--json")
    assert (told.exit_code, told.stdout) == (3, "")
    assert axnb("drill", "migration", path).exit_code == 2


def test_the_folder_is_kept_if_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine").touch()
    with pytest.raises(UsageError, match="not empty"):
        run("log.sqlite", to="G8", keep=tmp_path / "kept")


def test_the_schema_knows_the_answer(tmp_path: Path) -> None:
    """A result whose answer has lost a part is none."""
    from axnb.errors import SourceError

    answer = {"schema": "axnb.migration-drill/1", "verdict": "ok"}
    result = Result("migration", "ok", {}, (), answer=answer)
    (tmp_path / "result.json").write_text(json.dumps(result.as_dict()))
    with pytest.raises(SourceError, match="answer"):
        Result.read(tmp_path)
