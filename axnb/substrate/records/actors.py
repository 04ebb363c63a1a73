"""Actors, snapshots, tags and atespaces: the shapes of May to October in one vocabulary.

Fields and their numbers are those of `ateapi.proto` at each time.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TypedDict

from axnb.substrate.records import words
from axnb.substrate.records.fields import Fields
from axnb.substrate.records.model import (
    ActorRecord,
    AtespaceRecord,
    Place,
    Ref,
    SnapshotRecord,
    Stored,
    TagRecord,
    TemplateRef,
    WorkerRef,
)

#: Fields that one generation alone writes, by where they stand.
_TOP = {
    "august": ("sourceSnapshotTag",),
    "september|october": ("sourceTag",),
}
_STATUS = {
    "august": (
        "latestSnapshot",
        "localSnapshotInfo",
        "inProgressSnapshotName",
        "inProgressLocalSnapshotName",
        "inProgressSnapshotSourceActorVersion",
        "sourceSnapshot",
    ),
    "september": ("externalSnapshot", "localSnapshot", "inProgressSnapshotUri"),
    "october": ("snapshots", "lastAssignedGeneration", "crash"),
    "september|october": ("currentActorTemplateUid", "assignedNode"),
}
_ORDER = ("august", "september", "october")

#: Substrate's own reasons for a crash, of its `ErrorInfo`; other text of a message is not kept.
_REASON = re.compile(
    "TERMINAL_FILE_SYSTEM_ERROR|INVALID_SANDBOX_ASSET|INVALID_CHECKPOINT_RESULT|"
    "FAILED_SAVE_SNAPSHOT|INVALID_OBJECT_URL|FAILED_GET_EXTERNAL_OBJECT|INVALID_CONTAINER_CONFIG|"
    "LOCAL_SNAPSHOT_GONE|CORRUPTED_ASSIGNMENT|WORKER_REASSIGNED|WORKER_POD_GONE"
)


def actor(top: Fields, place: Place) -> ActorRecord:
    """An actor of any shape."""
    if top.has("actorId"):
        return _early_actor(top, place)
    values = identity_of(top)
    status = top.get("status")
    if status is None or isinstance(status, str | int):
        return _july_actor(top, place, values)
    return _late_actor(top, top.object("status") or top, place, values)


class Global(TypedDict, total=False):
    """What ResourceMetadata says of every resource."""

    name: str
    uid: str
    version: int | None
    created: datetime | None
    updated: datetime | None


class Identity(Global, total=False):
    """The same of one that lies in an atespace."""

    atespace: str


def identity_of(top: Fields) -> Identity:
    """Name, uid, version and times; nothing where a record has no metadata."""
    metadata = top.object("metadata")
    if metadata is None:
        return {}
    return {"atespace": metadata.text("atespace"), **global_of(metadata)}


def global_of(metadata: Fields) -> Global:
    """Of what lies in no atespace; an atespace that is set all the same is unknown."""
    return {
        "name": metadata.text("name"),
        "uid": metadata.text("uid"),
        "version": metadata.number("version"),
        "created": metadata.time("createTime"),
        "updated": metadata.time("updateTime"),
    }


def _early_actor(top: Fields, place: Place) -> ActorRecord:
    """May and June: all fields on top, no uid, no times."""
    information = top.object("latestSnapshotInfo")
    last, begun = top.text("lastSnapshot"), top.text("inProgressSnapshot")
    state = top.word(words.STATE, "status", unset="UNSPECIFIED")
    june = top.has("atespace", "latestSnapshotInfo", "workerPoolName", "workerSelector")
    if last:
        shape = "mixed" if june else "may"
    else:
        shape = "june" if june or state in ("PAUSING", "PAUSED") else "may|june"
    latest, local = _latest_info(information) if information else (None, None)
    top.ignore("workerSelector")
    return ActorRecord(
        place,
        shape,
        (),
        name=top.text("actorId"),
        version=top.number("version"),
        atespace=top.text("atespace"),
        state=state,
        template=_template(top),
        latest=latest or (Stored(uri=last) if last else None),
        local=local,
        in_progress=Stored(uri=begun) if "://" in begun else None,
        in_progress_local="" if "://" in begun else begun,
        worker=_ateom(top),
    )


def _latest_info(information: Fields) -> tuple[Stored | None, Stored | None]:
    """The durable and the local snapshot of June's LatestSnapshotInfo: one of the two."""
    information.ignore("type")
    external, local = information.object("external"), information.object("local")
    uri = external.text("snapshotUriPrefix") if external else ""
    return Stored(uri=uri) if uri else None, _local(local) if local else None


def _local(local: Fields) -> Stored:
    """A pause snapshot; one without a scope was taken before there were scopes, or says FULL."""
    return Stored(
        name=local.text("snapshotName", "snapshotPrefix"),
        content=local.word(words.SCOPE, "contentScope"),
        template_uid=local.text("actorTemplateUid"),
        nodes=local.texts("nodeVmsWithLocalSnapshots"),
    )


