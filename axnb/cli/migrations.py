"""The verb that takes a log to another generation, in a copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from axnb.cli.ending import ended_in_order
from axnb.cli.group import is_coloured, say
from axnb.cli.options import settings_option
from axnb.settings import Settings

if TYPE_CHECKING:
    from axnb.migrating import Migrated

#: Rows between two lines of progress.
_STEP = 250_000


@click.command()
@click.argument("source")
@click.argument("destination", required=False, default="", metavar="[DEST]")
@click.option("--to", "target", required=True, metavar="VERSION", help="G5b, G6, v0.2.3, G8, …")
@click.option(
    "--accept-loss",
    "accepted",
    multiple=True,
    metavar="PATH",
    help="Go on without what stands at this path; the refusal lists the paths.",
)
@click.option(
    "--default-harness",
    default="antigravity",
    show_default=True,
    metavar="ID",
    help="Who owns conversations whose owner was stored as nothing.",
)
@click.option("--live", is_flag=True, help="SQLite: back up a database that is in use.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Write axnb.migrate/1.")
@settings_option
def migrate(
    source: str,
    destination: str,
    target: str,
    accepted: tuple[str, ...],
    default_harness: str,
    live: bool,
    dry_run: bool,
    as_json: bool,
    settings: Path | None,
) -> int:
    """Write a log anew in the words of another AX version.

    SOURCE and DEST are a path or a PostgreSQL DSN, in any mix. SOURCE is only read; DEST must not
    exist: a new file, or a schema without AX's tables (…?schema=NAME). What the target cannot hold
    is listed by its path and refused, unless each path is accepted.
    """
    from axnb.errors import UsageError
    from axnb.migrating import LossError, MigrationOptions, examine
    from axnb.migrating import migrate as write

    if not destination and not dry_run:
        raise UsageError("name a place for the copy, or ask with --dry-run.")
    read = Settings.read(settings)
    options = MigrationOptions(target, accepted, default_harness, live, read)
    with ended_in_order():
        if dry_run:
            found = examine(source, options, _progress, destination)
            unaccepted = found.unaccepted(accepted)
        else:
            try:
                found, unaccepted = write(source, destination, options, _progress), {}
            except LossError as err:
                found, unaccepted = err.examined, err.unaccepted
                say(f"axnb: {err}")
    _print(found, unaccepted, as_json=as_json)
    return 1 if unaccepted else 0


def _print(found: Migrated, unaccepted: dict[str, int], *, as_json: bool) -> None:
    from axnb.report.migration_text import render_migration
    from axnb.result import to_json

    if as_json:
        click.echo(to_json(found.as_dict() | {"unaccepted": unaccepted}))
    else:
        click.echo(render_migration(found, unaccepted, colour=is_coloured()))


def _progress(rows: int) -> None:
    # A frame has 2,000 rows at most, so no step is missed by more.
    if rows % _STEP < 2_000 and rows > _STEP:
        say(f"axnb: {rows:,} rows.")
