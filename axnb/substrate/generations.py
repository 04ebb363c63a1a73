"""Which generation of Substrate wrote a snapshot, and which files it must have.

Nothing in a snapshot says it: the shape of its keys, which keys its manifest has, and how its
objects are encoded do, each as far as it goes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from axnb.substrate.layouts import Place
from axnb.substrate.manifest import Content, Manifest

#: Since this day builds write manifests (#261).
MANIFESTS = date(2026, 6, 17)

#: From the oldest on. A label of two or more, joined by `|`, is what cannot be told apart.
GENERATIONS = ("B0", "B1a", "B1b", "B2", "B3a", "B3b", "B3c", "B4", "B5")

#: A full checkpoint of gVisor. The readers of B0 and B1a need all three, whatever was uploaded.
GVISOR_MEMORY = ("checkpoint.img", "pages.img", "pages_meta.img")
MICROVM_MEMORY = ("base-id", "config.json", "memory-ranges", "state.json")

#: A durable directory, as `runsc fscheckpoint` writes it: the first name follows gVisor's version.
_FS_CHECKPOINTS = ("fscheckpoint.json", "fscheckpoint.pb")
_FS_DATA = ("multitar.img", "pages.img", "pages_meta.img")
_DURABLE = "durable-dir.tar"
_ROOTFS = "rootfs-upper.tar"


@dataclass(frozen=True)
class Inferred:
    """A generation, why, and what speaks against it."""

    generation: str
    why: str
    #: Short classes: `identity-in-b1`, `no-identity`, `newer-key`, `older-key`, `no-layout`.
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Encodings:
    """What was seen of the encoding of a snapshot's objects."""

    has_sparse: bool = False
    has_plain: bool = False
    #: Has an object more frames than one?
    has_several_frames: bool = False


def infer(
    place: Place | None, manifest: Manifest | None, encodings: Encodings | None = None
) -> Inferred:
    """Infer the generation from the keys' shape, the manifest and what was seen of objects.

    Without a place the manifest alone decides; without a manifest the label holds every generation
    that it can be.
    """
    seen = encodings or Encodings()
    if place is None:
        return _by_manifest(manifest)
    if place.layout == "B0|B1":
        return _b0_b1(place, manifest, seen)
    if place.layout == "B2":
        return _b2(manifest)
    if place.layout == "B3":
        return _b3(manifest, seen)
    return _b4_b5(manifest)


def _b0_b1(place: Place, manifest: Manifest | None, seen: Encodings) -> Inferred:
    if manifest is None:
        if seen.has_sparse:
            return Inferred("B1b", "keys of B0 and B1, sparse objects; the manifest is missing")
        if place.time is not None and place.time.date() < MANIFESTS:
            return Inferred("B0", "keys of B0 and B1, named before there were manifests")
        if seen.has_plain:
            return Inferred("B0|B1a", "keys of B0 and B1, plain objects, no manifest")
        return Inferred("B0|B1a|B1b", "keys of B0 and B1, no manifest")
    doubts = _doubts(manifest, "actor_uid", "identity-in-b1")
    if any((manifest.scope, manifest.fidelity, manifest.pause_image)):
        doubts += ("newer-key",)
    if manifest.files is not None:
        return Inferred("B1b", "keys of B1, a manifest with snapshotFiles", doubts)
    if seen.has_sparse:
        why = "keys of B1, sparse objects; a manifest without snapshotFiles"
        return Inferred("B1b", why, doubts)
    return Inferred("B1a", "keys of B1, a manifest without snapshotFiles", doubts)


def _b2(manifest: Manifest | None) -> Inferred:
    if manifest is None:
        return Inferred("B2", "keys of B2, no manifest")
    doubts = _unidentified(manifest) + _doubts(manifest, "scope", "newer-key")
    if not manifest.actor_uid:
        return Inferred("B2", "keys of B2, or of B1 and an actor of the id `snapshots`", doubts)
    return Inferred("B2", "keys of B2", doubts)


def _b3(manifest: Manifest | None, seen: Encodings) -> Inferred:
    if seen.has_several_frames:
        return Inferred("B3c", "keys of B3, several frames an object")
    if manifest is None:
        return Inferred("B3a|B3b|B3c", "keys of B3, no manifest")
    doubts = _doubts(manifest, "fidelity", "newer-key") + _unidentified(manifest)
    if manifest.pause_image is None:
        return Inferred("B3a", "keys of B3, a manifest without pauseImage", doubts)
    # B3c differs by the frames of its objects alone, and only those of more than 8 MiB have two.
    return Inferred("B3b", "keys of B3, a manifest with pauseImage", doubts)


def _b4_b5(manifest: Manifest | None) -> Inferred:
    if manifest is None:
        return Inferred("B4|B5", "keys of B4 and B5, no manifest")
    doubts = _unidentified(manifest)
    if manifest.fidelity is not None or manifest.data_files is not None:
        doubts += _doubts(manifest, "scope", "older-key")
        return Inferred("B5", "keys of B4 and B5, a manifest with fidelity", doubts)
    if manifest.scope is not None:
        return Inferred("B4", "keys of B4 and B5, a manifest with scope", doubts)
    return Inferred("B4|B5", "keys of B4 and B5, a manifest without scope and fidelity", doubts)


