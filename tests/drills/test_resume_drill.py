"""The drill itself, with real processes: what each policy shows, and that nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from axnb.drills.resume import ResumeOptions, run
from axnb.result import Result
from axnb.runtimes import POINTS
from axnb.runtimes.alerts import AlertReceiver
from axnb.runtimes.processes import free_port
from axnb.settings import Settings, Tool
from tests.s3_server import S3Server
from tests.waiting import until

Steps = dict[tuple[str, int, str], dict[str, Any]]
Drill = Callable[..., Result]


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Drill:
    """Runs a drill whose scratch must be empty again afterwards."""

    def drilled(settings: Settings | None = None, **options: Any) -> Result:
        scratch = tmp_path_factory.mktemp("scratch")
        asked = Settings(scratch=scratch, tools=settings.tools if settings else {})
        result = run(ResumeOptions(settings=asked, **options))
        assert list(scratch.iterdir()) == []
        return result

    return drilled


def steps_of(result: Result) -> Steps:
    return {(s["policy"], s["point"], s["check"]): dict(s) for s in result.steps}


def points_of(result: Result) -> dict[tuple[str, int], dict[str, Any]]:
    return {
        (policy["policy"], point["point"]): point
        for policy in result.answer["policies"]
        for point in policy["points"]
    }


def bad(result: Result) -> dict[tuple[str, int, str], tuple[str, str]]:
    return {
        k: (s["verdict"], s["observed"])
        for k, s in steps_of(result).items()
        if s["verdict"] != "ok"
    }


def check_all_well(result: Result) -> None:
    """What `read-before-retry` shows: the effect is there once, by the tool's own ledger."""
    assert bad(result) == {}
    assert (result.verdict, len(result.steps)) == ("ok", 56)
    classes = {point: found["class"] for (_, point), found in points_of(result).items()}
    assert classes == dict.fromkeys(POINTS, "reused") | {1: "executed", 2: "executed"}
    for (_, point), found in points_of(result).items():
        assert (found["effects"], found["person"]) == (1, False)
        effect = steps_of(result)["read-before-retry", point, "side-effect"]
        assert [e["kind"] for e in effect["evidence"]] == ["ledger", "row"]
        assert found["reversal"]["verdict"] == "ok"
        assert {e["status"] for e in found["reversal"]["evidence"]} == {"released"}
        assert [event["mark"] for event in found["timeline"]].count("kill") == 1


@pytest.mark.slow
def test_reading_before_a_retry_is_ok_at_every_point(drill: Drill) -> None:
    check_all_well(drill(policies=("read-before-retry",)))


@pytest.mark.slow
def test_after_the_commit_no_other_policy_is_ok(drill: Drill) -> None:
    result = drill(policies=("ax", "requeue"), points=(3, 8))
    assert result.verdict == "failed"
    steps, points = steps_of(result), points_of(result)
    assert all(found["person"] for found in points.values())
    unknown = steps["ax", 3, "side-effect"]
    assert (unknown["verdict"], len(unknown["evidence"])) == ("inconclusive", 1)
    assert points["ax", 3]["class"] == "uncertain"
    assert steps["ax", 3, "state"]["verdict"] == "failed"
    assert steps["ax", 3, "alert"]["verdict"] == "ok"
    doubled = steps["requeue", 3, "side-effect"]
    assert (doubled["verdict"], len(doubled["evidence"])) == ("failed", 3)
    assert points["requeue", 3]["class"] == "re-executed"
    assert points["requeue", 3]["effects"] == 2
    # A binary that just starts on an older log reads its content as empty.
    for policy in ("ax", "requeue"):
        observed = steps[policy, 8, "log-sequence"]["observed"]
        assert observed.startswith("G8 reads 0 of 5 contents")
    check_cancellations(*result.answer["policies"])


def check_cancellations(ax: dict[str, Any], requeue: dict[str, Any]) -> None:
    """A stopped stream reverses nothing; put to the harness again, it is done a second time."""
    assert ax["cancellation"]["verdict"] == "ok"
    assert ax["cancellation"]["observed"].startswith("cancelled, yet committed: 1 effect")
    assert {e["status"] for e in ax["cancellation"]["evidence"]} == {"reserved"}
    assert {e["status"] for e in ax["cancellation"]["reversal"]["evidence"]} == {"released"}
    assert requeue["cancellation"]["verdict"] == "failed"


@pytest.mark.slow
def test_the_same_rehearsal_has_the_same_result(drill: Drill) -> None:
    """Whether the tool deduplicates decides what asking it again does."""
    options = {"policies": ("requeue",), "points": (4,), "idempotent": True}
    first, second = (drill(**options).as_dict() for _ in range(2))
    assert first.pop("run") != second.pop("run")
    assert json.dumps(first) == json.dumps(second)
    assert first["verdict"] == "ok"
    assert first["parameters"]["retry"] == "idempotent"


def test_without_a_bucket_the_eviction_is_not_run(drill: Drill) -> None:
    result = drill(policies=("read-before-retry",), points=(7,), snapshots=None)
    assert {step["verdict"] for step in result.steps} == {"not-run"}
    assert {step["observed"] for step in result.steps} == {"there is no bucket for snapshots."}
    assert (result.verdict, result.measures["not_run"]) == ("inconclusive", 7)


