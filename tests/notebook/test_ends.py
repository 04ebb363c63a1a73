"""However a run ends: one sentence, the result folder as it was, no process and no folder left."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from axnb.errors import AxnbError, NotebookError, SourceError
from axnb.notebook.execution import Limit
from axnb.notebook.runner import run_notebook
from axnb.notebook.staging import publish, staging
from axnb.report.folder import VIEWS
from tests.notebook.tiny import OUT, Told, fifo, is_gone, save, start, tiny, wait

OLD = {"result.json": '{"verdict": "ok"}', "report.html": "old", "notes.txt": "mine"}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, beside that of a test: nothing may be left in it.

    The path of a socket must be short.
    """
    assert tmp_path.exists()
    folder = Path(tempfile.mkdtemp(prefix="axnb-t-"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    left = [path.name for path in folder.iterdir()]
    shutil.rmtree(folder)
    assert left == []


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    """A result folder with an old result: it must stay as it is."""
    folder = tmp_path / "out"
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text)
    yield folder
    assert {path.name: path.read_text() for path in folder.iterdir()} == OLD


# --- kernels that die, cells that do not end -----------------------------------------------------


@pytest.mark.usefixtures("temporary")
def test_a_kernel_that_is_killed(tmp_path: Path, out: Path) -> None:
    path = fifo(tmp_path)
    notebook = tiny(tmp_path, "## Is it there?", save("ok"), "## Does it end?", wait(path))
    killed = Told(path, lambda process: os.kill(process, signal.SIGKILL))
    with pytest.raises(NotebookError) as caught:
        run_notebook(notebook, {"out": str(out)})
    assert str(caught.value) == (
        "nothing was written: the kernel died (SIGKILL) after cell 2 of 3, Is it there?"
    )
    assert is_gone(killed.process)


@pytest.mark.slow
@pytest.mark.usefixtures("temporary", "out")
def test_what_a_killed_kernel_has_copied_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where axnb.toml has it copy elsewhere."""
    monkeypatch.chdir(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "axnb.toml").write_text(f"scratch = '{scratch}'")
    path = fifo(tmp_path)
    cell = "from axnb.case.case import Case\ncase = Case()\nassert case.settings.scratch.exists()"
    Told(path, lambda process: os.kill(process, signal.SIGKILL))
    with pytest.raises(NotebookError, match="SIGKILL"):
        run_notebook(tiny(tmp_path, cell, wait(path)), {"out": str(tmp_path / "out")})
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("temporary")
def test_a_kernel_that_dies_at_once(tmp_path: Path, out: Path) -> None:
    notebook = tiny(tmp_path, "import os; os._exit(3)", declared=f"import os; os._exit(3)\n{OUT}")
    with pytest.raises(NotebookError, match=r"died \(exit code 3\) before a cell had ended\.$"):
        run_notebook(notebook, {"out": str(out)})


def _time_is_up_when(told: Told, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Limit, "left", property(lambda _: told.join() or 0.0))


@pytest.mark.usefixtures("temporary")
def test_a_run_that_takes_too_long(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fifo(tmp_path)
    told = Told(path)
    _time_is_up_when(told, monkeypatch)
    notebook = tiny(tmp_path, save("ok"), wait(path))
    with pytest.raises(NotebookError) as caught:
        run_notebook(notebook, {"out": str(out)}, timeout=2)
    assert str(caught.value) == (
        "nothing was written: it took longer than 2 s and was stopped after cell 2 of 3."
    )
    assert is_gone(told.process)


@pytest.mark.slow
@pytest.mark.usefixtures("temporary")
def test_processes_of_a_kernel_end_with_it(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fifo(tmp_path)
    cell = wait(path).replace("os.getpid()", "child.pid")
    child = "import subprocess, sys\nchild = subprocess.Popen(['sleep', '600'])"
    told = Told(path)
    _time_is_up_when(told, monkeypatch)
    with pytest.raises(NotebookError):
        run_notebook(tiny(tmp_path, child, cell), {"out": str(out)})
    assert is_gone(told.process, 5)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_run_that_is_stopped(
    number: signal.Signals, temporary: Path, tmp_path: Path, out: Path
) -> None:
    path = fifo(tmp_path)
    notebook = tiny(tmp_path, save("ok"), wait(path))
    with start(notebook, "--out", out) as process:
        kernel = int(path.read_text())
        process.send_signal(number)
        # A second one does not break the clean-up of the first.
        process.send_signal(number)
        try:
            said, told = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 4
    assert said == ""
    assert told.splitlines()[1:] == ["", "axnb: stopped; nothing was changed."]
    assert is_gone(kernel)


@pytest.mark.slow
def test_after_a_run_that_was_killed_the_folder_is_free(tmp_path: Path, temporary: Path) -> None:
    path, out = fifo(tmp_path), tmp_path / "out"
    with start(tiny(tmp_path, save("failed"), wait(path)), "--out", out) as process:
        kernel = int(path.read_text())
        process.kill()
    assert is_gone(kernel, 10)
    assert not (out / "result.json").exists()
    ran = run_notebook(tiny(tmp_path, save("ok")), {"out": str(out)})
    assert ran.verdict == "ok"
    assert sorted(path.name for path in out.iterdir()) == sorted(ran.files)
    # Nobody else could clean up after it.
    for left in temporary.iterdir():
        shutil.rmtree(left)


# --- cells that raise ----------------------------------------------------------------------------


@pytest.mark.usefixtures("temporary")
def test_an_error_of_axnb_is_told_as_it_is(tmp_path: Path, out: Path) -> None:
    cell = "from axnb.errors import SourceError\nraise SourceError('log.sqlite is gone.')"
    with pytest.raises(SourceError, match=r"^log\.sqlite is gone\.$"):
        run_notebook(tiny(tmp_path, save("ok"), cell), {"out": str(out)})


#: A cell, and how its end is told. Whoever calls a class like one of ours may quote a payload.
RAISED = {
    "{'a': 1}['payload']": "KeyError was raised in cell 3 of 3, Which?",
    "class SourceError(Exception): ...\nraise SourceError('payload')": (
        "SourceError was raised in cell 3 of 3, Which?"
    ),
    "import sys; sys.exit(0)": "it ended early, in cell 3 of 3, Which?",
    "%no_such_magic payload": "CellExecutionError was raised in cell 3 of 3, Which?",
}


@pytest.mark.parametrize(
    "cell",
    [next(iter(RAISED)), *(pytest.param(c, marks=pytest.mark.slow) for c in list(RAISED)[1:])],
)
@pytest.mark.usefixtures("temporary")
def test_another_error_is_told_by_its_place_and_class(cell: str, tmp_path: Path, out: Path) -> None:
    notebook = tiny(tmp_path, save("ok"), "## Which?\n\nA text.", cell, "1")
    with pytest.raises(NotebookError) as caught:
        run_notebook(notebook, {"out": str(out)})
    why = RAISED[cell].replace("3 of 3", "3 of 4")
    assert str(caught.value) == f"nothing was written: {why}"


RAW = "import os; open(os.environ['AXNB_STAGE'] + '/result.json', 'w').write('{}')"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("1", "has left no result"),
        (RAW.format("{"), "cannot be read"),
        (RAW.format("[]"), "has no verdict"),
        (RAW.format('{"verdict": "fine"}'), "has no verdict"),
    ],
)
@pytest.mark.usefixtures("temporary")
def test_a_notebook_without_a_result_is_no_run(
    cell: str, why: str, tmp_path: Path, out: Path
) -> None:
    with pytest.raises(NotebookError, match=why):
        run_notebook(tiny(tmp_path, cell), {"out": str(out)})


# --- a full disk, a folder that cannot be written ------------------------------------------------


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No process writes a larger file, nor does a kernel."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("size", "cells", "why"),
    [
        (200_000, [save("ok", text="'x' * 300_000")], r"out/result\.json cannot be written"),
        pytest.param(
            200_000,
            [save("ok"), "print('x' * 300_000)"],
            r"^the notebook cannot be written",
            marks=pytest.mark.slow,
        ),
        (300, [save("ok")], r"^a temporary file cannot be written"),
    ],
)
@pytest.mark.usefixtures("temporary")
def test_a_full_disk(size: int, cells: list[str], why: str, tmp_path: Path, out: Path) -> None:
    notebook = tiny(tmp_path, *cells)
    with largest_file(size), pytest.raises(AxnbError, match=f"{why}: File too large") as caught:
        run_notebook(notebook, {"out": str(out)})
    assert caught.value.exit_code == 4
    assert ".axnb" not in str(caught.value)


@contextmanager
def _disk(folder: Path, options: str) -> Iterator[Path]:
    """A disk of its own at a folder."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a disk needs the right to mount one")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.usefixtures("temporary")