def _by_manifest(manifest: Manifest | None) -> Inferred:
    if manifest is None:
        return Inferred("unknown", "keys of no known layout, no manifest")
    found = (
        ("B5", "fidelity", manifest.fidelity),
        ("B5", "dataSnapshotFiles", manifest.data_files),
        ("B4|B5", "actorTemplateAtespace", manifest.template_atespace),
        ("B3b|B3c|B4", "pauseImage", manifest.pause_image),
        ("B3a", "scope", manifest.scope),
        ("B2", "actorUid", manifest.actor_uid),
        ("B1b", "snapshotFiles", manifest.files),
    )
    for generation, key, value in found:
        if value is not None:
            why = f"keys of no known layout, a manifest with {key}"
            return Inferred(generation, why, ("no-layout",))
    return Inferred("B1a", "keys of no known layout, a manifest of the oldest keys", ("no-layout",))


def _unidentified(manifest: Manifest) -> tuple[str, ...]:
    return () if manifest.actor_uid else ("no-identity",)


def _doubts(manifest: Manifest, field: str, doubt: str) -> tuple[str, ...]:
    return () if getattr(manifest, field) is None else (doubt,)


# --- files ---------------------------------------------------------------------------------------


#: Their readers know the files' names.
_LISTLESS = ("B0", "B1a", "B0|B1a")


@dataclass(frozen=True)
class Files:
    """What a snapshot's folder must hold, and what it does hold. Names are without `.zstd`."""

    expected: tuple[str, ...]
    #: `listed` by the manifest, or the `rule` of the generation; `unknown` where neither tells.
    source: str
    missing: tuple[str, ...]
    unlisted: tuple[str, ...]


def compare_files(inferred: Inferred, manifest: Manifest | None, present: Collection[str]) -> Files:
    """Compare what a snapshot must hold with the files that are `present`.

    Without `snapshotFiles` B0 and B1a must hold gVisor's three images: their readers ask for each.
    Since B1b a manifest without the key lists no file: readers then fetch nothing, without an
    error, which is right for a data snapshot without a durable directory only. So all that is
    there counts as unlisted, and what its class and scope ask for is missing if it is not there.
    """
    expected, source = _expected(inferred, manifest)
    if source == "unknown":
        return Files((), source, (), ())
    is_listless = source == "rule" and inferred.generation not in _LISTLESS
    listed = () if is_listless else expected
    missing = tuple(name for name in expected if name not in present)
    return Files(expected, source, missing, tuple(sorted(set(present) - set(listed))))


def _expected(inferred: Inferred, manifest: Manifest | None) -> tuple[tuple[str, ...], str]:
    if manifest is not None and manifest.files is not None:
        return manifest.files, "listed"
    if inferred.generation in _LISTLESS:
        return GVISOR_MEMORY, "rule"
    if manifest is None:
        return (), "unknown"
    if manifest.content == "full":
        is_microvm = manifest.sandbox_class == "microvm"
        return MICROVM_MEMORY if is_microvm else GVISOR_MEMORY, "rule"
    return (), "rule"


def content_of(files: Collection[str]) -> Content:
    """What a list of files captures: memory (`full`), files only (`data`), or nothing."""
    names = set(files)
    if not names:
        return "empty"
    if names >= set(GVISOR_MEMORY) or names >= set(MICROVM_MEMORY):
        return "full"
    has_bundle = names >= set(_FS_DATA) and any(name in names for name in _FS_CHECKPOINTS)
    has_named = any(name.endswith("_multitar.img") for name in names)
    return "data" if _DURABLE in names or has_bundle or has_named else "unknown"


def contradictions(inferred: Inferred, manifest: Manifest) -> tuple[str, ...]:
    """Short classes of what the manifest's own entries say against each other.

    `scope-and-files`: says data and lists memory, or says full and lists none. `golden-is-data`:
    golden snapshots are always full. `no-rootfs`: a full micro-VM snapshot without
    `rootfs-upper.tar`, which fails at the restore since 2026-08-17. `no-pause-image`: refused
    since 2026-08-11; of micro-VMs B5 takes it.
    """
    listed = manifest.files
    said, held = manifest.content, content_of(listed or ())
    is_new = inferred.generation in ("B3a", "B3b", "B3c", "B4", "B4|B5", "B5")
    is_full_microvm = manifest.sandbox_class == "microvm" and held == "full"
    is_free = manifest.sandbox_class == "microvm" and inferred.generation.endswith("B5")
    found = {
        "scope-and-files": {said, held} == {"full", "data"} or (said, held) == ("full", "empty"),
        "golden-is-data": manifest.is_golden is True and "data" in (said, held),
        "no-rootfs": is_new and is_full_microvm and _ROOTFS not in (listed or ()),
        "no-pause-image": is_new and not is_free and manifest.pause_image is None,
    }
    return tuple(name for name, holds in found.items() if holds)


def conflicts(place: Place, manifest: Manifest) -> tuple[str, ...]:
    """Short classes of what a snapshot's prefix and its manifest say against each other.

    `other-atespace` and `other-actor`: the objects lie where those of another one belong. A tag's
    copy keeps the manifest of the actor that it was taken from, so nothing of it is compared.
    """
    if place.tag_uid is not None:
        return ()
    pairs = {
        "other-atespace": (place.atespace, manifest.atespace),
        "other-actor": (place.actor_uid, manifest.actor_uid),
    }
    return tuple(name for name, told in pairs.items() if None not in told and told[0] != told[1])
