"""Build buckets and the control plane's records that fit each other, as a month left them.

state = StateBuilder("august")
state.template()
actor = state.actor("conv-0001", snapshots=3)
state.tag("good", actor)
files = state.write(folder)
# axnb map LOG --snapshots {files.bucket} --records {files.records}…

Everything is as a healthy installation leaves it: until August a suspend leaves the snapshot before
it in the bucket, since September it removes it; names, uids, times and digests agree. Wounds are
what a test does to `state.bucket` (`axnb.testing.buckets.WOUNDS`) and to `state.fleet`. Beside it
stand the log of the same conversations and lines of its server's log.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from axnb.testing.buckets import BucketBuilder, Built
from axnb.testing.fleet import (
    Actor,
    Container,
    Fleet,
    Paused,
    Pool,
    SandboxConfig,
    Snapshot,
    Tag,
    Template,
    Worker,
)
from axnb.testing.logs import LogBuilder, say
from axnb.testing.records import write_exports

IMAGE = "registry.example.test/agent@sha256:" + "ab" * 32

#: By shape of the records: generations that builds of that time wrote, with a day of each.
ERAS: dict[str, dict[str, str]] = {
    "may": {"B0": "2026-05-28"},
    "june": {"B0": "2026-06-10", "B1a": "2026-06-20", "B1b": "2026-06-27"},
    "july": {"B1b": "2026-07-14"},
    "late-july": {"B2": "2026-08-01"},
    "august": {"B3a": "2026-08-09", "B3b": "2026-08-19", "B3c": "2026-08-25"},
    "september": {"B4": "2026-09-15"},
    "october": {"B5": "2026-10-15"},
}

_NAMED = ("late-july", "august")
_OWNED = ("september", "october")
_PENDING = ("SUSPENDING", "PAUSING", "RESUMING", "DELETING")
_WITH_WORKER = ("RUNNING", "SUSPENDING", "PAUSING", "RESUMING")


def _uid(*names: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "/".join(names)))


@dataclass(frozen=True)
class Files:
    """Where it was written: the folder of the bucket, the exports, the server's log."""

    bucket: Path
    records: list[Path]
    log: Path
    server_log: Path


