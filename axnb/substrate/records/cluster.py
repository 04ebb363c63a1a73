"""Templates, sandbox configs, pools and workers: Kubernetes' objects and Substrate's own.

Fields are those of `pkg/api/v1alpha1` and of `ateapi.proto` of agent-substrate/substrate.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from axnb.substrate.records import words
from axnb.substrate.records.actors import Global, global_of, identity_of, stored
from axnb.substrate.records.fields import Fields, RejectedError
from axnb.substrate.records.model import (
    Asset,
    Assignment,
    Container,
    EnvVar,
    Place,
    Ref,
    SandboxConfigRecord,
    Stored,
    TemplateRecord,
    Volume,
    WorkerPoolRecord,
    WorkerRecord,
)

_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})")

#: Of Kubernetes' metadata; annotations hold the whole object again, values of variables included.
_KUBERNETES = (
    *("annotations", "labels", "managedFields", "generation", "finalizers", "ownerReferences"),
    *("selfLink", "generateName", "deletionTimestamp", "deletionGracePeriodSeconds"),
)


def _kubernetes(metadata: Fields) -> Global:
    metadata.ignore(*_KUBERNETES)
    version = metadata.text("resourceVersion")
    return {
        "name": metadata.text("name"),
        "uid": metadata.text("uid"),
        "version": int(version) if version.isdecimal() and len(version) < 19 else None,
        "created": metadata.time("creationTimestamp"),
    }


def _spec(top: Fields) -> tuple[Fields, Fields]:
    top.ignore("apiVersion", "kind")
    metadata, spec = top.object("metadata"), top.object("spec")
    if metadata is None or spec is None:
        raise RejectedError("wrong-type", "$.spec" if metadata else "$.metadata")
    return metadata, spec


# --- templates -----------------------------------------------------------------------------------


def kubernetes_template(top: Fields, place: Place) -> TemplateRecord:
    """An ActorTemplate of the CRD `ate.dev/v1alpha1`."""
    metadata, spec = _spec(top)
    status, config = top.object("status"), spec.object("snapshotsConfig")
    resume = config.object("onResume") if config else None
    spec.ignore("workerSelector", "imagePullSecrets", "resources")
    named = status.text("goldenSnapshot") if status else ""
    if status is not None:
        status.ignore("takeGoldenSnapshotAt", "conditions", "message")
    return TemplateRecord(
        place,
        "kubernetes",
        (),
        **_kubernetes(metadata),
        namespace=metadata.text("namespace"),
        containers=_containers(spec),
        volumes=_volumes(spec),
        sandbox_class=spec.word(words.SANDBOX_CLASS, "sandboxClass", unset="gvisor"),
        sandbox_config=spec.text("sandboxConfigName"),
        pause_image=spec.text("pauseImage"),
        location=config.text("location") if config else "",
        on_pause=_scope(config, "onPause"),
        on_commit=_scope(config, "onCommit"),
        from_data=_source(resume),
        phase=status.word(words.PHASE, "phase", unset="initial") if status else "initial",
        golden=_golden(named),
        # A Go field of the status has capital ID, its JSON name did not always.
        golden_actor=status.text("goldenActorID", "goldenActorId") if status else "",
    )


def _golden(named: str) -> Stored | None:
    """By URI in June, by name in atespace `ate-golden` since 07-30."""
    if not named:
        return None
    return Stored(uri=named) if "://" in named else Stored(atespace="ate-golden", name=named)


def _scope(config: Fields | None, name: str) -> str:
    """Full is the default of the CRD, and what an unset enum means."""
    return (config.word(words.SCOPE, name) if config else "") or "full"


def _source(resume: Fields | None) -> str:
    return (resume.word(words.RESUME_SOURCE, "fromData") if resume else "") or "cold-boot"


def template(top: Fields, place: Place) -> TemplateRecord:
    """An ActorTemplate of Substrate's own, since August."""
    config, newest = top.object("snapshotsConfig"), top.object("snapshotConfig")
    sandbox, status = top.object("sandboxConfig"), top.object("status")
    resume = config.object("onResume") if config else None
    frozen = status.object("sandboxAssets") if status else None
    top.ignore("workerSelector", "resources")
    if status is not None:
        status.ignore("message")
    return TemplateRecord(
        place,
        "october" if newest else "august|september",
        (),
        **identity_of(top),
        containers=_containers(top),
        volumes=_volumes(top),
        sandbox_class=sandbox.word(words.SANDBOX_CLASS, "sandboxClass") if sandbox else "",
        sandbox_config=sandbox.text("configName") if sandbox else "",
        pause_image=frozen.text("pauseImage") if frozen else "",
        assets=_frozen_assets(frozen),
        location=next((c.text("storageLocation") for c in (newest, config) if c), ""),
        on_pause="" if newest else _scope(config, "onPause"),
        on_commit="" if newest else _scope(config, "onCommit"),
        from_data="" if newest else _source(resume),
        preferred=newest.word(words.FIDELITY, "preferredFidelity") if newest else "",
        phase=status.word(words.PHASE, "phase", unset="initial") if status else "initial",
        golden=_golden_of(status),
    )


