"""The notebook of the restore drill in JupyterLab, as a person runs it: all cells, and a filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests import ax_logs
from tests.browser.browser import THEMES, axe_findings, watched_page
from tests.browser.jupyterlab import OUTPUTS, REPOSITORY, JupyterLab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

NOTEBOOK = REPOSITORY / "notebooks" / "20_backup_restore_drill.ipynb"
LOGS = ax_logs.ROOT / "restored-sqlite"


@pytest.fixture(scope="module")
def notebook(chromium: Browser, jupyterlab: JupyterLab) -> Iterator[Notebook]:
    """The notebook after all its cells have run on a backup that was put back."""
    given = {"source": str(LOGS / "log.sqlite"), "backup": str(LOGS / "backup.sqlite")}
    name = jupyterlab.add(NOTEBOOK, **given, beside=[str(LOGS / "lost.sqlite")])
    with (
        watched_page(chromium) as page,
        Notebook.open(page, jupyterlab, name) as opened,
    ):
        opened.run_all()
        yield opened


def test_it_shows_what_is_lost_and_only_the_verdict_raises(notebook: Notebook) -> None:
    cells = [cell for cell in notebook.save().cells if cell.cell_type == "code"]
    raised = [
        (number, output.ename)
        for number, cell in enumerate(cells)
        for output in cell.outputs
        if output.output_type == "error"
    ]
    assert raised == [(len(cells) - 1, "VerdictError")]
    expect(notebook.dead_widgets).to_have_count(0)
    for theme in THEMES:
        notebook.use_theme(theme)
        assert axe_findings(notebook.page, OUTPUTS) == []


def test_a_person_filters_what_is_lost(notebook: Notebook) -> None:
    number = next(
        n
        for n, c in enumerate(notebook.save().cells)
        if "lost()" in c.source and c.cell_type == "code"
    )
    cell = notebook.cell(number)
    expect(cell.get_by_text("3 conversations, the worst first")).to_be_visible()
    cell.get_by_label("Which").select_option("handed out twice")
    expect(cell.get_by_text("1 conversation, the worst first")).to_be_visible()
    expect(cell.get_by_role("cell", name="orders")).to_be_visible()
