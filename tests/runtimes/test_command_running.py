"""Running an operator's commands: their ends, their limits, and what is never repeated."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from axnb.errors import AxnbError, UsageError
from axnb.runtimes import CANCELLED, NotRunError, Output, Task
from axnb.runtimes.command import CommandRuntime, Terminal
from axnb.runtimes.command.reading import (
    alerts_of,
    answer_by_hand,
    answer_of,
    effects_of,
    merged_alerts,
)
from axnb.runtimes.command.running import MOST_BYTES, Ran, Runner
from axnb.runtimes.processes import Reaper
from axnb.settings import Settings
from axnb.settings_command import CommandSettings
from tests.waiting import is_running

_TASK = Task("c-1", "op-1")


@pytest.fixture
def reaper() -> Iterator[Reaper]:
    """Ends what a test leaves."""
    with Reaper() as reaper:
        yield reaper


def _runner(reaper: Reaper, folder: Path, *command: str, seconds: int = 30) -> Runner:
    settings = CommandSettings("l", "G8", verbs={"start": command}, seconds={"start": seconds})
    return Runner(settings, reaper, folder, {"conversation": "c; touch pwned $(x)"})


def _python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def test_arguments_reach_a_command_as_they_are(reaper: Reaper, tmp_path: Path) -> None:
    code = "import sys, os; print(sys.argv[1:], os.environ['AXNB_TEST'])"
    words = _python(code, "{conversation}", "x={text}", "{.status}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AXNB_TEST", "passed on")
        ran = _runner(reaper, tmp_path, *words).run("start", 'a "b" {conversation}')
    told = ["c; touch pwned $(x)", 'x=a "b" {conversation}', "{.status}"]
    assert ran.text == f"{told} passed on\n"
    assert ran.failure is None


def test_a_failure_is_its_exit_code(reaper: Reaper, tmp_path: Path) -> None:
    code = "import sys; print('secret'); print('secret', file=sys.stderr); sys.exit(7)"
    ran = _runner(reaper, tmp_path, *_python(code)).run("start")
    assert ran.failure == "start ended with exit code 7"
    with pytest.raises(AxnbError, match="exit code 7") as caught:
        _runner(reaper, tmp_path, *_python(code)).read("start")
    assert "secret" not in str(caught.value)


def test_who_takes_too_long_is_ended_with_its_children(reaper: Reaper, tmp_path: Path) -> None:
    script = "sleep 1000 & echo $$ $!; wait"
    ran = _runner(reaper, tmp_path, "/bin/sh", "-c", script, seconds=2).run("start")
    assert ran.exit_code is None
    assert ran.failure == "start took more than 2 s and was ended"
    pids = [int(word) for word in ran.text.split()]
    assert len(pids) == 2
    assert not any(map(is_running, pids))


def test_what_a_command_leaves_running_ends_with_the_drill(tmp_path: Path) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '1000'], stdout=-3).pid)"
    with Reaper() as reaper:
        pid = int(_runner(reaper, tmp_path, *_python(code)).run("start").text)
        assert is_running(pid)
    assert not is_running(pid)


def test_too_much_output_is_refused(reaper: Reaper, tmp_path: Path) -> None:
    code = f"print('x' * {MOST_BYTES}, end='')"
    assert len(_runner(reaper, tmp_path, *_python(code)).run("start").text) == MOST_BYTES
    with pytest.raises(AxnbError, match="4 MiB"):
        _runner(reaper, tmp_path, *_python(code.replace(", end=''", ""))).run("start")


def test_a_program_that_is_not_there(reaper: Reaper, tmp_path: Path) -> None:
    with pytest.raises(AxnbError, match="program of start is not there"):
        _runner(reaper, tmp_path, "no-such-program", "secret").run("start")


# --- what may run at all -------------------------------------------------------------------------


def _settings(**more: Any) -> Settings:
    verbs = dict.fromkeys(("start", "resume", "effects", "reverse"), ("no-such-program",))
    return Settings(command=CommandSettings("log.sqlite", "G8", **{"verbs": verbs, **more}))


def test_nothing_runs_without_a_confirmation(tmp_path: Path) -> None:
    settings = _settings(interrupts={"3": ("kill-it", "secret")})
    with pytest.raises(UsageError) as caught:
        CommandRuntime(settings, tmp_path)
    told = str(caught.value)
    assert "start, resume, effects, reverse, interrupt (3)" in told
    assert "--yes" in told
    assert "secret" not in told


def test_without_a_table_there_is_no_deployment(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"drill\.command"):
        CommandRuntime(Settings(), tmp_path, confirmed=True)


def test_a_point_without_a_command_is_not_run(tmp_path: Path) -> None:
    runtime = CommandRuntime(_settings(interrupts={"3": ("x",)}), tmp_path / "s", confirmed=True)
    try:
        runtime.open(3, _TASK, "ax", tmp_path)
        for point in (4, CANCELLED):
            with pytest.raises(NotRunError):
                runtime.open(point, _TASK, "ax", tmp_path)
    finally:
        runtime.close()


def test_a_guided_drill_needs_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    with os.fdopen(read) as nobody, os.fdopen(write, "w"):
        monkeypatch.setattr(sys, "stdin", nobody)
        runtime = CommandRuntime(_settings(guided=True), tmp_path / "s", confirmed=True)
        try:
            with pytest.raises(NotRunError, match="person"):
                runtime.open(1, _TASK, "ax", tmp_path)
        finally:
            runtime.close()


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where a person types; our standard input is that terminal."""
    keys, terminal = os.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keys
    os.close(keys)


