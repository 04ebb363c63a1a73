"""`axnb drill reconciliation`: what did the tools really do of what the log asks for?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from axnb.cli.group import say
from axnb.cli.options import case_option, effects_option, settings_option
from axnb.cli.rehearsing import json_option, out_option, rehearse
from axnb.settings import Settings

if TYPE_CHECKING:
    from axnb.result import Result


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@effects_option
@click.option(
    "--server-log",
    "server_logs",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What AX's server printed: a clock for the calls.",
)
@click.option("--since", metavar="TIME", help="No call of the logs is older.")
@click.option("--until", metavar="TIME", help="No call of the logs is younger.")
@click.option("--live", is_flag=True, help="SOURCE is a SQLite database that is in use.")
@click.option(
    "--work-list",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what is to be done as CSV, an operation a line.",
)
@case_option
@settings_option
@out_option
@json_option
def reconciliation(
    sources: tuple[str, ...],
    effects: tuple[str, ...],
    server_logs: tuple[Path, ...],
    since: str | None,
    until: str | None,
    live: bool,
    work_list: Path | None,
    case_path: Path | None,
    settings: Path | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Hold the calls of a log against what the tools did.

    SOURCE is a log: a path, a PostgreSQL DSN, the name of a variable, or an ax.yaml. Without it
    AX_EVENTLOG_DSN is read, or what the case holds. How a ledger is to be read, and what it covers,
    stands in axnb.toml under [effects.NAME]. Sources are only read.
    """
    from axnb.drills.reconciliation import ReconciliationOptions, run
    from axnb.drills.reconciliation.options import parse_moment
    from axnb.drills.reconciliation.worklist import as_csv
    from axnb.evidence.ledgers.load import Ledger
    from axnb.result import write_file

    options = ReconciliationOptions(
        sources=sources,
        ledgers=tuple(Ledger.parse(text) for text in effects),
        server_logs=server_logs,
        case=case_path,
        live=live,
        since=parse_moment("--since", since),
        until=parse_moment("--until", until),
        settings=Settings.read(settings),
    )

    def reconcile() -> Result:
        result = run(options, progress=lambda told: say(f"axnb: {told} …"))
        if work_list is not None:
            write_file(work_list, as_csv(result.effects))
        return result

    return rehearse(reconcile, out, keep=None, as_json=as_json)
