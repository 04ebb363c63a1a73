"""One record of the control plane in the shape of one month; `axnb.testing.records` describes it.

Fields are those of `ateapi.proto` and of the CRDs. What is unset may be ""
or None here; the caller leaves it out.
"""

from __future__ import annotations

from typing import Any

from axnb.testing.fleet import (
    Actor,
    Container,
    Pool,
    SandboxConfig,
    Snapshot,
    Tag,
    Template,
    Worker,
)

_EARLY = ("may", "june")
_FIDELITY = {"full": "MEMORY", "rootfs": "ROOTFS", "data": "VOLUMES"}
_PHASES = {
    "initial": ("", "INITIAL"),
    "resume-golden-actor": ("ResumeGoldenActor", "RESUME_GOLDEN_ACTOR"),
    "wait-golden-actor": ("WaitGoldenActor", "WAIT_GOLDEN_ACTOR"),
    "ready": ("Ready", "READY"),
    "failed": ("Failed", "FAILED"),
}


def _scope(content: str) -> str:
    return f"SNAPSHOT_CONTENT_SCOPE_{content.upper()}"


# --- actors --------------------------------------------------------------------------------------


def actor(a: Actor, shape: str) -> dict[str, Any]:
    """An actor."""
    if shape in _EARLY:
        return _early_actor(a, shape)
    record: dict[str, Any] = {"metadata": _metadata(a.atespace, a.name, a.uid, a.version)}
    record["metadata"] |= {"createTime": a.created, "updateTime": a.updated}
    source = dict(zip(("atespace", "name"), a.source_tag or (), strict=False)) or None
    if shape in ("july", "late-july", "august"):
        record |= _template_names(a) | {"sourceSnapshotTag": source}
        late = {"status": _august_status(a)} if shape == "august" else _july_status(a, shape)
        return record | late
    space = a.template_space or a.atespace
    record |= {"actorTemplate": {"atespace": space, "name": a.template}, "sourceTag": source}
    if shape == "september":
        return record | {"status": _september_status(a)}
    return record | {"status": _october_status(a)}


def _metadata(atespace: str, name: str, uid: str, version: int) -> dict[str, Any]:
    return {"atespace": atespace, "name": name, "uid": uid, "version": str(version)}


def _template_names(a: Actor) -> dict[str, Any]:
    space = a.template_space or a.atespace
    return {"actorTemplateNamespace": space, "actorTemplateName": a.template}


def _ateom(a: Actor, shape: str) -> dict[str, Any]:
    if a.worker is None:
        return {}
    return {
        "ateomPodNamespace": a.worker.namespace,
        "ateomPodName": a.worker.pod,
        "ateomPodUid": a.worker.uid,
        "ateomPodIp": "10.0.0.1",
        "workerPoolName": "" if shape == "may" else a.worker.pool,
    }


def _early_actor(a: Actor, shape: str) -> dict[str, Any]:
    latest = a.snapshots[-1] if a.snapshots else None
    record = {"actorId": a.name, "version": str(a.version), "status": f"STATUS_{a.state}"}
    record |= _template_names(a) | _ateom(a, shape)
    begun = a.begun.uri if a.begun else ""
    if shape == "may":
        return record | {"lastSnapshot": latest.uri if latest else "", "inProgressSnapshot": begun}
    return record | {
        "atespace": a.atespace,
        "inProgressSnapshot": begun,
        "latestSnapshotInfo": _information(a, latest),
    }


def _information(a: Actor, latest: Snapshot | None) -> dict[str, Any] | None:
    """One of the two: while an actor is paused, its record does not name its durable snapshot."""
    if a.paused is not None:
        local = {
            "snapshotPrefix": a.paused.name,
            "nodeVmsWithLocalSnapshots": [a.paused.node],
        }
        return {"type": "SNAPSHOT_TYPE_LOCAL", "local": local}
    if latest is None:
        return None
    return {"type": "SNAPSHOT_TYPE_EXTERNAL", "external": {"snapshotUriPrefix": latest.uri}}


