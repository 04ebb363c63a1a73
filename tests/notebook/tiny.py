"""Tiny notebooks that do one thing, and what happens to those who run them."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import nbformat

from tests.notebook.runs import REPOSITORY

OUT = 'out: str = ""  # the result folder'


def save(verdict: str, **more: str) -> str:
    """A cell that writes a result as the notebooks of axnb do."""
    parameters = ", ".join(f"{name!r}: {value}" for name, value in more.items())
    return "\n".join(
        [
            "import os, pathlib",
            "from axnb.report.folder import write_folder",
            "from axnb.result import Result",
            f"result = Result('triage', {verdict!r}, {{{parameters}}}, ())",
            "write_folder(result, pathlib.Path(out), os.environ)",
        ]
    )


def wait(fifo: Path) -> str:
    """A cell that tells its process to who reads the FIFO, and never ends."""
    return "\n".join(
        [
            "import os, threading",
            f"with open({str(fifo)!r}, 'w') as file:",
            "    file.write(str(os.getpid()))",
            "threading.Event().wait()",
        ]
    )


def tiny(folder: Path, *cells: str, declared: str = OUT, name: str = "tiny.ipynb") -> Path:
    """A notebook of a cell of parameters and those given; one that starts with ## is a heading."""
    made = [nbformat.v4.new_code_cell(declared, metadata={"tags": ["parameters"]})]
    for cell in cells:
        markdown = cell.startswith("## ")
        new = nbformat.v4.new_markdown_cell if markdown else nbformat.v4.new_code_cell
        made.append(new(cell))
    about = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    notebook = nbformat.v4.new_notebook(cells=made, metadata=about)
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / name)
    return folder / name


def fifo(folder: Path) -> Path:
    """A FIFO in a folder."""
    path = folder / "fifo"
    os.mkfifo(path)
    return path


class Told(threading.Thread):
    """Waits for the process that a cell tells, and does something about it."""

    def __init__(self, path: Path, then: Callable[[int], object] = lambda _: None) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._then = then
        self.process = 0
        self.start()

    def run(self) -> None:
        """Read what the cell writes."""
        self.process = int(self._path.read_text())
        self._then(self.process)


def is_gone(process: int, seconds: float = 0) -> bool:
    """Has a process ended, at the latest after some seconds?"""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def start(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Start `axnb notebook run` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "axnb.cli", "notebook", "run", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