@pytest.mark.slow
def test_a_barrier_asks_a_person(drill: Drill) -> None:
    settings = Settings(tools={"reserve": Tool("reserve", retry="barrier")})
    result = drill(settings, policies=("requeue", "read-before-retry"), points=(2, 3))
    steps, points = steps_of(result), points_of(result)
    assert steps["read-before-retry", 2, "side-effect"]["verdict"] == "ok"
    assert points["read-before-retry", 2]["effects"] == 0
    assert points["read-before-retry", 2]["person"]
    assert points["read-before-retry", 3]["effects"] == 1
    passed = steps["requeue", 2, "retry-count"]
    assert (passed["verdict"], passed["observed"]) == (
        "failed",
        "1 request, and no person was asked",
    )


@pytest.mark.slow
def test_what_may_be_read_again_may_be_doubled(drill: Drill) -> None:
    settings = Settings(tools={"reserve": Tool("reserve", retry="read")})
    result = drill(settings, policies=("requeue",), points=(3,))
    assert result.verdict == "ok"
    assert points_of(result)["requeue", 3]["effects"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("generation", ["G5", "G6"])
def test_older_generations(drill: Drill, generation: str) -> None:
    found = drill(policies=("read-before-retry",), generation=generation, points=(1, 5, 7, 8))
    assert bad(found) == {}
    found = drill(policies=("ax",), generation=generation, points=(3,))
    assert steps_of(found)["ax", 3, "side-effect"]["verdict"] == "inconclusive"


@pytest.mark.slow
@pytest.mark.parametrize(("generation", "points"), [("G8", (3, 4)), ("G6", (1, 3))])
def test_moments_that_are_drawn(drill: Drill, generation: str, points: tuple[int, ...]) -> None:
    """A client of G6 says what it has: at the first moments of a turn that is nothing of it."""
    asked = {"generation": generation, "points": points, "repeat": 3, "seed": 5}
    result = drill(policies=("read-before-retry",), **asked)
    assert bad(result) == {}
    assert {json.dumps(step["runs"]) for step in result.steps} == {'{"ok": 3}'}


@pytest.mark.slow
def test_any_alertmanager_by_its_address(drill: Drill) -> None:
    """What is resolved there is not told any more; what cannot be read is not known."""
    with AlertReceiver() as receiver:
        result = drill(policies=("read-before-retry",), points=(3,), alertmanager=receiver.url)
        assert bad(result) == {}
        assert {alert["status"]["state"] for alert in receiver.alerts()} == {"resolved"}
    nobody = f"http://127.0.0.1:{free_port()}"
    result = drill(policies=("read-before-retry",), points=(3,), alertmanager=nobody)
    assert [(check, verdict) for (_, _, check), (verdict, _) in bad(result).items()] == [
        ("alert", "inconclusive")
    ]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[S3Server, str]]:
    """A real S3 server, and the name of a bucket that is ours to write to."""
    if not S3Server.available():
        pytest.skip("no S3 server")
    with S3Server() as server:
        for name, value in server.environment(server.owner).items():
            monkeypatch.setenv(name, value)
        yield server, server.new_bucket()


@pytest.mark.slow
def test_on_real_servers(drill: Drill, bucket: tuple[S3Server, str]) -> None:
    """PostgreSQL and S3. The snapshots are gone afterwards, and what lay beside them is not."""
    server, name = bucket
    client, url = server.client(), f"s3://{name}/runs"
    client.put_object(Bucket=name, Key="runs/of-somebody-else", Body=b"x")
    check_all_well(drill(policies=("read-before-retry",), store="postgres", snapshots=url))
    left = client.list_objects_v2(Bucket=name)["Contents"]
    assert [item["Key"] for item in left] == ["runs/of-somebody-else"]
    found = drill(policies=("ax", "requeue"), store="postgres", snapshots=url, points=(4,))
    assert steps_of(found)["ax", 4, "side-effect"]["verdict"] == "inconclusive"
    assert steps_of(found)["requeue", 4, "side-effect"]["verdict"] == "failed"


@pytest.mark.slow
def test_a_bucket_that_may_not_be_written(
    drill: Drill, bucket: tuple[S3Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, name = bucket
    for variable, value in server.environment(server.reader).items():
        monkeypatch.setenv(variable, value)
    refused = drill(policies=("ax",), points=(7,), snapshots=f"s3://{name}/runs")
    assert "ok" not in {step["verdict"] for step in refused.steps}


# --- what is left --------------------------------------------------------------------------------


def processes(mark: str) -> list[str]:
    """Processes whose command line names the folder."""
    found = subprocess.run(
        ["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True, check=True
    )
    return [line for line in found.stdout.splitlines() if mark in line and "ps -ww" not in line]


_DRILL = """
import sys
from pathlib import Path
from axnb.drills.resume import ResumeOptions, run
from axnb.settings import Settings
run(ResumeOptions(policies=("read-before-retry",), settings=Settings(scratch=Path(sys.argv[1]))))
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A drill in a process of its own, in the midst of its rehearsals."""
    scratch = Path(tempfile.mkdtemp(prefix="axnb-marked-", dir=tmp_path))
    command = [sys.executable, "-c", _DRILL, str(scratch)]
    with subprocess.Popen(command) as process:
        # The drill, the tool service, a watchdog, and a server with its actor.
        until(lambda: len(processes(str(scratch))) > 5, "several rehearsals run")
        yield process, scratch
        process.kill()


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_drill_that_is_killed_leaves_nothing(
    running: tuple[subprocess.Popen[bytes], Path], number: signal.Signals
) -> None:
    process, scratch = running
    os.kill(process.pid, number)
    assert process.wait(30) != 0
    until(lambda: processes(str(scratch)) == [], "every process has ended")
    until(lambda: list(scratch.iterdir()) == [], "the scratch folder is gone")
