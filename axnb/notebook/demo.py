"""The demo: triage of the sample log, its notebook with a result folder, and a map of snapshots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from axnb.notebook.maps import open_map
from axnb.notebook.runner import run_notebook
from axnb.notebook.shipped import shipped
from axnb.notebook.workspace import open_triage
from axnb.report.map_text import render_map
from axnb.report.terminal import render_triage


def run_demo(out: Path, write: Callable[[str], Any]) -> None:
    """Triage the sample log, run the first notebook on it, map the sample bucket, and say what to
    try next."""
    log = shipped("sample_data", "log.sqlite")
    settings = shipped("sample_data", "axnb.toml")
    bucket, records = shipped("sample_data", "snapshots"), shipped("sample_data", "records")
    work = open_triage(str(log), settings=str(settings))
    write(render_triage(work.triage))
    work.case.close()
    notebook = shipped("notebooks", "01_triage.ipynb")
    run_notebook(notebook, {"source": str(log), "settings": str(settings), "out": str(out)})
    write("")
    write(f"The snapshots of the same conversations, in {bucket}:")
    write("")
    found = open_map(str(bucket), [str(records)], [str(log)], verify=True, settings=str(settings))
    write(render_map(found.state))
    found.case.close()
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
    read = f"--snapshots {bucket} --records {records} --verify --settings {settings}"
    write(f"  axnb map {log} {read} --all     every snapshot with what it belongs to")
    write(f"  axnb triage {log} {read}     the triage that knows of the snapshots")
    write("  axnb notebook run snapshots -p verify true --out axnb-map     the map as a notebook")
    write("  axnb drill resume --out axnb-resume     a resume rehearsed, with real kills")
