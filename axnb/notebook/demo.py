"""The demo: triage of the sample log, its notebook, and a result folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from axnb.notebook.runner import run_notebook
from axnb.notebook.shipped import shipped
from axnb.notebook.workspace import open_triage
from axnb.report.terminal import render_triage


def run_demo(out: Path, write: Callable[[str], Any]) -> None:
    """Triage the sample log, run the first notebook on it, and say what to try next."""
    log = shipped("sample_data", "log.sqlite")
    settings = shipped("sample_data", "axnb.toml")
    work = open_triage(str(log), settings=str(settings))
    write(render_triage(work.triage))
    work.case.close()
    notebook = shipped("notebooks", "01_triage.ipynb")
    run_notebook(notebook, {"source": str(log), "settings": str(settings), "out": str(out)})
    write("")
    write(f"In {out}:")
    write("  report.html       the triage for a reader without axnb; open it in a browser")
    write("  result.json       the same for a program (axnb.result/1)")
    write("  junit.xml         the same for a CI server")
    write("  report.md         the same for a ticket")
    write(f"  {notebook.name}   the notebook as it ran, with its tables")
    write("")
    write("Try next:")
    write(f"  axnb triage {log} --ax-version v0.2.3     what an upgrade would do to this log")
    write(f"  axnb show {log} kill9-after-effect        one conversation, step by step")
    write("  axnb explain AX203                        why an unknown outcome is not a failure")