def _golden_of(status: Fields | None) -> Stored | None:
    """A reference to a snapshot (August), to a tag, or a snapshot itself (September and later)."""
    held = status.object("goldenSnapshot", "goldenTag", "goldenSnapshotTag") if status else None
    if held is None:
        return None
    if held.has("snapshotUri"):
        return stored(held)
    return Stored(atespace=held.text("atespace"), name=held.text("name"))


def _containers(spec: Fields) -> tuple[Container, ...]:
    return tuple(_container(message) for message in spec.objects("containers"))


def _container(message: Fields) -> Container:
    # Arguments may hold secrets, and nothing here asks for them.
    message.ignore("command", "args", "readyz", "resources")
    image = message.text("image")
    digest = _DIGEST.search(image)
    return Container(
        name=message.text("name"),
        image=image,
        digest=digest[1] if digest else "",
        env=tuple(_variable(variable) for variable in message.objects("env")),
        mounts=tuple(
            (mount.text("name"), mount.text("mountPath"))
            for mount in message.objects("volumeMounts")
        ),
    )


def _variable(variable: Fields) -> EnvVar:
    """A variable without its value, however long that is."""
    name, value = variable.text("name"), variable.get("value")
    if value is None:
        from_secret = variable.has("valueFrom")
        variable.ignore("valueFrom")
        return EnvVar(name, 0, "" if from_secret else hashlib.sha256(b"").hexdigest(), from_secret)
    if not isinstance(value, str):
        raise RejectedError("wrong-type", f"{variable.path}.value")
    return EnvVar(name, len(value), hashlib.sha256(value.encode()).hexdigest())


def _volumes(spec: Fields) -> tuple[Volume, ...]:
    return tuple(_volume(message) for message in spec.objects("volumes"))


def _volume(message: Fields) -> Volume:
    kind = "other"
    if message.has("durableDir"):
        kind = "durable-dir"
    elif message.has("externalVolumeTemplate"):
        kind = "external"
    message.ignore("durableDir", "externalVolumeTemplate", "type")
    return Volume(message.text("name"), kind)


def _frozen_assets(frozen: Fields | None) -> tuple[Asset, ...]:
    if frozen is None:
        return ()
    frozen.ignore("sandboxClass")
    return tuple(
        asset
        for arch, value, path in frozen.entries("assets")
        for asset in _files(frozen.below(value, path), arch, "files")
    )


def _files(message: Fields, arch: str, name: str) -> list[Asset]:
    return [
        _asset(message.below(file, path), arch, asset)
        for asset, file, path in message.entries(name)
    ]