def _july_status(a: Actor, shape: str) -> dict[str, Any]:
    latest = a.snapshots[-1] if a.snapshots else None
    record: dict[str, Any] = {"status": f"STATUS_{a.state}"} | _ateom(a, shape)
    if shape == "july":
        return record | {
            "inProgressSnapshot": a.begun.uri if a.begun else "",
            "latestSnapshotInfo": _information(a, latest),
        }
    local = {"nodeVmsWithLocalSnapshots": [a.paused.node]} if a.paused else {}
    return record | {
        "inProgressSnapshot": a.begun.name if a.begun else "",
        "inProgressSnapshotSourceActorVersion": str(a.begun.source_version) if a.begun else "",
        "latestSnapshot": {"atespace": a.atespace, "name": latest.name} if latest else None,
        "localSnapshotInfo": {"snapshotPrefix": a.paused.name, **local} if a.paused else None,
    }


def _assignment(a: Actor) -> dict[str, Any] | None:
    if a.worker is None:
        return None
    return {
        "worker": {"name": a.worker.name},
        "workerNamespace": a.worker.namespace,
        "workerPool": a.worker.pool,
        "workerPod": a.worker.pod,
        "workerPodUid": a.worker.uid,
        "workerPodIp": "10.0.0.1",
    }


def _local(a: Actor) -> dict[str, Any] | None:
    if a.paused is None:
        return None
    return {
        "snapshotName": a.paused.name,
        "nodeVmsWithLocalSnapshots": [a.paused.node],
        "contentScope": _scope(a.paused.content),
    }


def _status(a: Actor) -> dict[str, Any]:
    return {"state": f"ACTOR_STATE_{a.state}", "workerAssignment": _assignment(a)}


def _august_status(a: Actor) -> dict[str, Any]:
    latest = a.snapshots[-1] if a.snapshots else None
    return _status(a) | {
        "inProgressSnapshotName": a.begun.name if a.begun else "",
        "inProgressSnapshotSourceActorVersion": str(a.begun.source_version) if a.begun else "",
        "latestSnapshot": {"atespace": a.atespace, "name": latest.name} if latest else None,
        "localSnapshotInfo": _local(a),
    }


def _september_status(a: Actor) -> dict[str, Any]:
    latest = a.snapshots[-1] if a.snapshots else None
    return _status(a) | {
        "inProgressSnapshotUri": a.begun.uri if a.begun else "",
        "externalSnapshot": _external(latest) if latest else None,
        "localSnapshot": _local(a),
        "currentActorTemplateUid": a.template_uid,
    }


def _external(s: Snapshot) -> dict[str, Any]:
    return {
        "snapshotUri": s.uri,
        "contentScope": _scope(s.content),
        "actorTemplateUid": s.template_uid,
    }


def _october_status(a: Actor) -> dict[str, Any]:
    listed = [_generation(s, "COMPLETED", "TAG" if s.borrowed else "ACTOR") for s in a.snapshots]
    if a.begun:
        listed.append(_generation(a.begun, "PENDING"))
    if a.paused:
        listed.append(
            {
                "uuid": a.paused.name,
                "generation": a.paused.generation,
                "owner": "SNAPSHOT_OWNER_ACTOR",
                "fidelity": f"SNAPSHOT_FIDELITY_{_FIDELITY[a.paused.content]}",
                "locality": a.paused.node,
            }
        )
    return _status(a) | {
        "snapshots": listed,
        "lastAssignedGeneration": max((s["generation"] for s in listed), default=None),
        "currentActorTemplateUid": a.template_uid,
        "crash": {"message": a.crash} if a.crash else None,
    }


