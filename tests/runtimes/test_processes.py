"""Processes of a run: none is left, whoever ends, and however."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from axnb.errors import AxnbError
from axnb.runtimes.processes import Reaper, answers, free_port, wait_until_answers

#: A program that says it is there and waits; a marker in its command line tells it from others.
WAITS = "import sys, time; print('here', flush=True); time.sleep(600)"

#: How long a process that was killed may take to vanish from the system's list.
VANISH_SECONDS = 20.0


@pytest.fixture
def marker() -> str:
    return f"axnb-marker-{uuid.uuid4().hex}"


@pytest.fixture
def reaper(tmp_path: Path) -> Iterator[Reaper]:
    with Reaper(tmp_path / "scratch") as made:
        yield made


def marked(marker: str) -> list[str]:
    """Lines of the system's list that hold the marker; what has ended and waits is none."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "stat=,pid=,args="], capture_output=True, text=True
    )
    lines = listed.stdout.splitlines()
    return [line for line in lines if marker in line and not line.lstrip().startswith("Z")]


def comes(true: Callable[[], bool]) -> bool:
    """Does it come to be true? There is no event to wait for in another program's processes."""
    deadline = time.monotonic() + VANISH_SECONDS
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def waits(marker: str) -> list[str]:
    return [sys.executable, "-S", "-c", WAITS, marker]


def test_a_group_is_killed_as_one(reaper: Reaper, tmp_path: Path, marker: str) -> None:
    group = reaper.group()
    processes = [group.start(waits(marker), log=tmp_path / "log") for _ in range(3)]
    assert len(marked(marker)) == 3
    group.kill()
    assert [process.returncode for process in processes] == [-signal.SIGKILL] * 3
    assert marked(marker) == []


def test_the_children_of_a_child_go_with_its_group(
    reaper: Reaper, tmp_path: Path, marker: str
) -> None:
    program = f"import subprocess, sys; subprocess.Popen({waits(marker)!r}).wait()"
    group = reaper.group()
    group.start([sys.executable, "-S", "-c", program], log=tmp_path / "log")
    # The argument holds the marker too: two lines once the child of the child runs.
    assert comes(lambda: len(marked(marker)) == 2)
    group.kill()
    assert comes(lambda: marked(marker) == [])


def test_one_is_killed_and_another_takes_its_place(
    reaper: Reaper, tmp_path: Path, marker: str
) -> None:
    """As a server is restarted while its actor goes on."""
    group = reaper.group()
    server = group.start(waits(marker), log=tmp_path / "log")
    actor = group.start(waits(marker), log=tmp_path / "log")
    server.kill()
    again = group.start(waits(marker), log=tmp_path / "log")
    assert (server.returncode, actor.is_running, again.is_running) == (-9, True, True)
    group.kill()
    assert (actor.is_running, again.is_running) == (False, False)


def test_another_group_goes_on(reaper: Reaper, tmp_path: Path, marker: str) -> None:
    first, second = reaper.group(), reaper.group()
    goes_on = second.start(waits(marker), log=tmp_path / "log")
    first.start(waits(marker), log=tmp_path / "log")
    first.kill()
    assert goes_on.is_running


def test_nothing_starts_in_a_dead_group(reaper: Reaper, tmp_path: Path, marker: str) -> None:
    group = reaper.group()
    group.kill()
    group.kill()
    with pytest.raises(AxnbError, match="its process group was ended"):
        group.start(waits(marker), log=tmp_path / "log")
    assert marked(marker) == []


def test_a_missing_program_is_one_sentence(reaper: Reaper, tmp_path: Path) -> None:
    with pytest.raises(AxnbError, match="No such file or directory"):
        reaper.group().start([tmp_path / "none"], log=tmp_path / "log")


def test_the_folder_goes_with_the_processes(tmp_path: Path, marker: str) -> None:
    scratch = tmp_path / "scratch"
    with Reaper(scratch) as reaper:
        process = reaper.group().start(waits(marker), log=scratch / "log")
    assert (process.is_running, scratch.exists(), marked(marker)) == (False, False, [])