def _asset(file: Fields, arch: str, name: str) -> Asset:
    return Asset(arch, name, _address(file.text("url")), file.text("sha256"))


def _address(url: str) -> str:
    """An address without userinfo, query and fragment; "" if it is none."""
    try:
        parts = urlsplit(url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return ""


# --- what runs them ------------------------------------------------------------------------------


def sandbox_config(top: Fields, place: Place) -> SandboxConfigRecord:
    """A SandboxConfig: always Kubernetes'."""
    metadata, spec = _spec(top)
    top.ignore("status")
    return SandboxConfigRecord(
        place,
        "kubernetes",
        (),
        **_kubernetes(metadata),
        sandbox_class=spec.word(words.SANDBOX_CLASS, "sandboxClass", unset="gvisor"),
        assets=tuple(
            _asset(spec.below(file, where), arch, name)
            for arch, files, path in spec.entries("assets")
            for name, file, where in _entries(files, path)
        ),
        pause_image=spec.text("pauseImage"),
        default=spec.flag("default"),
    )


def _entries(files: Any, path: str) -> list[tuple[str, Any, str]]:
    if not isinstance(files, dict):
        raise RejectedError("wrong-type", path)
    return [(name, file, f"{path}.*") for name, file in sorted(files.items())]


def worker_pool(top: Fields, place: Place) -> WorkerPoolRecord:
    """A WorkerPool: always Kubernetes'."""
    metadata, spec = _spec(top)
    top.ignore("status")
    spec.ignore("template", "maxActorsPerWorker")
    one = spec.word(words.SANDBOX_CLASS, "sandboxClass")
    labels = tuple(
        (name, value) for name, value, _ in metadata.entries("labels") if isinstance(value, str)
    )
    return WorkerPoolRecord(
        place,
        "kubernetes",
        (),
        **_kubernetes(metadata),
        namespace=metadata.text("namespace"),
        replicas=spec.number("replicas"),
        image=spec.text("workerImage", "ateomImage"),
        sandbox_classes=spec.texts("sandboxClasses") or (one or "gvisor",),
        sandbox_config=spec.text("sandboxConfigName"),
        labels=labels,
    )


def worker(top: Fields, place: Place) -> WorkerRecord:
    """A worker: flat from May to July, with metadata and status since August."""
    metadata, status = top.object("metadata"), top.object("status")
    top.ignore("ip", "labels", "capacity")
    if metadata is None:
        july = top.has("nodeName", "sandboxClass", "state", "labels")
        may = top.has("actorId", "actorTemplate", "actorNamespace")
        shape = "july" if july else "may" if may else "june"
    else:
        shape = "august+"
    identity: Global = global_of(metadata) if metadata else {"version": top.number("version")}
    return WorkerRecord(
        place,
        shape,
        (),
        **identity,
        namespace=top.text("workerNamespace"),
        pool=top.text("workerPool"),
        pod=top.text("workerPod"),
        pod_uid=top.text("workerPodUid"),
        node=top.text("nodeName"),
        sandbox_class=top.text("sandboxClass"),
        state=(status or top).word(words.WORKER_STATE, "state"),
        assignments=_assignments(top, status or top),
    )


def _assignments(top: Fields, status: Fields) -> tuple[Assignment, ...]:
    """One actor until August, then as many as the worker has room for."""
    name = top.text("actorId")
    top.ignore("actorTemplate", "actorNamespace")
    one = status.object("assignment")
    found = [*([one] if one else []), *status.objects("assignments")]
    early = (Assignment(Ref(name=name)),) if name else ()
    return early + tuple(_assignment(message) for message in found)


def _assignment(message: Fields) -> Assignment:
    message.ignore(*("actorTemplate", "actorTemplateNamespace", "actorTemplateName", "resources"))
    actor = message.object("actor")
    ref = Ref(actor.text("atespace"), actor.text("name")) if actor else Ref()
    return Assignment(ref, message.text("actorUid"))