def _template(top: Fields) -> TemplateRef:
    ref = top.object("actorTemplate")
    namespace, name = top.text("actorTemplateNamespace"), top.text("actorTemplateName")
    if ref is None:
        return TemplateRef(namespace=namespace, name=name)
    # KubeNamespacedObjectRef has a namespace, ObjectRef an atespace.
    return TemplateRef(
        namespace=ref.text("namespace") or namespace,
        atespace=ref.text("atespace"),
        name=ref.text("name") or name,
    )


def _ateom(top: Fields) -> WorkerRef | None:
    top.ignore("ateomPodIp")
    found = WorkerRef(
        namespace=top.text("ateomPodNamespace"),
        pool=top.text("workerPoolName"),
        pod=top.text("ateomPodName"),
        pod_uid=top.text("ateomPodUid"),
    )
    return found if found != WorkerRef() else None


def _july_actor(top: Fields, place: Place, identity: Identity) -> ActorRecord:
    """2026-07-08 to about 08-15: metadata, all else on top; snapshots by name since 07-30."""
    information = top.object("latestSnapshotInfo")
    latest, local = _latest_info(information) if information else (None, None)
    named = top.object("localSnapshotInfo")
    begun = top.text("inProgressSnapshot")
    version = top.number("inProgressSnapshotSourceActorVersion")
    by_uri = "://" in begun
    # The name of a pause snapshot stands in the same field, without a version.
    durable = Stored(begun if by_uri else "", "", "" if by_uri else begun, source_version=version)
    is_durable = begun and (by_uri or version is not None)
    top.ignore("workerSelector", "actorVolumes")
    return ActorRecord(
        place,
        "july",
        (),
        **identity,
        state=top.word(words.STATE, "status", unset="UNSPECIFIED"),
        template=_template(top),
        latest=latest or _named(top.object("latestSnapshot")),
        local=_local(named) if named else local,
        in_progress=durable if is_durable else None,
        in_progress_local="" if is_durable else begun,
        worker=_ateom(top),
        source_tag=_ref(top.object("sourceSnapshotTag")),
    )


def _named(ref: Fields | None) -> Stored | None:
    return Stored(atespace=ref.text("atespace"), name=ref.text("name")) if ref else None


def _late_shape(top: Fields, status: Fields) -> str:
    """August, September or October, by the fields that one of them alone has."""
    found = {
        shape
        for fields, names in ((top, _TOP), (status, _STATUS))
        for shape, own in names.items()
        if fields.has(*own)
    }
    exact = [shape for shape in _ORDER if shape in found]
    if len(exact) > 1 or ("september|october" in found and "august" in exact):
        return "mixed"
    if exact:
        return exact[0]
    if "september|october" in found or status.get("state") in (9, "ACTOR_STATE_REVERTING"):
        return "september|october"
    return "august" if top.has("actorTemplateNamespace") else "august|september|october"


def _late_actor(top: Fields, status: Fields, place: Place, identity: Identity) -> ActorRecord:
    """August and later: metadata, what is wanted, and a status."""
    shape = _late_shape(top, status)
    top.ignore("workerSelector")
    status.ignore("actorVolumes")
    template = _template(top)
    uid = status.text("currentActorTemplateUid")
    crash = status.object("crash")
    source = status.object("sourceSnapshot")
    listed = tuple(sorted(_listed(status), key=lambda s: (s.generation or 0, s.uri)))
    return ActorRecord(
        place,
        shape,
        (),
        **identity,
        state=status.word(words.STATE, "state", unset="UNSPECIFIED"),
        template=TemplateRef(template.namespace, template.atespace, template.name, uid),
        latest=_latest(status, listed),
        in_progress=_in_progress(status, listed),
        local=_held_locally(status, listed),
        in_progress_local=status.text("inProgressLocalSnapshotName"),
        snapshots=listed,
        worker=_worker(status.object("workerAssignment")),
        node=status.text("assignedNode"),
        last_generation=status.number("lastAssignedGeneration"),
        source_tag=_ref(top.object("sourceSnapshotTag", "sourceTag")),
        source_snapshot=_ref(source.object("snapshot")) if source else None,
        source_snapshot_uid=source.text("snapshotUid") if source else "",
        crash=_crash(crash) if crash else "",
    )


def _ref(ref: Fields | None) -> Ref | None:
    return Ref(ref.text("atespace"), ref.text("name")) if ref else None


def _latest(status: Fields, listed: tuple[Stored, ...]) -> Stored | None:
    """October: the highest generation that is completed; before, what the field says."""
    external = status.object("externalSnapshot")
    named = _named(status.object("latestSnapshot"))
    done = [s for s in listed if s.status == "completed" and s.uri]
    return done[-1] if done else stored(external) if external else named