def _generation(s: Snapshot, status: str, owner: str = "ACTOR") -> dict[str, Any]:
    return {
        "uuid": s.name,
        "generation": s.generation,
        "owner": f"SNAPSHOT_OWNER_{owner}",
        "fidelity": f"SNAPSHOT_FIDELITY_{_FIDELITY[s.content]}",
        "actorTemplateUid": s.template_uid,
        "durableSnapshot": {
            "status": f"SNAPSHOT_STORAGE_STATUS_{status}",
            "object": {"snapshotUri": s.uri},
        },
    }


# --- snapshots, tags, atespaces ------------------------------------------------------------------


def snapshot(a: Actor, s: Snapshot, shape: str) -> dict[str, Any]:
    """An ActorSnapshot. Raises ValueError where there was none."""
    body = {
        "sourceActor": {"atespace": a.atespace, "name": a.name},
        "sourceActorUid": a.uid,
        "sourceActorVersion": str(s.source_version),
        **_template_names(a),
        "actorTemplateUid": s.template_uid,
        "contentScope": _scope(s.content),
    }
    metadata = _metadata(a.atespace, s.name, s.uid, 1) | {"createTime": s.created}
    if shape == "late-july":
        return {"metadata": metadata, **body}
    if shape == "august":
        return {"metadata": metadata, "status": {**body, "snapshotUri": s.uri}}
    raise ValueError(f"There were no snapshot records in {shape}.")


def tag(t: Tag, shape: str) -> dict[str, Any]:
    """An ActorSnapshotTag or Tag. Raises ValueError where there was none."""
    metadata = _metadata(t.atespace, t.name, t.uid, 1)
    scope = t.scope.upper()
    if shape in ("late-july", "august"):
        ref = {"atespace": t.atespace, "name": t.snapshot.name}
        named = f"ACTOR_SNAPSHOT_TAG_SCOPE_{scope}"
        return {"metadata": metadata, "snapshot": ref, "scope": named}
    held = {
        "september": _external(t.snapshot),
        "october": _generation(t.snapshot, "COMPLETED", "TAG"),
    }
    if shape not in held:
        raise ValueError(f"There were no tags in {shape}.")
    return {
        "metadata": metadata,
        "scope": f"TAG_SCOPE_{scope}",
        "status": {"snapshot": held[shape]},
    }


def atespace(name: str, shape: str) -> dict[str, Any]:
    """An Atespace."""
    return (
        {"name": name} if shape in _EARLY else {"metadata": _metadata("", name, f"uid-{name}", 1)}
    )


# --- templates, sandbox configs, pools, workers --------------------------------------------------


