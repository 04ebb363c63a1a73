"""The notebook of the migration drill in JupyterLab, as a person runs it: all cells, a filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.browser import THEMES, Theme, axe_findings, watched_page
from tests.browser.jupyterlab import OUTPUTS, REPOSITORY, JupyterLab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

NOTEBOOK = REPOSITORY / "notebooks" / "30_version_migration_drill.ipynb"


@pytest.fixture(scope="module")
def notebook(chromium: Browser, jupyterlab: JupyterLab) -> Iterator[Notebook]:
    """The notebook after all its cells have run on the sample log; its kernel lives."""
    name = jupyterlab.add(NOTEBOOK)
    with (
        watched_page(chromium) as page,
        Notebook.open(page, jupyterlab, name) as opened,
    ):
        opened.run_all()
        yield opened


def test_no_cell_raises(notebook: Notebook) -> None:
    cells = [cell for cell in notebook.save().cells if cell.cell_type == "code"]
    raised = [o for cell in cells for o in cell.outputs if o.output_type == "error"]
    assert raised == []
    expect(notebook.dead_widgets).to_have_count(0)


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_in_our_outputs(theme: Theme, notebook: Notebook) -> None:
    notebook.use_theme(theme)
    assert axe_findings(notebook.page, OUTPUTS) == []


def test_a_person_filters_the_conversations(notebook: Notebook) -> None:
    number = next(
        n
        for n, c in enumerate(notebook.save().cells)
        if "conversations()" in c.source and c.cell_type == "code"
    )
    cell = notebook.cell(number)
    expect(cell.get_by_text("30 conversations, the worst first")).to_be_visible()
    cell.get_by_label("Outcome").select_option("interrupted")
    expect(cell.get_by_text("11 conversations, the worst first")).to_be_visible()
    expect(cell.get_by_text("hello-world")).to_have_count(0)
