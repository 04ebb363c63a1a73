"""The objects that Substrate itself wrote, what its restore made of them, and damaged copies.

Where the whole collection lies beside the checkout, all of it is used; else the part in
`tests/data`, where the objects are in one archive: their keys hold colons, which not every file
system takes.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_SHARED = Path(__file__).parents[3] / "shared" / "substrate-objects"
_DATA = Path(__file__).parents[1] / "data" / "substrate-objects"

#: The whole collection if it is there.
ROOT = _SHARED if _SHARED.is_dir() else _DATA
IS_WHOLE = ROOT is _SHARED


@dataclass(frozen=True)
class Case:
    """A bucket with one or two snapshots."""

    name: str
    truth: dict[str, Any]

    @property
    def objects(self) -> dict[str, bytes]:
        """Key -> bytes."""
        return {about["key"]: _object(self.name, about["key"]) for about in self.truth["objects"]}

    @property
    def damage(self) -> str:
        """What was done to it; empty if nothing was."""
        return str(self.truth.get("damage") or "")

    @property
    def restores(self) -> dict[str, dict[str, Any]]:
        """Prefix of a snapshot -> what Substrate's own restore gave."""
        return {
            snapshot["uri"].removeprefix("gs://snapshots/"): snapshot["restore"]
            for snapshot in self.truth["snapshots"]
        }

    def encoded(self, file: str) -> bytes:
        """The object of one file, of the first snapshot that has it."""
        return next(v for k, v in self.objects.items() if k.endswith(f"/{file}.zstd"))


def cases() -> list[Case]:
    """Every case, damaged ones first."""
    return [Case(name, about) for name, about in truth()["cases"].items()]


def good_cases() -> list[Case]:
    """Cases that nothing was done to; uploads that did not end are among them."""
    return [case for case in cases() if not case.damage]


def damaged_cases() -> list[Case]:
    """Copies of a good case with one thing changed."""
    return [case for case in cases() if case.damage]


def case(name: str) -> Case:
    """One case."""
    return Case(name, truth()["cases"][name])


def sweeps() -> list[dict[str, Any]]:
    """What Substrate's readers made of every truncation and every changed byte of an object."""
    found: list[dict[str, Any]] = truth()["reader_sweeps"]
    return found


@cache
def truth() -> dict[str, Any]:
    """All that is known of the cases."""
    found: dict[str, Any] = json.loads((ROOT / "truth.json").read_text(encoding="utf-8"))
    return found


@cache
def _object(name: str, key: str) -> bytes:
    if IS_WHOLE:
        return (ROOT / name / key).read_bytes()
    with zipfile.ZipFile(ROOT / "objects.zip") as archive:
        return archive.read(f"{name}/{key}")