def test_a_disk_that_is_full_when_the_notebook_is_published(tmp_path: Path) -> None:
    notebook = tiny(tmp_path, save("ok"), "print('x' * 100_000)")
    with _disk(tmp_path / "disk", "size=64k") as disk:
        with pytest.raises(AxnbError, match=r"tiny\.ipynb cannot be written: No space left"):
            run_notebook(notebook, {"out": str(disk / "out")})
        assert list(disk.iterdir()) == []


@pytest.mark.usefixtures("temporary")
def test_a_disk_that_lets_nobody_write(tmp_path: Path) -> None:
    notebook = tiny(tmp_path, save("ok"))
    with _disk(tmp_path / "disk", "ro") as disk:
        with pytest.raises(AxnbError, match="disk cannot be written: Read-only file system"):
            run_notebook(notebook, {"out": str(disk)})
        with pytest.raises(AxnbError, match="out cannot be made: Read-only file system"):
            run_notebook(notebook, {"out": str(disk / "out")})


@pytest.mark.usefixtures("temporary")
def test_where_nothing_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    notebook = tiny(tmp_path, save("ok"))
    for folder in ("file", "file/out", "nul\0", "x" * 300):
        with pytest.raises(AxnbError, match="cannot be made"):
            run_notebook(notebook, {"out": str(tmp_path / folder)})
    assert {path.name for path in tmp_path.iterdir()} == {"file", "tiny.ipynb"}


