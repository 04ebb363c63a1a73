"""The runtime `ax`, on programs that are started as an `ax` binary is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.drills.resume import Judged
from axnb.drills.resume.judging import judged
from axnb.drills.resume.rehearsing import Job, Rehearsing
from axnb.errors import AxnbError, UsageError
from axnb.runtimes import CANCELLED, NotRunError, Policy, Runtime, Task
from axnb.runtimes.ax import AxRuntime
from axnb.runtimes.ax.binary import find
from axnb.runtimes.ax.blocking import blocking
from axnb.runtimes.ax.sidecar import pid_file, write_sidecar
from axnb.runtimes.embedded.runtime import EmbeddedRuntime
from axnb.runtimes.embedded.store import SqliteStore
from axnb.runtimes.postgres import ScratchPostgres
from axnb.runtimes.processes import Reaper, answers, free_port, wait_until_answers
from axnb.runtimes.programs import command
from axnb.settings import Settings
from tests.runtimes.ax_binary import wrapper
from tests.waiting import is_running, until


def _task(point: int) -> Task:
    return Task(f"c-{point}", f"op-{point}", item=f"seat {point}")


def _rehearsed(runtime: Runtime, scratch: Path, *points: int) -> list[Judged]:
    """The points, one after the other; the runtime is closed."""
    scratch.mkdir(exist_ok=True)
    rehearsing = Rehearsing(runtime, scratch, Settings())
    try:
        return [judged(rehearsing.rehearse(Job(point, "ax", _task(point)))) for point in points]
    finally:
        runtime.close()


def _marks(judged: Judged) -> list[tuple[int, str, str]]:
    """The log at the end, row by row."""
    seen = judged.rehearsed.seen
    assert seen is not None, judged.rehearsed.told
    return [(row.step, row.mark, row.state) for row in seen.log.rows]


# --- which binary --------------------------------------------------------------------------------


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ax").write_text("#!/bin/sh\n")
    for path in (tmp_path, tmp_path / "none", tmp_path / "ax"):
        with pytest.raises(UsageError, match="no program"):
            find([path])
    (tmp_path / "ax").chmod(0o755)
    assert find([tmp_path / "ax"]) == (tmp_path / "ax",)
    with pytest.raises(UsageError, match="twice"):
        find([tmp_path / "ax"] * 3)


def test_the_ax_of_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find(()) == ()
    (tmp_path / "ax").touch(0o755)
    assert find(()) == (tmp_path / "ax",)


def test_without_a_binary_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    runtime = AxRuntime.open_with((), tmp_path)
    with pytest.raises(NotRunError, match="--ax-bin"):
        runtime.open(1, _task(1), "ax", tmp_path)
    with pytest.raises(NotRunError, match="--ax-bin"):
        _ = runtime.program
    runtime.close()


def test_a_binary_that_does_not_serve(tmp_path: Path) -> None:
    (tmp_path / "ax").write_text("#!/bin/sh\necho unknown flag >&2\nexit 1\n")
    (tmp_path / "ax").chmod(0o755)
    with pytest.raises(AxnbError, match="unknown flag"):
        AxRuntime.open_with([tmp_path / "ax"], tmp_path)


# --- the python3 that a server finds -------------------------------------------------------------


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[tuple[Path, Reaper]]:
    """The script, and a reaper for what runs it."""
    with Reaper() as reaper:
        home = ["--home", str(tmp_path / "actor"), "--tools", "http://127.0.0.1:1"]
        write_sidecar(tmp_path / "bin", command("actor", *home), os.environ)
        yield tmp_path / "bin" / "python3", reaper


def test_what_a_server_asks_before_it_serves(sidecar: tuple[Path, Reaper]) -> None:
    script, *_ = sidecar
    for words in (["-m", "pip", "install", "x"], ["-c", "import google"]):
        assert subprocess.run([script, *words], check=True, capture_output=True).stdout == b""
    version = subprocess.run([script, "--version"], check=True, capture_output=True).stdout
    assert version.startswith(b"Python 3.")


def test_the_sidecar_becomes_the_harness(sidecar: tuple[Path, Reaper], tmp_path: Path) -> None:
    script, reaper = sidecar
    port = free_port()
    words = [script, "main.py", "--host", "127.0.0.1", "--port", str(port), "--more", "1"]
    process = reaper.group().start(words, log=tmp_path / "log")
    wait_until_answers(port, process)
    assert pid_file(script.parent).read_text() == str(process.pid)
    process.kill()


def test_a_harness_that_nobody_holds_ends_with_the_drill(tmp_path: Path) -> None:
    port = free_port()
    code = (
        "import os, subprocess, sys\n"
        "from pathlib import Path\n"
        "from axnb.runtimes.ax.sidecar import write_sidecar\n"
        "from axnb.runtimes.programs import command\n"
        "folder = Path(sys.argv[1])\n"
        "words = command('actor', '--home', sys.argv[1], '--tools', 'http://127.0.0.1:1')\n"
        "write_sidecar(folder, words, os.environ)\n"
        "subprocess.Popen([folder / 'python3', 'main.py', '--port', sys.argv[2]],"
        " start_new_session=True)\n"
        "sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(tmp_path), str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as owner:
        until(lambda: answers(port), "the harness answers")
        owner.kill()
    until(lambda: not answers(port), "the harness has ended")


def test_beside_a_harness_it_ends_with_its_server(
    sidecar: tuple[Path, Reaper], tmp_path: Path
) -> None:
    script, reaper = sidecar
    port = free_port()
    home = ["--home", str(tmp_path / "actor"), "--tools", "http://127.0.0.1:1"]
    group = reaper.group()
    actor = group.start(command("actor", "--port", str(port), *home), log=tmp_path / "actor.log")
    wait_until_answers(port, actor)
    # A server that gives it a session of its own, where no kill of a group reaches it.
    code = (
        "import subprocess, sys, time\n"
        "started = subprocess.Popen(sys.argv[1:], start_new_session=True)\n"
        "print(started.pid, flush=True)\n"
        "time.sleep(1000)"
    )
    words = [sys.executable, "-c", code, script, "main.py", "--port", str(port)]
    server = group.start(words, log=tmp_path / "server.log")
    until(lambda: (tmp_path / "server.log").read_text().endswith("\n"), "the sidecar is started")
    pid = int((tmp_path / "server.log").read_text())
    command_line = Path(f"/proc/{pid}/cmdline")
    until(lambda: b"ax.sidecar" in command_line.read_bytes(), "the script is the program")
    server.send(signal.SIGKILL)
    until(lambda: not is_running(pid), "the sidecar has ended")
    assert answers(port)


# --- the lock that keeps an append open ----------------------------------------------------------


def test_a_reader_keeps_a_commit_open(tmp_path: Path) -> None:
    log = tmp_path / "log.sqlite"
    store = SqliteStore(log, GENERATIONS["G8"])
    numbers: list[int] = []
    appending = threading.Thread(
        target=lambda: numbers.append(store.append("c", lambda _: "{}", "text"))
    )
    with blocking(str(log)) as wait:
        appending.start()
        wait()
        assert log.with_name("log.sqlite-journal").exists()
        assert numbers == []
    appending.join()
    assert numbers == [1]
    assert len(store.read("c")) == 1


@pytest.mark.slow
@pytest.mark.skipif(not ScratchPostgres.available(), reason="no PostgreSQL")
def test_a_lock_keeps_an_insert_waiting() -> None:
    from axnb.runtimes.embedded.store_postgres import PostgresStore

    with ScratchPostgres() as server:
        dsn = server.create_database()
        store = PostgresStore(dsn, GENERATIONS["G8"])
        appending = threading.Thread(target=lambda: store.append("c", lambda _: "{}", "text"))
        with blocking(dsn) as wait:
            appending.start()
            wait()
            assert store.read("c") == []
        appending.join()
        assert len(store.read("c")) == 1
        store.close()


# --- rehearsals ----------------------------------------------------------------------------------


def test_an_append_is_cut_on_a_server_with_a_sidecar(tmp_path: Path) -> None:
    binary = wrapper(tmp_path / "b", "G8", sidecar=True)
    runtime = AxRuntime.open_with([binary], tmp_path)
    assert (runtime.program.kind, runtime.program.generation) == ("embedded", "G8")
    for point, policy in ((7, "ax"), (8, "ax"), (1, "requeue")):
        with pytest.raises(NotRunError):
            runtime.open(point, _task(point), _policy(policy), tmp_path)
    (found,) = _rehearsed(runtime, tmp_path / "s", 4)
    marks = [mark for _, mark, _ in _marks(found)]
    assert marks == ["input", "text", "end", "input", "thought", "tool_call"]
    seen = found.rehearsed.seen
    assert seen is not None
    assert found.effects == 1
    assert seen.resumed.error is not None
    assert seen.next.error is not None
    assert found.checks["side-effect"].verdict == "inconclusive"


@pytest.mark.slow
@pytest.mark.parametrize("point", [3, 6])
def test_a_server_that_insists_on_starting_its_harness(tmp_path: Path, point: int) -> None:
    binary = wrapper(tmp_path / "b", "G6", sidecar=True, strict=True)
    runtime = AxRuntime.open_with([binary], tmp_path)
    (found,) = _rehearsed(runtime, tmp_path / "s", point)
    assert found.rehearsed.told == ""
    assert found.effects == 1
    assert found.checks["log-sequence"].verdict == "ok"
    until(lambda: _harnesses(tmp_path) == [], "every harness has ended")


def _harnesses(folder: Path) -> list[str]:
    found = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in found.stdout.splitlines() if str(folder) in line and "actor" in line]


def _policy(name: str) -> Policy:
    assert name in ("ax", "requeue")
    return name  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "points"), [("G5", [3]), ("G5b", [5]), ("G6", [6]), ("G8", [1, 2, 3, CANCELLED])]
)
def test_the_answers_are_those_of_the_embedded_runtime(
    name: str, points: list[int], tmp_path: Path
) -> None:
    binary = wrapper(tmp_path / "b", name, sidecar=name in ("G6", "G8"))
    runtime = AxRuntime.open_with([binary], tmp_path)
    assert runtime.program.generation == name
    real = _rehearsed(runtime, tmp_path / "real", *points)
    ours = EmbeddedRuntime(tmp_path, generation=GENERATIONS[name], snapshots=None)
    embedded = _rehearsed(ours, tmp_path / "ours", *points)
    for found, other in zip(real, embedded, strict=True):
        assert _marks(found) == _marks(other)
        assert _answers(found) == _answers(other)
        verdicts = {check: told.verdict for check, told in found.checks.items()}
        assert verdicts == {check: told.verdict for check, told in other.checks.items()}


def _answers(judged: Judged) -> list[object]:
    seen = judged.rehearsed.seen
    assert seen is not None
    answers = (seen.first, seen.interruption.answer, seen.resumed, seen.next)
    # How a lost connection is worded depends on the moment; its code does not.
    return [
        ([(o.number, o.kind) for o in a.outputs], (a.error or "").split(":")[0], a.cancelled)
        for a in answers
    ]


_DRILL = """
import sys, time
from pathlib import Path
from axnb.runtimes import Task
from axnb.runtimes.ax import AxRuntime
binary, scratch = map(Path, sys.argv[1:])
runtime = AxRuntime.open_with([binary], scratch)
runtime.open(3, Task("c", "op"), "ax", scratch).prepare()
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.mark.slow
def test_nothing_is_left_of_a_drill_that_is_killed(tmp_path: Path) -> None:
    binary = wrapper(tmp_path / "b", "G8", sidecar=True)
    scratch = tmp_path / "scratch"
    words = [sys.executable, "-c", _DRILL, str(binary), str(scratch)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as drill:
        assert drill.stdout is not None
        said = drill.stdout.readline()
        running = _of(scratch)
        drill.kill()
    assert said == b"ready\n"
    # The drill, its reaper, a server with its sidecar, an actor, the tools and a watchdog.
    assert len(running) == 7
    until(lambda: not _of(scratch) and not scratch.exists(), "nothing of it is left")


def _of(folder: Path) -> list[bytes]:
    """Processes that are started with a path in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((process / "cmdline").read_bytes())
    return [line for line in found if os.fsencode(folder) in line]


@pytest.mark.slow
def test_an_upgrade_and_the_way_back(tmp_path: Path) -> None:
    binaries = [wrapper(tmp_path / name, name, sidecar=True) for name in ("G6", "G8")]
    runtime = AxRuntime.open_with(binaries, tmp_path)
    assert runtime.program.generation == "G8"
    (found,) = _rehearsed(runtime, tmp_path / "s", 8)
    seen = found.rehearsed.seen
    assert seen is not None
    assert seen.interruption.generation == seen.observation.generation == "G6"
    assert seen.resumed.error is not None
    assert found.effects == 1


@pytest.mark.slow
@pytest.mark.skipif(not ScratchPostgres.available(), reason="no PostgreSQL")
def test_on_postgres(tmp_path: Path) -> None:
    runtime = AxRuntime.open_with([wrapper(tmp_path / "b", "G8")], tmp_path, store="postgres")
    for found in _rehearsed(runtime, tmp_path / "s", 3, 4):
        marks = [mark for _, mark, _ in _marks(found)]
        assert marks == ["input", "text", "end", "input", "thought", "tool_call"]
        assert found.effects == 1


@pytest.mark.slow
def test_two_binaries_of_one_generation_are_no_upgrade(tmp_path: Path) -> None:
    binary = wrapper(tmp_path / "b", "G8")
    with pytest.raises(UsageError, match="no upgrade"):
        AxRuntime.open_with([binary, binary], tmp_path)
