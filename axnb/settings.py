"""`axnb.toml` and the environment: the only place that reads either.

memory_limit = "800MB"            # of DuckDB; it spills to disk beyond
scratch = "/var/tmp"              # where private copies and spills go
statement_timeout = 600           # seconds, for one PostgreSQL query

[tools.charge_card]
operation_id = "$.idempotency_key"   # where a call's arguments hold its operation id
consequential = true                 # does a call change something outside? default true
retry = "idempotent"                 # how may a call be repeated? read, idempotent or barrier

[target]                             # where snapshots are to be restored: axnb/settings_target.py
layout = "B3b"

[drill.command]                      # an operator's own deployment: axnb/settings_command.py
generation = "G8"

[effects.payments]                   # the ledger of a tool system: axnb/settings_ledgers.py
tool = "charge_card"

[secrets]
include_excluded = false             # look for tokens in the fields of `axnb secrets`, too?

[secrets.patterns]
my-token = "mytok_[0-9a-f]{32}"      # what else is a secret, as a regular expression of Python

AXNB_SCRATCH in the environment goes before `scratch`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from axnb.errors import UsageError
from axnb.settings_command import CommandSettings, read_command
from axnb.settings_ledgers import LedgerSettings, read_ledgers
from axnb.settings_target import TargetSettings, read_target
from axnb.text import is_path

FILE_NAME = "axnb.toml"

#: The variable that names the event log where no source is given.
DSN_VARIABLE = "AX_EVENTLOG_DSN"

#: The variable that names the bucket of the snapshots where none is given; AX reads it too.
SNAPSHOTS_VARIABLE = "AX_SNAPSHOTS_BUCKET"

#: The variable that goes before the setting `scratch`.
SCRATCH_VARIABLE = "AXNB_SCRATCH"

#: The variable by which a run tells its kernel where to put a result until the run has ended well.
STAGE_VARIABLE = "AXNB_STAGE"

_JSON_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]+\])+")
_PATTERN_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT])(i?)B", re.IGNORECASE)


@dataclass(frozen=True)
class Tool:
    """What an operator says of a tool."""

    name: str
    operation_id: str | None = None
    consequential: bool = True
    #: `read`: as often as one likes; `idempotent`: under the same operation id; `barrier`: never
    #: without a person. None where nothing is said.
    retry: Literal["read", "idempotent", "barrier"] | None = None


@dataclass(frozen=True)
class Secrets:
    """What an operator says of secrets: kinds of their own, by name, and whether a token is looked
    for in fields that hold random bytes, too."""

    patterns: Mapping[str, str] = field(default_factory=dict)
    include_excluded: bool = False


@dataclass(frozen=True)
class Settings:
    """The settings of one run."""

    memory_limit: str = "800MB"
    scratch: Path | None = None
    statement_timeout: int = 600
    tools: Mapping[str, Tool] = field(default_factory=dict)
    #: Where snapshots are to be restored; None where nobody described it.
    target: TargetSettings | None = None
    #: The deployment that a drill may interrupt by commands; None where nobody described it.
    command: CommandSettings | None = None
    secrets: Secrets = field(default_factory=Secrets)
    #: How ledgers are to be read, by their names.
    ledgers: Mapping[str, LedgerSettings] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @property
    def memory_bytes(self) -> int:
        """`memory_limit` as a number."""
        found = _SIZE.fullmatch(self.memory_limit)
        assert found is not None, "checked where the settings are read"
        number, unit, binary = found.groups()
        return int(float(number) * (1024 if binary else 1000) ** (1 + "KMGT".index(unit.upper())))

    @classmethod
    def read(cls, path: Path | None = None) -> Settings:
        """Read `path`, or `axnb.toml` of the working directory if there is one.

        Raises UsageError with the file and the key for what cannot be used.
        """
        settings = cls._of_file(path)
        scratch = settings.environment.get(SCRATCH_VARIABLE)
        if not scratch:
            return settings
        if not os.path.isdir(scratch):
            raise UsageError(f"{SCRATCH_VARIABLE} does not name a folder that exists.")
        return replace(settings, scratch=Path(scratch))

    @classmethod
    def _of_file(cls, path: Path | None) -> Settings:
        file = path or Path(FILE_NAME)
        if not is_path(str(file)):
            raise UsageError(f"the settings {str(file)[:80]!r} are no file: none has such a name.")
        if path is None and not file.exists():
            return cls()
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as err:
            raise UsageError(f"{file} cannot be read: {err.strerror}.") from err
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
            raise UsageError(f"{file} is not TOML: {err}.") from err
        return _settings(document, file)


def _settings(document: dict[str, Any], file: Path) -> Settings:
    known = {"drill", "effects", "memory_limit", "scratch", "secrets", "statement_timeout"}
    known |= {"target", "tools"}
    if unknown := sorted(document.keys() - known):
        raise UsageError(f"{file} has a key that axnb does not know: {unknown[0]}.")
    defaults = Settings()
    limit = document.get("memory_limit", defaults.memory_limit)
    if not isinstance(limit, str) or not _SIZE.fullmatch(limit) or not re.search("[1-9]", limit):
        raise UsageError(f"memory_limit in {file} is not a size such as '800MB'.")
    timeout = document.get("statement_timeout", defaults.statement_timeout)
    if not isinstance(timeout, int) or isinstance(timeout, bool) or timeout <= 0:
        raise UsageError(f"statement_timeout in {file} is not a number of seconds.")
    scratch = document.get("scratch")
    if scratch is not None and not (isinstance(scratch, str) and os.path.isdir(scratch)):
        raise UsageError(f"scratch in {file} is not a folder that exists.")
    tools = document.get("tools", {})
    if not isinstance(tools, dict):
        raise UsageError(f"tools in {file} is not a table.")
    return Settings(
        memory_limit=limit,
        scratch=Path(scratch) if scratch else None,
        statement_timeout=timeout,
        tools={name: _tool(name, value, file) for name, value in tools.items()},
        target=read_target(document["target"], file) if "target" in document else None,
        command=read_command(document["drill"], file) if "drill" in document else None,
        secrets=_secrets(document.get("secrets", {}), file),
        ledgers=read_ledgers(document.get("effects", {}), file),
    )


def _tool(name: str, value: Any, file: Path) -> Tool:
    if not isinstance(value, dict) or value.keys() - {"operation_id", "consequential", "retry"}:
        raise UsageError(f"tools.{name} in {file} takes operation_id, consequential and retry.")
    path = value.get("operation_id")
    if path is not None and not (isinstance(path, str) and _JSON_PATH.fullmatch(path)):
        raise UsageError(f"tools.{name}.operation_id in {file} is no path such as '$.key'.")
    consequential = value.get("consequential", True)
    if not isinstance(consequential, bool):
        raise UsageError(f"tools.{name}.consequential in {file} is neither true nor false.")
    retry = value.get("retry")
    if retry not in (None, "read", "idempotent", "barrier"):
        raise UsageError(f"tools.{name}.retry in {file} is none of read, idempotent, barrier.")
    return Tool(name, path, consequential, retry)


def _secrets(value: Any, file: Path) -> Secrets:
    if not isinstance(value, dict) or value.keys() - {"patterns", "include_excluded"}:
        raise UsageError(f"secrets in {file} takes patterns and include_excluded.")
    included = value.get("include_excluded", False)
    if not isinstance(included, bool):
        raise UsageError(f"secrets.include_excluded in {file} is neither true nor false.")
    patterns = value.get("patterns", {})
    if not isinstance(patterns, dict):
        raise UsageError(f"secrets.patterns in {file} is not a table.")
    for name, text in patterns.items():
        _check_pattern(name, text, file)
    return Secrets(patterns, included)


def _check_pattern(name: str, text: Any, file: Path) -> None:
    """The expression is not repeated in a message: it may be a secret itself."""
    where = f"secrets.patterns.{name} in {file}"
    if not _PATTERN_NAME.fullmatch(name) or len(name) > 60:
        raise UsageError(
            f"secrets.patterns in {file} has a name that is not of small letters, digits and "
            "single dashes, 60 at most."
        )
    if not isinstance(text, str):
        raise UsageError(f"{where} is not a text.")
    try:
        pattern = re.compile(text.encode(), re.DOTALL)
    except (re.error, OverflowError, RecursionError, UnicodeEncodeError) as err:
        raise UsageError(f"{where} is no regular expression.") from err
    if pattern.match(b"") or pattern.search(b"\0"):
        raise UsageError(f"{where} also matches where nothing is.")
