"""Verbs about results: their views."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--as",
    "view",
    type=click.Choice(["html", "junit", "markdown"]),
    help="Print one view instead of writing all of them.",
)
def report(folder: Path, view: str | None) -> int:
    """Write the views of a result anew.

    From FOLDER's result.json come a report for a reader (report.html), one for a CI server
    (junit.xml) and one for a ticket (report.md).
    """
    from axnb.report.folder import VIEWS, write_views
    from axnb.result import Result

    result = Result.read(folder)
    if view is not None:
        name = {"html": "report.html", "junit": "junit.xml", "markdown": "report.md"}[view]
        click.echo(VIEWS[name](result), nl=False)
        return 0
    write_views(result, folder)
    click.echo(f"In {folder}: {', '.join(VIEWS)}.")
    return 0
