"""Descriptions of what a control plane knows, from which `axnb.testing.records` makes exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Snapshot:
    """A durable snapshot; content is `full`, `rootfs` (October only) or `data`."""

    name: str
    uri: str = ""
    content: str = "full"
    generation: int = 1
    template_uid: str = ""
    uid: str = ""
    #: The actor's version when it was begun.
    source_version: int = 1
    #: When its own record was made (late July, August).
    created: str = ""
    #: Is it a tag's, from which a clone starts?
    borrowed: bool = False


@dataclass(frozen=True)
class Paused:
    """A pause snapshot on a node."""

    name: str
    node: str = "node-1"
    content: str = "full"
    generation: int = 1


@dataclass(frozen=True)
class Worker:
    """A worker and the pod that it is."""

    pod: str
    pool: str = "pool"
    namespace: str = "ax"
    uid: str = ""
    name: str = ""
    node: str = "node-1"
    sandbox_class: str = "gvisor"
    state: str = "ACTIVE"
    #: The actor on it, as (atespace, name, uid).
    actor: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Actor:
    """An actor; `snapshots` are complete, the last one is the latest; `begun` is being written."""

    name: str
    atespace: str = "ax"
    uid: str = ""
    version: int = 1
    state: str = "SUSPENDED"
    template: str = "agent"
    #: Of the template; that of the actor where it is "".
    template_space: str = ""
    template_uid: str = ""
    snapshots: Sequence[Snapshot] = ()
    begun: Snapshot | None = None
    paused: Paused | None = None
    worker: Worker | None = None
    created: str = "2026-08-10T09:00:00Z"
    updated: str = "2026-08-10T09:05:00Z"
    crash: str = ""
    #: ATESPACE, NAME of the tag that it was cloned from.
    source_tag: tuple[str, str] | None = None


@dataclass(frozen=True)
class Container:
    """A container; `env` are its variables in clear, as a template holds them."""

    name: str
    image: str
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Template:
    """A template; volumes are durable directories."""

    name: str
    atespace: str = "ax"
    uid: str = ""
    version: int = 1
    containers: Sequence[Container] = ()
    volumes: Sequence[str] = ()
    sandbox_class: str = "gvisor"
    sandbox_config: str = "gvisor"
    pause_image: str = ""
    location: str = "gs://snapshots/agent/"
    on_pause: str = "full"
    on_commit: str = "full"
    from_data: str = "cold-boot"
    phase: str = "ready"
    golden: Snapshot | None = None
    #: Name of the actor that it was taken from (until July).
    golden_actor: str = ""
    #: (arch, name, url, sha256) of the runtime.
    assets: Sequence[tuple[str, str, str, str]] = ()
    created: str = "2026-08-10T08:00:00Z"


@dataclass(frozen=True)
class Tag:
    """A tag of a snapshot; scope is `atespace` or `published`."""

    name: str
    snapshot: Snapshot
    atespace: str = "ax"
    uid: str = ""
    scope: str = "atespace"


@dataclass(frozen=True)
class SandboxConfig:
    """A SandboxConfig; assets are (arch, name, url, sha256)."""

    name: str
    sandbox_class: str = "gvisor"
    assets: Sequence[tuple[str, str, str, str]] = ()
    pause_image: str = ""
    uid: str = ""
    default: bool = False


@dataclass(frozen=True)
class Pool:
    """A WorkerPool."""

    name: str
    namespace: str = "ax"
    uid: str = ""
    replicas: int = 1
    image: str = ""
    sandbox_class: str = "gvisor"
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fleet:
    """All that a control plane knows."""

    actors: Sequence[Actor] = ()
    templates: Sequence[Template] = ()
    tags: Sequence[Tag] = ()
    workers: Sequence[Worker] = ()
    atespaces: Sequence[str] = ("ax",)
    sandbox_configs: Sequence[SandboxConfig] = ()
    worker_pools: Sequence[Pool] = ()
