"""Is a person there? One real kernel, asked by a frontend that says so and by one that does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from jupyter_client.client import KernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from axnb.lab.kernel import has_person
from axnb.lab.progress import shown_progress
from axnb.testing.logs import LogBuilder

WIDGET = "application/vnd.jupyter.widget-view+json"


class _ThisPython(KernelManager):  # type: ignore[misc]
    """A kernel of this Python, on sockets in a private folder."""

    folder: Path

    @property
    def kernel_spec(self) -> KernelSpec:
        command = [sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, language="python", display_name="Python 3")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """One kernel for all tests."""
    folder = tmp_path_factory.mktemp("k")
    log = LogBuilder("G8")
    log.interrupted("cut", "hi")
    log.write_sqlite(folder / "log.sqlite")
    manager = _ThisPython(
        connection_file=str(folder / "c.json"), transport="ipc", ip=str(folder / "s")
    )
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "IPYTHONDIR": str(folder / "i")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        manager.start_kernel(cwd=str(folder))
    yield manager
    manager.shutdown_kernel(now=True)


def _ask(kernel: KernelManager, code: str, allow_stdin: bool) -> list[Any]:
    """What a frontend gets to show."""
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    found: list[Any] = []
    client.execute_interactive(
        code, allow_stdin=allow_stdin, timeout=60, output_hook=lambda m: found.append(m)
    )
    client.stop_channels()
    # The messages of widgets between themselves hold data too, and come when they will.
    shown = {"display_data", "execute_result"}
    return [message["content"] for message in found if message["msg_type"] in shown]


_OPEN = "from axnb.notebook.workspace import open_triage\nwork = open_triage('log.sqlite')"
_VIEWS = ("choice", "summary", "conversations", "timeline", "findings", "tables")


def test_a_frontend_with_a_person_gets_widgets(kernel: KernelManager) -> None:
    assert _ask(kernel, _OPEN, allow_stdin=True) == []
    for name in _VIEWS:
        *_, shown = _ask(kernel, f"work.{name}()", allow_stdin=True)
        assert shown["data"].keys() == {"text/plain", "text/html", WIDGET}, name


def test_nbclient_gets_html_from_the_same_kernel(kernel: KernelManager) -> None:
    cells = [nbformat.v4.new_code_cell(_OPEN)]
    cells += [nbformat.v4.new_code_cell(f"work.{name}()") for name in _VIEWS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, km=kernel, timeout=60)
    client.execute(reset_kc=True, cleanup_kc=False)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    for cell in cells[1:]:
        (output,) = cell.outputs
        assert output.data.keys() == {"text/plain", "text/html"}


def test_without_a_kernel_there_is_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert not has_person()
    with shown_progress() as progress:
        progress("read 1 row")
    assert capsys.readouterr() == ("", "")


# --- a click while a drill waits for a person ----------------------------------------------------

_GUIDE = """
from axnb.lab.guide import Guide
guide = Guide()
guide.begin(lambda ask: [ask("one"), ask("two")])
guide._done.comm.comm_id
"""


def _click(client: KernelClient, comm: str) -> None:
    """Press a button as a frontend tells it."""
    content = {"comm_id": comm, "data": {"method": "custom", "content": {"event": "click"}}}
    message = client.session.msg("comm_msg", content)
    client.shell_channel.send(message)


def _click_until(client: KernelClient, comm: str, request: str) -> Any:
    """Click until a cell has ended; what it shows. A click on a button that is off does nothing."""
    for _ in range(300):
        _click(client, comm)
        try:
            message = client.get_iopub_msg(timeout=0.2)
        except Empty:
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "execute_result":
            return message["content"]["data"]["text/plain"]
        assert message["msg_type"] != "error", message["content"]["evalue"]
    raise AssertionError("no click reached the guide")


def test_a_click_reaches_a_guide_between_two_cells(kernel: KernelManager) -> None:
    comm = _guided(kernel)
    for _ in range(2):
        client = _client(kernel)
        until = "from time import sleep\nwhile guide._done.disabled: sleep(0.01)"
        client.execute_interactive(until, timeout=60, output_hook=lambda _: None)
        _click(client, comm)
        client.stop_channels()
    (result,) = _ask(kernel, "guide.wait()", allow_stdin=False)
    assert result["data"]["text/plain"] == "['', '']"


def test_a_click_reaches_a_guide_in_a_cell_that_waits(kernel: KernelManager) -> None:
    comm = _guided(kernel)
    client = _client(kernel)
    request = client.execute("await guide.finished()")
    assert _click_until(client, comm, request) == "['', '']"
    client.stop_channels()


def _guided(kernel: KernelManager) -> str:
    """Begin to ask; the comm of the button."""
    found = _ask(kernel, _GUIDE, allow_stdin=True)
    return str(found[-1]["data"]["text/plain"]).strip("'")


def _client(kernel: KernelManager) -> KernelClient:
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    return client
