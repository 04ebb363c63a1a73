"""A result folder: the result first, then its views."""

from __future__ import annotations

from pathlib import Path

from axnb.report.html import render_report
from axnb.result import Result, write_file


def write_folder(result: Result, folder: Path) -> None:
    """Write `result.json`, and then each view of it; a file is whole or is not there."""
    result.write(folder)
    write_file(folder / "report.html", render_report(result))
