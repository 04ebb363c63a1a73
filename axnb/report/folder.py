"""The result folder: the result, and the views of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from axnb.errors import AxnbError
from axnb.report.html import render_report
from axnb.result import Result, write_file
from axnb.settings import STAGE_VARIABLE

#: The files of a result folder, in the order in which they are written: the result is the first.
VIEWS: tuple[tuple[str, Callable[[Result], str]], ...] = (
    ("result.json", Result.text),
    ("report.html", render_report),
)


def write_folder(result: Result, folder: Path, environment: Mapping[str, str]) -> None:
    """Write a result and then its views, each whole or not at all.

    In a run of `axnb notebook run` they are staged: the run publishes them when the notebook has
    come to its end. Raises AxnbError with the path for what cannot be written.
    """
    target = _stage(folder, environment)
    for name, view in VIEWS:
        write_file(target / name, view(result), called=folder / name)


def _stage(folder: Path, environment: Mapping[str, str]) -> Path:
    """Where the files of a result folder go for now: a run stages those of its own folder."""
    if STAGE_VARIABLE not in environment:
        return folder
    stage = Path(environment[STAGE_VARIABLE])
    if not stage.is_dir():
        raise AxnbError(f"{folder} cannot be written: the run of this notebook has ended.")
    return stage if folder.is_dir() and folder.samefile(stage.parent) else folder
