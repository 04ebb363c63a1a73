"""Run a notebook through papermill, in this process: written aside, then renamed into place."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError, UsageError
from axnb.notebook.parameters import refuse_secrets
from axnb.result import to_json

#: Seconds that one cell may take.
CELL_TIMEOUT = 3600


def run_notebook(notebook: Path, output: Path, parameters: Mapping[str, Any]) -> bool:
    """Execute `notebook` with `parameters` and write it to `output`.

    Returns whether all cells ran; False if one raised, as the last one does for a verdict that is
    not ok. Raises UsageError for a parameter that the notebook does not declare, AxnbError if it
    could not be run or written.
    """
    import papermill
    from papermill.exceptions import PapermillExecutionError

    refuse_secrets(parameters)
    logging.getLogger("papermill").setLevel(logging.WARNING)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise AxnbError(f"{output.parent} cannot be made: {err.strerror}.") from err
    with tempfile.TemporaryDirectory(prefix="axnb-notebook-") as folder:
        # Papermill puts paths through str.format, so they must hold no braces.
        plain, aside = Path(folder, "in.ipynb"), Path(folder, "out.ipynb")
        try:
            plain.write_bytes(notebook.read_bytes())
        except OSError as err:
            raise AxnbError(f"{notebook} cannot be read: {err.strerror}.") from err
        _refuse_undeclared(plain, notebook.name, parameters)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                papermill.execute_notebook(
                    str(plain),
                    str(aside),
                    parameters=dict(parameters),
                    progress_bar=False,
                    log_output=False,
                    execution_timeout=CELL_TIMEOUT,
                    cwd=os.getcwd(),
                    **_private_kernel(Path(folder)),
                )
            finished = True
        except PapermillExecutionError:
            finished = False
        except Exception as err:
            raise AxnbError(f"{notebook.name} could not be run: {type(err).__name__}.") from err
        _move(aside, output)
    return finished


def _refuse_undeclared(plain: Path, name: str, parameters: Mapping[str, Any]) -> None:
    """An undeclared name would be executed as code."""
    import papermill

    declared = papermill.inspect_notebook(str(plain))
    if unknown := sorted(parameters.keys() - declared.keys()):
        raise UsageError(
            f"{name} has no parameter {unknown[0]!r:.40}; it has {', '.join(declared)}."
        )


def _private_kernel(folder: Path) -> dict[str, Any]:
    """A kernel talks TCP in clear by default; a socket in a private folder is nobody else's."""
    if sys.platform == "win32":
        return {}
    from jupyter_client.manager import AsyncKernelManager

    class PrivateKernelManager(AsyncKernelManager):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.transport = "ipc"
            self.ip = str(folder / "kernel")

    return {"kernel_manager_class": PrivateKernelManager}


def _move(aside: Path, output: Path) -> None:
    """Put the executed notebook in place: copied beside it, to the disk, then renamed."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(_without_paths(aside.read_text(encoding="utf-8")))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, output)
    except OSError as err:
        beside.unlink(missing_ok=True)
        raise AxnbError(f"{output} cannot be written: {err.strerror}.") from err


def _without_paths(text: str) -> str:
    """The notebook without the folders of this machine, which papermill writes into it."""
    notebook = json.loads(text)
    about = notebook["metadata"].get("papermill", {})
    for name in ("input_path", "output_path"):
        if about.get(name):
            about[name] = Path(about[name]).name
    return to_json(notebook, indent=1) + "\n"