def test_a_kept_folder_stays(tmp_path: Path, marker: str) -> None:
    with Reaper(None) as reaper:
        reaper.group().start(waits(marker), log=tmp_path / "log")
    assert (tmp_path / "log").exists()
    assert marked(marker) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_leaves_nothing(
    tmp_path: Path, marker: str, error: type[BaseException]
) -> None:
    scratch = tmp_path / "scratch"
    with pytest.raises(error):  # noqa: PT012, SIM117
        with Reaper(scratch) as reaper:
            reaper.group().start(waits(marker), log=scratch / "log")
            raise error
    assert (scratch.exists(), marked(marker)) == (False, [])


def test_a_program_is_waited_for_on_its_port(reaper: Reaper, tmp_path: Path) -> None:
    port = free_port()
    assert not answers(port)
    listen = f"s = socket.create_server(('127.0.0.1', {port})); signal.pause()"
    program = f"import signal, socket; {listen}"
    process = reaper.group().start([sys.executable, "-S", "-c", program], log=tmp_path / "log")
    wait_until_answers(port, process)


@pytest.mark.parametrize(
    ("ending", "told"),
    [("raise SystemExit('secret words')", "exit code 1"), ("os.kill(os.getpid(), 9)", "signal 9")],
)
def test_a_program_that_ends_is_told_by_its_role(tmp_path: Path, ending: str, told: str) -> None:
    """What it printed may be a prompt; its number is another one in every run."""
    words = [sys.executable, "-S", "-c", f"import os; print('secret words'); {ending}"]
    (tmp_path / "node").mkdir()
    sentences = []
    for folder in (tmp_path / "scratch", None):
        with Reaper(folder) as reaper:
            log = tmp_path / "node" / "serve.log"
            process = reaper.group().start(words, log=log, role="server")
            with pytest.raises(AxnbError) as caught:
                wait_until_answers(free_port(), process)
            sentences.append(str(caught.value))
    sentence = f"the server ended before it answered ({told})"
    assert sentences == [f"{sentence}.", f"{sentence}; its log is node/serve.log."]


def test_a_system_without_sigkill_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axnb.runtimes.processes.os.name", "nt")
    with pytest.raises(AxnbError, match="by SIGKILL, which this system has not"):
        Reaper(None)


def test_ports_are_given_once() -> None:
    assert len({free_port() for _ in range(50)}) == 50


# --- we are killed -------------------------------------------------------------------------------

# Owners, one after the other, that start a run and are killed: half of them when the number of
# moments is over that they were given, at whatever line they are; the others right after a start.
OWNERS = """
import os, random, signal, sys, threading, time
from pathlib import Path
from axnb.runtimes.processes import Reaper

top, marker, count, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
moments = random.Random(seed)
waits = [sys.executable, "-S", "-c", "import time; time.sleep(600)", marker]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def own(number, after):
    os.setsid()
    scratch = top / str(number)
    if after is not None:
        threading.Timer(after, die).start()
    reaper = Reaper(scratch)
    while True:
        group = reaper.group()
        for _ in range(2):
            group.start(waits, log=scratch / "log")
        reaper.start_alone(waits, log=scratch / "alone", end_by="KILL")
        if after is None:
            die()


for number in range(count):
    after = moments.uniform(0, 0.03) if number % 2 else None
    pid = os.fork()
    if pid == 0:
        own(number, after)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    print(pid)
"""


def in_sessions(numbers: set[str]) -> list[str]:
    """Processes of these sessions: anchors have no command line of their own to know them by."""
    command = ["ps", "-ww", "-eo", "sid=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split(maxsplit=2) for line in listed]
    return [line[2] for line in words if line[0] in numbers and not line[1].startswith("Z")]


def _kill_owners(top: Path, marker: str, count: int, seed: int) -> None:
    folder = top / marker
    folder.mkdir(exist_ok=True)
    arguments = [str(folder), marker, str(count), str(seed)]
    owners = subprocess.run([sys.executable, "-c", OWNERS, *arguments], capture_output=True)
    assert owners.returncode == 0, owners.stderr
    sessions = set(owners.stdout.decode().split())
    assert len(sessions) == count
    assert comes(lambda: marked(marker) == [] and in_sessions(sessions) == [])
    assert list(folder.iterdir()) == []


def test_a_killed_owner_leaves_nothing(tmp_path: Path, marker: str) -> None:
    _kill_owners(tmp_path, marker, 8, 1)


@pytest.mark.slow
def test_no_moment_leaves_anything(tmp_path: Path, marker: str) -> None:
    for seed in (2, 3):
        _kill_owners(tmp_path, marker, 60, seed)
