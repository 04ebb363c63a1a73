"""Verbs about notebooks: run one, and the demo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from axnb.cli.group import say
from axnb.text import safe

_NAMED = re.compile(r"[^\W\d]\w*=")


@click.group(cls=click.Group)
def notebook() -> None:
    """Run a notebook without a person, for a scheduler."""


class _Run(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-p NAME VALUE`, as papermill has it, becomes `-p NAME=VALUE`."""
        return super().parse_args(ctx, list(_joined(args)))


def _joined(args: list[str]) -> Iterator[str]:
    rest = iter(args)
    for arg in rest:
        yield arg
        if arg == "--":
            yield from rest
        elif arg in ("-p", "--parameter"):
            name = next(rest, None)
            if name is None or _NAMED.match(name):
                yield from [] if name is None else [name]
                continue
            value = next(rest, None)
            if value is None:
                raise click.UsageError("-p takes a name and a value.")
            yield f"{name}={value}"


@notebook.command(cls=_Run)
@click.argument("name")
@click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME VALUE",
    help="A parameter that the notebook declares; NAME=VALUE does as well.",
)
@click.option(
    "-f",
    "--parameters-file",
    "files",
    multiple=True,
    metavar="FILE.yaml",
    type=click.Path(path_type=Path),
    help="Parameters as YAML; those of -p win.",
)
@click.option("--out", metavar="DIR", help="The result folder: the same as -p out DIR.")
@click.option(
    "--timeout",
    type=click.IntRange(1, 31_536_000),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="Stop a run that takes longer.",
)
def run(
    name: str, parameters: tuple[str, ...], files: tuple[Path, ...], out: str | None, timeout: int
) -> int:
    """Run a notebook and end as its verdict says.

    It runs by papermill, in a kernel of its own. NAME is a notebook that axnb ships, such as
    triage, or the path of one. The result folder is complete or as it was before; paths start
    from the working directory.
    """
    from axnb.notebook.parameters import gathered
    from axnb.notebook.runner import run_notebook
    from axnb.notebook.shipped import find_notebook

    path = find_notebook(name)
    ran = run_notebook(
        path, gathered(files, parameters, out), timeout, lambda text: say(f"axnb: {text}")
    )
    click.echo(safe(ran.sentence))
    return ran.exit_code


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("axnb-demo"),
    show_default=True,
    help="The result folder.",
)
def demo(out: Path) -> int:
    """Triage the sample log and leave a result.

    The first notebook runs on it, and its result folder has a report to look at.
    """
    from axnb.notebook.demo import run_demo

    run_demo(out, click.echo)
    return 0