class _Typing(io.StringIO):
    """The screen: whoever sees a prompt types the next line."""

    def __init__(self, keys: int, *lines: bytes) -> None:
        super().__init__()
        self._keys = keys
        self._lines = iter(lines)

    def write(self, text: str) -> int:
        """Show, and react to a prompt."""
        if text.endswith(": "):
            os.write(self._keys, next(self._lines))
        return super().write(text)


def test_a_person_at_a_terminal(keyboard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Typing(keyboard, b"\n", "it says “R-1”\n".encode(), b"\x04")
    monkeypatch.setattr(sys, "stderr", screen)
    ask = Terminal()
    assert ask("Stop the server.") == ""
    assert ask("Send it.", wants_text=True) == "it says “R-1”"
    with pytest.raises(NotRunError, match="stopped"):
        ask("Start it.")
    assert "Stop the server.\nPress Enter" in screen.getvalue()


def test_nobody_is_waited_for_after_the_end(keyboard: int, tmp_path: Path) -> None:
    runtime = CommandRuntime(_settings(guided=True), tmp_path / "s", confirmed=True)
    runtime.open(3, _TASK, "ax", tmp_path)
    ask = runtime._asked_here()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask, "Stop the server.")
        runtime.close()
        with pytest.raises(NotRunError, match="stopped"):
            asking.result(10)


def test_names_are_new_in_every_run(tmp_path: Path) -> None:
    settings = _settings(conversation="mine-{point}-{run}")
    tasks = []
    for _ in range(2):
        runtime = CommandRuntime(settings, tmp_path / "s", confirmed=True)
        tasks.append(runtime.task_for(_TASK, 3, "ax"))
        again = runtime.task_for(_TASK, 3, "ax")
        assert again.conversation_id == f"{tasks[-1].conversation_id}-2"
        runtime.close()
    first, second = tasks
    assert first.conversation_id.startswith("mine-3-")
    for name in ("conversation_id", "operation_id", "item"):
        assert getattr(first, name) != getattr(second, name)
    assert first.operation_id in first.text


# --- what is read --------------------------------------------------------------------------------

_LOGGED = (
    Output(5, "thought", "A reservation is needed."),
    Output(6, "tool_call", "{}"),
    Output(7, "tool_result", "{}"),
    Output(8, "text", "Reserved seat 12A: R-1."),
)


def test_who_got_an_output_has_got_those_before() -> None:
    ran = Ran("start", 0, "thinking …\nReserved seat 12A: R-1.\n", 60)
    assert answer_of("t", ran, _LOGGED).outputs == _LOGGED


def test_text_that_is_not_logged_has_no_number() -> None:
    answer = answer_of("t", Ran("start", 0, " Reserved: R-2.\n", 60), _LOGGED)
    assert answer.outputs == (Output(0, "text", "Reserved: R-2."),)


def test_what_a_failed_command_printed_may_be_anything() -> None:
    answer = answer_of("t", Ran("start", 1, "Traceback: secret", 60), _LOGGED)
    assert (answer.outputs, answer.error) == ((), "start ended with exit code 1")


def test_a_person_tells_of_an_answer_or_of_a_refusal() -> None:
    assert answer_by_hand("t", "Reserved seat 12A: R-1.", _LOGGED).outputs == _LOGGED
    refused = answer_by_hand("t", "Error: already in flight", _LOGGED)
    assert (refused.outputs, refused.error) == ((), "already in flight")
    assert answer_by_hand("t", "", _LOGGED).outputs == ()


def test_entries_of_the_ledger() -> None:
    text = (
        '{"operation_id": "op-1", "status": "reserved", "reservation": "R-1"}\n\n'
        '{"operation_id": "op-2", "status": "reserved", "reservation": "R-2"}\n'
    )
    (found,) = effects_of(text, _TASK)
    assert (found["entry"], found["reservation"], found["tool"]) == (1, "R-1", "reserve")


@pytest.mark.parametrize(
    "text",
    ["secret", "[1]", '{"operation_id": "op-1", "status": "reserved"}', '{"status": "secret"}'],
)
def test_what_is_no_entry_is_not_repeated(text: str) -> None:
    with pytest.raises(AxnbError) as caught:
        effects_of(text, _TASK)
    assert "secret" not in str(caught.value)


def test_alerts_that_name_the_conversation() -> None:
    text = (
        '[{"labels": {"a": "x", "conversation_id": "c-1"}, "status": {"state": "active"}},'
        ' {"labels": {"a": "y"}, "annotations": {"s": "look at c-1"},'
        ' "status": {"state": "suppressed"}},'
        ' {"labels": {"a": "z"}, "status": {"state": "active"}}]'
    )
    found = alerts_of(Ran("alert", 0, text, 60), "c-1")
    assert [(a["labels"]["a"], a["state"]) for a in found] == [("x", "firing"), ("y", "firing")]
    assert alerts_of(Ran("alert", 1, "nothing", 60), "c-1") == ()
    merged = merged_alerts(found, found[1:])
    assert [(a["labels"]["a"], a["state"]) for a in merged] == [("x", "resolved"), ("y", "firing")]
    for ran in (Ran("alert", 2, "", 60), Ran("alert", None, "", 60), Ran("alert", 0, "{}", 60)):
        with pytest.raises(AxnbError):
            alerts_of(ran, "c-1")
