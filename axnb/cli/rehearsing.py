"""What every verb that rehearses does: try the folder, run, end in order, hand out the result."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from axnb.cli.ending import ended_in_order
from axnb.cli.group import is_coloured, say
from axnb.errors import AxnbError

if TYPE_CHECKING:
    from axnb.result import Result

keep_option = click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the logs, snapshots and ledgers of the drill there.",
)
out_option = click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a result folder: result.json and its views.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write axnb.result/1.")


def rehearse(
    run: Callable[[], Result],
    out: Path | None,
    *,
    keep: Path | None,
    as_json: bool,
    left: str = "",
) -> int:
    """Run a drill, and hand out its result: wherever it cannot be written, it is printed.

    `left` says what a drill that was stopped leaves as it is. Raises AxnbError, before anything
    runs, where nothing can be written into `out`.
    """
    from axnb.report.drill_text import render_drill
    from axnb.report.folder import write_folder
    from axnb.result import EXIT_CODES, to_json

    if out is not None:
        _check_writable(out)
    try:
        with ended_in_order():
            result = run()
    except KeyboardInterrupt:
        raise AxnbError(_stopped(keep, left)) from None
    if keep is not None:
        say(f"axnb: what the processes wrote is in {keep}.")
    failure = None
    if out is not None:
        try:
            write_folder(result, out)
        except AxnbError as err:
            failure = err
    click.echo(to_json(result.as_dict()) if as_json else render_drill(result, colour=is_coloured()))
    if failure is not None:
        raise failure
    return EXIT_CODES[result.verdict]


def _check_writable(folder: Path) -> None:
    """Make a folder, and try it. Raises AxnbError if nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as err:
        why = err.strerror or "unknown error"
        raise AxnbError(f"{folder} cannot be written: {why}; nothing was rehearsed.") from err


def _stopped(keep: Path | None, left: str) -> str:
    """What is true of a drill that was stopped."""
    told = "stopped; every process of the drill has ended, and "
    told += f"what they wrote is in {keep}" if keep is not None else "its scratch folder is gone"
    return f"{told}; {left}." if left else f"{told}."
