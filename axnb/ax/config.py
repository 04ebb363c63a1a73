"""Read an `ax.yaml`: where the event log is, and which harnesses are registered.

The layout changed twice (facts of AX's history): `planner` and `registry.remote_agents` in G3,
`harnesses` up to v0.2.1, top-level `antigravity` and `registry` since v0.2.2. A key of another
version is ignored by AX without an error; here every version's keys are understood.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axnb.ax.behaviour import Harness
from axnb.ax.versions import BUILT_IN_HARNESSES
from axnb.errors import SourceError


@dataclass(frozen=True)
class AxConfig:
    """What an `ax.yaml` says that axnb needs."""

    sqlite_path: Path | None
    postgres_dsn: str | None
    #: Registered harnesses, the default first; empty if the file names none.
    harnesses: tuple[Harness, ...]


def read_config(path: Path, environment: Mapping[str, str] = os.environ) -> AxConfig:
    """Read an ax.yaml; `${VAR}` in the DSN is expanded as AX does (an unset one is empty).

    Raises SourceError if the file cannot be read or is no YAML mapping.
    """
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise SourceError(f"{path} cannot be read: {err.strerror}.") from err
    except (yaml.YAMLError, UnicodeDecodeError) as err:
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
    found: list[tuple[bool, str]] = []
    registry = _mapping(document, "registry")
    for section in (document, _mapping(document, "harnesses"), registry):
        for name in BUILT_IN_HARNESSES:
            if name in section:
                found.append((bool(_mapping(section, name).get("default")), name))
    for entries in (
        _mapping(document, "harnesses").get("substrate"),
        registry.get("substrate"),
        registry.get("remote_agents"),
        registry.get("substrate_agents"),
    ):
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("id"):
                found.append((bool(entry.get("default")), str(entry["id"])))
    ordered = sorted(dict.fromkeys(found), key=lambda item: not item[0])
    return tuple(Harness.named(name) for name in dict.fromkeys(name for _, name in ordered))