def _in_progress(status: Fields, listed: tuple[Stored, ...]) -> Stored | None:
    uri = status.text("inProgressSnapshotUri")
    name = status.text("inProgressSnapshotName")
    version = status.number("inProgressSnapshotSourceActorVersion")
    pending = [s for s in listed if s.status == "pending"]
    if pending:
        return pending[-1]
    return Stored(uri=uri, name=name, source_version=version) if uri or name else None


def _held_locally(status: Fields, listed: tuple[Stored, ...]) -> Stored | None:
    local = status.object("localSnapshot", "localSnapshotInfo")
    held = [s for s in listed if s.nodes]
    return held[-1] if held else _local(local) if local else None


def stored(message: Fields) -> Stored:
    """September's ExternalSnapshot. An unset scope means FULL, as its enum says."""
    return Stored(
        uri=message.text("snapshotUri"),
        content=message.word(words.SCOPE, "contentScope") or "full",
        template_uid=message.text("actorTemplateUid"),
    )


def _listed(status: Fields) -> list[Stored]:
    return [generation(message) for message in status.objects("snapshots")]


def generation(message: Fields) -> Stored:
    """October's Snapshot, and the form of late September with `storage[]`."""
    durable = message.object("durableSnapshot")
    kept = durable.object("object") if durable else None
    uri = kept.text("snapshotUri") if kept else ""
    status = durable.word(words.STORAGE, "status") if durable else ""
    content = message.word(words.FIDELITY, "fidelity")
    node = message.text("locality")
    nodes: tuple[str, ...] = (node,) if node else ()
    for storage in message.objects("storage"):
        storage.ignore("durability")
        kept, local = storage.object("object"), storage.object("local")
        content = content or storage.word(words.FIDELITY, "fidelity")
        if kept is not None:
            uri, status = kept.text("snapshotUri"), storage.word(words.STORAGE, "status")
        if local is not None:
            name = local.text("nodeName", "node")
            nodes += (name,) if name else local.texts("nodeVmsWithLocalSnapshots")
    return Stored(
        uri=uri,
        name=message.text("uuid"),
        content=content,
        template_uid=message.text("actorTemplateUid"),
        generation=message.number("generation"),
        owned_by=message.word(words.OWNER, "owner"),
        status=status,
        nodes=nodes,
    )


def _worker(assignment: Fields | None) -> WorkerRef | None:
    if assignment is None:
        return None
    assignment.ignore("workerPodIp")
    worker = assignment.object("worker")
    if worker is not None:
        worker.ignore("atespace")
    return WorkerRef(
        namespace=assignment.text("workerNamespace"),
        pool=assignment.text("workerPool"),
        pod=assignment.text("workerPod"),
        pod_uid=assignment.text("workerPodUid"),
        name=worker.text("name") if worker else "",
    )


def _crash(crash: Fields) -> str:
    # The text of an error may hold payload, and may be long: only its reason is looked for.
    message = crash.get("message")
    reason = _REASON.search(message) if isinstance(message, str) else None
    return reason[0] if reason else "other"


def snapshot(top: Fields, place: Place) -> SnapshotRecord:
    """An ActorSnapshot; at first its fields lay beside the metadata, since August in status."""
    identity = identity_of(top)
    inner = top.object("status")
    body = inner or top
    template = _template(body)
    uid = body.text("actorTemplateUid")
    return SnapshotRecord(
        place,
        "august" if inner else "july",
        (),
        **identity,
        source_actor=_ref(body.object("sourceActor")) or Ref(),
        source_actor_uid=body.text("sourceActorUid"),
        source_actor_version=body.number("sourceActorVersion"),
        template=TemplateRef(template.namespace, template.atespace, template.name, uid),
        content=body.word(words.SCOPE, "contentScope") or "full",
        uri=body.text("snapshotUri"),
    )


def tag(top: Fields, place: Place) -> TagRecord:
    """ActorSnapshotTag (July, August) or Tag (September and later)."""
    status = top.object("status")
    message = status.object("snapshot", "externalSnapshot") if status else None
    if message is None:
        shape, held = "august" if top.has("snapshot") else "", _named(top.object("snapshot"))
    elif message.has("uuid", "generation", "durableSnapshot", "storage"):
        shape, held = "october", generation(message)
    else:
        shape, held = "september", stored(message)
    return TagRecord(
        place,
        shape or "september|october",
        (),
        **identity_of(top),
        scope=top.word(words.TAG_SCOPE, "scope"),
        snapshot=held,
    )


def atespace(top: Fields, place: Place) -> AtespaceRecord:
    """An Atespace: a name in June, metadata since July."""
    metadata = top.object("metadata")
    if metadata is not None:
        return AtespaceRecord(place, "july+", (), **global_of(metadata))
    return AtespaceRecord(place, "june", (), name=top.text("name"))
