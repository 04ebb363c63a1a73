"""Options and arguments that several verbs take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click


def _options(*decorators: Callable[..., Any]) -> Callable[..., Any]:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorate in reversed(decorators):
            function = decorate(function)
        return function

    return wrap


case_option = click.option(
    "--case",
    "case_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep what is loaded in this DuckDB file, or reuse what it holds.",
)
effects_option = click.option(
    "--effects",
    multiple=True,
    metavar="NAME=PLACE",
    help="The ledger of a tool system: CSV, JSON lines, Parquet, a SQLite file, or a DSN.",
)
settings_option = click.option(
    "--settings", type=click.Path(path_type=Path), help="Read this axnb.toml."
)
source_options = _options(
    click.argument("sources", nargs=-1, metavar="[SOURCE]..."),
    case_option,
    settings_option,
    click.option("--live", is_flag=True, help="SQLite: back up a database that is in use."),
    click.option(
        "--wal",
        type=click.Choice(["apply", "ignore"]),
        help="SQLite: how to read a -wal that does not fit the database.",
    ),
    click.option(
        "--ax-config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="An ax.yaml: what would run now, where SOURCE is none.",
    ),
)
_state_options = _options(
    click.option(
        "--snapshots",
        multiple=True,
        metavar="URL",
        help="A bucket of snapshots: s3://BUCKET/PREFIX, gs://… or file:///FOLDER.",
    ),
    click.option(
        "--records",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="What kubectl (ate) get … -o json printed, or a folder of it; twice is better.",
    ),
    click.option(
        "--all-atespaces", "everywhere", is_flag=True, help="The records were taken with -A."
    ),
    click.option("--verify", is_flag=True, help="Read every object of a snapshot to its end."),
)


@dataclass(frozen=True)
class StateChoice:
    """Buckets and records that a user names."""

    snapshots: tuple[str, ...]
    records: tuple[Path, ...]
    everywhere: bool
    verify: bool


def state_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of buckets and records, which a verb takes as one: `state`."""

    @wraps(function)
    def verb(
        *args: Any,
        snapshots: tuple[str, ...],
        records: tuple[Path, ...],
        everywhere: bool,
        verify: bool,
        **rest: Any,
    ) -> Any:
        return function(*args, state=StateChoice(snapshots, records, everywhere, verify), **rest)

    decorated: Callable[..., Any] = _state_options(verb)
    return decorated


ask_options = _options(
    click.option("--ax-version", metavar="VERSION", help="Ask as this AX: G8, v0.2.3, …"),
    click.option(
        "--harness",
        "harnesses",
        multiple=True,
        metavar="ID[=accepts|refuses]",
        help="A registered harness, the default first; does it take an empty start?",
    ),
    click.option(
        "--client",
        "clients",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="What a client was sent: JSON lines, one an output.",
    ),
    click.option(
        "--server-log",
        "server_logs",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="What AX's server printed.",
    ),
    click.option(
        "--expect-last",
        "expected",
        multiple=True,
        metavar="[ID=]N",
        help="The conversation went on to step N at least.",
    ),
)
