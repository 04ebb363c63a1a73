"""`axnb drill`: what cannot be meant is one sentence, before anything runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from axnb.cli import main
from axnb.drills.resume.points import read_points
from axnb.errors import UsageError
from axnb.runtimes import POINTS
from tests import ax_logs
from tests.waiting import until

Cli = Callable[..., Result]

WRONG = {
    "an unknown point": (["--points", "9"], "there is no point 9"),
    "one beyond in a range": (["--points", "6-9"], "there is no point 9"),
    "a range without an end": (["--points", "3-"], "'3-' names no point"),
    "a range that goes backwards": (["--points", "4-1"], "4-1 go backwards"),
    "no number": (["--points", "1,x"], "'x' names no point"),
    "no point": (["--points", ""], "--points names no point"),
    "nothing between commas": (["--points", "1,,3"], "names no point"),
    "no repetition": (["--repeat", "0"], "repeat is not between 1"),
    "an unknown policy": (["--policy", "ax", "--policy", "hope"], "policy 'hope'"),
    "an unknown runtime": (["--runtime", "docker"], "runtime 'docker'"),
    "an unknown store": (["--store", "mysql"], "store 'mysql'"),
    "a generation that no drill writes": (["--generation", "v0.1.0"], "v0.1.0"),
    "a generation that never was": (["--generation", "G9"], "'G9' is not known"),
    "a bucket and none": (["--snapshots", "s3://b/p", "--no-snapshots"], "s3://b/p"),
    "a deployment that nobody describes": (["--runtime", "command"], "[drill.command]"),
    "settings that are not there": (["--settings", "no.toml"], "no.toml cannot be read"),
    "a cursor that moves": (["--policy", "\x1b[31mred"], "policy"),
    "a policy twice": (["--policy", "ax", "--policy", "ax"], "twice"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_meant_is_one_sentence(name: str, axnb: Cli) -> None:
    arguments, told = WRONG[name]
    result = axnb("drill", "resume", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("axnb: ")
    assert told in line
    assert "\x1b" not in line


@pytest.mark.parametrize("arguments", [["--repeat", "many"], ["--no-such"], ["7"]])
def test_what_click_refuses_is_wrong_usage(arguments: list[str], axnb: Cli) -> None:
    result = axnb("drill", "resume", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


def test_points_are_read_in_order_and_once() -> None:
    assert read_points("3,1-2, 2 - 4") == (1, 2, 3, 4)
    assert read_points("") == tuple(POINTS)
    with pytest.raises(UsageError):
        read_points("1 2")


def _told(name: str, drill: str) -> list[list[str]]:
    """The commands of a drill that a text shows."""
    text = (Path(__file__).parents[1] / name).read_text(encoding="utf-8")
    lines = re.findall(rf"^axnb drill {drill}.*$", text, re.MULTILINE)
    return [shlex.split(line)[3:] for line in lines]


PAGES = {
    "resume": "docs/resume-drill.md",
    "restore": "docs/restore-drill.md",
    "migration": "docs/migration.md",
    "reconciliation": "docs/reconciliation.md",
}


@pytest.mark.parametrize("drill", PAGES)
@pytest.mark.parametrize("where", ["README.md", "its page"])
def test_options_that_are_told_are_there(where: str, drill: str) -> None:
    verb = main.commands["drill"].commands[drill]  # type: ignore[attr-defined]
    told = _told(PAGES[drill] if where == "its page" else where, drill)
    assert told
    for arguments in told:
        verb.make_context(drill, arguments)


@pytest.mark.parametrize("name", ["README.md", PAGES["migration"]])
def test_migrations_that_are_told_could_be_asked(name: str) -> None:
    text = (Path(__file__).parents[1] / name).read_text(encoding="utf-8")
    lines = re.findall(r"^axnb migrate .*$", text, re.MULTILINE)
    assert lines
    for line in lines:
        main.commands["migrate"].make_context("migrate", shlex.split(line, comments=True)[2:])


@pytest.mark.slow
def test_a_drill_ends_as_its_verdict_says_and_leaves_a_result(axnb: Cli) -> None:
    asked = ["drill", "resume", "--points", "3", "--policy", "read-before-retry"]
    well = axnb(*asked, "--json", "--out", "out", "--keep", "kept")
    assert well.exit_code == 0
    result = json.loads(well.stdout)
    assert result == json.loads(Path("out/result.json").read_text("utf-8"))
    assert [step["verdict"] for step in result["steps"]] == ["ok"] * 7
    assert "read-before-retry 3         ✓ ok" in well.stderr
    assert "kept" in well.stderr
    assert any(Path("kept").iterdir())
    again = axnb(*asked, "--keep", "kept")
    assert (again.exit_code, again.stdout) == (2, ""), "the folder is in use"
    blocked = axnb("drill", "resume", "--points", "3")
    assert blocked.exit_code == 1
    assert "1 uncertain" in blocked.stdout


NO_FOLDER = {
    "out": (["--out", "file/out"], 4, "file/out cannot be written: Not a directory"),
    "keep": (["--keep", "file/kept"], 4, "no folder can be made at file/kept: Not a directory"),
    "a keep in use": (["--keep", "."], 2, "is not empty"),
}


@pytest.mark.parametrize("name", NO_FOLDER)
def test_a_folder_that_cannot_be_made_is_told_before_the_drill(name: str, axnb: Cli) -> None:
    arguments, code, told = NO_FOLDER[name]
    Path("file").touch()
    result = axnb("drill", "resume", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    (line,) = result.stderr.splitlines()
    assert told in line


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_result_that_cannot_be_written_is_printed(
    arguments: list[str], axnb: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a binary nothing is run, and there is a result nevertheless."""
    monkeypatch.setenv("PATH", "")
    Path("out/result.json").mkdir(parents=True)
    result = axnb("drill", "resume", "--runtime", "ax", "--out", "out", *arguments)
    assert result.exit_code == 4
    assert "out/result.json cannot be written" in result.stderr
    if arguments:
        assert json.loads(result.stdout)["verdict"] == "not-run"
    else:
        assert "a real AX server" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_in_a_bucket_of_others(
    tmp_path: Path, number: signal.Signals | None
) -> None:
    """Snapshots of a drill go at its end, and where it is stopped."""
    bucket, temp = tmp_path / "bucket", tmp_path / "temp"
    bucket.mkdir()
    temp.mkdir()
    words = [sys.executable, "-m", "axnb.cli", "drill", "resume", "--points", "7"]
    words += ["--policy", "read-before-retry", "--snapshots", str(bucket)]
    with subprocess.Popen(
        words, env={**os.environ, "TMPDIR": str(temp)}, stderr=subprocess.PIPE, text=True
    ) as drill:
        until(lambda: bool(list(bucket.rglob("manifest.json"))), "a snapshot is there")
        if number is not None:
            drill.send_signal(number)
        _, told = drill.communicate(timeout=120)
    assert drill.returncode == (0 if number is None else 4)
    assert list(bucket.iterdir()) == []
    until(lambda: list(temp.iterdir()) == [], "the scratch folder is gone")
    if number is not None:
        assert told.splitlines()[-1] == (
            "axnb: stopped; every process of the drill has ended, and its scratch folder is gone."
        )


