"""The command that asks a restore drill again, with the names of files alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from axnb.drills.restore.options import ASKED, RestoreOptions
from axnb.evidence.locators import SqliteLocator, is_ax_yaml, locate, public_dsn
from axnb.text import as_argument, as_command, file_name

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def command_again(options: RestoreOptions) -> list[str]:
    """Its words; none where a name cannot be pasted, or two sources have one name."""
    environment = options.settings.environment
    places = [place for place in (options.source, *options.others) if place is not None]
    named = [*(_log(place, environment) for place in places), *_files(options)]
    words = [word for word in named if word is not None]
    if len(words) < len(named) or len(set(words)) < len(words):
        return []
    return as_command("axnb", "drill", "restore", *words, *_asked(options), "--json") or []


def _log(place: str, environment: Mapping[str, str]) -> str | None:
    """A log as it was named: a variable, the name of a file, or an address without a password."""
    if _VARIABLE.fullmatch(place) and place in environment and not Path(place).exists():
        return place
    if is_ax_yaml(place):
        return as_argument(place)
    log = locate(place, environment).log
    if isinstance(log, SqliteLocator):
        return as_argument(str(log.path))
    shown = public_dsn(log.dsn)
    schema = f"?schema={quote(log.schema)}" if log.schema else ""
    # An address that may not be shown is told in words.
    return None if " " in shown else f"{shown}{schema}"


def _files(options: RestoreOptions) -> Iterator[str]:
    """What lies beside the logs, each with its option."""
    beside: Sequence[tuple[str, Sequence[Path | str | None]]] = (
        ("backup", [options.backup]),
        ("wal-archive", [options.wal_archive]),
        ("snapshots", [options.snapshots]),
        ("snapshots-backup", [options.snapshots_backup]),
        ("records", options.records),
        ("client", options.clients),
        ("server-log", options.server_logs),
        ("seal", [options.seal]),
        ("ax-bin", options.ax_bin),
    )
    for option, places in beside:
        for place in places:
            if place is not None:
                yield f"--{option}={file_name(str(place))}"


def _asked(options: RestoreOptions) -> Iterator[str]:
    """How it was asked, where it is not the default."""
    if options.how:
        yield f"--how={options.how}"
    if options.live:
        yield "--live"
    if options.target_time:
        yield f"--target-time={options.target_time}"
    yield from (f"--expect-last={e.conversation_id}={e.last}" for e in options.expectations)
    if options.ax_version:
        yield f"--ax-version={options.ax_version}"
    yield from (f"--harness={harness}" for harness in options.harnesses)
    if options.rpo_steps:
        yield f"--rpo-steps={options.rpo_steps}"
    if options.asked != ASKED:
        yield f"--asked={options.asked}"
    if options.settings_name:
        yield f"--settings={options.settings_name}"
