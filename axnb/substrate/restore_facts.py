"""What is told of a snapshot and of the place where it is to be restored, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

Restorable = Literal["full", "data-only", "refused", "unknown"]

_MEMORY = {"checkpoint.img", "memory-ranges"}
_GVISOR = ("checkpoint.img", "pages.img", "pages_meta.img")


@dataclass(frozen=True)
class SnapshotFacts:
    """What a manifest, the objects and the records say of one snapshot.

    layout         B0 … B5
    manifest       `read`, `missing` or `unreadable`; of B0 it is always missing
    listed         file names of the manifest without `.zstd`; None where it has no such list
    present        file names, without `.zstd`, whose objects are there
    damaged        those that a strict reader does not decode, or that are not what they are called
    suspect        those that decode, and may not be what was written
    verified       were all objects decoded to their end?
    sparse         is one of them in the sparse form?
    content        `full`, `rootfs` or `data` as a manifest or a record says; "" if none does
    data_files     files that alone give the data back (October)
    assets         sha256 of the runtime files that the manifest pins
    arch           architecture of these, as a SandboxConfig tells it; "" if none does
    template       name of its template, with its atespace or namespace: `ax/agent`
    template_uid   as a record says; "" if none does
    from_data      `golden` if the template restores data onto its golden snapshot
    """

    layout: str
    manifest: str = "read"
    sandbox_class: str = "gvisor"
    content: str = ""
    listed: tuple[str, ...] | None = None
    present: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    suspect: tuple[str, ...] = ()
    verified: bool = False
    sparse: bool = False
    data_files: tuple[str, ...] = ()
    pause_image: str = ""
    assets: tuple[str, ...] = ()
    arch: str = ""
    template: str = ""
    template_uid: str = ""
    from_data: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that a restore fetches: before 2026-06-25 these three, whatever is there."""
        return _GVISOR if self.layout in ("B0", "B1a") else self.listed or ()


@dataclass(frozen=True)
class Target:
    """Where a snapshot is to be restored. None is what nobody told.

    built            day of Substrate's commit
    wrote_it         did this very build write the snapshot?
    same_cpu         have its nodes every CPU feature of the node that wrote it?
    sandbox_classes  classes that its worker pools run
    assets           sha256 of runtime files that can still be fetched and are what they should be
    arches           architectures of its nodes
    pause_images     pause images that can be pulled
    templates        its templates: uid by name, such as `ax/agent`
    template_assets  sha256 of the runtime that the actor's template froze (September and later)
    golden           content of the template's golden snapshot; "" if there is none
    """

    built: date
    wrote_it: bool | None = None
    same_cpu: bool | None = None
    sandbox_classes: frozenset[str] | None = None
    assets: frozenset[str] | None = None
    arches: frozenset[str] | None = None
    pause_images: frozenset[str] | None = None
    templates: Mapping[str, str] | None = None
    template_assets: frozenset[str] | None = None
    golden: str | None = None


@dataclass(frozen=True)
class Decision:
    """What would happen, by which rule, and what a person would see.

    code, reason   of the error as Substrate's API returns it; "" where it gives none
    crashes        does it leave the actor CRASHED? Else it stays RESUMING and is tried again
    """

    restorable: Restorable
    rule: str = ""
    because: str = ""
    code: str = ""
    reason: str = ""
    crashes: bool = False


def content_of(facts: SnapshotFacts) -> str:
    """What a snapshot holds: as it says, else by its files; "" if they contradict each other."""
    memory = bool(_MEMORY & set(facts.files))
    if not facts.content:
        # Only a micro-VM writes a data snapshot without files, and that says its scope.
        return "full" if memory else "data" if facts.files else ""
    if facts.content == "data":
        return "" if memory else "data"
    return facts.content if memory or facts.content == "rootfs" else ""
