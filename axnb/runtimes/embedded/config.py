"""The `ax.yaml` of a server, in the layout of its generation.

    version: v1alpha
    server: {address: "127.0.0.1:8494"}
    eventlog: {sqlite: {filename: log.sqlite}}          # or postgres: {dsn: "${AX_EVENTLOG_DSN}"}
    harnesses: {antigravity: {endpoint: "HOST:PORT"}}   # G5, G5b
    antigravity: {default: true, endpoint: "HOST:PORT"} # since G6
    axnb:                                               # ours; AX ignores keys it does not know
      suspend: true
      harnesses: [{id: drill, endpoint: "HOST:PORT", default: true, refuses: false}]

What AX reaches as a Substrate actor (`harnesses.substrate`, `registry.substrate`) is dialled here
at the endpoint that `axnb.harnesses` gives for its id. A key of another layout is ignored, as AX
does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axnb.ax.versions import BUILT_IN_HARNESSES, Generation
from axnb.errors import SourceError, UsageError

#: AX's own defaults.
_ADDRESS, _FILENAME = ":8494", "eventlog/log.sqlite"

#: Ids that AX takes for a harness.
_ID = re.compile(r"[A-Za-z0-9_-]+")

_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|([A-Za-z_0-9]+))")


@dataclass(frozen=True)
class HarnessEntry:
    """A registered harness."""

    id: str
    endpoint: str
    built_in: bool
    #: Does it refuse an empty start? A built-in one does so by itself.
    refuses: bool


@dataclass(frozen=True)
class ServerConfig:
    """What a server runs with."""

    #: HOST:PORT on the loopback address.
    address: str
    sqlite: Path
    #: PostgreSQL wins where both are given; None without.
    postgres: str | None
    #: The default harness first.
    harnesses: tuple[HarnessEntry, ...]
    #: Is the actor asked for a snapshot after each execution?
    suspend: bool


def read(
    path: Path, generation: Generation, environment: Mapping[str, str] = os.environ
) -> ServerConfig:
    """Read an ax.yaml as a server of `generation` does.

    Raises SourceError if the file cannot be read or is no ax.yaml, UsageError for an address that
    others could reach and for a harness that cannot be dialled.
    """
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise SourceError(f"{path} cannot be read: {err.strerror}.") from err
    # One that is too deep is none that anybody has written.
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        raise SourceError(f"{path} is not YAML.") from err
    if not isinstance(document, dict) or document.get("version") != "v1alpha":
        raise SourceError(f"{path} is no ax.yaml of version v1alpha.")
    eventlog = _section(document, "eventlog")
    dsn = str(_section(eventlog, "postgres").get("dsn") or "")
    return ServerConfig(
        address=_address(str(_section(document, "server").get("address") or _ADDRESS)),
        sqlite=Path(str(_section(eventlog, "sqlite").get("filename") or _FILENAME)),
        postgres=_expand(dsn, environment) or None,
        harnesses=_harnesses(document, generation),
        suspend=_section(document, "axnb").get("suspend") is True,
    )


def _section(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _expand(text: str, environment: Mapping[str, str]) -> str:
    """Expand $VAR and ${VAR} as Go's os.ExpandEnv does: an unset one is empty."""
    return _VARIABLE.sub(lambda found: environment.get(found[1] or found[2] or "", ""), text)


def _address(text: str) -> str:
    """AX listens on all interfaces unless told otherwise; a rehearsal never does."""
    host, _, port = text.rpartition(":")
    if host not in ("", "127.0.0.1", "localhost") or not port.isdigit():
        raise UsageError(f"{text[:80]!r} is no port of the loopback address.")
    return f"127.0.0.1:{port}"


def _harnesses(document: dict[str, Any], generation: Generation) -> tuple[HarnessEntry, ...]:
    own = {str(e["id"]): e for e in _entries(_section(document, "axnb").get("harnesses"))}
    told: dict[str, dict[str, Any]] = {}
    for name, entry in (*_registered(document, generation), *own.items()):
        told[name] = {**told.get(name, {}), **entry}
    if not told:
        raise UsageError(f"the ax.yaml registers no harness that {generation.name} knows.")
    found = []
    for name, entry in sorted(told.items(), key=lambda item: item[1].get("default") is not True):
        endpoint = entry.get("endpoint")
        if not isinstance(endpoint, str) or not _ID.fullmatch(name):
            raise UsageError(f"harness {name[:80]!r} has no endpoint that can be dialled.")
        built_in = name in BUILT_IN_HARNESSES and name not in own
        refuses = built_in or entry.get("refuses") is True
        found.append(HarnessEntry(name, endpoint, built_in, refuses))
    return tuple(found)


def _registered(
    document: dict[str, Any], generation: Generation
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Harnesses by AX's own keys, with what is said of them."""
    registry = "harnesses" if generation.name in ("G5", "G5b") else "registry"
    sections = [_section(document, registry)]
    if registry == "registry":
        sections.insert(0, document)
    for section in sections:
        for name in BUILT_IN_HARNESSES:
            if name in section:
                yield name, _section(section, name)
    for entry in _entries(sections[-1].get("substrate")):
        yield str(entry["id"]), entry


def _entries(value: Any) -> list[dict[str, Any]]:
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and entry.get("id")]
