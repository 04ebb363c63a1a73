"""Running one of an operator's commands: an argument list, a time limit, bounded output."""

from __future__ import annotations

import itertools
import json
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError
from axnb.runtimes.processes import Group, Reaper
from axnb.settings_command import Command, CommandSettings, fill

#: The most that is read of what a command prints.
MOST_BYTES = 4 * 1024 * 1024

#: Becomes the command; what it complains of may hold anything, and nobody reads it. The command's
#: own words are arguments of this shell, never its text.
_QUIET = ["/bin/sh", "-c", 'exec "$@" 2>/dev/null', "sh"]


@dataclass(frozen=True)
class Ran:
    """What became of a command."""

    verb: str
    #: None where it was ended because it took too long.
    exit_code: int | None
    #: What it printed, as far as it is read.
    text: str
    #: The longest that it may take.
    limit: int

    @property
    def failure(self) -> str | None:
        """A few words without any of what it printed; None where it ended well."""
        if self.exit_code is None:
            return f"{self.verb} took more than {self.limit} s and was ended"
        return f"{self.verb} ended with exit code {self.exit_code}" if self.exit_code else None


class Runner:
    """Runs the commands of one rehearsal. What they leave running ends with it."""

    def __init__(
        self, settings: CommandSettings, reaper: Reaper, folder: Path, values: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._reaper = reaper
        self._folder = folder
        self._values = values
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._running: set[Group] = set()

    def has(self, verb: str) -> bool:
        """Is there a command for it?"""
        return verb in self._settings.verbs

    def run(self, verb: str, text: str = "") -> Ran:
        """Run a verb's command to its end. Raises AxnbError if it cannot be started."""
        return self._run(verb, self._settings.verbs[verb], {"text": text})

    def run_interrupt(self, point: str) -> Ran:
        """Run the command that interrupts at a point."""
        return self._run("interrupt", self._settings.interrupts[point], {})

    def read(self, verb: str) -> str:
        """What a verb's command prints. Raises AxnbError if it fails."""
        ran = self.run(verb)
        if ran.failure is not None:
            raise AxnbError(f"{ran.failure}.")
        return ran.text

    def break_off(self) -> None:
        """End the commands that are waited for."""
        with self._lock:
            running = list(self._running)
        for group in running:
            group.kill()

    def _run(self, verb: str, command: Command, more: Mapping[str, str]) -> Ran:
        words = [fill(word, {**self._values, **more}) for word in command]
        if shutil.which(words[0]) is None:
            raise AxnbError(f"the program of {verb} is not there.")
        with self._lock:
            printed = self._folder / f"{next(self._numbers)}-{verb}.out"
        group = self._reaper.group()
        with self._lock:
            self._running.add(group)
        process = group.start([*_QUIET, *words], log=printed)
        limit = self._settings.limit(verb)
        exit_code: int | None
        try:
            # What it leaves running, such as a server, goes on until the rehearsal is over.
            exit_code = process.wait(limit)
        except AxnbError:
            group.kill()
            exit_code = None
        with self._lock:
            self._running.discard(group)
        return Ran(verb, exit_code, _bounded(printed, verb), limit)


def _bounded(path: Path, verb: str) -> str:
    with path.open("rb") as printed:
        told = printed.read(MOST_BYTES + 1)
    if len(told) > MOST_BYTES:
        raise AxnbError(f"{verb} printed more than {MOST_BYTES // 1024**2} MiB.")
    return told.decode("utf-8", "replace")


def objects(text: str, verb: str) -> Iterator[dict[str, Any]]:
    """The JSON object of each line that is not empty. Raises AxnbError for anything else."""
    for line in text.splitlines():
        if line.strip():
            found = _json(line, verb)
            if not isinstance(found, dict):
                raise AxnbError(f"{verb} did not print a JSON object a line.")
            yield found


def object_list(text: str, verb: str) -> Sequence[dict[str, Any]]:
    """A JSON list of objects. Raises AxnbError for anything else."""
    found = _json(text, verb)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise AxnbError(f"{verb} did not print a JSON list of objects.")
    return found


def _json(text: str, verb: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise AxnbError(f"{verb} printed what is no JSON.") from None
