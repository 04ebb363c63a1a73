"""`[target]` of `axnb.toml`: the place where snapshots are to be restored.

[target]
layout = "B3b"                     # what its build of Substrate writes: B0 … B5
built = 2026-08-21                 # day of that build's commit, where it is known; or alone
sandbox_classes = ["gvisor"]       # that its worker pools run
architectures = ["amd64"]          # of its nodes
cpu_features = "same"              # the nodes have every CPU feature of those that wrote the
                                   # snapshots; or a list, with the next line
snapshot_cpu_features = ["avx2"]   # what the nodes had that wrote them
pause_image = "registry…/pause@sha256:…"   # or a list; those that can be pulled

[target.assets]                    # runtime files that can still be fetched, with their sha256
gvisor = "9e7a…"                   # or a list, or tables as a SandboxConfig has them

[target.templates."ax/agent"]      # ATESPACE-OR-NAMESPACE/NAME, or just its uid as a text
uid = "9d2e…"
assets = ["9e7a…"]                 # the runtime that the template froze (September and later)

What is left out is not known, and then a snapshot that depends on it is `unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from axnb.errors import UsageError

LAYOUTS = ("B0", "B1a", "B1b", "B2", "B3a", "B3b", "B3c", "B4", "B5")

#: How people call architectures, and how Go does.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_KEYS = {
    "layout",
    "built",
    "sandbox_class",
    "sandbox_classes",
    "architecture",
    "architectures",
    "cpu_features",
    "snapshot_cpu_features",
    "pause_image",
    "pause_images",
    "assets",
    "templates",
}


@dataclass(frozen=True)
class TemplateSettings:
    """A template of the target."""

    uid: str
    #: sha256 of the runtime files that it froze; None where nobody told.
    assets: frozenset[str] | None = None


@dataclass(frozen=True)
class TargetSettings:
    """What an operator tells of the target; None is what nobody told."""

    layout: str | None = None
    built: date | None = None
    sandbox_classes: frozenset[str] | None = None
    architectures: frozenset[str] | None = None
    #: Have the nodes every CPU feature of those that wrote the snapshots?
    same_cpu: bool | None = None
    pause_images: frozenset[str] | None = None
    assets: frozenset[str] | None = None
    templates: Mapping[str, TemplateSettings] | None = None


def read_target(table: Any, file: Path) -> TargetSettings:
    """The table `target` of a settings file. Raises UsageError with the file and the key."""
    reader = _Reader(table, file)
    return TargetSettings(
        layout=reader.layout(),
        built=reader.built(),
        sandbox_classes=reader.texts("sandbox_classes", "sandbox_class"),
        architectures=reader.architectures(),
        same_cpu=reader.same_cpu(),
        pause_images=reader.texts("pause_images", "pause_image"),
        assets=reader.assets(),
        templates=reader.templates(),
    )


class _Reader:
    def __init__(self, table: Any, file: Path) -> None:
        if not isinstance(table, dict):
            raise UsageError(f"target in {file} is not a table.")
        if unknown := sorted(table.keys() - _KEYS):
            raise UsageError(f"target in {file} has a key that axnb does not know: {unknown[0]}.")
        if not table.keys() & {"layout", "built"}:
            raise UsageError(f'target in {file} names no layout, such as layout = "B3b".')
        self._table = table
        self._file = file

    def _refused(self, key: str, expected: str) -> UsageError:
        return UsageError(f"target.{key} in {self._file} is not {expected}.")

    def layout(self) -> str | None:
        value = self._table.get("layout")
        if value is not None and value not in LAYOUTS:
            raise self._refused("layout", f"one of {', '.join(LAYOUTS)}")
        return value

    def built(self) -> date | None:
        value = self._table.get("built")
        if isinstance(value, str):
            try:
                value = date.fromisoformat(value)
            except ValueError:
                raise self._refused("built", "a day such as 2026-08-21") from None
        if value is not None and type(value) is not date:
            raise self._refused("built", "a day such as 2026-08-21")
        return value

    def texts(self, *keys: str) -> frozenset[str] | None:
        """A list of texts, or one text, under the first of some keys that is there."""
        key = next((key for key in keys if key in self._table), None)
        return None if key is None else self._texts(key, self._table[key])

    def _texts(self, key: str, value: Any) -> frozenset[str]:
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            raise self._refused(key, "a text or a list of texts")
        return frozenset(found)

    def architectures(self) -> frozenset[str] | None:
        found = self.texts("architectures", "architecture")
        return None if found is None else frozenset(_ARCHITECTURES.get(a, a) for a in found)

    def same_cpu(self) -> bool | None:
        if self._table.get("cpu_features") == "same":
            return True
        nodes, written = self.texts("cpu_features"), self.texts("snapshot_cpu_features")
        return None if nodes is None or written is None else written <= nodes

    def assets(self) -> frozenset[str] | None:
        return self._assets("assets", self._table["assets"]) if "assets" in self._table else None

    def _assets(self, key: str, value: Any) -> frozenset[str]:
        digests = list(_digests(value))
        found = [_SHA256.fullmatch(digest) for digest in digests]
        if not isinstance(value, (dict, list)) or not all(found):
            raise self._refused(key, "sha256 digests of 64 hexadecimal digits")
        return frozenset(match[1] for match in found if match)

    def templates(self) -> Mapping[str, TemplateSettings] | None:
        value = self._table.get("templates")
        if value is None:
            return None
        if isinstance(value, list):
            value = {self._name(about): about for about in value}
        if not isinstance(value, dict):
            raise self._refused("templates", "a table by ATESPACE/NAME")
        return {name: self._template(name, about) for name, about in value.items()}

    def _name(self, about: Any) -> str:
        """The name of a template in a list of tables ([[target.templates]])."""
        name = about.pop("name", None) if isinstance(about, dict) else None
        if not isinstance(name, str):
            raise self._refused("templates", "a table by ATESPACE/NAME")
        return name

    def _template(self, name: str, about: Any) -> TemplateSettings:
        key = f"templates.{name[:80]}"
        if isinstance(about, str):
            return TemplateSettings(about)
        if not isinstance(about, dict) or about.keys() - {"uid", "assets"}:
            raise self._refused(key, "a uid, or a table of uid and assets")
        if not isinstance(about.get("uid"), str):
            raise self._refused(f"{key}.uid", "a text")
        frozen = self._assets(f"{key}.assets", about["assets"]) if "assets" in about else None
        return TemplateSettings(about["uid"], frozen)


def _digests(value: Any) -> Iterator[str]:
    """Every digest in a value: a text, a list, a table with `sha256`, or tables of such."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _digests(item)
    elif isinstance(value, dict):
        for item in [value["sha256"]] if "sha256" in value else value.values():
            yield from _digests(item)
    else:
        yield ""
