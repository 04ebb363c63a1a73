"""A result folder: the result first, then its views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from axnb.errors import AxnbError
from axnb.report.html import render_report
from axnb.report.junit import render_junit
from axnb.report.markdown import render_markdown
from axnb.result import Result, write_file
from axnb.settings import STAGE_VARIABLE

#: Views of a result: a report for a reader, one for a CI server, one for a ticket.
VIEWS: Mapping[str, Callable[[Result], str]] = {
    "report.html": render_report,
    "junit.xml": render_junit,
    "report.md": render_markdown,
}


def write_folder(
    result: Result, folder: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Write `result.json` and then its views, each whole or not at all.

    In a run of `axnb notebook run` they are staged: the run publishes them when the notebook has
    come to its end. Raises AxnbError with the path for what cannot be written.
    """
    target = _stage(folder, environment or {})
    result.write(target, called=folder)
    write_views(result, target, called=folder)


def write_views(result: Result, folder: Path, called: Path | None = None) -> None:
    """Write each view of a result into its folder.

    Raises AxnbError with the path, or with what the folder is `called`.
    """
    for name, render in VIEWS.items():
        write_file(folder / name, render(result), called=(called or folder) / name)


def _stage(folder: Path, environment: Mapping[str, str]) -> Path:
    """Where the files of a result folder go for now: a run stages those of its own folder."""
    if STAGE_VARIABLE not in environment:
        return folder
    stage = Path(environment[STAGE_VARIABLE])
    if not stage.is_dir():
        raise AxnbError(f"{folder} cannot be written: the run of this notebook has ended.")
    return stage if folder.is_dir() and folder.samefile(stage.parent) else folder
