"""The compatibility matrix on a terminal, with a legend of what is there; and what comes next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from axnb.ax.versions import BUILT_IN_HARNESSES
from axnb.report.commands import Command, explain
from axnb.report.matrix_view import HOWS, MEANS, SCHEMA, SIGNS, Cell, MatrixView, Row
from axnb.report.terminal import COLOURS, WIDTH
from axnb.result import Result
from axnb.settings import DSN_VARIABLE
from axnb.text import as_command, columns, cut_middle, pad, wrap

_NAME, _NUMBER, _CELL = 20, 7, 10

#: Kinds -> the colour of their sign; it says nothing that the sign does not.
_COLOURS = {
    "works": COLOURS["ok"],
    "differs": COLOURS["inconclusive"],
    "loses": COLOURS["failed"],
    "fails": COLOURS["failed"],
    "unknown": COLOURS["inconclusive"],
}


def matrix_lines(looked: MatrixView, *, whole: bool, colour: bool = False) -> Iterator[str]:
    """The rows of this log under every version; with `whole`, those of the log as a whole alone."""
    rows = looked.of("whole") if whole else looked.of("whole", "log")
    label = _NAME + _NUMBER + 2
    yield f"{'UNDER':<{label}}{_heads(looked, names=True)}".rstrip()
    yield f"{'':{label}}{_heads(looked, names=False)}".rstrip()
    for row in rows:
        yield _row(row, colour)
    yield from (line.rstrip() for line in wrap(_legend(rows), WIDTH - 2))


def _heads(looked: MatrixView, *, names: bool) -> str:
    told = []
    for version in looked.versions:
        name = f"{version.name} ◂" if version.is_target else version.name
        told.append(pad(name if names else version.release, _CELL))
    return "".join(told)


def _row(row: Row, colour: bool) -> str:
    name = row.name if row.group == "whole" else f"rows of {row.name}"
    about = f"  {pad(cut_middle(name, _NAME), _NAME)}{row.conversations:>{_NUMBER - 2},}  "
    return f"{about}{''.join(_cell(cell, colour) for cell in row.cells)}".rstrip()


def _cell(cell: Cell, colour: bool) -> str:
    told = {"loses": _lost(cell), "fails": f" {cell.short}"}.get(cell.kind, "")
    text = pad(f"{cell.sign}{told}", _CELL)
    if not colour:
        return text
    return f"\x1b[{_COLOURS[cell.kind]}m{cell.sign}\x1b[0m{text[len(cell.sign) :]}"


def _lost(cell: Cell) -> str:
    """`51/51`, or a share where there is no room; a word where owners alone are lost."""
    if not cell.share:
        return " owner"
    told = cell.short.replace(" of ", "/")
    if columns(told) > _CELL - 3:
        told = "all" if cell.share >= 1 else f"{max(1, int(cell.share * 100))} %"
    return f" {told}"


def _legend(rows: tuple[Row, ...]) -> str:
    """What the signs mean that are there."""
    cells = [cell for row in rows for cell in row.cells]
    kinds = {cell.kind for cell in cells}
    fails = {cell.short for cell in cells if cell.kind == "fails"}
    told = [f"{SIGNS[kind]} {MEANS[kind]}" for kind in SIGNS if kind in kinds]
    told += [f"{short}: {long}" for long, short in HOWS.values() if short in fails]
    return "   ".join([*told, "◂ the target"])


# --- what to do next -----------------------------------------------------------------------------


def migration_commands(result: Result, again: str) -> Iterator[Command | None]:
    """The migration that was rehearsed, on the log that `again` names, and what explains the loss;
    nothing for another drill."""
    if result.answer.get("schema") != SCHEMA:
        return
    words = shlex.split(again)
    if len(words) > 3:
        log = words[3]
        copy = "AX_MIGRATED_DSN" if log == DSN_VARIABLE else "migrated.sqlite"
        options = [f"--to={result.answer['target']}"]
        owner = result.parameters.get("default_harness") or BUILT_IN_HARNESSES[0]
        options += [f"--default-harness={owner}"] if owner != BUILT_IN_HARNESSES[0] else []
        options += [f"--accept-loss={path}" for path in result.parameters.get("accept_loss") or ()]
        # What failed in the rehearsal is looked at before anything is written.
        options += ["--dry-run"] if result.verdict == "failed" else []
        yield as_command("axnb", "migrate", log, copy, *options)
    told = result.answer["unmigrated"]
    if "wrong-column" in told["how"]:
        yield explain("AX142")
    elif told["contents_lost"]:
        yield explain("AX141")
    elif told["owners_lost"]:
        yield explain("AX145")
