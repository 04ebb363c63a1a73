"""JupyterLab as the other tests drive it: cells, widgets, themes, files and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.browser import THEMES
from tests.browser.jupyterlab import REPOSITORY, JupyterLab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

OpenCells = Callable[..., Notebook]

WIDGET = """\
import ipywidgets
from IPython.display import display
name = ipywidgets.Text(description="Name")
button = ipywidgets.Button(description="Greet")
answer = ipywidgets.Output()
@button.on_click
def _greet(_):
    with answer:
        print("Hello", name.value)
display(ipywidgets.VBox([name, button, answer]))
"""


def _file(path: Path, *cells: str) -> Path:
    document = nbformat.v4.new_notebook()
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document.metadata["kernelspec"] = kernel
    document.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    document.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(document, path)
    return path


@pytest.fixture
def open_cells(page: Page, jupyterlab: JupyterLab, tmp_path: Path) -> Iterator[OpenCells]:
    """Open a notebook of the given cells, the first of which holds the parameter `times`."""
    with ExitStack() as stack:

        def opened(*cells: str) -> Notebook:
            name = jupyterlab.add(_file(tmp_path / "cells.ipynb", "times = 1", *cells), times=3)
            return stack.enter_context(Notebook.open(page, jupyterlab, name))

        yield opened
    assert jupyterlab.kernels() == []


def test_cells_run_in_their_order_until_one_raises(open_cells: OpenCells) -> None:
    """The parameters are those given, and axnb is that of this checkout."""
    notebook = open_cells("", "import axnb; print(axnb.__file__, times * 7)", "1 / 0", "print(1)")
    assert notebook.run_all() is False
    assert notebook.execution_counts() == [1, 2, 3, 4, None]
    seen = f"{REPOSITORY / 'axnb' / '__init__.py'} 21"
    assert notebook.output(3) == seen
    assert "ZeroDivisionError" in notebook.output(4)
    assert notebook.save().cells[3].outputs[0].text == f"{seen}\n"


def test_a_widget_lives_with_its_kernel(open_cells: OpenCells) -> None:
    notebook = open_cells(WIDGET)
    notebook.run_all()
    widget = notebook.cell(2)
    widget.get_by_label("Name").fill("Zoë")
    widget.get_by_role("button", name="Greet").click()
    expect(widget.get_by_text("Hello Zoë")).to_be_visible()
    expect(notebook.dead_widgets).to_have_count(0)
    assert notebook.output(2).count("Hello Zoë") == 1


def test_a_widget_without_a_kernel_is_seen_to_be_dead(open_cells: OpenCells) -> None:
    """The cell shows a widget that no kernel knows."""
    unknown = {"application/vnd.jupyter.widget-view+json": {"model_id": "0" * 32}}
    notebook = open_cells(f"from IPython.display import display; display({unknown}, raw=True)")
    notebook.run_all()
    expect(notebook.dead_widgets).to_have_count(1)


def test_a_picture_holds_all_cells(open_cells: OpenCells, tmp_path: Path) -> None:
    lines = "print(*range(300), sep=chr(10))"
    notebook = open_cells(lines, lines)
    assert notebook.run_all() is True
    heights = []
    for theme in THEMES:
        notebook.use_theme(theme)
        notebook.picture(tmp_path / f"{theme}.png")
        heights.append(_height((tmp_path / f"{theme}.png").read_bytes()))
    assert heights[0] == heights[1] > 2 * 300 * 10


def _height(png: bytes) -> int:
    return int.from_bytes(png[20:24], "big")