def _object(kind: str, name: str, namespace: str, uid: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid,
        "resourceVersion": "1",
        "creationTimestamp": "2026-08-10T08:00:00Z",
    }
    return {"apiVersion": "ate.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def _container(c: Container) -> dict[str, Any]:
    return {
        "name": c.name,
        "image": c.image,
        "env": [{"name": name, "value": value} for name, value in c.env.items()],
        "volumeMounts": [{"name": n, "mountPath": path} for n, path in c.mounts.items()],
    }


def kubernetes_template(t: Template, shape: str) -> dict[str, Any]:
    """An ActorTemplate of the CRD; the golden snapshot is a URI, a name since 07-30."""
    golden = ""
    if t.golden is not None:
        golden = t.golden.name if shape == "late-july" else t.golden.uri
    spec = {
        "containers": [_container(c) for c in t.containers],
        "volumes": [{"name": name, "durableDir": {}} for name in t.volumes],
        "sandboxClass": t.sandbox_class,
        "pauseImage": t.pause_image,
        "snapshotsConfig": {
            "location": t.location,
            "onPause": t.on_pause.capitalize(),
            "onCommit": t.on_commit.capitalize(),
            "onResume": {"fromData": "ColdBoot" if t.from_data == "cold-boot" else "Golden"},
        },
    }
    actor = t.golden_actor
    status = {"phase": _PHASES[t.phase][0], "goldenSnapshot": golden, "goldenActorID": actor}
    record = _object("ActorTemplate", t.name, t.atespace, t.uid, spec) | {"status": status}
    record["metadata"] |= {"resourceVersion": str(t.version), "creationTimestamp": t.created}
    return record


def template(t: Template, shape: str) -> dict[str, Any]:
    """An ActorTemplate of Substrate's own."""
    if shape == "october":
        config: dict[str, Any] = {
            "storageLocation": t.location,
            "preferredFidelity": f"SNAPSHOT_FIDELITY_{_FIDELITY[t.on_commit]}",
        }
    else:
        config = {
            "onPause": _scope(t.on_pause),
            "onCommit": _scope(t.on_commit),
            "onResume": {"fromData": f"RESUME_SOURCE_{t.from_data.upper().replace('-', '_')}"},
            "storageLocation": t.location,
        }
    name = "ate-golden"
    golden = {"atespace": name, "name": t.golden.name} if t.golden else None
    frozen: dict[str, Any] = {}
    for arch, asset, url, sha256 in t.assets:
        frozen.setdefault(arch, {"files": {}})["files"][asset] = {"url": url, "sha256": sha256}
    metadata = _metadata(t.atespace, t.name, t.uid, t.version) | {"createTime": t.created}
    sandbox_class = f"SANDBOX_CLASS_{t.sandbox_class.upper()}"
    return {
        "metadata": metadata,
        "containers": [_container(c) for c in t.containers],
        "volumes": [{"name": v, "durableDir": {}, "type": "DurableDir"} for v in t.volumes],
        "snapshotConfig" if shape == "october" else "snapshotsConfig": config,
        "sandboxConfig": {"sandboxClass": sandbox_class, "configName": t.sandbox_config},
        "status": {
            "phase": f"ACTOR_TEMPLATE_PHASE_{_PHASES[t.phase][1]}",
            "goldenSnapshot": golden,
            "sandboxAssets": {
                "sandboxClass": sandbox_class,
                "assets": frozen,
                "pauseImage": t.pause_image,
            },
        },
    }


def sandbox_config(c: SandboxConfig) -> dict[str, Any]:
    """A SandboxConfig."""
    assets: dict[str, dict[str, Any]] = {}
    for arch, name, url, sha256 in c.assets:
        assets.setdefault(arch, {})[name] = {"url": url, "sha256": sha256}
    spec = {
        "sandboxClass": c.sandbox_class,
        "pauseImage": c.pause_image,
        "assets": assets,
        "default": c.default or None,
    }
    return _object("SandboxConfig", c.name, "", c.uid, spec)


def pool(p: Pool, shape: str) -> dict[str, Any]:
    """A WorkerPool."""
    image = "workerImage" if shape in ("september", "october") else "ateomImage"
    spec = {"replicas": p.replicas, image: p.image, "sandboxClass": p.sandbox_class}
    record = _object("WorkerPool", p.name, p.namespace, p.uid, spec)
    record["metadata"]["labels"] = dict(p.labels) or None
    return record


def worker(w: Worker, shape: str) -> dict[str, Any]:
    """A Worker."""
    record: dict[str, Any] = {
        "workerNamespace": w.namespace,
        "workerPool": w.pool,
        "workerPod": w.pod,
        "workerPodUid": w.uid,
        "ip": "10.0.0.1",
    }
    atespace, name, uid = w.actor or ("", "", "")
    if shape == "may":
        return record | {"actorId": name, "version": "1"}
    ref = {"actor": {"atespace": atespace, "name": name}} if w.actor else None
    if shape == "june":
        return record | {"assignment": ref, "version": "1"}
    placed = {"nodeName": w.node, "sandboxClass": w.sandbox_class}
    if shape in ("july", "late-july"):
        state = {"version": "1", "state": f"STATE_{w.state}"}
        return record | placed | state | {"assignment": ref}
    assigned = [{**ref, "actorUid": uid}] if ref else []
    status = {"state": f"WORKER_STATE_{w.state}", "assignments": assigned}
    return record | placed | {"metadata": {"name": w.name, "version": "1"}, "status": status}
