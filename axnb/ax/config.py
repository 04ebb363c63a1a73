"""Read an `ax.yaml`: where the event log is, which harnesses are registered, what they run with.

The layout changed twice (facts of AX's history): `planner` and `registry.remote_agents` in G3,
`harnesses` up to v0.2.1, top-level `antigravity` and `registry` since v0.2.2. A key of another
version is ignored by AX without an error; here every version's keys are understood.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axnb.ax.behaviour import Harness
from axnb.ax.json_text import Members, Number
from axnb.ax.versions import BUILT_IN_HARNESSES
from axnb.errors import SourceError

#: The agent of G3 that AX itself runs: its executions name it so.
PLANNER = "__planner"

#: What an entry says of where a harness is and how it is reached, and not of what it runs with.
_REGISTRATION = {
    *("id", "default", "name", "description", "endpoint", "address", "protocol", "auth", "headers"),
    *("metadata", "namespace", "template", "port", "state_dir"),
}

#: Values of a configuration that are looked at, and how deep: a file can be made to have more.
_MOST_VALUES, _DEEPEST = 100_000, 100


@dataclass(frozen=True)
class HarnessConfig:
    """What an `ax.yaml` says of what a harness runs with."""

    harness_id: str
    #: Does it take the requests that name none?
    is_default: bool
    #: As `json_text.parse` makes a tree of JSON; empty if nothing is said.
    tree: Members


@dataclass(frozen=True)
class AxConfig:
    """What an `ax.yaml` says that axnb needs."""

    sqlite_path: Path | None
    postgres_dsn: str | None
    #: Registered harnesses, the default first; empty if the file names none.
    harnesses: tuple[Harness, ...]
    #: The same harnesses in the same order, with G3's planner first where there is one.
    configs: tuple[HarnessConfig, ...] = ()


def read_config(path: Path, environment: Mapping[str, str] = os.environ) -> AxConfig:
    """Read an ax.yaml; `${VAR}` in the DSN is expanded as AX does (an unset one is empty).

    Raises SourceError if the file cannot be read or is no YAML mapping.
    """
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise SourceError(f"{path} cannot be read: {err.strerror}.") from err
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        # A date that there is none of, a number of 5,000 digits, a list in a list in a list …
        raise SourceError(f"{path} is not YAML.") from err
    if not isinstance(document, dict):
        raise SourceError(f"{path} is not an ax.yaml: it holds no mapping.")
    eventlog = _mapping(document, "eventlog")
    dsn = _mapping(eventlog, "postgres").get("dsn")
    filename = _mapping(eventlog, "sqlite").get("filename")
    return AxConfig(
        sqlite_path=Path(str(filename)) if filename else Path("eventlog/log.sqlite"),
        postgres_dsn=_expand(str(dsn), environment) or None if dsn else None,
        harnesses=_harnesses(document),
        configs=_configs(document),
    )


def _mapping(document: Any, key: str) -> dict[str, Any]:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}


def _expand(text: str, environment: Mapping[str, str]) -> str:
    """Expand $VAR and ${VAR} as Go's os.ExpandEnv does."""
    return re.sub(
        r"\$\{([^}]*)\}|\$([A-Za-z0-9_]+)",
        lambda m: environment.get(m.group(1) or m.group(2) or "", ""),
        text,
    )


def _harnesses(document: dict[str, Any]) -> tuple[Harness, ...]:
    """Registered harnesses in the file's order, those marked as default first."""
    return tuple(
        Harness.named(name) for name in dict.fromkeys(name for name, _ in _entries(document))
    )


def _entries(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Registered harnesses with what is said of them, those marked as default first."""
    found: list[tuple[str, dict[str, Any]]] = []
    registry = _mapping(document, "registry")
    for section in (document, _mapping(document, "harnesses"), registry):
        for name in BUILT_IN_HARNESSES:
            if name in section:
                found.append((name, _mapping(section, name)))
    for entries in (
        _mapping(document, "harnesses").get("substrate"),
        registry.get("substrate"),
        registry.get("remote_agents"),
        registry.get("substrate_agents"),
    ):
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("id"):
                found.append((str(entry["id"]), entry))
    return sorted(found, key=lambda item: not item[1].get("default"))


def _configs(document: dict[str, Any]) -> tuple[HarnessConfig, ...]:
    """What each harness runs with. AX gives the skills of the file to its built-in harnesses."""
    found: dict[str, dict[str, Any]] = {}
    if planner := _mapping(document, "planner"):
        # `type` names the section that holds the rest.
        found[PLANNER] = _mapping(planner, str(planner.get("type") or "gemini"))
    for name, entry in _entries(document):
        is_given = name in BUILT_IN_HARNESSES and "skills" in document
        skills = {"skills": document["skills"]} if is_given else {}
        told = {key: value for key, value in entry.items() if key not in _REGISTRATION}
        found[name] = {**skills, **found.get(name, {}), **told}
    return tuple(
        HarnessConfig(name, number == 0, _tree(told))
        for number, (name, told) in enumerate(found.items())
    )


def _tree(told: dict[str, Any]) -> Members:
    """The members that JSON has words for; the rest of them, and what is too much, is left out."""
    members = Members()
    for name, value in told.items():
        try:
            members.append((str(name), _json(value, [_MOST_VALUES], _DEEPEST)))
        except ValueError:
            continue
    return members


def _json(value: Any, budget: list[int], deepest: int) -> Any:
    """A value of YAML as a tree of JSON. Raises ValueError for one that JSON cannot say.

    Anchors make a small file say much, or hold itself: both end here.
    """
    budget[0] -= 1
    if budget[0] < 0 or deepest < 0:
        raise ValueError
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and math.isfinite(value):
        return Number(value)
    if isinstance(value, list):
        return [_json(inner, budget, deepest - 1) for inner in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return Members((name, _json(inner, budget, deepest - 1)) for name, inner in value.items())
    raise ValueError
