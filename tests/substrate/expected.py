"""What a described fleet is as records, and how much of it each shape can say."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from axnb.substrate import records as r
from axnb.testing import fleet as f

PLACE = r.Place(0)


def time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def shape_of(shape: str) -> str:
    return "july" if shape == "late-july" else shape


def actor(a: f.Actor, shape: str) -> r.ActorRecord:
    """The record of `a` in a shape, written down field by field."""
    early = shape in ("may", "june")
    by_uri = shape in ("may", "june", "july")
    listed = _listed(a) if shape == "october" else ()
    values: dict[str, Any] = {
        "atespace": "" if shape == "may" else a.atespace,
        "uid": "" if early else a.uid,
        "created": None if early else time(a.created),
        "updated": None if early else time(a.updated),
        "snapshots": listed,
        "last_generation": max((s.generation or 0 for s in listed), default=None),
        "crash": (a.crash and shape == "october" and "WORKER_POD_GONE") or "",
    }
    hides_latest = a.paused is not None and shape in ("june", "july")
    latest = a.snapshots[-1] if a.snapshots and not hides_latest else None
    if by_uri:
        values["latest"] = r.Stored(uri=latest.uri) if latest else None
        values["in_progress"] = r.Stored(uri=a.begun.uri) if a.begun else None
    elif shape in ("late-july", "august"):
        values["latest"] = r.Stored(atespace=a.atespace, name=latest.name) if latest else None
        values["in_progress"] = (
            r.Stored(name=a.begun.name, source_version=a.begun.source_version) if a.begun else None
        )
    elif shape == "september":
        values["latest"] = (
            r.Stored(latest.uri, content=latest.content, template_uid=latest.template_uid)
            if latest
            else None
        )
        values["in_progress"] = r.Stored(uri=a.begun.uri) if a.begun else None
    else:
        values["latest"] = _generation(latest, "completed") if latest else None
        values["in_progress"] = _generation(a.begun, "pending") if a.begun else None
    return r.ActorRecord(
        PLACE,
        shape_of(shape),
        (),
        name=a.name,
        version=a.version,
        state=a.state,
        template=_template_ref(a, shape),
        local=_local(a, shape),
        worker=_worker(a, shape),
        **values,
    )


def _template_ref(a: f.Actor, shape: str) -> r.TemplateRef:
    if shape in ("september", "october"):
        return r.TemplateRef("", a.atespace, a.template, a.template_uid)
    return r.TemplateRef(a.atespace, "", a.template)


def _worker(a: f.Actor, shape: str) -> r.WorkerRef | None:
    if a.worker is None:
        return None
    w = a.worker
    late = shape in ("august", "september", "october")
    pool = "" if shape == "may" else w.pool
    return r.WorkerRef(w.namespace, pool, w.pod, w.uid, w.name if late else "")


def _local(a: f.Actor, shape: str) -> r.Stored | None:
    if a.paused is None or shape == "may":
        return None
    content = a.paused.content if shape in ("august", "september", "october") else ""
    if shape == "october":
        return _held(a)
    return r.Stored(name=a.paused.name, content=content, nodes=(a.paused.node,))


def _held(a: f.Actor) -> r.Stored:
    assert a.paused is not None
    return r.Stored(
        name=a.paused.name,
        content=a.paused.content,
        generation=a.paused.generation,
        owned_by="actor",
        nodes=(a.paused.node,),
    )


def _generation(s: f.Snapshot, status: str) -> r.Stored:
    return r.Stored(
        uri=s.uri,
        name=s.name,
        content=s.content,
        template_uid=s.template_uid,
        generation=s.generation,
        owned_by="actor",
        status=status,
    )


def _listed(a: f.Actor) -> tuple[r.Stored, ...]:
    found = [_generation(s, "completed") for s in a.snapshots]
    found += [_generation(a.begun, "pending")] if a.begun else []
    found += [_held(a)] if a.paused else []
    return tuple(sorted(found, key=lambda s: (s.generation or 0, s.uri)))


def snapshot(a: f.Actor, s: f.Snapshot, shape: str) -> r.SnapshotRecord:
    return r.SnapshotRecord(
        PLACE,
        shape_of(shape),
        (),
        name=s.name,
        uid=s.uid,
        version=1,
        atespace=a.atespace,
        source_actor=r.Ref(a.atespace, a.name),
        source_actor_uid=a.uid,
        source_actor_version=s.source_version,
        template=r.TemplateRef(a.atespace, "", a.template, s.template_uid),
        content=s.content,
        uri=s.uri if shape == "august" else "",
    )


def template(t: f.Template, shape: str) -> r.TemplateRecord:
    own = shape in ("august", "september", "october")
    october = shape == "october"
    golden = None
    if t.golden is not None:
        by_name = shape not in ("may", "june", "july")
        golden = r.Stored("", "ate-golden", t.golden.name) if by_name else r.Stored(t.golden.uri)
    assets = tuple(r.Asset(*a) for a in sorted(t.assets)) if own else ()
    return r.TemplateRecord(
        PLACE,
        "october" if october else "august|september" if own else "kubernetes",
        (),
        name=t.name,
        uid=t.uid,
        version=t.version,
        created=time(t.created),
        namespace="" if own else t.atespace,
        atespace=t.atespace if own else "",
        containers=tuple(_container(c) for c in t.containers),
        volumes=tuple(r.Volume(name, "durable-dir") for name in t.volumes),
        sandbox_class=t.sandbox_class,
        sandbox_config=t.sandbox_config if own else "",
        pause_image=t.pause_image,
        assets=assets,
        location=t.location,
        on_pause="" if october else t.on_pause,
        on_commit="" if october else t.on_commit,
        from_data="" if october else t.from_data,
        preferred=t.on_commit if october else "",
        phase=t.phase,
        golden=golden,
        golden_actor="" if own else t.golden_actor,
    )


def _container(c: f.Container) -> r.Container:
    env = tuple(
        r.EnvVar(name, len(value), hashlib.sha256(value.encode()).hexdigest())
        for name, value in c.env.items()
    )
    return r.Container(c.name, c.image, c.image.rpartition("@")[2], env, tuple(c.mounts.items()))
