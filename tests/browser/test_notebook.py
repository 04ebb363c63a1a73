"""The first notebook in JupyterLab, as a person runs it: all cells once, and a look at them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.browser import THEMES, Theme, axe_findings, watched_page
from tests.browser.jupyterlab import OUTPUTS, REPOSITORY, JupyterLab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

NOTEBOOK = REPOSITORY / "notebooks" / "01_triage.ipynb"
CASE = "case.duckdb"


@pytest.fixture(scope="module")
def notebook(chromium: Browser, jupyterlab: JupyterLab) -> Iterator[Notebook]:
    """The notebook after all its cells have run on the sample log; its kernel lives.

    The last test fails at its end if the page asked another machine for anything.
    """
    name = jupyterlab.add(NOTEBOOK, case=CASE, settings="sample_data/axnb.toml")
    with (
        watched_page(chromium) as page,
        Notebook.open(page, jupyterlab, name) as opened,
    ):
        opened.run_all()
        yield opened


def _questions(document: nbformat.NotebookNode) -> Iterator[tuple[str, int]]:
    """Each heading that asks, and the number of the code cell that answers."""
    asked = ""
    for number, cell in enumerate(document.cells):
        if cell.cell_type == "code" and asked:
            yield asked, number
            asked = ""
        elif cell.cell_type == "markdown":
            title = cell.source.partition("\n")[0]
            asked = title.lstrip("# ") if title.endswith("?") else ""


def test_each_question_has_an_answer(notebook: Notebook) -> None:
    questions = list(_questions(notebook.save()))
    assert len(questions) >= 3
    assert [asked for asked, number in questions if not notebook.output(number).strip()] == []


def test_only_the_verdict_raises(notebook: Notebook) -> None:
    """The sample log is a failed one, which the last cell says by raising."""
    cells = [cell for cell in notebook.save().cells if cell.cell_type == "code"]
    raised = [
        (number, output.ename)
        for number, cell in enumerate(cells)
        for output in cell.outputs
        if output.output_type == "error"
    ]
    assert raised == [(len(cells) - 1, "VerdictError")]


def test_no_widget_is_dead(notebook: Notebook) -> None:
    expect(notebook.dead_widgets).to_have_count(0)


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_in_our_outputs(theme: Theme, notebook: Notebook) -> None:
    notebook.use_theme(theme)
    assert axe_findings(notebook.page, OUTPUTS) == []


def test_the_saved_notebook_is_valid(notebook: Notebook) -> None:
    nbformat.validate(notebook.save())


def test_the_case_is_free_for_another_process(notebook: Notebook) -> None:
    """The kernel holds the case open for no longer than a cell takes."""
    assert [kernel["execution_state"] for kernel in notebook.lab.kernels()] == ["idle"]
    command = [sys.executable, "-m", "axnb.cli", "show", "log", "kill9-after-effect"]
    shown = subprocess.run(
        [*command, "--case", CASE], cwd=notebook.lab.root, capture_output=True, text=True
    )
    assert (shown.returncode, shown.stderr) == (1, "")  # it is one of the failed conversations
    assert "kill9-after-effect" in shown.stdout