@dataclass(repr=False)
class StateBuilder:
    """What one installation holds; `shape` is that of its records, a key of ERAS."""

    shape: str = "august"
    #: What its builds write into the bucket; the last one of the shape if it is "".
    generation: str = ""
    sandbox_class: str = "gvisor"
    #: The name of the bucket, as URIs have it.
    bucket_name: str = "snapshots"
    bucket: BucketBuilder = field(default_factory=BucketBuilder)
    fleet: Fleet = field(default_factory=Fleet)
    log: LogBuilder = field(default_factory=lambda: LogBuilder("G8"))
    server_log: list[dict[str, Any]] = field(default_factory=list)
    #: All that was written and is still there, in order.
    built: list[Built] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"StateBuilder({self.shape!r}, {self.generation!r}, {self.sandbox_class!r})"

    def __post_init__(self) -> None:
        self.generation = self.generation or list(ERAS[self.shape])[-1]
        day = ERAS[self.shape][self.generation]
        self.now: datetime = datetime.fromisoformat(f"{day}T08:00:00Z")

    #: The uid of the template `agent`.
    template_uid = _uid("template")

    @property
    def assets(self) -> tuple[tuple[str, str, str, str], ...]:
        """(arch, name, url, sha256) of the runtime that its manifests pin."""
        found = {
            (name, about["url"], about["sha256"])
            for built in self.built
            for name, about in (built.manifest or {}).get("assets", {}).items()
        }
        return tuple(("amd64", *one) for one in sorted(found))

    # --- what it holds -----------------------------------------------------------------------

    def template(self, **options: Any) -> Template:
        """The template `ax/agent` with its golden snapshot."""
        self._pass(1)
        golden = self._golden()
        made = Template(
            "agent",
            uid=self.template_uid,
            containers=(Container("app", IMAGE),),
            volumes=("data",),
            sandbox_class=self.sandbox_class,
            sandbox_config=self.sandbox_class,
            location=self._uri(f"{self.bucket.location}/" if self.bucket.location else ""),
            golden=golden,
            golden_actor="" if self.shape in (*_NAMED, *_OWNED) else _uid("golden-actor"),
            assets=self.assets if self.shape in _OWNED else (),
            created=self._text(self.now - timedelta(hours=1)),
            **options,
        )
        config = SandboxConfig(self.sandbox_class, self.sandbox_class, self.assets, uid="config-1")
        pool = Pool("pool", uid="pool-1", image=IMAGE, sandbox_class=self.sandbox_class)
        spaces = ("ax",) if self.shape in ("may", "june", "july") else ("ate-golden", "ax")
        self.fleet = replace(
            self.fleet,
            templates=(*self.fleet.templates, made),
            sandbox_configs=(config,),
            worker_pools=(pool,),
            atespaces=spaces,
        )
        return made

    def actor(
        self,
        name: str = "conv-0001",
        snapshots: int = 1,
        *,
        state: str = "SUSPENDED",
        content: str | Sequence[str] = "full",
        atespace: str = "ax",
        turns: bool = True,
    ) -> Actor:
        """An actor that was suspended so many times; in `state` since then: if that is one on the
        way to another, make this actor last.

        `content` is that of all its snapshots or of each; `turns` says whether the log and the
        server's log hold a turn for each of them.
        """
        uid = _uid(atespace, name)
        contents = [content] * snapshots if isinstance(content, str) else content
        created = self._text(self.now)
        kept: list[Snapshot] = []
        for number, one in enumerate(contents, 1):
            self._pass(60)
            if turns:
                self.turn(name)
            owner = {"actor_name": name, "actor_uid": uid, "atespace": atespace}
            if kept and self.shape in _OWNED:
                self.remove(self.built[-1])
                kept.clear()
            kept.append(self._snapshot(one, number, **owner))
        begun = self._begun(name, uid, atespace, snapshots + 1) if state == "SUSPENDING" else None
        if state in _PENDING or state in _WITH_WORKER:
            self._pass(1)
        made = Actor(
            name,
            atespace=atespace,
            uid=uid,
            version=2 * snapshots + 1,
            state=state,
            template_space="ax",
            template_uid=self.template_uid,
            snapshots=tuple(kept),
            begun=begun,
            paused=Paused(f"pause-{name}", generation=snapshots + 1) if state == "PAUSED" else None,
            worker=self._worker(name, atespace, uid) if state in _WITH_WORKER else None,
            created=created,
            updated=self._text(self.now + timedelta(seconds=5)),
        )
        self._add(made)
        return made

    def turn(self, name: str, text: str = "done") -> None:
        """A turn of a conversation, now: in the log, and a line of the server's log."""
        self.log.turn(name, "hi", say(text))
        self.server_log.append(
            {
                "time": self._text(self.now - timedelta(seconds=20)),
                "level": "INFO",
                "msg": "Executing request",
                "request": f'conversation_id:"{name}"',
            }
        )

    def tag(self, name: str, of: Actor) -> Tag:
        """A tag of an actor's latest snapshot, since September with a copy of it."""
        latest = of.snapshots[-1]
        uid = _uid("tag", name)
        if self.shape in _OWNED:
            latest = replace(latest, name=uid, uri=self._copy(latest, of.atespace, uid))
        made = Tag(name, latest, atespace=of.atespace, uid=uid)
        self.fleet = replace(self.fleet, tags=(*self.fleet.tags, made))
        return made

    def clone(self, name: str, tag: Tag) -> Actor:
        """An actor that was cloned from a tag and never suspended: it borrows the tag's."""
        self._pass(1)
        made = Actor(
            name,
            atespace=tag.atespace,
            uid=_uid(tag.atespace, name),
            template_space="ax",
            template_uid=self.template_uid,
            snapshots=(replace(tag.snapshot, borrowed=True),),
            source_tag=(tag.atespace, tag.name),
            created=self._text(self.now),
            updated=self._text(self.now),
        )
        self._add(made)
        return made

    def delete(self, name: str) -> None:
        """Delete an actor as builds of its time do: until August its snapshots stay."""
        gone = next(actor for actor in self.fleet.actors if actor.name == name)
        actors = tuple(actor for actor in self.fleet.actors if actor is not gone)
        self.fleet = replace(self.fleet, actors=actors)
        for built in [b for b in self.built if f"/actors/{gone.uid}/" in f"/{b.prefix}"]:
            self.remove(built)

    def upgrade(self, shape: str, generation: str = "") -> None:
        """Go on with later builds: what is in the bucket stays, the records begin anew.

        Make the template and the actors again, under the same names: they keep their uids.
        """
        self.shape, self.generation, self.fleet = shape, generation, Fleet()
        self.__post_init__()

    def remove(self, built: Built) -> None:
        """Take all objects of a snapshot out of the bucket."""
        self.bucket.objects = {
            key: data
            for key, data in self.bucket.objects.items()
            if not key.startswith(f"{built.prefix}/")
        }
        self.built.remove(built)

    # --- writing -----------------------------------------------------------------------------

    def kinds(self) -> tuple[str, ...]:
        """The exports of its time that are of use."""
        listed = ("snapshots",) if self.shape in _NAMED else ()
        tags = ("tags",) if self.shape in (*_NAMED, *_OWNED) else ()
        return ("actors", *listed, *tags, "templates", "sandbox-configs", "worker-pools")

    def write(self, folder: Path) -> Files:
        """Write it all into a folder; the exports are a minute younger than the last change."""
        self.bucket.write(folder / "bucket")
        (folder / "bucket").mkdir(parents=True, exist_ok=True)
        records = write_exports(folder, self.fleet, self.shape, self.kinds(), self.now)
        log = self.log.write_sqlite(folder / "log.sqlite")
        server_log = folder / "server.log"
        server_log.write_text("".join(f"{json.dumps(line)}\n" for line in self.server_log))
        return Files(folder / "bucket", records, log, server_log)

    # --- inside ------------------------------------------------------------------------------

    def _pass(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @staticmethod
    def _text(moment: datetime) -> str:
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _uri(self, key: str) -> str:
        """As records hold it: what is not plain is escaped, and `:` and `+` are."""
        return f"gs://{self.bucket_name}/{quote(key, safe='/:+')}"

    def _add(self, actor: Actor) -> None:
        self.fleet = replace(self.fleet, actors=(*self.fleet.actors, actor))

    def _worker(self, name: str, atespace: str, uid: str) -> Worker:
        pod = f"pod-{len(self.fleet.workers)}"
        made = Worker(pod, uid=_uid(pod), name=f"worker-{pod}", actor=(atespace, name, uid))
        self.fleet = replace(self.fleet, workers=(*self.fleet.workers, made))
        return made

    def _written(self, content: str, **options: Any) -> Built:
        built = self.bucket.snapshot(
            self.generation,
            scope=content,
            sandbox_class=self.sandbox_class,
            time=self._text(self.now),
            **options,
        )
        self.built.append(built)
        return built

    def _snapshot(self, content: str, number: int = 1, **options: Any) -> Snapshot:
        return self._recorded(self._written(content, **options), content, number)

    def _recorded(self, built: Built, content: str, number: int) -> Snapshot:
        """What records call a snapshot. The name of a resource has neither case nor colons."""
        name = built.prefix.rpartition("/")[2]
        if self.generation == "B2":
            name = name.lower().replace(":", "-").replace("+", "-")
        return Snapshot(
            name,
            self._uri(built.prefix),
            content,
            number,
            self.template_uid,
            _uid("snapshot", built.prefix),
            2 * number - 1,
            self._text(self.now),
        )

    def _begun(self, name: str, uid: str, atespace: str, number: int) -> Snapshot:
        """An upload that is going on: its first object is there, and no manifest."""
        self._pass(1)
        owner = {"actor_name": name, "actor_uid": uid, "atespace": atespace}
        begun = self._written("full", **owner)
        first = begun.key(next(iter(begun.files)))
        kept = self.bucket.objects[first]
        self.remove(begun)
        self.bucket.objects[first] = kept
        return self._recorded(begun, "full", number)

    def _golden(self) -> Snapshot:
        if self.shape in _OWNED:
            uid = _uid("tag", "golden")
            held = self._snapshot(
                "full",
                atespace="ate-golden",
                tag_uid=uid,
                actor_name=self.template_uid,
                actor_uid=_uid("golden-actor"),
            )
            held = replace(held, name=self.template_uid)
            tag = Tag(self.template_uid, held, atespace="ate-golden", uid=uid)
            self.fleet = replace(self.fleet, tags=(*self.fleet.tags, tag))
            return held
        is_named = self.shape in _NAMED
        name = self.template_uid if is_named else _uid("golden-actor")
        atespace = "ate-golden" if is_named else "ax"
        uid = _uid("golden-actor")
        golden = self._snapshot("full", actor_name=name, actor_uid=uid, atespace=atespace)
        actor = Actor(
            name,
            atespace=atespace,
            uid=uid,
            template_space="ax",
            template_uid=self.template_uid,
            snapshots=(golden,),
            created=self._text(self.now),
            updated=self._text(self.now),
        )
        self._add(actor)
        return golden

    def _copy(self, snapshot: Snapshot, atespace: str, tag_uid: str) -> str:
        """The URI of a tag's copy of a snapshot."""
        source = next(b for b in self.built if self._uri(b.prefix) == snapshot.uri)
        prefix = f"{self.bucket.location}/atespaces/{atespace}/tags/{tag_uid}".lstrip("/")
        copy = Built(source.generation, prefix, source.manifest, dict(source.files))
        for file in copy.files:
            self.bucket.put(copy, file)
        self.bucket.put_manifest(copy)
        self.built.append(copy)
        return self._uri(prefix)


def healthy_state(shape: str, generation: str = "", sandbox_class: str = "gvisor") -> StateBuilder:
    """An installation with a bit of all that its time had, and nothing wrong."""
    state = StateBuilder(shape, generation, sandbox_class)
    state.template()
    kept = state.actor("conv-0001", 3)
    state.actor("conv-0002", 1)
    state.actor("conv-0003", 0, turns=False)
    state.actor("conv-0004", 1, state="RUNNING")
    if shape != "may":
        state.actor("conv-0005", 1, state="PAUSED")
    if shape in (*_NAMED, *_OWNED):
        tag = state.tag("good", kept)
        state.clone("conv-0006", tag)
    state.actor("conv-0007", 1, state="SUSPENDING")
    return state
