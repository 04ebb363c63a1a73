"""Slow work: progress, an end, a stop, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import ipywidgets as widgets
import pytest

from axnb.errors import UsageError
from axnb.lab.task import StoppedError, Task
from axnb.testing.logs import LogBuilder, StoredRow
from tests.lab.desks import control, desk_of, opened, told, views, widget_of

Progress = Callable[[str], None]


class Bench:
    """A task with its buttons."""

    def __init__(self, work: Callable[[Progress], str], interrupt: Any = None) -> None:
        self.start, self.stop = widgets.Button(), widgets.Button()
        self.status = widgets.HTML()
        self.task = Task(self.start, self.stop, self.status, work, interrupt)

    @property
    def said(self) -> str:
        """What the status says."""
        return told(self.status)


def test_progress_and_an_end() -> None:
    entered, go_on = Event(), Event()

    def work(progress: Progress) -> str:
        progress("half <b>way</b>")
        entered.set()
        go_on.wait()
        return "done."

    bench = Bench(work)
    assert (bench.start.disabled, bench.stop.disabled) == (False, True)
    bench.start.click()
    entered.wait()
    assert bench.said == "half <b>way</b>"
    assert 'role="status"' in bench.status.value
    assert (bench.start.disabled, bench.stop.disabled) == (True, False)
    go_on.set()
    bench.task.wait()
    assert bench.said == "done."
    assert (bench.start.disabled, bench.stop.disabled) == (False, True)


def test_a_second_click_does_nothing_while_it_runs() -> None:
    runs: list[int] = []
    entered, go_on = Event(), Event()

    def work(progress: Progress) -> str:
        runs.append(1)
        entered.set()
        go_on.wait()
        return "done."

    bench = Bench(work)
    bench.start.click()
    entered.wait()
    bench.task.allow(True)
    assert bench.start.disabled
    bench.start.click()
    bench.task.allow(False)
    go_on.set()
    bench.task.wait()
    assert runs == [1]
    assert bench.start.disabled
    bench.task.allow(True)
    bench.start.click()
    bench.task.wait()
    assert runs == [1, 1]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("a payload"), "✗ could not go on (ValueError); this is a fault of axnb."),
        (MemoryError(), "✗ could not go on (MemoryError); this is a fault of axnb."),
        (UsageError("name <i>a</i> log\x1b."), "✗ name <i>a</i> log\\u001b."),
    ],
)
def test_what_goes_wrong_is_said(error: Exception, said: str) -> None:
    def work(progress: Progress) -> str:
        raise error

    bench = Bench(work)
    bench.start.click()
    bench.task.wait()
    assert bench.said == said
    assert 'role="alert"' in bench.status.value
    assert not bench.start.disabled


def test_a_stop_is_asked_for_at_the_next_step() -> None:
    entered, stopped = Event(), Event()
    caught: list[BaseException] = []

    def work(progress: Progress) -> str:
        entered.set()
        stopped.wait()
        try:
            progress("further")
        except StoppedError as err:
            caught.append(err)
            raise
        return "done."

    bench = Bench(work, stopped.set)
    bench.start.click()
    entered.wait()
    bench.stop.click()
    bench.task.wait()
    assert len(caught) == 1
    assert bench.said == "✗ stopped; what was shown stays."


def test_an_error_of_what_was_broken_off_is_a_stop() -> None:
    entered, broken = Event(), Event()

    def work(progress: Progress) -> str:
        entered.set()
        broken.wait()
        raise RuntimeError("INTERRUPT Error: a payload")

    bench = Bench(work, broken.set)
    bench.start.click()
    entered.wait()
    bench.stop.click()
    bench.task.wait()
    assert bench.said == "✗ stopped; what was shown stays."


@pytest.mark.parametrize("keep", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_load_that_is_stopped_changes_nothing(keep: bool, tmp_path: Path) -> None:
    small = LogBuilder("G8")
    small.interrupted("cut", "hi")
    chosen = {"case": str(tmp_path / "case.duckdb")} if keep else {}
    work = opened(tmp_path, small, **chosen)
    large = LogBuilder("G8")
    payload = '{"conversation_id":"c","state":"STATE_PENDING"}'
    large.rows = [StoredRow("c", n, payload) for n in range(20_000)]
    path = large.write_sqlite(tmp_path / "large.sqlite")

    shown = [widget_of(view) for view in views(work)]
    before, case = [told(w) for w in shown[1:]], work.case
    tables = case.rows("select source, read from sources")
    choice = shown[0]
    stop = control(choice, "Stop")
    said: list[str] = []
    status = choice.children[1].children[2]

    def watch(change: Any) -> None:
        said.append(told(status))
        if "read " in said[-1]:
            stop.click()

    status.observe(watch, "value")
    control(choice, "Source").value = str(path)
    control(choice, "Load and triage").click()
    work.choice().task.wait()
    assert said[-1] == "✗ stopped; what was shown stays."
    assert sum("read " in sentence for sentence in said) == 1
    assert [told(w) for w in shown[1:]] == before
    assert work.case is case
    assert case.rows("select source, read from sources") == tables
    status.unobserve(watch, "value")
    control(choice, "Load and triage").click()
    work.choice().task.wait()
    assert not told(status).startswith("✗")
    assert ("c",) in work.case.rows("select conversation_id from conversations")
    assert desk_of(work).case is work.case


def test_whoever_stops_at_the_end_does_not_want_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogBuilder("G8")
    log.interrupted("cut", "hi")
    work = opened(tmp_path, log, out=str(tmp_path / "out"))
    before = (tmp_path / "out" / "result.json").read_bytes()
    widget, case = widget_of(work.choice()), work.case
    from axnb.notebook import workspace

    ask = workspace.triage

    def asked(*given: Any, **named: Any) -> Any:
        control(widget, "Stop").click()
        return ask(*given, **named)

    monkeypatch.setattr(workspace, "triage", asked)
    control(widget, "AX version").value = "G6"
    control(widget, "Load and triage").click()
    work.choice().task.wait()
    assert "✗ stopped; what was shown stays." in told(widget)
    assert work.case is case
    assert (tmp_path / "out" / "result.json").read_bytes() == before
