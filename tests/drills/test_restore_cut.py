"""Log and bucket were backed up at different moments: where can each conversation be taken up?"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from axnb.drills.restore import RestoreOptions, run
from axnb.drills.restore.complete import check_cut
from axnb.drills.restore.cutting import Cut, Placed, newest_cut
from axnb.result import Result
from axnb.runtimes.actor_state import Memory, State
from axnb.runtimes.snapshots import take
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, say


def log_of(path: Path, turns: Mapping[str, int]) -> Path:
    log = LogBuilder("G8")
    for conversation_id, number in turns.items():
        for n in range(number):
            log.turn(conversation_id, f"hello {n}", say("hi"))
    return log.write_sqlite(path)


def bucket_of(folder: Path, taken: Mapping[str, list[int]]) -> str:
    """Real snapshots of the drill's actors, after so many turns each."""
    for conversation_id, turns in taken.items():
        memory = Memory(folder / "home")
        for number in turns:
            memory.write(State(conversation_id, turns=number, turn=number))
            take(str(folder / "bucket"), conversation_id, memory.folder(conversation_id))
    return str(folder / "bucket")


def drilled(tmp_path: Path, backup: Path, bucket: str, **asked: Any) -> Result:
    settings = Settings(scratch=tmp_path, environment={})
    return run(RestoreOptions(backup=backup, snapshots=bucket, settings=settings, **asked))


def found(result: Result) -> dict[str, tuple[str, Any, Any]]:
    """Of conversations of which there is something to say."""
    return {
        c["conversation_id"]: (c["cut"]["relation"], c["cut"]["step"], c["cut"]["apart"])
        for c in result.answer["conversations"]
        if c["cut"]
    }


def step(result: Result, check: str) -> tuple[str, str]:
    (one,) = [s for s in result.steps if (s["point"], s["check"]) == ("complete", check)]
    return one["verdict"], one["observed"]


def test_each_conversation_has_its_newest_cut(tmp_path: Path) -> None:
    turns = {"fits": 3, "behind": 3, "ahead": 2, "lost": 1, "none": 2}
    log = log_of(tmp_path / "log.sqlite", turns)
    bucket = bucket_of(tmp_path, {"fits": [1, 3], "behind": [1, 2], "ahead": [2, 3], "lost": [3]})
    result = drilled(tmp_path, log, bucket)
    assert found(result) == {
        "behind": ("log-ahead", 6, [7, 9]),
        "ahead": ("snapshot-ahead", 6, [7, None]),
        "lost": ("unrecoverable", None, [4, None]),
        "none": ("none", None, [1, 6]),
    }
    verdict, told = step(result, "cut")
    assert (verdict, result.verdict) == ("failed", "failed")
    assert "ahead: the log lacks steps from 7 on; an older snapshot fits step 6" in told


@pytest.mark.slow
def test_a_copy_that_was_cut_short_is_seen(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.sqlite", {"a": 1, "b": 1})
    bucket = bucket_of(tmp_path, {"a": [1], "b": [1]})
    whole = drilled(tmp_path, log, bucket, source=str(log))
    assert (step(whole, "bucket")[0], step(whole, "cut")[0]) == ("ok", "ok")
    assert found(whole) == {}
    copy = tmp_path / "copy"
    shutil.copytree(bucket, copy)
    next(copy.rglob("manifest.json")).unlink()
    short = drilled(tmp_path, log, bucket, source=str(log), snapshots_backup=str(copy))
    assert short.verdict == "failed"
    assert step(short, "bucket")[0] == "failed"
    assert step(short, "cut")[0] == "inconclusive"


@pytest.mark.parametrize(
    ("placed", "relation"),
    [
        ([], "none"),
        ([3], "fits"),
        ([2, 3], "fits"),
        ([2], "log-ahead"),
        ([0], "log-ahead"),
        ([2, 4], "snapshot-ahead"),
        ([4], "unrecoverable"),
        ([None], "unknown"),
        # One that nobody can place may be the newest.
        ([3, None], "unknown"),
    ],
)
def test_a_cut_is_the_newest_that_fits(placed: list[int | None], relation: str) -> None:
    snapshots = [Placed(str(turns), "full", turns) for turns in placed]
    assert newest_cut("c", 9, (3, 6, 9), snapshots).relation == relation


def test_what_no_restore_takes_is_no_cut() -> None:
    refused = [Placed("a", "refused", 3)]
    cut = newest_cut("c", 9, (3, 6, 9), refused)
    assert (cut.relation, cut.is_refused) == ("unrecoverable", True)
    assert newest_cut("c", 9, (3, 6, 9), [*refused, Placed("b", "full", 2)]).step == 6
    # A wound that the bucket had is told, and counted only where the copy made it.
    assert check_cut({"c": cut}, is_faithful=True).verdict == "ok"
    assert check_cut({"c": cut}, is_faithful=False).verdict == "failed"


def test_a_forgotten_call_is_no_ok() -> None:
    behind = Cut("c", "log-ahead", 9, 6, "a", apart=(7, 9))
    assert check_cut({"c": behind}, is_faithful=True).verdict == "ok"
    called = Cut("c", "log-ahead", 9, 6, "a", apart=(7, 9), calls=1)
    assert check_cut({"c": called}, is_faithful=True).verdict == "inconclusive"
