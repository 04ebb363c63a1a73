"""The runtime: what may run, and the rehearsals of it."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

from axnb.ax.versions import resolve
from axnb.errors import UsageError
from axnb.runtimes import CANCELLED, NotRunError, Policy, Program, Rehearsal, Task
from axnb.runtimes.command.guiding import Ask, Terminal
from axnb.runtimes.command.rehearsal import CommandRehearsal
from axnb.runtimes.command.running import Runner
from axnb.runtimes.processes import Reaper
from axnb.settings import Settings
from axnb.settings_command import CANCEL, CommandSettings, fill


class CommandRuntime:
    """Rehearsals on the deployment that `[drill.command]` describes.

    Nothing runs unless a person `confirmed` it, or `unattended` says that nobody has to: else
    UsageError names what would. `ask` asks a person in guided mode; without it, whoever sits at the
    terminal is asked. `scratch` goes at the end, even if we are killed, unless it is to be kept.
    """

    def __init__(
        self,
        settings: Settings,
        scratch: Path,
        *,
        confirmed: bool = False,
        ask: Ask | None = None,
        keep: bool = False,
    ) -> None:
        found = settings.command
        if found is None:
            raise UsageError("axnb.toml has no table [drill.command], which names the deployment.")
        self._generation = resolve(found.generation)
        if not (confirmed or found.unattended):
            raise UsageError(
                f"this drill interrupts your own deployment: it would run {_named(found)}. "
                "Say --yes if it may, or unattended = true in [drill.command]."
            )
        self._settings = settings
        self._command = found
        self._ask = ask
        self._terminal: Terminal | None = None
        self._run = secrets.token_hex(3)
        self._given: Counter[str] = Counter()
        self._runners: list[Runner] = []
        self._reaper = Reaper(None if keep else scratch)

    @property
    def program(self) -> Program:
        """What is interrupted; the digest is that of the commands, with their placeholders."""
        told = {"verbs": dict(self._command.verbs), "interrupts": dict(self._command.interrupts)}
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        name = "by hand" if self._command.guided else "by commands"
        return Program("command", self._generation.name, digest, name)

    def task_for(self, task: Task, point: int, policy: Policy) -> Task:
        """The task under the names that the deployment is to see: new ones in every run."""
        conversation_id = f"{task.conversation_id}-{self._run}"
        if self._command.conversation is not None:
            values = {"point": _point(point), "policy": policy, "run": self._run}
            conversation_id = fill(self._command.conversation, values)
            self._given[conversation_id] += 1
            if (number := self._given[conversation_id]) > 1:
                conversation_id = f"{conversation_id}-{number}"
        return replace(
            task,
            conversation_id=conversation_id,
            operation_id=f"{task.operation_id}-{self._run}",
            item=f"{task.item} {self._run}",
        )

    def open(
        self, point: int, task: Task, policy: Policy, scratch: Path, chance: Random | None = None
    ) -> Rehearsal:
        """A rehearsal; NotRunError for a point without a command, unless a person is there."""
        name = _point(point)
        ask: Ask | None = None
        if self._command.guided:
            ask = self._ask or self._asked_here()
        elif name not in self._command.interrupts:
            raise NotRunError(f"drill.command.interrupt has no command for {name}.")
        values = {
            "conversation": task.conversation_id,
            "operation": task.operation_id,
            "item": task.item,
            "tool": task.tool,
            "point": name,
            "policy": policy,
            "run": self._run,
        }
        runner = Runner(self._command, self._reaper, scratch, values)
        self._runners.append(runner)
        return CommandRehearsal(self._settings, self._command, runner, ask, point, task)

    def stop(self) -> None:
        """End the commands that are waited for, and ask for nothing more."""
        if self._terminal is not None:
            self._terminal.stop()
        for runner in self._runners:
            runner.break_off()

    def close(self) -> None:
        """End what the commands left running, and ask for nothing more."""
        if self._terminal is not None:
            self._terminal.stop()
        self._reaper.close()

    def _asked_here(self) -> Terminal:
        self._terminal = self._terminal or Terminal()
        return self._terminal


def _point(point: int) -> str:
    return CANCEL if point == CANCELLED else str(point)


def _named(command: CommandSettings) -> str:
    """The verbs that have commands, without their words."""
    verbs = [*command.verbs]
    if command.interrupts:
        verbs.append(f"interrupt ({', '.join(command.interrupts)})")
    return ", ".join(verbs)
