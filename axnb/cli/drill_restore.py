"""`axnb drill restore`: can the log, and the bucket beside it, be restored to a new runtime?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from axnb.cli.group import say
from axnb.cli.options import ask_options, settings_option
from axnb.cli.rehearsing import json_option, keep_option, out_option, rehearse
from axnb.settings import Settings


def _path(
    name: str, told: str, metavar: str = "FILE", *, multiple: bool = False
) -> Callable[[Any], Any]:
    """An option that names a file or a folder."""
    kind = click.Path(path_type=Path)
    return click.option(name, metavar=metavar, type=kind, help=told, multiple=multiple)


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE] [OTHER]...")
@_path("--backup", "The backup to restore; without it the drill takes one of SOURCE.")
@click.option(
    "--how",
    metavar="HOW",
    help="How to take it: backup, vacuum or copy (SQLite); custom, plain, directory or base.",
)
@click.option("--live", is_flag=True, help="SOURCE is a SQLite database that is in use.")
@_path("--wal-archive", "Of a base backup: the folder of archived WAL segments.", "DIR")
@click.option("--target-time", metavar="TIME", help="Of a base backup: the point in time.")
@click.option("--snapshots", metavar="URL", help="The bucket that goes with the log.")
@click.option("--snapshots-backup", metavar="URL", help="A copy of it; else the drill takes one.")
@_path("--records", "What kubectl (ate) get … -o json printed.", multiple=True)
@_path("--seal", "The result of a former drill, whose digests are to be found again.", "DIR")
@ask_options
@_path("--ax-bin", "Serve what was restored by this AX, too.", "PATH", multiple=True)
@click.option(
    "--rpo-steps", type=int, default=0, show_default=True, metavar="N", help="May be lost."
)
@click.option(
    "--asked",
    type=int,
    default=20,
    show_default=True,
    metavar="N",
    help="Conversations that are asked to go on; and of those that cannot.",
)
@settings_option
@keep_option
@out_option
@json_option
def restore(
    sources: tuple[str, ...],
    ax_version: str | None,
    harnesses: tuple[str, ...],
    expected: tuple[str, ...],
    settings: Path | None,
    out: Path | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Restore a backup into a new runtime, and see what is lost.

    SOURCE is the log that the backup is of; OTHER are other copies of it, as before or after a
    restore. Each is a path, a PostgreSQL DSN, the name of a variable, or an ax.yaml. Without SOURCE
    and --backup, AX_EVENTLOG_DSN is read. Nothing of yours is changed: all is done in a scratch
    folder and on servers of the drill's own.
    """
    from axnb.drills.restore import RestoreOptions, run

    options = RestoreOptions.parse(
        sources,
        ax_version,
        harnesses,
        expected,
        Settings.read(settings),
        settings_name=settings.name if settings else "",
        **asked,
    )
    return rehearse(
        lambda: run(options, progress=lambda told: say(f"axnb: {told} …")),
        out,
        keep=options.keep,
        as_json=as_json,
    )
