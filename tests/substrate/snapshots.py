"""The genuine snapshots as their files, and every object that any of them has."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from axnb.substrate.bodies import Body, read_body
from axnb.substrate.errors import ObjectError
from tests.substrate import objects


@dataclass(frozen=True)
class Snapshot:
    """One snapshot of a case: name of a file -> its object."""

    case: objects.Case
    prefix: str
    files: dict[str, bytes]

    def __str__(self) -> str:
        return f"{self.case.name}/{self.prefix[-4:]}"


def snapshots(cases: list[objects.Case]) -> list[Snapshot]:
    """The snapshots of some cases that have a file at all."""
    found = []
    for case in cases:
        by_prefix: dict[str, dict[str, bytes]] = defaultdict(dict)
        for key, data in case.objects.items():
            prefix, _, name = key.rpartition("/")
            if name.endswith(".zstd"):
                by_prefix[prefix][name.removesuffix(".zstd")] = data
        found += [Snapshot(case, prefix, files) for prefix, files in by_prefix.items()]
    return found


@cache
def body(file: str, data: bytes) -> Body:
    """What is read of an object in the place of `file`."""
    return read_body(file, data)


def bodies(snapshot: Snapshot) -> dict[str, Body]:
    """What is read of a snapshot's sound objects."""
    found = {}
    for file, data in snapshot.files.items():
        try:
            found[file] = body(file, data)
        except ObjectError:
            continue
    return found
