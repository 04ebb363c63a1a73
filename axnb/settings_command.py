"""`[drill.command]` of `axnb.toml`: how a drill works on an operator's own deployment.

[drill.command]
log = "AX_EVENTLOG_DSN"            # a path, a variable with a DSN …: what `axnb load` takes
generation = "G8"                  # of the deployment, or its release
snapshots = "s3://bucket/prefix"   # where its snapshots are; left out: nowhere
conversation = "d-{point}-{run}"   # a conversation's id, if it has to look like something
guided = false                     # is a person asked to do what has no command?
unattended = false                 # may all of it run unconfirmed, as under a scheduler?
start = ["send", "{conversation}", "{text}"]   # sends {text}; its stdout is the answer's text
resume = ["send", "{conversation}"]            # sends an empty request, once all is up again
response = ["show", "{conversation}"]          # what the user sees now; instead of resume's stdout
alert = ["alerts", "{conversation}"]           # Alertmanager's list as JSON; exits 1 for none
effects = ["ledger", "{operation}"]            # JSON lines: operation_id, status, reservation, …
reverse = ["undo", "{operation}"]

[drill.command.interrupt]          # by point; `cancel` is the cancellation after the commit
3 = ["crash", "{conversation}"]    # a point without one is not run

[drill.command.seconds]            # the longest that a verb may take
interrupt = 120                    # default 60 each

`start` and `interrupt` run at the same time, at every point, and both are waited for: `interrupt`
waits itself for its moment. `resume` brings back what is still down. At point 8 `interrupt` also
upgrades, and `resume` rolls back after its request. `alert` is asked right after the interruption
and at the end, and may wait for one to come. What a command leaves running in its process group
ends with the drill.

Commands are lists of arguments; no shell reads them. A placeholder is filled inside of its
argument only: {conversation} {operation} {text} {item} {tool} {point} {policy} {run}, where {text}
is what `start` sends and {run} differs from run to run. Other braces, as in `{.status}`, stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axnb.errors import UsageError

#: What a command can be given for.
VERBS = ("start", "resume", "response", "alert", "effects", "reverse")

#: Verbs that a person can do instead, in guided mode.
_BY_HAND = ("start", "resume", "reverse")

_SWITCHES = ("guided", "unattended")

#: The key of the cancellation under `interrupt`; points have their number.
CANCEL = "cancel"
_INTERRUPTS = (*"12345678", CANCEL)

#: The longest that a verb may take where nothing is said, in seconds.
DEFAULT_SECONDS = 60

_NAMES = ("conversation", "operation", "item", "tool", "point", "policy", "run")
_NAMES_OF_START = (*_NAMES, "text")
_NAMES_OF_CONVERSATION = ("point", "policy", "run")

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

Command = tuple[str, ...]


@dataclass(frozen=True)
class CommandSettings:
    """What an operator says of a deployment, and the commands that a drill may run on it."""

    log: str
    generation: str
    snapshots: str | None = None
    #: With placeholders; None for ids that are new in every run.
    conversation: str | None = None
    guided: bool = False
    unattended: bool = False
    #: Verb -> its arguments, with placeholders.
    verbs: Mapping[str, Command] = field(default_factory=dict, repr=False)
    #: Point, or CANCEL -> its arguments.
    interrupts: Mapping[str, Command] = field(default_factory=dict, repr=False)
    #: Verb, or `interrupt` -> the longest that it may take.
    seconds: Mapping[str, int] = field(default_factory=dict)

    def limit(self, verb: str) -> int:
        """The longest that a verb may take, in seconds."""
        return self.seconds.get(verb, DEFAULT_SECONDS)


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with its placeholders filled; what a value holds is never filled again."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def read_command(drill: Any, file: Path) -> CommandSettings | None:
    """Read `[drill]`. Raises UsageError with the key; a command's words are not repeated."""
    if not isinstance(drill, dict) or drill.keys() - {"command"}:
        raise UsageError(f"drill in {file} takes one table: command.")
    if "command" not in drill:
        return None
    table, where = drill["command"], f"in {file}"
    if not isinstance(table, dict):
        raise UsageError(f"drill.command {where} is not a table.")
    texts = {"log", "generation", "snapshots", "conversation"}
    _known(table, "drill.command", texts | {*_SWITCHES, "interrupt", "seconds", *VERBS}, where)
    for key in sorted(texts & table.keys()):
        if not isinstance(table[key], str) or not table[key].strip():
            raise UsageError(f"drill.command.{key} {where} is not a text.")
    switches = {name: table.get(name, False) for name in _SWITCHES}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise UsageError(f"drill.command.{name} {where} is neither true nor false.")
    needed = ["log", "generation", "effects", *(() if switches["guided"] else _BY_HAND)]
    for key in needed:
        if key not in table:
            raise UsageError(f"drill.command.{key} {where} is missing.")
    if "conversation" in table:
        _check_names(table["conversation"], "conversation", _NAMES_OF_CONVERSATION, where)
    return CommandSettings(
        **{key: table[key] for key in texts & table.keys()},
        **switches,
        verbs={
            verb: _command(table[verb], verb, _NAMES_OF_START if verb == "start" else _NAMES, where)
            for verb in VERBS
            if verb in table
        },
        interrupts=_interrupts(table.get("interrupt", {}), where),
        seconds=_seconds(table.get("seconds", {}), where),
    )


def _known(table: Mapping[str, Any], name: str, keys: set[str], where: str) -> None:
    if unknown := sorted(table.keys() - keys):
        raise UsageError(f"{name} {where} has a key that axnb does not know: {unknown[0]}.")


def _interrupts(table: Any, where: str) -> dict[str, Command]:
    if not isinstance(table, dict):
        raise UsageError(f"drill.command.interrupt {where} is not a table of points.")
    _known(table, "drill.command.interrupt", set(_INTERRUPTS), where)
    return {
        point: _command(value, f"interrupt.{point}", _NAMES, where)
        for point, value in table.items()
    }


def _command(value: Any, key: str, names: tuple[str, ...], where: str) -> Command:
    is_list = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    if not is_list or not value[0] or any("\0" in word for word in value):
        raise UsageError(
            f"drill.command.{key} {where} is not a list of arguments such as "
            '["kubectl", "exec", "ax-0"]; no shell reads it.'
        )
    for word in value:
        _check_names(word, key, names, where)
    return tuple(value)


def _check_names(text: str, key: str, names: tuple[str, ...], where: str) -> None:
    for found in _PLACEHOLDER.findall(text):
        if found not in names:
            known = ", ".join(f"{{{name}}}" for name in names)
            raise UsageError(
                f"drill.command.{key} {where} has a placeholder that it does not take: "
                f"{{{found[:40]}}}; it takes {known}."
            )


def _seconds(table: Any, where: str) -> dict[str, int]:
    if not isinstance(table, dict):
        raise UsageError(f"drill.command.seconds {where} is not a table of verbs.")
    _known(table, "drill.command.seconds", {*VERBS, "interrupt"}, where)
    for verb, value in table.items():
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            raise UsageError(f"drill.command.seconds.{verb} {where} is not a number of seconds.")
    return dict(table)
