"""Build exports of Substrate's control plane as its command lines print them, in every shape.

fleet = Fleet(
    templates=[Template("agent", uid="t-1", containers=[Container("app", IMAGE)])],
    actors=[Actor("conv-1", uid="a-1", snapshots=[Snapshot("s-1", "gs://b/snapshots/ax/s-1")])],
)
path.write_text(export(fleet, "actors", "august"))

One description gives all shapes; what a generation had no field for is left out of its text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from axnb.testing import record_shapes
from axnb.testing.fleet import Fleet

#: Shapes of actors, oldest first. `july` is that of 07-08, `late-july` that of 07-30, which names
#: snapshots instead of giving their URI.
SHAPES = ("may", "june", "july", "late-july", "august", "september", "october")

#: What `export` can be asked for; some exist in some shapes only.
KINDS = (
    *("actors", "workers", "snapshots", "tags", "atespaces", "templates"),
    *("sandbox-configs", "worker-pools"),
)

_MEMBERS = {"templates": "actorTemplates"}


def export(fleet: Fleet, kind: str, shape: str) -> str:
    """What the command line of that time prints for all records of one of KINDS.

    `kubectl ate get … -o json` for Substrate's own, `kubectl get … -A -o json` for Kubernetes'.
    Raises ValueError for a kind that did not exist then.
    """
    found = [_clean(record) for record in _records(fleet, kind, shape)]
    if is_kubernetes(kind, shape):
        listed = {"apiVersion": "v1", "items": found, "kind": "List", "metadata": {}}
        return json.dumps(listed, indent=4, sort_keys=True, ensure_ascii=False) + "\n"
    # protojson writes an empty list as nothing.
    wrapped = {_MEMBERS.get(kind, kind): found} if found else {}
    return json.dumps(wrapped, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def write_exports(
    folder: Path,
    fleet: Fleet,
    shape: str,
    kinds: Iterable[str],
    now: datetime,
    prefix: str = "",
) -> list[Path]:
    """Write an export a kind, and return the paths; their time is a minute after `now`."""
    paths = []
    for kind in kinds:
        path = folder / f"{prefix}{kind}.json"
        path.write_text(export(fleet, kind, shape), encoding="utf-8")
        os.utime(path, times=(now.timestamp() + 60,) * 2)
        paths.append(path)
    return paths


def lines(fleet: Fleet, kind: str, shape: str, *, snake: bool = False, plain: bool = False) -> str:
    """The same records one a line, as a dump of the store has them.

    `snake` writes names as the proto files do, `plain` 64 bit numbers as numbers.
    """
    found = (_clean(record) for record in _records(fleet, kind, shape))
    return "".join(
        json.dumps(respelled(record, snake=snake, plain=plain), ensure_ascii=False) + "\n"
        for record in found
    )


def respelled(value: Any, *, snake: bool = False, plain: bool = False) -> Any:
    """A record in the other spellings that protobuf's JSON allows."""
    if isinstance(value, list):
        return [respelled(item, snake=snake, plain=plain) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for name, member in value.items():
        number = plain and name in ("version", "sourceActorVersion") and isinstance(member, str)
        spelled = "".join(f"_{c.lower()}" if c.isupper() else c for c in name) if snake else name
        out[spelled] = int(member) if number else respelled(member, snake=snake, plain=plain)
    return out


def is_kubernetes(kind: str, shape: str) -> bool:
    """Was this an object of Kubernetes at that time?"""
    early = kind == "templates" and shape not in ("august", "september", "october")
    return early or kind in ("sandbox-configs", "worker-pools")


def _records(fleet: Fleet, kind: str, shape: str) -> list[dict[str, Any]]:
    if kind not in KINDS or shape not in SHAPES:
        raise ValueError(f"No export of {kind} in {shape}.")
    builders: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "actors": lambda: [record_shapes.actor(a, shape) for a in fleet.actors],
        "workers": lambda: [record_shapes.worker(w, shape) for w in fleet.workers],
        "snapshots": lambda: [
            record_shapes.snapshot(a, s, shape)
            for a in fleet.actors
            for s in a.snapshots
            if not s.borrowed
        ],
        "tags": lambda: [record_shapes.tag(t, shape) for t in fleet.tags],
        "atespaces": lambda: [record_shapes.atespace(name, shape) for name in fleet.atespaces],
        "templates": lambda: [
            record_shapes.kubernetes_template(t, shape)
            if is_kubernetes(kind, shape)
            else record_shapes.template(t, shape)
            for t in fleet.templates
        ],
        "sandbox-configs": lambda: [record_shapes.sandbox_config(c) for c in fleet.sandbox_configs],
        "worker-pools": lambda: [record_shapes.pool(p, shape) for p in fleet.worker_pools],
    }
    return builders[kind]()


def _clean(value: Any) -> Any:
    """Without what is unset: "", None and empty lists are not written."""
    if isinstance(value, dict):
        members = {name: _clean(member) for name, member in value.items()}
        return {name: m for name, m in members.items() if m not in ("", None, [])}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
