"""Logs of each verdict, and the first notebook run on them: by axnb and by plain papermill."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from click.testing import CliRunner

from axnb.notebook.runner import run_notebook
from axnb.testing.logs import LogBuilder, answer, call, say

REPOSITORY = Path(__file__).parents[2]
NOTEBOOK = REPOSITORY / "notebooks" / "01_triage.ipynb"

#: An id that ends a string, a statement and a line, and ends in a backslash.
QUOTES = "a\"b'c\\d\ne'); open('owned', 'w') #{x} %s \\"
HOSTILE = (
    "</title></td><img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "[x](javascript:alert(1)) | ```",
    "\x1b[31mred\x1b]0;owned\x07",
    "a\u202eb\u200bc\x9b",
)


@cache
def scratch() -> Path:
    """A folder that goes with the test process."""
    folder = Path(tempfile.mkdtemp(prefix="axnb-test-notebook-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def healthy() -> LogBuilder:
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}), say("done"))
    log.turn(QUOTES, "hi")
    return log


def _failed() -> LogBuilder:
    log = healthy()
    for text in HOSTILE:
        log.interrupted(text, text, call(text, {text: text}, text))
    return log


def _inconclusive() -> LogBuilder:
    log = healthy()
    log.turn("unknown", "hi", call("charge", {"n": 2}))
    return log


@cache
def log_of(verdict: str) -> Path:
    builder = {"ok": healthy, "failed": _failed, "inconclusive": _inconclusive}[verdict]
    return builder().write_sqlite(scratch() / f"{verdict}.sqlite")


@dataclass(frozen=True)
class Run:
    """A run of the notebook and what it left."""

    folder: Path
    well: bool

    @property
    def notebook(self) -> nbformat.NotebookNode:
        """The executed notebook."""
        return nbformat.read(self.folder / NOTEBOOK.name, as_version=4)

    @property
    def result(self) -> dict[str, Any]:
        """The result."""
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text("utf-8"))
        return found

    @property
    def report(self) -> str:
        """The report."""
        return (self.folder / "report.html").read_text(encoding="utf-8")


#: How a run is called: the log's verdict, and more parameters.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "ok": ("ok", {"conversation": QUOTES}),
    "failed": ("failed", {}),
    "inconclusive": ("inconclusive", {}),
    "accepted": ("inconclusive", {"accept_inconclusive": True}),
}


def _parameters(name: str, folder: Path) -> dict[str, Any]:
    verdict, more = RUNS[name]
    return {"source": str(log_of(verdict)), "out": str(folder), **more}


@cache
def by_axnb(name: str) -> Run:
    """Run the notebook as axnb does."""
    folder = scratch() / name
    ran = run_notebook(NOTEBOOK, _parameters(name, folder))
    return Run(folder, ran.exit_code == 0)


@cache
def by_papermill(name: str) -> Run:
    """Run papermill's own command line."""
    from papermill.__main__ import papermill

    folder = scratch() / f"plain-{name}"
    folder.mkdir()
    arguments = [str(NOTEBOOK), str(folder / NOTEBOOK.name), "--no-progress-bar"]
    for parameter, value in _parameters(name, folder).items():
        arguments += ["-p", parameter, str(value)]
    return Run(folder, CliRunner().invoke(papermill, arguments).exit_code == 0)
