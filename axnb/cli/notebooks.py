"""Verbs about notebooks: the demo."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
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
