"""Verbs about snapshots and records: the map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from axnb.cli.group import is_coloured
from axnb.cli.loading import load_sources, load_state, open_case
from axnb.cli.options import StateChoice, source_options, state_options
from axnb.errors import UsageError
from axnb.settings import SNAPSHOTS_VARIABLE


@click.command("map")
@source_options
@state_options
@click.option("--json", "as_json", is_flag=True, help="Write axnb.map/1.")
@click.option("--all", "everything", is_flag=True, help="A line for every snapshot.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a result folder: result.json and its views.",
)
def map_state(
    sources: tuple[str, ...],
    case_path: Path | None,
    settings: Path | None,
    live: bool,
    wal: str | None,
    ax_config: Path | None,
    state: StateChoice,
    as_json: bool,
    everything: bool,
    out: Path | None,
) -> int:
    """Say which snapshot belongs to what.

    And whether it is complete, whether the target of axnb.toml would restore it, and what is
    orphaned. Without --snapshots, AX_SNAPSHOTS_BUCKET is read, or what the case holds. SOURCE is a
    log, whose conversations are set beside it.
    """
    from axnb.evidence.load import LoadOptions
    from axnb.loading import Loaded
    from axnb.mapping import state_map
    from axnb.report.folder import write_folder
    from axnb.report.map_result import AskedMap, map_result
    from axnb.report.map_text import render_map
    from axnb.result import EXIT_CODES, to_json

    how = {"verify": state.verify, "everywhere": state.everywhere, "live": live, "wal": wal or ""}
    asked = AskedMap.now(settings, ax_config=ax_config.name if ax_config else "", **how)
    with open_case(case_path, settings) as case:
        loaded = Loaded()
        if sources:
            loaded = load_sources(case, sources, LoadOptions(live=live, wal=wal), ax_config)
        buckets = state.snapshots or _default(case.settings.environment, case_path)
        loaded = load_state(case, loaded, replace(state, snapshots=buckets))
        answer = state_map(case, loaded.skipped)
        if out is not None:
            write_folder(map_result(case, answer, asked), out)
    if as_json:
        click.echo(to_json(answer.as_dict()))
    else:
        click.echo(render_map(answer, everything=everything, colour=is_coloured()))
    return EXIT_CODES[answer.verdict]


def _default(environment: Mapping[str, str], case_path: Path | None) -> tuple[str, ...]:
    """The bucket where none is named; what a case file holds is enough."""
    if environment.get(SNAPSHOTS_VARIABLE):
        return (SNAPSHOTS_VARIABLE,)
    if case_path is not None and case_path.exists():
        return ()
    raise UsageError(
        f"name a bucket (--snapshots s3://BUCKET/PREFIX or file:///FOLDER), or set "
        f"{SNAPSHOTS_VARIABLE}."
    )
