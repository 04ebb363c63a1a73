"""Faults of a restore: it broke off, it was of nothing, its copy began to do things."""

from __future__ import annotations

from pathlib import Path

import pytest

from axnb import backups
from axnb.ax.behaviour import Harness
from axnb.drills.restore import RestoreOptions, rehearsing, run
from axnb.runtimes import processes
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, call, say

SECRET = "sk-live-0123456789abcdef"

STAGES = {
    "take": (backups, "take"),
    "judge": (backups, "judge"),
    "restore": (backups, "restore"),
    "inspect": (backups, "inspect"),
    "look": (rehearsing, "look"),
    "serve": (rehearsing, "serve"),
    "tell": (rehearsing.usable, "check_goes_on"),
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "source").mkdir()
    built = LogBuilder("G8")
    built.turn("done", f"keep {SECRET}", say("kept"))
    built.interrupted("in-flight", "send it", call("send_message", {"to": "everybody"}))
    return built.write_sqlite(tmp_path / "source" / "log.sqlite")


# --- DB-12: it stopped between two stages ---------------------------------------------------------


class _StoppedError(Exception):
    """What nobody expects."""


@pytest.mark.parametrize(
    "stage",
    [pytest.param(s, marks=() if s in ("judge", "tell") else pytest.mark.slow) for s in STAGES],
)
def test_whatever_breaks_nothing_of_the_log_is_left(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise _StoppedError

    started = []
    spawn = processes._spawn

    def noted(*words: object, **options: object) -> object:
        started.append(spawn(*words, **options))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(processes, "_spawn", noted)
    monkeypatch.setattr(*STAGES[stage], stop)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(_StoppedError):
        run(RestoreOptions(source=str(log), settings=Settings(scratch=scratch, environment={})))
    assert list(scratch.iterdir()) == []
    assert all(process.poll() is not None for process in started)


# --- DB-09, DB-11: a backup of nothing, a copy that does things -----------------------------------


def test_a_backup_of_nothing_is_no_success(tmp_path: Path) -> None:
    empty = LogBuilder("G8").write_sqlite(tmp_path / "log.sqlite")
    result = run(RestoreOptions(source=str(empty), settings=Settings(environment={})))
    assert result.verdict == "failed"
    told = {s["check"]: (s["verdict"], s["observed"]) for s in result.steps}
    assert told["decoded"] == ("failed", "the log holds no row: a backup of nothing")
    assert told["rows"][0] == "failed"


def test_a_restored_copy_does_nothing_by_itself(log: Path) -> None:
    """A harness that takes an empty start would go on: that is told, and no tool is asked."""
    asked = RestoreOptions(
        source=str(log),
        settings=Settings(environment={}),
        harnesses=[Harness("antigravity", accepts=True)],
    )
    result = run(asked)
    (quiet,) = [s for s in result.steps if s["check"] == "quiet"]
    assert quiet["verdict"] == "ok"
    assert quiet["observed"] == (
        "nothing ran, and the tool service got no request; the next request of 1 conversation "
        "would restart a turn"
    )
    assert [e["conversation_id"] for e in quiet["evidence"]] == ["in-flight"]
    text = str(result.as_dict())
    assert SECRET not in text
    assert "everybody" not in text
