"""A real JupyterLab, and a notebook that is open in it.

with JupyterLab() as lab, watched_page(browser) as page:
    name = lab.add(REPOSITORY / "notebooks" / "01_triage.ipynb", ax_version="G8")
    with Notebook.open(page, lab, name) as notebook:
        notebook.run_all()
        notebook.cell(4).get_by_role("button", name="Show").click()
        expect(notebook.cell(4).get_by_text("turn 1")).to_be_visible()

Nothing here waits for time to pass: JupyterLab's own promises, its server's word on the kernel,
or Playwright's locators say when a thing has happened.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import nbformat

from tests.browser.browser import Theme, picture
from tests.servers import Server

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

REPOSITORY = Path(__file__).parents[2]

_STEERING = ("JUPYTER", "IPYTHON", "PYTHON", "AX_", "AXNB_")

_SETTINGS: dict[str, dict[str, Any]] = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "apputils-extension/themes": {"adaptive-theme": True},  # as the browser's colour scheme is
    "notebook-extension/tracker": {"windowingMode": "none"},  # all cells are in the page
}


class JupyterLab(Server):
    """JupyterLab on a folder of its own, `root`, in which `sample_data` lies.

    Kernels import axnb from this checkout, and start where their notebook lies.
    """

    _title = "jupyterlab"
    _stop_signal = signal.SIGTERM  # it ends its kernels first
    _orphan_signal = "TERM"

    def __init__(self) -> None:
        super().__init__()
        self.token = secrets.token_hex(16)

    @property
    def root(self) -> Path:
        """The folder whose files it shows."""
        return self._folder / "root"

    @property
    def url(self) -> str:
        """Its address, without the token."""
        return f"http://127.0.0.1:{self.port}"

    def add(self, notebook: Path, name: str = "", **parameters: Any) -> str:
        """Copy a notebook into the root, with parameters as papermill gives them; its name."""
        document = nbformat.read(notebook, as_version=4)
        if parameters:
            _insert_parameters(document, parameters)
        name = name or notebook.name
        nbformat.write(document, self.root / name)
        return name

    def kernels(self) -> list[dict[str, Any]]:
        """The kernels that run."""
        found: list[dict[str, Any]] = self._ask("api/kernels")
        return found

    def end_kernel(self, notebook: str) -> None:
        """End the kernel of a notebook."""
        for session in self._ask("api/sessions"):
            if session["path"] == notebook:
                self._ask(f"api/sessions/{session['id']}", "DELETE")

    def _ask(self, path: str, method: str = "GET") -> Any:
        headers = {"Authorization": f"token {self.token}"}
        request = Request(f"{self.url}/{path}", headers=headers, method=method)
        with urlopen(request, timeout=10) as response:
            return json.loads(response.read() or "null")

    def _prepare(self) -> None:
        shutil.copytree(REPOSITORY / "sample_data", self.root / "sample_data")
        for name, values in _SETTINGS.items():
            path = self._folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values), encoding="utf-8")

    def _command(self) -> list[str]:
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "ServerApp.root_dir": self.root,
            "IdentityProvider.token": self.token,
            "LabApp.extension_manager": "readonly",
            "LabApp.expose_app_in_browser": True,
        }
        program = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        return [*program, *(f"--{name}={value}" for name, value in options.items())]

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_STEERING)}
        folders = {
            "HOME": "home",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        python = {"PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
        return kept | {name: str(self._folder / f) for name, f in folders.items()} | python

    def _answers(self) -> bool:
        try:
            return "started" in self._ask("api/status")
        except (URLError, OSError, ValueError):
            return False


def _insert_parameters(document: nbformat.NotebookNode, parameters: Mapping[str, Any]) -> None:
    """A cell after the one of the defaults."""
    tags = [cell.metadata.get("tags", ()) for cell in document.cells]
    place = next(number for number, found in enumerate(tags) if "parameters" in found) + 1
    source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
    given = nbformat.v4.new_code_cell(source, metadata={"tags": ["injected-parameters"]})
    document.cells.insert(place, given)


@dataclass(frozen=True)
class Notebook:
    """A notebook that is open in JupyterLab; cells are counted from 0, texts included."""

    page: Page
    lab: JupyterLab
    name: str

    @classmethod
    @contextmanager
    def open(cls, page: Page, lab: JupyterLab, name: str) -> Iterator[Notebook]:
        """Open a file of the root in a fresh workspace; at the end leave it and end its kernel."""
        page.goto(f"{lab.url}/lab/tree/{quote(name)}?reset&token={lab.token}")
        page.wait_for_function(
            "name => window.jupyterapp?.shell.currentWidget?.context?.path === name", arg=name
        )
        page.evaluate(f"""async () => {{
            const {{shell, restored}} = window.jupyterapp;
            await restored;
            await {_PANEL}.context.ready;
            await {_PANEL}.sessionContext.ready;
            shell.collapseLeft();
        }}""")
        notebook = cls(page, lab, name)
        notebook.wait_until_idle()
        try:
            yield notebook
        finally:
            # A page that sees its kernel end has something to say about that.
            page.goto("about:blank")
            lab.end_kernel(name)

    # --- running ------------------------------------------------------------------------------

    def command(self, name: str) -> Any:
        """Do what an entry of JupyterLab's menus does, such as `docmanager:save`, to its end."""
        return self.page.evaluate("name => window.jupyterapp.commands.execute(name)", name)

    def run_all(self) -> bool:
        """Run all cells; False if one raised, as the last one does unless the verdict is ok."""
        finished = bool(self.command("notebook:run-all-cells"))
        self.wait_until_idle()
        counts = self.execution_counts()
        reached = [count for count in counts if count is not None]
        if reached != list(range(1, len(reached) + 1)) or (finished and None in counts):
            raise AssertionError(f"not all cells ran, once and in their order: {counts}")
        return finished

    def wait_until_idle(self) -> None:
        """Wait until the server says that a page is connected to the kernel, which is idle.

        The page's own sign is not always right.
        """
        self.page.wait_for_function(f"""async () => {{
            const session = {_PANEL}.sessionContext.session;
            const answer = await fetch(`/api/kernels/${{session.kernel.id}}`);
            const kernel = await answer.json();
            return kernel.execution_state === "idle" && kernel.connections > 0;
        }}""")

    def execution_counts(self) -> list[int | None]:
        """The number of each code cell that holds code; None where it did not run."""
        found: list[int | None] = self.page.evaluate(f"""() => [...{_PANEL}.content.model.cells]
            .filter(cell => cell.type === "code" && cell.sharedModel.source.trim())
            .map(cell => cell.executionCount)""")
        return found

    def save(self) -> nbformat.NotebookNode:
        """Save it; the file as it is then."""
        self.command("docmanager:save")
        self.page.wait_for_function(f"!{_PANEL}.context.model.dirty")
        return nbformat.read(self.lab.root / self.name, as_version=4)

    # --- looking ------------------------------------------------------------------------------

    @property
    def outputs(self) -> Locator:
        """All outputs of all cells: what we put into the page."""
        return self.page.locator(OUTPUTS)

    def cell(self, number: int) -> Locator:
        """A cell."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def output(self, number: int) -> str:
        """The outputs of a cell as a person reads them."""
        texts = self.cell(number).locator(OUTPUTS).all_inner_texts()
        return "\n".join(text.strip("\n") for text in texts)

    @property
    def dead_widgets(self) -> Locator:
        """Outputs that say of a widget that it is not there; empty once all have come."""
        return self.outputs.filter(has_text=DEAD_WIDGETS)

    def use_theme(self, theme: Theme) -> None:
        """Wear the light or the dark theme."""
        self.page.emulate_media(color_scheme=theme)
        is_light = json.dumps(theme == "light")
        self.page.wait_for_function(f"document.body.dataset.jpThemeLight === '{is_light}'")

    def picture(self, path: Path, cells: tuple[int, int] = (0, -1)) -> None:
        """A PNG of cells, the first and the last one named, without JupyterLab around them."""
        width = self.page.viewport_size["width"] if self.page.viewport_size else 1280
        self.page.set_viewport_size({"width": width, "height": self.page.evaluate(_HEIGHT)})
        self.page.wait_for_function(_ALL_SEEN)
        picture(self.page, path, self.page.evaluate(_BOX, list(cells)), _NO_ACTIVE_CELL)


#: Outputs: ours, where all around them is JupyterLab's.
OUTPUTS = ".jp-Cell-outputArea > .jp-OutputArea-child > .jp-OutputArea-output"

#: What stands where a widget should be that is not there, or not yet.
DEAD_WIDGETS = re.compile("Loading widget|Error (displaying|creating|loading) widget")

_PANEL = "window.jupyterapp.shell.currentWidget"

_SCROLLED = "document.querySelector('.jp-Notebook .jp-WindowedPanel-outer')"
_CELLS = "[...document.querySelectorAll('.jp-Notebook .jp-Cell')]"

#: How high the window must be for all cells to be seen at once.
_HEIGHT = f"""() => {{
    document.activeElement?.blur();
    {_SCROLLED}.scrollTop = 0;
    return Math.ceil({_CELLS}.at(-1).getBoundingClientRect().bottom) + 100;
}}"""

#: JupyterLab's panels follow the window a little later.
_ALL_SEEN = f"""() => {_CELLS}.at(-1).getBoundingClientRect().bottom
    <= {_SCROLLED}.getBoundingClientRect().bottom"""

_BOX = f"""([from, to]) => {{
    const [first, last] = [from, to].map(n => {_CELLS}.at(n).getBoundingClientRect());
    return {{x: first.x, y: first.y, width: first.width, height: last.bottom - first.y}};
}}"""

#: Which cell was clicked last is nothing to show.
_NO_ACTIVE_CELL = ".jp-cell-toolbar, .jp-Collapser { visibility: hidden }"
