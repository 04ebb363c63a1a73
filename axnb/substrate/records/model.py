"""The control plane's records, in words that are the same for every generation of Substrate.

A text that a record does not have is "", a number or a time None. Times are in UTC. `namespace`
is Kubernetes' word (templates of the CRD, pools, workers), `atespace` Substrate's; they are never
mixed, though AX calls both `ax`. Names were written by strangers: show them through `axnb.text`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

#: What a snapshot holds: `full` memory and files, `rootfs` files of the root and of the volumes,
#: `data` volumes only. Substrate's own words: scope FULL and DATA until September, from October
#: fidelity MEMORY, ROOTFS and VOLUMES.
CONTENTS = ("full", "rootfs", "data")


@dataclass(frozen=True)
class Place:
    """Where a record stands: number of its JSON document, index in its list; both from 0."""

    document: int
    index: int | None = None


@dataclass(frozen=True)
class Record:
    """What all records have. `shape` is the month of the generation whose fields it uses; several
    with `|` between them where the record does not tell, `mixed` where it uses fields of two."""

    place: Place = field(compare=False, repr=False)
    shape: str = field(compare=False)
    #: Paths of fields that axnb has no name for, such as `$.status.snapshots[].layers`.
    unknown: tuple[str, ...] = field(compare=False, repr=False)
    name: str = ""
    uid: str = ""
    #: Raised at each change; of a Kubernetes object its resourceVersion, where that is a number.
    version: int | None = None
    created: datetime | None = None
    updated: datetime | None = None

    @property
    def owner(self) -> str:
        """The atespace or namespace that the record lies in; "" of what is global."""
        return ""


@dataclass(frozen=True)
class Ref:
    """A name within an atespace."""

    atespace: str = ""
    name: str = ""


@dataclass(frozen=True)
class TemplateRef:
    """A template as another record names it; `uid` is recorded since 2026-07-30 at the earliest."""

    namespace: str = ""
    atespace: str = ""
    name: str = ""
    uid: str = ""


@dataclass(frozen=True)
class Stored:
    """A snapshot as an actor, a tag or a template names it: by URI, or by name until August.

    content       one of CONTENTS; "" where the record does not say
    generation    of October: numbers of an actor are never used twice
    owned_by      `actor` or `tag` (October)
    status        `completed` or `pending`; "" where a generation records no state of an upload
    nodes         nodes that hold it: a local (pause) snapshot, which is not in the bucket
    source_version  version of the actor when this snapshot was begun (July, August)
    """

    uri: str = ""
    atespace: str = ""
    name: str = ""
    content: str = ""
    template_uid: str = ""
    generation: int | None = None
    owned_by: str = ""
    status: str = ""
    nodes: tuple[str, ...] = ()
    source_version: int | None = None


@dataclass(frozen=True)
class WorkerRef:
    """A worker as an actor names it; `name` is Substrate's own since August."""

    namespace: str = ""
    pool: str = ""
    pod: str = ""
    pod_uid: str = ""
    name: str = ""


@dataclass(frozen=True)
class ActorRecord(Record):
    """An actor. AX gives an actor the conversation's id as its name.

    state         as Substrate calls it, without its prefix: `RUNNING`; `UNSPECIFIED` if unset,
                  `STATE_12` for a number without a name
    latest        the durable snapshot that a resume starts from; None before the first suspend
    in_progress   the durable snapshot that is being written, or was when something broke
    local         the pause snapshot on a node
    snapshots     all that the record lists (October), by generation
    crash         why it crashed, as far as that is one of Substrate's own reasons; else `other`
    """

    atespace: str = ""
    state: str = "UNSPECIFIED"
    template: TemplateRef = TemplateRef()
    latest: Stored | None = None
    in_progress: Stored | None = None
    local: Stored | None = None
    #: Name of the pause snapshot that is being written.
    in_progress_local: str = ""
    snapshots: tuple[Stored, ...] = ()
    worker: WorkerRef | None = None
    #: The node that it is placed on (September and later).
    node: str = ""
    last_generation: int | None = None
    #: What it was cloned from, if it was.
    source_tag: Ref | None = None
    source_snapshot: Ref | None = None
    source_snapshot_uid: str = ""
    crash: str = ""

    @property
    def owner(self) -> str:
        """Its atespace."""
        return self.atespace