def test_an_ax_yaml_that_is_too_deep_is_one_sentence(axnb: Cli) -> None:
    Path("ax.yaml").write_text("[" * 20_000, encoding="utf-8")
    result = axnb("serve")
    assert (result.exit_code, result.stderr) == (3, "ax.yaml is not YAML.\n")


def test_the_help_names_every_option_and_needs_nothing(axnb: Cli) -> None:
    told = axnb("drill", "resume", "--help").stdout
    for option in ("policy", "points", "repeat", "seed", "keep", "out", "json", "yes", "ax-bin"):
        assert re.search(rf"--{option}\b", told)
    assert "drill" in axnb("--help").stdout


_DEPLOYMENT = """
[drill.command]
log = "log.sqlite"
generation = "G8"
start = ["touch", "started"]
resume = ["touch", "started"]
effects = ["touch", "started"]
reverse = ["touch", "started"]
interrupt = { 3 = ["touch", "started"] }
"""


def test_nothing_of_a_deployment_runs_unconfirmed(
    axnb: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("axnb.toml").write_text(_DEPLOYMENT, encoding="utf-8")
    result = axnb("drill", "resume", "--runtime", "command", "--points", "3")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "it would run start, resume, effects, reverse, interrupt (3)." in result.stderr
    assert not Path("started").exists()
    Path("axnb.toml").write_text(f"{_DEPLOYMENT}unattended = true\n", encoding="utf-8")
    assert axnb("drill", "resume", "--runtime", "command", "--points", "3").exit_code != 2
    assert Path("started").exists()


# --- a restore -----------------------------------------------------------------------------------

RESTORED = ax_logs.ROOT / "restored-sqlite"
_LOG, _BACKUP = str(RESTORED / "log.sqlite"), str(RESTORED / "backup.sqlite")

WRONG_RESTORE = {
    "nothing": ([], 2, "name a log (a path or a DSN) or a backup"),
    "a version that never was": ([_LOG, "--ax-version", "G9"], 2, "'G9' is not known"),
    "a variable that is not set": ([_LOG, "NO_SUCH_LOG"], 2, "NO_SUCH_LOG is neither"),
    "a step that is none": ([_LOG, "--expect-last", "c=0"], 2, "--expect-last takes ID=N"),
    "less than nothing": ([_LOG, "--rpo-steps", "-1"], 2, "--rpo-steps is at least 0"),
    "nobody asked": ([_LOG, "--asked", "0"], 2, "--asked at least 1"),
    "taken and given": ([_LOG, "--backup", "b", "--how", "vacuum"], 2, "--backup names one"),
    "settings that are not there": ([_LOG, "--settings", "no.toml"], 2, "no.toml cannot be read"),
    "a password": (["postgres:secret@host/db"], 2, "looks like a PostgreSQL address"),
    "keys of a bucket": ([_LOG, "--snapshots", "s3://k:secret@h/b"], 2, "put keys into AWS_"),
    "a bucket that is none": ([_LOG, "--snapshots", "nowhere"], 2, "neither a URL nor a folder"),
}


@pytest.mark.parametrize("name", WRONG_RESTORE)
def test_a_restore_that_cannot_be_meant_is_one_sentence(
    name: str, axnb: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AX_EVENTLOG_DSN", raising=False)
    arguments, code, told = WRONG_RESTORE[name]
    result = axnb("drill", "restore", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("axnb: ")
    assert told in line
    assert "secret" not in line


def test_a_backup_that_is_none_is_a_result(axnb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is judged, and not refused: that is what the drill is for. A variable names the source
    where nobody else does."""
    Path("backup.sqlite").touch()
    monkeypatch.setenv("AX_EVENTLOG_DSN", _LOG)
    result = axnb("drill", "restore", "--backup", "backup.sqlite", "--json", "--out", "out")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told == json.loads(Path("out/result.json").read_text("utf-8"))
    assert told["parameters"]["source"] == "none", "whoever gives a backup names its source, too"
    assert "has 0 bytes" in told["why"][0]
    assert {step["verdict"] for step in told["steps"]} == {"failed", "not-run"}


@pytest.mark.slow
def test_a_restore_leaves_a_result_and_a_command_that_gives_it_again(axnb: Cli) -> None:
    for name in ("log.sqlite", "lost.sqlite", "backup.sqlite"):
        shutil.copy(RESTORED / name, name)
    words = ["drill", "restore", "log.sqlite", "lost.sqlite", "--backup", "backup.sqlite"]
    first = axnb(*words, "--out", "out", "--keep", "kept")
    assert first.exit_code == 1
    assert "READ BACK" in first.stdout
    assert "kept" in first.stderr
    assert any(Path("kept").iterdir())
    result = json.loads(Path("out/result.json").read_text("utf-8"))
    again = axnb(*shlex.split(result["run"]["again"])[1:])
    found = json.loads(again.stdout)
    assert {n: v for n, v in found.items() if n != "run"} == {
        n: v for n, v in result.items() if n != "run"
    }


@pytest.mark.slow
def test_a_restore_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "axnb.cli", "drill", "restore", _LOG]
    with subprocess.Popen(
        words, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True
    ) as drill:
        until(lambda: bool(list(tmp_path.rglob("*.sqlite"))), "a backup is there")
        drill.send_signal(signal.SIGTERM)
        _, told = drill.communicate(timeout=120)
    assert drill.returncode == 4
    assert told.splitlines()[-1].startswith("axnb: stopped; every process of the drill has ended")
    until(lambda: list(tmp_path.iterdir()) == [], "the scratch folder is gone")
