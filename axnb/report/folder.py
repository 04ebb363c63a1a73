"""A result folder: the result first, then its views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from axnb.report.html import render_report
from axnb.report.junit import render_junit
from axnb.report.markdown import render_markdown
from axnb.result import Result, write_file

#: Views of a result: a report for a reader, one for a CI server, one for a ticket.
VIEWS: Mapping[str, Callable[[Result], str]] = {
    "report.html": render_report,
    "junit.xml": render_junit,
    "report.md": render_markdown,
}


def write_folder(result: Result, folder: Path) -> None:
    """Write `result.json`, and then each view of it; a file is whole or is not there."""
    result.write(folder)
    write_views(result, folder)


def write_views(result: Result, folder: Path) -> None:
    """Write each view of a result into its folder."""
    for name, render in VIEWS.items():
        write_file(folder / name, render(result))