@dataclass(frozen=True)
class SnapshotRecord(Record):
    """An ActorSnapshot (2026-07-30 to 09-02): the best record of what a snapshot is."""

    atespace: str = ""
    source_actor: Ref = Ref()
    source_actor_uid: str = ""
    source_actor_version: int | None = None
    template: TemplateRef = TemplateRef()
    content: str = "full"
    uri: str = ""

    @property
    def owner(self) -> str:
        """Its atespace."""
        return self.atespace


@dataclass(frozen=True)
class TagRecord(Record):
    """A tag: a name for a snapshot (July, August), later the owner of a copy of it.

    scope    `atespace` or `published`; "" if unset or not clear: the number 1 changed its meaning
    """

    atespace: str = ""
    scope: str = ""
    snapshot: Stored | None = None

    @property
    def owner(self) -> str:
        """Its atespace."""
        return self.atespace


@dataclass(frozen=True)
class EnvVar:
    """An environment variable. Its value is never kept: `length` in characters, and sha256 of its
    UTF-8, which tells equal values apart from others and is no secret only if the value is long.

    from_secret   the value came from a Kubernetes Secret (until 2026-08-11) and is not here
    """

    name: str
    length: int = 0
    sha256: str = ""
    from_secret: bool = False


@dataclass(frozen=True)
class Container:
    """A container of a template; `digest` is `sha256:…` of its image, the code's version."""

    name: str
    image: str = ""
    digest: str = ""
    env: tuple[EnvVar, ...] = ()
    #: Pairs of volume and path.
    mounts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Volume:
    """A volume of a template: `durable-dir`, which snapshots hold, or `external`, or `other`."""

    name: str
    kind: str


@dataclass(frozen=True)
class Asset:
    """A file of a runtime. `url` is without userinfo and query, which may hold a signature."""

    arch: str
    name: str
    url: str
    sha256: str


@dataclass(frozen=True)
class TemplateRecord(Record):
    """An ActorTemplate: Kubernetes' (`kubernetes` until about August) or Substrate's own.

    on_pause, on_commit  one of CONTENTS; "" since October, which has `preferred` instead
    from_data            `cold-boot` or `golden`: what a data snapshot is restored onto
    phase                `initial`, `resume-golden-actor`, `wait-golden-actor`, `ready`, `failed`
    assets               the runtime as it was frozen into the template
    """

    namespace: str = ""
    atespace: str = ""
    containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    sandbox_class: str = ""
    sandbox_config: str = ""
    pause_image: str = ""
    assets: tuple[Asset, ...] = ()
    location: str = ""
    on_pause: str = ""
    on_commit: str = ""
    from_data: str = ""
    preferred: str = ""
    phase: str = "initial"
    golden: Stored | None = None
    golden_actor: str = ""

    @property
    def owner(self) -> str:
        """Its atespace or namespace."""
        return self.atespace or self.namespace


@dataclass(frozen=True)
class SandboxConfigRecord(Record):
    """A SandboxConfig: which runtime files a class stands for, by architecture (GOARCH)."""

    sandbox_class: str = "gvisor"
    assets: tuple[Asset, ...] = ()
    pause_image: str = ""
    default: bool = False


@dataclass(frozen=True)
class WorkerPoolRecord(Record):
    """A WorkerPool: where actors of a sandbox class can run."""

    namespace: str = ""
    replicas: int | None = None
    image: str = ""
    sandbox_classes: tuple[str, ...] = ()
    sandbox_config: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def owner(self) -> str:
        """Its namespace."""
        return self.namespace


@dataclass(frozen=True)
class Assignment:
    """An actor on a worker; its uid is recorded since August, its atespace since July."""

    actor: Ref
    actor_uid: str = ""


@dataclass(frozen=True)
class WorkerRecord(Record):
    """A worker; `name` is Substrate's own since August. state: `ACTIVE`, `DRAINING`, or ""."""

    namespace: str = ""
    pool: str = ""
    pod: str = ""
    pod_uid: str = ""
    node: str = ""
    sandbox_class: str = ""
    state: str = ""
    assignments: tuple[Assignment, ...] = ()

    @property
    def owner(self) -> str:
        """The namespace of its pod."""
        return self.namespace


@dataclass(frozen=True)
class AtespaceRecord(Record):
    """An atespace: a name, with a uid since July."""


#: The kinds by the names that documents, rejects and comparisons use.
KINDS: dict[str, type[Record]] = {
    "actor": ActorRecord,
    "snapshot": SnapshotRecord,
    "tag": TagRecord,
    "template": TemplateRecord,
    "sandbox-config": SandboxConfigRecord,
    "worker-pool": WorkerPoolRecord,
    "worker": WorkerRecord,
    "atespace": AtespaceRecord,
}