@pytest.mark.usefixtures("temporary")
def test_a_view_that_cannot_be_replaced_leaves_all_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "report.html").mkdir(parents=True)
    (out / "result.json").write_text("old")
    with pytest.raises(AxnbError, match=r"out cannot be written: Is a directory\.$"):
        run_notebook(tiny(tmp_path, save("ok")), {"out": str(out)})
    assert (out / "result.json").read_text() == "old"
    assert {path.name for path in out.iterdir()} == {"result.json", "report.html"}


def test_what_was_published_is_taken_back(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may fail between two files."""
    replace, calls = os.replace, []

    def failing(source: Path, target: Path) -> None:
        calls.append(target.name)
        if len(calls) == 3:
            raise OSError(5, "Input/output error")
        replace(source, target)

    with staging(out) as stage:
        for name in ("result.json", "report.html", "new.ipynb"):
            (stage / name).write_text("new")
        monkeypatch.setattr(os, "replace", failing)
        with pytest.raises(AxnbError, match="Input/output error"):
            publish(stage, out)
        monkeypatch.undo()
    assert calls[:3] == ["new.ipynb", "report.html", "result.json"]


@pytest.mark.usefixtures("temporary")
def test_a_folder_that_lets_nobody_write(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    out = tmp_path / "out"
    out.mkdir(mode=0o555)
    with pytest.raises(AxnbError, match="out cannot be written: Permission denied"):
        run_notebook(tiny(tmp_path, save("ok")), {"out": str(out)})


# --- two at once ---------------------------------------------------------------------------------


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with (
        staging(tmp_path / "out"),
        pytest.raises(AxnbError, match=r"^another run writes to .*/out: wait"),
        staging(tmp_path / "out"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_two_runs_at_once(tmp_path: Path, temporary: Path) -> None:
    path, out = fifo(tmp_path), tmp_path / "out"
    waits = wait(path).replace("threading.Event().wait()", f"open({str(path)!r}).read()")
    with start(tiny(tmp_path, save("failed"), waits), "--out", out) as process:
        path.read_text()
        with pytest.raises(AxnbError, match=r"^another run writes to") as caught:
            run_notebook(tiny(tmp_path, save("ok"), name="second.ipynb"), {"out": str(out)})
        assert caught.value.exit_code == 4
        path.write_text("go on")
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    files = "result.json, report.html, junit.xml, report.md, tiny.ipynb"
    assert said == f"✗ failed: the result is in {out} ({files}).\n"
    assert json.loads((out / "result.json").read_text())["verdict"] == "failed"
    assert {p.name for p in out.iterdir()} == {"result.json", *VIEWS, "tiny.ipynb"}
