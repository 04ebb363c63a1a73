"""The command line: thin verbs over the same objects that a notebook uses.

Answers go to stdout, messages and progress to stderr. Exit codes: 0 ok, 1 failed, 2 wrong usage,
3 inconclusive or not run, 4 axnb itself could not run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from axnb import __version__
from axnb.errors import AxnbError, UsageError
from axnb.text import safe

if TYPE_CHECKING:
    from axnb.case.case import Case
    from axnb.evidence.load import LoadOptions
    from axnb.loading import Loaded
    from axnb.triaging import Triage


class _Group(click.Group):
    """Turns axnb's own errors into one sentence and an exit code; nothing else is caught."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except AxnbError as err:
            _say(f"axnb: {err}")
            code = err.exit_code
        except click.ClickException as err:
            # It quotes what stands in the arguments, which may be a stranger's id.
            err.message = safe(err.message)  # type: ignore[misc]
            err.show()
            code = 2
        except (click.Abort, KeyboardInterrupt):
            _say("axnb: stopped; nothing was changed.")
            code = 4
        except BrokenPipeError:
            # The reader of a pipe has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 4
        except Exception as err:
            # A payload may stand in the message of an unforeseen error: its kind is enough here.
            if os.environ.get("AXNB_DEBUG"):
                raise
            _say(
                f"axnb: could not go on ({type(err).__name__}); this is a fault of axnb. "
                "Set AXNB_DEBUG=1 to see where."
            )
            code = 4
        sys.exit(code or 0)


def _say(text: str) -> None:
    click.echo(safe(text), err=True)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="axnb")
def main() -> None:
    """Recovery notebook kit for Agent Executor (AX): what happened, what can be resumed, what is
    unknown, and what a person must decide. Sources are only ever read."""


def _options(*decorators: Callable[..., Any]) -> Callable[..., Any]:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorate in reversed(decorators):
            function = decorate(function)
        return function

    return wrap


