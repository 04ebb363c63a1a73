"""Would Substrate restore a snapshot, on which conditions, and what would a person see if not?

The rules are those of Substrate's code at each time, and what its own builds did with real objects.
They are stricter than Substrate, which restores some damaged snapshots with wrong content; and they
say `unknown` where it depends on what nobody told: a memory image restores on the build that wrote
it, and on others only if runsc finds nothing changed (capabilities, mounts, annotations).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from axnb.substrate.generations import MANIFESTS
from axnb.substrate.restore_facts import Decision, SnapshotFacts, Target, content_of

#: When Substrate's reader changed; a build of that very day may be either.
MANIFEST = MANIFESTS  # #261: a manifest is needed
LISTS = date(2026, 6, 25)  # it lists the files, and these may be sparse
CRASHES = date(2026, 7, 8)  # #353: a lost object crashes the actor
URIS = date(2026, 8, 8)  # #784: the URI ends in snapshots/ATESPACE/UUID
PAUSE_IMAGE = date(2026, 8, 11)  # #848: the manifest names the pause image
ROOTFS = date(2026, 8, 17)  # #846: a micro-VM's root is in rootfs-upper.tar
OWNED = date(2026, 9, 2)  # #1417: the URI names the owner; about that day
#: Until here a missing object may still be a plain error, as it was in June.
_SURE_CRASHES = date(2026, 8, 6)

#: Days on which a reader changed what it does.
CHANGES = (MANIFEST, LISTS, CRASHES, _SURE_CRASHES, URIS, PAUSE_IMAGE, ROOTFS, OWNED)

#: The first day of each layout.
LAYOUTS = {
    "B0": date(2026, 5, 19),
    "B1a": MANIFEST,
    "B1b": LISTS,
    "B2": date(2026, 7, 30),
    "B3a": URIS,
    "B3b": PAUSE_IMAGE,
    "B3c": date(2026, 8, 22),
    "B4": OWNED,
    "B5": date(2026, 10, 1),
}

_Check = Callable[[SnapshotFacts, Target], Decision | None]


@dataclass(frozen=True)
class Rule:
    """One rule; the first that has something to say decides. `source`: where it is known from."""

    name: str
    source: str
    check: _Check


def decide(facts: SnapshotFacts, target: Target) -> Decision:
    """What `target` would make of a snapshot. Raises KeyError for a layout that is none."""
    LAYOUTS[facts.layout]
    for rule in RULES:
        found = rule.check(facts, target)
        if found is not None:
            return Decision(
                found.restorable,
                rule.name,
                found.because,
                found.code,
                found.reason,
                found.crashes,
            )
    raise AssertionError("the last rule decides all that is left")


def _unknown(because: str) -> Decision:
    return Decision("unknown", because=because)


def _refused(because: str, code: str = "", reason: str = "", *, crash: bool = False) -> Decision:
    return Decision("refused", "", because, code, reason, crash)


def _lost(because: str, target: Target, reason: str) -> Decision:
    """A snapshot of which something is lost: since July that crashes the actor."""
    if target.built < CRASHES:
        return _refused(because, "Internal")
    if target.built < _SURE_CRASHES:
        return _refused(because)
    return _refused(because, "DataLoss", reason, crash=True)


# --- can the build read it? ----------------------------------------------------------------------


def _on_a_day_of_change(_: SnapshotFacts, target: Target) -> Decision | None:
    days = (MANIFEST, LISTS, CRASHES, URIS, PAUSE_IMAGE, ROOTFS)
    near = abs((target.built - OWNED).days) <= 7
    if target.built in days or near:
        return _unknown("Substrate's reader was changed about the day of this build")
    return None


def _uri(facts: SnapshotFacts, target: Target) -> Decision | None:
    if target.built > OWNED and facts.layout not in ("B4", "B5"):
        because = "this build reads no URI that does not name its owner"
        return _refused(because, "DataLoss", crash=True)
    if target.built > URIS and facts.layout in ("B0", "B1a", "B1b", "B2"):
        because = "this build reads no URI of before 2026-08-08"
        return _refused(because, "InvalidArgument")
    return None


def _manifest(facts: SnapshotFacts, target: Target) -> Decision | None:
    if facts.manifest == "read" or (facts.layout == "B0" and target.built < MANIFEST):
        return None
    if facts.manifest == "missing":
        why = "it has no manifest, which is written last: the upload was not finished"
        if facts.layout == "B0":
            why = "it has no manifest, and this build needs one"
        return _lost(why, target, "FAILED_GET_EXTERNAL_OBJECT")
    return _lost("its manifest cannot be read", target, "INVALID_SANDBOX_ASSET")


def _form(facts: SnapshotFacts, target: Target) -> Decision | None:
    if facts.sparse and target.built < LISTS:
        return _refused("this build does not read the sparse form", "Internal")
    return None


def _older_build(facts: SnapshotFacts, target: Target) -> Decision | None:
    if target.built < LAYOUTS[facts.layout]:
        return _unknown("the snapshot was written by a newer build than this one")
    return None


def _pause_image(facts: SnapshotFacts, target: Target) -> Decision | None:
    if facts.pause_image or target.built < PAUSE_IMAGE:
        return None
    if facts.sandbox_class != "gvisor" and target.built > OWNED:
        return _unknown("some builds need a pause image in the manifest of a micro-VM")
    because = "its manifest names no pause image"
    return _refused(because, "DataLoss", "INVALID_SANDBOX_ASSET", crash=True)


# --- is it whole? --------------------------------------------------------------------------------


def _file_list(facts: SnapshotFacts, target: Target) -> Decision | None:
    if facts.listed or target.built < LISTS:
        return None
    is_empty = facts.content == "data" and not facts.present
    if facts.sandbox_class == "microvm" and is_empty and facts.manifest == "read":
        # An empty list is not written: a template with no durable directory.
        return None
    if is_empty and facts.layout not in ("B1a", "B1b", "B2"):
        return _unknown("its manifest lists no files: it holds no data, or it lost its list")
    return _refused("its manifest lists no files, so this build fetches none", "Unknown")


def _missing(facts: SnapshotFacts, target: Target) -> Decision | None:
    if set(facts.files) <= set(facts.present):
        return None
    return _lost("an object that it needs is missing", target, "FAILED_GET_EXTERNAL_OBJECT")


def _damaged(facts: SnapshotFacts, _: Target) -> Decision | None:
    if set(facts.damaged) & set(facts.files):
        return _refused(
            "an object that it needs is damaged; some builds would restore it with wrong content"
        )
    return None


def _not_verified(facts: SnapshotFacts, _: Target) -> Decision | None:
    if not facts.verified:
        return _unknown("its objects were not decoded, so nobody knows whether they are whole")
    return None


def _suspect(facts: SnapshotFacts, _: Target) -> Decision | None:
    if set(facts.suspect) & set(facts.files):
        return _unknown("an object may not be what was written: it is not as Substrate writes it")
    return None


def _contradiction(facts: SnapshotFacts, _: Target) -> Decision | None:
    if not content_of(facts):
        return _unknown("its scope and its files contradict each other")
    return None


def _rootfs(facts: SnapshotFacts, target: Target) -> Decision | None:
    needed = facts.sandbox_class == "microvm" and target.built > ROOTFS
    if needed and content_of(facts) == "full" and "rootfs-upper.tar" not in facts.files:
        return _refused("it has no rootfs-upper.tar, which this build unpacks")
    return None


# --- is there something to run it? ---------------------------------------------------------------


def _sandbox_class(facts: SnapshotFacts, target: Target) -> Decision | None:
    if target.sandbox_classes is None:
        return _unknown("nobody told which sandbox classes can run here")
    if facts.sandbox_class not in target.sandbox_classes:
        return _refused("no worker pool runs its sandbox class", "FailedPrecondition")
    return None


def _arch(facts: SnapshotFacts, target: Target) -> Decision | None:
    # From September on the runtime is the template's, so only memory is bound to a machine.
    bound = target.built < OWNED or content_of(facts) == "full"
    known = bool(facts.arch) and target.arches is not None
    if known and bound and facts.arch not in (target.arches or ()):
        if _has_data_apart(facts, target):
            return Decision("data-only", because="its memory is of another architecture")
        return _refused("it was written on another architecture")
    return None


def _assets(facts: SnapshotFacts, target: Target) -> Decision | None:
    if target.built > OWNED or (target.built < MANIFEST and facts.manifest != "read"):
        return None
    if target.assets is None:
        return _unknown("nobody told whether its runtime can still be fetched")
    if not facts.assets or not set(facts.assets) <= target.assets:
        because = "the runtime that its manifest pins cannot be fetched, or is not what it was"
        return _lost(because, target, "FAILED_GET_EXTERNAL_OBJECT")
    return None


def _known_pause_image(facts: SnapshotFacts, target: Target) -> Decision | None:
    if not facts.pause_image or target.pause_images is None or target.built > OWNED:
        return None
    if facts.pause_image not in target.pause_images:
        return _unknown("nobody told whether its pause image can be pulled")
    return None


def _frozen_runtime(facts: SnapshotFacts, target: Target) -> Decision | None:
    if target.built < OWNED:
        return None
    if target.template_assets is None:
        return _unknown("nobody told which runtime its template froze")
    if facts.assets and set(facts.assets) <= target.template_assets:
        return None
    if content_of(facts) == "full":
        if _has_data_apart(facts, target):
            return Decision("data-only", because="its template froze another runtime")
        return _refused("its template froze another runtime than the one that wrote its memory")
    if any("fscheckpoint" in name for name in facts.files):
        return _unknown("a file checkpoint is not promised to be read by another runtime")
    return None


def _template(facts: SnapshotFacts, target: Target) -> Decision | None:
    if target.templates is None or not facts.template:
        return _unknown("nobody told whether its template is still there")
    if facts.template not in target.templates:
        return _refused("its template is gone, and with it the image to run")
    if not facts.template_uid:
        if content_of(facts) == "data":
            return None
        return _unknown("nobody recorded under which template of that name it was written")
    if facts.template_uid == target.templates[facts.template]:
        return None
    if content_of(facts) == "data" or _has_data_apart(facts, target):
        return Decision("data-only", because="its template was replaced")
    if target.built < OWNED:
        return _unknown("its template was replaced, which this build does not notice")
    return _refused("its template was replaced, and it holds no data that restores alone")


def _has_data_apart(facts: SnapshotFacts, target: Target) -> bool:
    """Can the data be taken out of a snapshot that also holds memory? Since September."""
    apart = set(facts.data_files) or ({"durable-dir.tar"} & set(facts.files))
    return target.built > OWNED and bool(apart) and apart <= set(facts.files)


# --- what comes back? ----------------------------------------------------------------------------


def _golden(facts: SnapshotFacts, target: Target) -> Decision | None:
    if facts.from_data != "golden" or content_of(facts) != "data":
        return None
    if target.golden is None:
        return _unknown("nobody told whether its template has a golden snapshot")
    if target.golden != "full":
        because = "its template has no full golden snapshot to put its data onto"
        return _refused(because, "FailedPrecondition")
    return _unknown("it is restored onto the golden snapshot, which must restore itself")


def _data(facts: SnapshotFacts, _: Target) -> Decision | None:
    if content_of(facts) == "data":
        return Decision("data-only", because="it holds the data of its volumes, and no memory")
    return None


def _memory(facts: SnapshotFacts, target: Target) -> Decision | None:
    if content_of(facts) != "full":
        return _unknown("it holds files of the root without memory, which nobody saw restored")
    if target.wrote_it is not True:
        return _unknown("a memory image is sure to restore only on the build that wrote it")
    if target.same_cpu is False:
        return _refused("its nodes lack CPU features that it was using")
    if target.same_cpu is not True:
        return _unknown("nobody told whether the nodes have the CPU features that it was using")
    return Decision("full", because="the build that wrote it restores it on such nodes")


_RUN = "seen with Substrate's own builds"

#: In this order.
RULES = (
    Rule("day-of-change", "dates of commits", _on_a_day_of_change),
    Rule("uri", f"ParseSnapshotURI, #784 and #1417; {_RUN}", _uri),
    Rule("manifest", f"#261, #353; {_RUN}", _manifest),
    Rule("form", f"commit 93607917; {_RUN}", _form),
    Rule("older-build", f"{_RUN}: data did restore, memory did not", _older_build),
    Rule("pause-image", f"#848; {_RUN}", _pause_image),
    Rule("file-list", f"commit 93607917; {_RUN}", _file_list),
    Rule("missing-object", f"#353; {_RUN}", _missing),
    Rule("damaged-object", f"#604; {_RUN}: most fail, some restore wrong content", _damaged),
    Rule("not-verified", "#604: there are no checksums of files", _not_verified),
    Rule("suspect-object", "gVisor's images and tars have no holes", _suspect),
    Rule("scope", "#810", _contradiction),
    Rule("rootfs", "#846", _rootfs),
    Rule("sandbox-class", "scheduler: only pools of the class", _sandbox_class),
    Rule("architecture", "assets are projected to one GOARCH", _arch),
    Rule("assets", f"#253, #261; {_RUN}", _assets),
    Rule("pause-image-pull", "#848: the root container is the manifest's", _known_pause_image),
    Rule(
        "frozen-runtime",
        "September: the request carries the template's assets; #587",
        _frozen_runtime,
    ),
    Rule("golden", "onResume.fromData: Golden; #451", _golden),
    Rule("template", "#1713, #16", _template),
    Rule("data", _RUN, _data),
    Rule("memory", f"#477, #1657; {_RUN}", _memory),
)
