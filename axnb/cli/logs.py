"""Verbs about logs: triage, and one conversation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from axnb.cli.group import is_coloured, say
from axnb.cli.loading import ask_case, load_beside, load_sources, load_state, open_case
from axnb.cli.options import (
    StateChoice,
    ask_options,
    case_option,
    settings_option,
    source_options,
    state_options,
)

if TYPE_CHECKING:
    from axnb.triaging import Triage


@click.command()
@source_options
@state_options
@ask_options
@click.option("--conversation", "conversations", multiple=True, metavar="ID", help="Only this one.")
@click.option("--json", "as_json", is_flag=True, help="Write axnb.triage/1.")
@click.option("--plan", "as_plan", is_flag=True, help="Write only a plan: SQL that may be run.")
@click.option("--all", "everything", is_flag=True, help="A line for every conversation.")
@click.option("--csv", "csv_path", type=click.Path(path_type=Path), help="Write a table as CSV.")
@click.option("--parquet", "parquet_path", type=click.Path(path_type=Path), help="As Parquet.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a result folder: result.json and its views.",
)
def triage(
    sources: tuple[str, ...],
    case_path: Path | None,
    settings: Path | None,
    live: bool,
    wal: str | None,
    state: StateChoice,
    ax_config: Path | None,
    ax_version: str | None,
    harnesses: tuple[str, ...],
    clients: tuple[Path, ...],
    server_logs: tuple[Path, ...],
    expected: tuple[str, ...],
    conversations: tuple[str, ...],
    as_json: bool,
    as_plan: bool,
    everything: bool,
    csv_path: Path | None,
    parquet_path: Path | None,
    out: Path | None,
) -> int:
    """Say what happened in each conversation.

    And what AX would do next, what is unknown, and what a person should do about it.

    SOURCE is a log: a path, sqlite:///PATH, a PostgreSQL DSN, the name of a variable that holds
    one, or an ax.yaml. Without one, AX_EVENTLOG_DSN is read.
    """
    from axnb.evidence.load import LoadOptions
    from axnb.plans import plan
    from axnb.report.folder import write_folder
    from axnb.report.triage_result import Asked, triage_result
    from axnb.result import EXIT_CODES, to_json

    how: dict[str, Any] = {"verify": state.verify, "everywhere": state.everywhere}
    how |= {"live": live, "wal": wal, "ax_config": ax_config, "sources": sources}
    asked = Asked.now(ax_version, harnesses, conversations, expected, settings, **how)
    with open_case(case_path, settings) as case:
        # One conversation of a private case is all that needs to be read.
        only = conversations[0] if len(conversations) == 1 and case.path is None else None
        options = LoadOptions(conversation=only, live=live, wal=wal)
        logs = load_sources(case, sources, options, ax_config)
        loaded = load_beside(case, logs, clients, server_logs)
        loaded = load_state(case, loaded, state)
        answer = ask_case(case, ax_version, harnesses, loaded, conversations, expected)
        script = plan(case, answer, ready=conversations).text if as_plan else ""
        if out is not None:
            write_folder(triage_result(case, answer, asked, plan=script), out)
    _write_tables(answer, csv_path, parquet_path)
    if as_json:
        click.echo(to_json(answer.as_dict() | ({"plan": script} if as_plan else {})))
    elif as_plan:
        click.echo(script, nl=False)
    else:
        _print(answer, case_path, everything=everything)
    return EXIT_CODES[answer.verdict]


def _print(answer: Triage, case_path: Path | None, *, everything: bool) -> None:
    from axnb.report.terminal import render_triage

    text = render_triage(answer, everything=everything, colour=is_coloured(), case_path=case_path)
    click.echo(text)


def _write_tables(answer: Triage, csv_path: Path | None, parquet_path: Path | None) -> None:
    from axnb.report.tables import write_csv, write_parquet

    if csv_path is not None:
        write_csv(answer, csv_path)
    if parquet_path is not None:
        write_parquet(answer, parquet_path)


@click.command()
@click.argument("source")
@click.argument("conversation")
@case_option
@settings_option
@ask_options
@click.option(
    "--reveal", is_flag=True, help="Show payloads, at most 4 KiB of each; the case records it."
)
@click.option("--all", "everything", is_flag=True, help="Every row of a long conversation.")
def show(
    source: str,
    conversation: str,
    case_path: Path | None,
    settings: Path | None,
    ax_version: str | None,
    harnesses: tuple[str, ...],
    clients: tuple[Path, ...],
    server_logs: tuple[Path, ...],
    expected: tuple[str, ...],
    reveal: bool,
    everything: bool,
) -> int:
    """Show one conversation, a line a part.

    Payloads stay hidden unless you ask.

    With --case, what the case holds of SOURCE is shown as it was loaded; there SOURCE may be the
    name that it has in the case, such as log.
    """
    from axnb.evidence.load import LoadOptions
    from axnb.loading import held
    from axnb.report.conversation import render_conversation
    from axnb.report.reveal import record
    from axnb.result import EXIT_CODES

    with open_case(case_path, settings) as case:
        only = conversation if case.path is None else None
        loaded = held(case, source) or load_sources(case, [source], LoadOptions(conversation=only))
        loaded = load_beside(case, loaded, clients, server_logs)
        # One session around both: what the first has read of the file, the second need not.
        with case.reading():
            answer = ask_case(case, ax_version, harnesses, loaded, [conversation], expected)
            shown = render_conversation(
                case, answer, conversation, reveal=reveal, everything=everything
            )
        recorded = record(case, conversation, shown.revealed) if reveal else None
    if recorded is not None:
        say("axnb: without --case the reveal is recorded in the output alone.")
    click.echo(shown.text)
    if recorded is not None:
        click.echo(recorded)
    return EXIT_CODES[answer.verdict]
