"""Commands that can be pasted into a shell: quoted, and only where nothing had to be escaped."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from axnb.report.words import release
from axnb.text import columns, safe
from axnb.triaging import Triage

#: Actions for which a plan has something to say.
PLANNED = frozenset(
    {
        "do-not-touch",
        "quarantine",
        "name-owner",
        "read-back-then-unblock",
        "read-back-then-resume",
        "unblock",
        "resume",
    }
)


class Commands:
    """Commands about a triage: they ask the same server, and use the case where there is one."""

    def __init__(self, triage: Triage, case_path: Path | None = None) -> None:
        self._triage = triage
        self._case = [] if case_path is None else ["--case", _here(str(case_path))]

    def show(self, source: str, conversation_id: str, *more: str) -> str | None:
        """`axnb show LOG ID`."""
        options = [*self._case, *self._asked(), *more]
        if conversation_id.startswith("-"):
            return _command("show", *options, "--", self._locator(source), conversation_id)
        return _command("show", self._locator(source), conversation_id, *options)

    def plan(self, source: str, conversation_id: str | None = None) -> str | None:
        """`axnb triage LOG --plan`, of one conversation or of all."""
        only: list[str] = []
        if conversation_id is not None and conversation_id.startswith("-"):
            only = [f"--conversation={conversation_id}"]
        elif conversation_id is not None:
            only = ["--conversation", conversation_id]
        read = self._case or [self._locator(source)]
        return _command("triage", *read, *self._asked(), *only, "--plan")

    def _asked(self) -> list[str]:
        """The server as it was asked for."""
        options = []
        if self._triage.version_from == "option":
            options += ["--ax-version", release(self._triage.target.generation)]
        if self._triage.target.declared:
            options += [f"--harness={harness}" for harness in self._triage.target.harnesses]
        return options

    def _locator(self, source: str) -> str:
        return _here(next(s.locator for s in self._triage.sources if s.name == source))


def explain(identity: str) -> str:
    """`axnb explain AX110`."""
    return f"axnb explain {identity}"


def fitting(commands: Iterable[str | None], width: int) -> list[str]:
    """The commands under `Next:`; one that does not fit into a line is left out."""
    found = [c for c in commands if c is not None and columns(c) <= width - 7]
    return [f"{'' if n else 'Next:':<7}{command}" for n, command in enumerate(found)]


def _here(path: str) -> str:
    """A path as a person would type it here."""
    return path.removeprefix(f"{Path.cwd()}/")


def _command(*words: str) -> str | None:
    # What had to be escaped to be shown would name something else when it is pasted.
    if any(safe(word) != word for word in words):
        return None
    return shlex.join(("axnb", *words))
