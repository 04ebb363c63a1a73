"""Commands that can be pasted into a shell: quoted, and only where nothing had to be escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from axnb.report.words import release
from axnb.text import as_argument, as_command, columns
from axnb.triaging import ACTIONS, SourceTriage, Triage

#: Actions for which a plan has something to say.
PLANNED = frozenset(ACTIONS) - {"decide", "nothing"}

#: The words of a command, quoted.
Command = list[str]


class Commands:
    """Commands about a triage: they ask the same server, and use the case where there is one."""

    def __init__(self, triage: Triage, case_path: Path | None = None) -> None:
        self._triage = triage
        self._case = [] if case_path is None else ["--case", here(str(case_path))]

    def show(self, source: str, conversation_id: str, *more: str) -> Command | None:
        """`axnb show LOG ID`; None if an id or a path cannot be pasted."""
        options = [*self._case, *self._asked(), *more]
        if conversation_id.startswith("-"):
            return _quoted("show", *options, "--", self._locator(source), conversation_id)
        return _quoted("show", self._locator(source), conversation_id, *options)

    def plan(self, source: str, conversation_id: str | None = None) -> Command | None:
        """`axnb triage LOG --plan`, of one conversation or of all; None as for `show`."""
        only: list[str] = []
        if conversation_id is not None and conversation_id.startswith("-"):
            only = [f"--conversation={conversation_id}"]
        elif conversation_id is not None:
            only = ["--conversation", conversation_id]
        read = self._case or [self._locator(source)]
        return _quoted("triage", *read, *self._asked(), *only, "--plan")

    def again(
        self,
        conversations: Iterable[str],
        expected: Iterable[str],
        settings: str,
        options: Iterable[str] = (),
    ) -> Command | None:
        """`axnb triage LOGS --json`, with the names of the files alone.

        None as for `show`, and where the names do not say which sources were meant: two have one
        name, or one could not be read.
        """
        # In the order in which they were loaded: log, log-2, …, log-10.
        sources = sorted(self._triage.sources, key=lambda s: (s.kind, len(s.name), s.name))
        words = [word for source in sources for word in _words(source)]
        if self._triage.skipped or len(set(words)) < len(words):
            return None
        words += [f"--conversation={conversation_id}" for conversation_id in conversations]
        words += [f"--expect-last={text}" for text in expected]
        words += [f"--settings={settings}"] if settings else []
        return _quoted("triage", *words, *options, *self._asked(), "--json")

    def _asked(self) -> list[str]:
        """The server as it was asked for."""
        options = []
        if self._triage.version_from == "option":
            options += ["--ax-version", release(self._triage.target.generation)]
        if self._triage.target.declared:
            options += [f"--harness={harness}" for harness in self._triage.target.harnesses]
        return options

    def _locator(self, source: str) -> str:
        return here(next(s.locator for s in self._triage.sources if s.name == source))


_PREFIXES = {
    "eventlog": "",
    "client": "--client=",
    "server-log": "--server-log=",
    "bucket": "--snapshots=",
}


def map_again(sources: Iterable[Mapping[str, Any]], options: Iterable[str]) -> Command | None:
    """`axnb map LOGS --snapshots=URL … --json`, with the names of the files alone.

    None where the names do not say which sources were meant, or one cannot be pasted.
    """
    words = [
        word
        for source in sources
        for word in _taken(source["kind"], source["locator"], source["custody"])
    ]
    if not words or len(set(words)) < len(words):
        return None
    return _quoted("map", *words, *options, "--json")


def _words(source: SourceTriage) -> list[str]:
    return _taken(source.kind, source.locator, source.custody)


def _taken(kind: str, locator: str, custody: Mapping[str, Any]) -> list[str]:
    """How the command line takes a source, by the names of its files."""
    if kind == "records":
        return [f"--records={name}" for name in custody["files"]]
    return [f"{_PREFIXES[kind]}{as_argument(locator)}"]


def explain(identity: str) -> Command:
    """`axnb explain AX110`."""
    return ["axnb", "explain", identity]


def next_lines(commands: Iterable[Command | None], width: int) -> list[str]:
    """The commands under `Next:`. A long one goes on in the next line, as a shell reads it; one
    with a word that fits into no line is left out."""
    lines: list[str] = []
    for command in commands:
        units = _units(command or [])
        if all(columns(unit) <= width - 13 for unit in units):
            for line in _continued(units, width - 7):
                lines.append(f"{'' if lines else 'Next:':<7}{line}")
    return lines


def _units(command: Command) -> list[str]:
    """The words of a command, an option and its value in one piece."""
    units: list[str] = []
    for word in command:
        if units and units[-1].startswith(("-", ">")) and not word.startswith(("-", ">")):
            units[-1] = f"{units[-1]} {word}"
        else:
            units.append(word)
    return units


def _continued(units: list[str], width: int) -> list[str]:
    lines: list[str] = []
    for unit in units:
        if lines and columns(f"{lines[-1]} {unit}") <= width - 2:
            lines[-1] += f" {unit}"
        else:
            lines.append(f"    {unit}" if lines else unit)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def here(path: str) -> str:
    """A path as a person would type it here."""
    return path.removeprefix(f"{Path.cwd()}/")


def _quoted(*words: str) -> Command | None:
    return as_command("axnb", *words)