_case_option = click.option(
    "--case",
    "case_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep what is loaded in this DuckDB file, or reuse what it holds.",
)
_source_options = _options(
    click.argument("sources", nargs=-1, metavar="[SOURCE]..."),
    _case_option,
    click.option("--settings", type=click.Path(path_type=Path), help="Read this axnb.toml."),
    click.option("--live", is_flag=True, help="SQLite: back up a database that is in use."),
    click.option(
        "--wal",
        type=click.Choice(["apply", "ignore"]),
        help="SQLite: how to read a -wal that does not fit the database.",
    ),
)
_ask_options = _options(
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


def _open_case(case_path: Path | None, settings: Path | None) -> Case:
    from axnb.case.case import Case
    from axnb.settings import Settings

    return Case(case_path, Settings.read(settings))


def _load(
    case: Case,
    sources: Sequence[str],
    options: LoadOptions,
    *,
    may_reuse: bool = True,
) -> Loaded:
    """Load the sources, or reuse what the case holds if none is named."""
    from axnb.loading import Loaded, load

    if not sources and may_reuse and case.path is not None and case.path.exists():
        return Loaded()
    return _told(load(case, sources, options, _progress()))


def _load_witnesses(
    case: Case, loaded: Loaded, clients: Sequence[Path], server_logs: Sequence[Path]
) -> Loaded:
    """Load what stands beside the logs."""
    from axnb.loading import Loaded, load_witnesses

    beside = _told(Loaded(skipped=load_witnesses(case, clients, server_logs)))
    return Loaded(loaded.harnesses, (*loaded.skipped, *beside.skipped))


def _told(loaded: Loaded) -> Loaded:
    for sentence in loaded.skipped:
        _say(f"axnb: {sentence}")
    return loaded


def _progress() -> Callable[[int], None] | None:
    """Rows read so far, on one line of stderr, if a person is looking."""
    if not sys.stderr.isatty():
        return None
    from time import monotonic

    started = shown = monotonic()

    def show(rows: int) -> None:
        nonlocal shown
        now = monotonic()
        if now - started > 1 and now - shown > 0.2:
            shown = now
            click.echo(f"\rread {rows:,} rows", err=True, nl=False)

    return show


def _ask(
    case: Case,
    ax_version: str | None,
    harnesses: Sequence[str],
    loaded: Loaded,
    conversations: Sequence[str],
    expected: Sequence[str],
) -> Triage:
    from axnb.ax.behaviour import Harness
    from axnb.triaging import Expectation, Question, triage

    named = tuple(Harness.parse(text) for text in harnesses) or loaded.harnesses
    expectations = tuple(Expectation.parse(text, conversations) for text in expected)
    question = Question(ax_version, named, expectations)
    return triage(case, question, conversations, loaded.skipped)


@main.command()
@_source_options
@_ask_options
@click.option("--conversation", "conversations", multiple=True, metavar="ID", help="Only this one.")
@click.option("--json", "as_json", is_flag=True, help="Write axnb.triage/1.")
@click.option("--plan", "as_plan", is_flag=True, help="Write only a plan: SQL that may be run.")
@click.option("--all", "everything", is_flag=True, help="A line for every conversation.")
@click.option("--csv", "csv_path", type=click.Path(path_type=Path), help="Write a table as CSV.")
@click.option("--parquet", "parquet_path", type=click.Path(path_type=Path), help="As Parquet.")
def triage(
    sources: tuple[str, ...],
    case_path: Path | None,
    settings: Path | None,
    live: bool,
    wal: str | None,
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
) -> int:
    """Say for each conversation what happened, what AX would do next and what to do about it.

    SOURCE is a log: a path, sqlite:///PATH, a PostgreSQL DSN, the name of a variable that holds
    one, or an ax.yaml. Without one, AX_EVENTLOG_DSN is read.
    """
    from axnb.evidence.load import LoadOptions
    from axnb.plans import plan
    from axnb.report.tables import write_csv, write_parquet
    from axnb.report.terminal import render_triage
    from axnb.result import EXIT_CODES, to_json

    with _open_case(case_path, settings) as case:
        # One conversation of a private case is all that needs to be read.
        only = conversations[0] if len(conversations) == 1 and case.path is None else None
        options = LoadOptions(conversation=only, live=live, wal=wal)
        loaded = _load(case, sources, options)
        loaded = _load_witnesses(case, loaded, clients, server_logs)
        answer = _ask(case, ax_version, harnesses, loaded, conversations, expected)
        script = plan(case, answer, ready=conversations).text if as_plan else ""
    if csv_path is not None:
        write_csv(answer, csv_path)
    if parquet_path is not None:
        write_parquet(answer, parquet_path)
    if as_json:
        click.echo(to_json(answer.as_dict() | ({"plan": script} if as_plan else {})))
    elif as_plan:
        click.echo(script, nl=False)
    else:
        text = render_triage(answer, everything=everything, colour=_colour(), case_path=case_path)
        click.echo(text)
    return EXIT_CODES[answer.verdict]


def _colour() -> bool:
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


@main.command()
@_source_options
def load(
    sources: tuple[str, ...],
    case_path: Path | None,
    settings: Path | None,
    live: bool,
    wal: str | None,
) -> int:
    """Load logs into a case file."""
    from axnb.case.case import ask
    from axnb.evidence.load import LoadOptions

    if case_path is None:
        raise UsageError("say where to keep it: --case FILE.duckdb.")
    with _open_case(case_path, settings) as case:
        loaded = _load(case, sources, LoadOptions(live=live, wal=wal), may_reuse=False)
        with case.reading() as session:
            found = ask(session, "sources")
    for source in found:
        counts = "read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(**source)
        click.echo(f"{source['name']}   {safe(source['locator'])}   {counts}")
        for sentence in source["incomplete"]:
            click.echo(f"      {safe(sentence)}")
    doubtful = any(s["rejected"] or s["incomplete"] or not s["read"] for s in found)
    return 3 if doubtful or loaded.skipped else 0


@main.command()
@click.argument("source")
@click.argument("conversation")
@_case_option
@click.option("--settings", type=click.Path(path_type=Path), help="Read this axnb.toml.")
@_ask_options
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
    """Show one conversation, a line a part; payloads stay hidden unless you ask.

    With --case, what the case holds of SOURCE is shown as it was loaded; there SOURCE may be the
    name that it has in the case, such as log.
    """
    from axnb.evidence.load import LoadOptions
    from axnb.loading import held
    from axnb.report.conversation import render_conversation
    from axnb.report.reveal import record
    from axnb.result import EXIT_CODES

    with _open_case(case_path, settings) as case:
        only = conversation if case.path is None else None
        loaded = held(case, source) or _load(case, [source], LoadOptions(conversation=only))
        loaded = _load_witnesses(case, loaded, clients, server_logs)
        # One session around both: what the first has read of the file, the second need not.
        with case.reading():
            answer = _ask(case, ax_version, harnesses, loaded, [conversation], expected)
            shown = render_conversation(
                case, answer, conversation, reveal=reveal, everything=everything
            )
        recorded = record(case, conversation, shown.revealed) if reveal else None
    if recorded is not None:
        _say("axnb: without --case the reveal is recorded in the output alone.")
    click.echo(shown.text)
    if recorded is not None:
        click.echo(recorded)
    return EXIT_CODES[answer.verdict]


@main.command()
@click.argument("query", required=False)
@_case_option
def sql(query: str | None, case_path: Path | None) -> int:
    """Run QUERY on a case, read-only, or each query of stdin; without one, list the tables."""
    from axnb.report.query import print_queries

    if case_path is None:
        raise UsageError("say which case: --case FILE.duckdb.")
    with _open_case(case_path, None) as case:
        if query is None and not sys.stdin.isatty():
            query = sys.stdin.read().strip() or None
        print_queries(case, query or "show tables", click.echo)
    return 0


@main.command()
@click.argument("identity", metavar="ID")
def explain(identity: str) -> int:
    """Explain a finding: what it means, and the query that finds it."""
    from axnb.checks.registry import find_check

    click.echo(find_check(identity).page())
    return 0


@main.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("axnb-demo"),
    show_default=True,
    help="The result folder.",
)
def demo(out: Path) -> int:
    """Triage the sample log, run the first notebook on it and leave a result folder."""
    from axnb.notebook.demo import run_demo

    run_demo(out, click.echo)
    return 0


if __name__ == "__main__":
    main()
