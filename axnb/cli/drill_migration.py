"""`axnb drill migration`: another AX version on this log, rehearsed in copies."""

from __future__ import annotations

from pathlib import Path

import click

from axnb.cli.group import say
from axnb.cli.options import settings_option
from axnb.cli.rehearsing import json_option, keep_option, out_option, rehearse
from axnb.settings import Settings


@click.command()
@click.argument("source", metavar="SOURCE")
@click.option("--to", required=True, metavar="VERSION", help="The target: G8, v0.2.2, …")
@click.option(
    "--ax-bin",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="A real ax, of whatever version; several prove more.",
)
@click.option(
    "--harness",
    "harnesses",
    multiple=True,
    metavar="ID[=accepts|refuses]",
    help="A registered harness, the default first; does it take an empty start?",
)
@click.option(
    "--default-harness", default="", metavar="ID", help="Who owns what no row names an owner of."
)
@click.option(
    "--accept-loss", multiple=True, metavar="PATH", help="What the target may lose, by its path."
)
@click.option(
    "--snapshots", multiple=True, metavar="URL", help="A bucket: s3://BUCKET/PREFIX or file:///…"
)
@click.option(
    "--records",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What kubectl (ate) get … -o json printed.",
)
@click.option(
    "--conversations",
    type=int,
    default=100,
    show_default=True,
    metavar="N",
    help="How many conversations servers are asked about at most.",
)
@settings_option
@keep_option
@out_option
@json_option
def migration(
    source: str,
    to: str,
    ax_bin: tuple[Path, ...],
    harnesses: tuple[str, ...],
    default_harness: str,
    accept_loss: tuple[str, ...],
    snapshots: tuple[str, ...],
    records: tuple[Path, ...],
    conversations: int,
    settings: Path | None,
    keep: Path | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Say what another AX version does with this log, and whether a migration helps.

    SOURCE is read once. Copies of it are served as they are and migrated, by AX servers of axnb's
    own and by real ones; interrupted conversations go there and back. The result holds a plan.
    """
    from axnb.drills.migration import MigrationDrillOptions, run
    from axnb.report.rehearsal_text import step_line

    asked = MigrationDrillOptions(
        to=to,
        ax_bin=ax_bin,
        harnesses=harnesses,
        default_harness=default_harness,
        accept_loss=accept_loss,
        snapshots=snapshots,
        records=records,
        conversations=conversations,
        keep=keep,
        settings=Settings.read(settings),
    )
    return rehearse(
        lambda: run(
            source, asked, lambda point, check, found: say(step_line(point, check, found.as_dict()))
        ),
        out,
        keep=keep,
        as_json=as_json,
    )
