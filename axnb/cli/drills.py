"""Verbs that rehearse: they start processes of their own, and touch no source."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from axnb.cli.group import say
from axnb.cli.options import settings_option
from axnb.cli.rehearsing import json_option, keep_option, out_option, rehearse
from axnb.errors import UsageError
from axnb.settings import Settings


@click.group(cls=click.Group)
def drill() -> None:
    """Rehearse a recovery before it is needed."""


@drill.command()
@click.option(
    "--runtime",
    default="embedded",
    show_default=True,
    metavar="embedded|ax|command",
    help="What is interrupted: a stand-in for AX, a real AX, a deployment of yours.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    help="How the runtime goes on: ax (the default), requeue, read-before-retry. Several compare.",
)
@click.option(
    "--idempotent/--no-idempotent",
    default=False,
    show_default=True,
    help="Does the tool do a known operation only once?",
)
@click.option(
    "--store", default="sqlite", show_default=True, metavar="sqlite|postgres", help="Of the log."
)
@click.option(
    "--generation", default="G8", show_default=True, metavar="VERSION", help="G5, v0.2.2, G8, …"
)
@click.option("--points", metavar="N,N-N", help="1,3 or 1-4; all eight without it.")
@click.option("--snapshots", metavar="URL", help="A folder or s3://…; else one in the scratch.")
@click.option("--no-snapshots", is_flag=True, help="No bucket: point 7 is not run.")
@click.option("--alertmanager", default="", metavar="URL", help="Send alerts there, too.")
@click.option(
    "--ax-bin",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The program for --runtime ax; else `ax` on PATH. Twice, the older first, for point 8.",
)
@click.option("--repeat", type=int, default=1, show_default=True, metavar="N")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S")
@settings_option
@keep_option
@out_option
@json_option
@click.option("--yes", is_flag=True, help="Run the commands of --runtime command unasked.")
def resume(
    runtime: str,
    policies: tuple[str, ...],
    idempotent: bool,
    store: str,
    generation: str,
    points: str | None,
    snapshots: str | None,
    no_snapshots: bool,
    alertmanager: str,
    ax_bin: tuple[Path, ...],
    repeat: int,
    seed: int,
    settings: Path | None,
    keep: Path | None,
    out: Path | None,
    as_json: bool,
    yes: bool,
) -> int:
    """Interrupt a task at eight points, and see what recovery really does.

    A task with one side effect is interrupted by real kills of real processes; after each, seven
    things are looked at. Each is ok, failed, inconclusive or not run, with its evidence.
    """
    from axnb.drills.resume import ResumeOptions, run
    from axnb.drills.resume.points import read_points
    from axnb.report.drill_text import point_line

    if no_snapshots and snapshots is not None:
        raise UsageError(f"--no-snapshots and --snapshots {snapshots!r:.80} exclude each other.")
    if points is not None and not points.strip():
        raise UsageError("--points names no point: write 1,3 or 1-4.")
    read = Settings.read(settings)
    asked = ResumeOptions(
        runtime=runtime,  # type: ignore[arg-type]
        policies=policies or ("ax",),  # type: ignore[arg-type]
        idempotent=idempotent,
        store=store,  # type: ignore[arg-type]
        generation=generation,
        points=read_points(points or ""),
        snapshots=None if no_snapshots else snapshots or "",
        alertmanager=alertmanager,
        ax_bin=ax_bin,
        repeat=repeat,
        seed=seed,
        settings=read,
        keep=keep,
        confirmed=_is_confirmed(runtime, yes, read),
    )
    return rehearse(
        lambda: run(
            asked,
            progress=lambda judged: say(point_line(judged)),
            begin=lambda plan: say("\n".join(f"axnb: {line}." for line in plan)),
        ),
        out,
        keep=keep,
        as_json=as_json,
        left="your deployment is as the last command left it" if runtime == "command" else "",
    )


def _is_confirmed(runtime: str, yes: bool, settings: Settings) -> bool:
    """Commands of an operator interrupt what is real: a person at the terminal is asked. Without
    one, what is not confirmed is refused with what would run."""
    is_asked = runtime == "command" and settings.command and not settings.command.unattended
    if yes or not is_asked or not sys.stdin.isatty():
        return yes
    click.confirm("Interrupt your deployment by the commands of axnb.toml?", abort=True, err=True)
    return True


@click.command()
@click.option(
    "--config",
    default="ax.yaml",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
)
@click.option("--generation", default="G8", show_default=True, metavar="VERSION")
@click.option("--policy", default="ax", show_default=True, metavar="NAME")
def serve(config: Path, generation: str, policy: str) -> int:
    """Serve AX's gRPC in place of `ax serve`, for rehearsals.

    It reads an ax.yaml and writes the log that a released AX of that generation would write. It
    listens on the loopback address only, and ends on SIGTERM as AX does.
    """
    from axnb.runtimes.embedded import server

    words = ["--config", str(config), "--generation", generation, "--policy", policy]
    return server.main(words)
