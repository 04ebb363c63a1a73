"""How a migration looks on a terminal: what was read, what became of it, what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from axnb.ax.versions import GENERATIONS
from axnb.migrating import Migrated
from axnb.report.commands import Command, here, next_lines
from axnb.report.terminal import WIDTH, beside, verdict_word
from axnb.settings import DSN_VARIABLE
from axnb.text import as_command, columns, count, cut_middle, file_name, pad, safe

_FEW = 5


def render_migration(
    found: Migrated, unaccepted: Mapping[str, int], *, colour: bool = False
) -> str:
    """The whole summary, without a line end; `unaccepted` are the losses that stand in its way."""
    name = cut_middle(safe(file_name(found.source)), 30)
    width = max(len("target"), columns(name)) + 2
    target = GENERATIONS[found.target].label
    lines = [
        *beside(name, [_about_source(found), *found.notes], width),
        *beside("target", [f"{target}{_where(found)}"], width),
        "",
        *_verdict(found, unaccepted, colour),
    ]
    if found.losses:
        lines += ["", f"{target} HAS NO PLACE FOR  {sum(found.losses.values()):,}"]
        lines += [_loss(path, number, unaccepted) for path, number in found.losses.items()]
    if found.as_it_is:
        lines += ["", *_as_it_is(found)]
    if offered := next_lines(_offered(found), WIDTH):
        lines += ["", *offered]
    return "\n".join(lines)


def _about_source(found: Migrated) -> str:
    shown = ", ".join(f"{name} {number:,}" for name, number in found.generations.items())
    executions = f"   {count(found.executions, 'execution row')}" if found.executions else ""
    return f"AX log, rows by what they show: {shown or 'none'}{executions}"


def _where(found: Migrated) -> str:
    return f", {safe(file_name(found.destination))}" if found.destination else ""


def _verdict(found: Migrated, unaccepted: Mapping[str, int], colour: bool) -> list[str]:
    shown, word = verdict_word("failed" if unaccepted else "ok", colour)
    told = [f"{_read(found)}  {_became(found)}"]
    if found.owners:
        told.append(
            "Owners named where no row named one: "
            + ", ".join(
                f"{safe(owner)} for {count(number, 'conversation')}"
                for owner, number in found.owners.items()
            )
            + "."
        )
    if found.renumbered:
        told.append(f"{count(found.renumbered, 'row')} told another number than its key.")
    if unaccepted:
        told.append("Nothing was written: accept each path by --accept-loss, or leave the log.")
    lines = beside("", told, 15)
    return [f"{shown}{' ' * (16 - len(word))}{lines[0].lstrip()}", *lines[1:]]


def _read(found: Migrated) -> str:
    if found.rows_written is None:
        return f"{count(found.rows_read, 'row')} read, none written."
    return f"{count(found.rows_read, 'row')} read, {found.rows_written:,} written and read back."


def _became(found: Migrated) -> str:
    same = found.rows_read - found.converted
    would = "would be " if found.rows_written is None else ""
    return f"{found.converted:,} {would}rewritten, {same:,} with the same text."


def _loss(path: str, number: int, unaccepted: Mapping[str, int]) -> str:
    accepted = "" if path in unaccepted else "   accepted"
    return f"  {pad(cut_middle(safe(path), 68), 70)}{number:>9,}{accepted}"


def _as_it_is(found: Migrated) -> list[str]:
    lines = [f"STAY AS THEY ARE  {found.as_it_is:,}    their own generation cannot decode them"]
    shown = found.as_it_is_first[:_FEW]
    for row in shown:
        name = cut_middle(safe(row.conversation_id) or "(empty)", 28)
        key = f"  {pad(name, 30)}step {cut_middle(safe(row.step), 20)}   "
        lines.append(f"{key}{cut_middle(safe(row.reason), WIDTH - columns(key))}")
    if found.as_it_is > len(shown):
        lines.append(f"  … {found.as_it_is - len(shown):,} more")
    return lines


def _offered(found: Migrated) -> Iterator[Command | None]:
    """What comes next: a look at the copy, or a rehearsal where there is none."""
    source = DSN_VARIABLE if "://" in found.source else here(found.source)
    if found.rows_written is not None:
        copy = here(found.destination)
        yield as_command("axnb", "triage", copy, f"--ax-version={found.target}")
    yield as_command("axnb", "drill", "migration", source, f"--to={found.target}", "--out=drill")
