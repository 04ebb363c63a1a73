"""Records of the control plane as rows of a case's tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar, cast

from axnb.substrate.comparing import Comparison, Seen
from axnb.substrate.errors import LocationError
from axnb.substrate.layouts import parse_uri, split_uri
from axnb.substrate.naming import Named, by_name
from axnb.substrate.records import (
    KINDS,
    ActorRecord,
    Asset,
    Export,
    Record,
    SandboxConfigRecord,
    SnapshotRecord,
    Stored,
    TagRecord,
    TemplateRecord,
    TemplateRef,
)
from axnb.substrate.states import remarks

Row = dict[str, Any]
_R = TypeVar("_R", bound=Record)


class Rows:
    """What two exports say together, as rows; `written` is when the last file was written."""

    def __init__(self, source: str, found: Comparison, written: datetime) -> None:
        self._source = source
        self._found = found
        self._written = written

    def _of(self, kind: str, known: type[_R]) -> Iterator[tuple[Seen, _R]]:
        for seen in self._found.of(kind):
            yield seen, cast(_R, seen.record)

    @cached_property
    def _named(self) -> Named:
        return by_name(record for _, record in self._of("snapshot", SnapshotRecord))

    def actors(self) -> Iterator[Row]:
        """Rows of `actors`."""
        for seen, a in self._of("actor", ActorRecord):
            worker = a.worker
            yield {
                "source": self._source,
                "atespace": a.atespace,
                "name": a.name,
                "uid": a.uid or None,
                "version": a.version,
                "shape": a.shape,
                "state": a.state,
                "template": _ref(a.template),
                "template_uid": a.template.uid or None,
                "worker": (worker.name or worker.pod) if worker else None,
                "node": a.node or None,
                "crash": a.crash or None,
                "source_tag": f"{a.source_tag.atespace}/{a.source_tag.name}"
                if a.source_tag
                else None,
                "created": a.created,
                "updated": a.updated,
                "change": seen.change.value,
            }

    def templates(self) -> Iterator[Row]:
        """Rows of `templates`."""
        for seen, t in self._of("template", TemplateRecord):
            yield {
                "source": self._source,
                "space": t.owner,
                "name": t.name,
                "uid": t.uid or None,
                "shape": t.shape,
                "sandbox_class": t.sandbox_class or None,
                "sandbox_config": t.sandbox_config or None,
                "pause_image": t.pause_image or None,
                "location": t.location or None,
                "on_pause": t.on_pause or None,
                "on_commit": t.on_commit or t.preferred or None,
                "from_data": t.from_data or None,
                "phase": t.phase,
                "golden_actor": t.golden_actor or None,
                "created": t.created,
                "change": seen.change.value,
            }

    def containers(self) -> Iterator[Row]:
        """Rows of `template_containers`."""
        for _, t in self._of("template", TemplateRecord):
            for container in t.containers:
                yield {
                    "source": self._source,
                    "space": t.owner,
                    "template": t.name,
                    "uid": t.uid or None,
                    "container": container.name,
                    "image": container.image,
                    "digest": container.digest or None,
                    "env_names": [variable.name for variable in container.env],
                }

    def tags(self) -> Iterator[Row]:
        """Rows of `tags`."""
        for seen, t in self._of("tag", TagRecord):
            yield {
                "source": self._source,
                "atespace": t.atespace,
                "name": t.name,
                "uid": t.uid or None,
                "scope": t.scope or None,
                "change": seen.change.value,
            }

    def assets(self) -> Iterator[Row]:
        """Rows of `record_assets`."""
        for _, t in self._of("template", TemplateRecord):
            yield from self._assets("template", f"{t.owner}/{t.name}", t.sandbox_class, t.assets)
        for _, c in self._of("sandbox-config", SandboxConfigRecord):
            yield from self._assets("sandbox-config", c.name, c.sandbox_class, c.assets)

    def _assets(
        self, kind: str, owner: str, sandbox_class: str, assets: Iterable[Asset]
    ) -> Iterator[Row]:
        for asset in assets:
            yield {
                "source": self._source,
                "kind": kind,
                "owner": owner,
                "sandbox_class": sandbox_class or None,
                "arch": asset.arch or None,
                "name": asset.name,
                "url": asset.url,
                "sha256": asset.sha256 or None,
            }

    def snapshots(self) -> Iterator[Row]:
        """Rows of `record_snapshots`: each snapshot that a record names."""
        for seen, a in self._of("actor", ActorRecord):
            yield from self._of_actor(seen, a)
        for seen, s in self._of("snapshot", SnapshotRecord):
            stored = Stored(
                s.uri,
                s.atespace,
                s.name,
                s.content,
                s.template.uid,
                source_version=s.source_actor_version,
            )
            owner = f"{s.source_actor.atespace or s.atespace}/{s.source_actor.name}"
            yield self._stored("snapshot", seen, "itself", stored) | {
                "template": _ref(s.template),
                "actor": owner if s.source_actor.name else None,
                "actor_uid": s.source_actor_uid or None,
            }
        for seen, t in self._of("tag", TagRecord):
            if t.snapshot is not None:
                yield self._stored("tag", seen, "tagged", t.snapshot)
        for seen, template in self._of("template", TemplateRecord):
            if template.golden is not None:
                golden = self._held_by_tag(template.golden)
                yield self._stored("template", seen, "golden", golden) | {
                    "template": f"{template.owner}/{template.name}",
                    "template_uid": template.uid or None,
                }

    def _of_actor(self, seen: Seen, a: ActorRecord) -> Iterator[Row]:
        about = {
            "actor": f"{a.atespace}/{a.name}",
            "actor_uid": a.uid or None,
            "template": _ref(a.template),
        }
        named = {"latest": a.latest, "in-progress": a.in_progress, "local": a.local}
        for role, stored in named.items():
            if stored is not None:
                yield self._stored("actor", seen, role, stored) | about
        for stored in a.snapshots:
            if stored.uri:
                yield self._stored("actor", seen, "listed", stored) | about
        if a.source_snapshot is not None:
            source = Stored(atespace=a.source_snapshot.atespace, name=a.source_snapshot.name)
            # Whose it is, its own record says: the clone borrows it.
            yield self._stored("actor", seen, "source", source)

    @cached_property
    def _tags(self) -> dict[tuple[str, str], Stored]:
        """What tags hold, by atespace and name."""
        tags = (tag for _, tag in self._of("tag", TagRecord))
        return {(tag.atespace, tag.name): tag.snapshot for tag in tags if tag.snapshot is not None}

    def _held_by_tag(self, named: Stored) -> Stored:
        """What a name stands for: since September a template names the tag of its golden one."""
        place = (named.atespace, named.name)
        return named if named.uri or place in self._named else self._tags.get(place, named)

    def _stored(self, kind: str, seen: Seen, role: str, named: Stored) -> Row:
        record = seen.record
        by_record = self._named.get((named.atespace, named.name)) if not named.uri else None
        uri = named.uri or (by_record.uri if by_record else "")
        template_uid = named.template_uid or (by_record.template.uid if by_record else "")
        bucket, prefix, reason = _place(uri)
        return {
            "source": self._source,
            "kind": kind,
            "space": record.owner,
            "name": record.name,
            "uid": record.uid or None,
            "role": role,
            "bucket": bucket,
            "snapshot": prefix,
            "snapshot_name": named.name or None,
            "uri_reason": reason,
            "content": named.content or (by_record.content if by_record else "") or None,
            "template_uid": template_uid or None,
            "generation": named.generation,
            "status": named.status or None,
            "actor_version": named.source_version,
            "created": by_record.created if by_record else record.created,
            "change": seen.change.value,
        }

    def remarks(self) -> Iterator[Row]:
        """Rows of `record_remarks`."""
        for _, a in self._of("actor", ActorRecord):
            for kind, sentence in remarks(a, self._written):
                yield {
                    "source": self._source,
                    "actor": f"{a.atespace}/{a.name}",
                    "uid": a.uid or None,
                    "kind": kind,
                    "sentence": sentence,
                }

    def coverage(self, first: Export, second: Export | None) -> Iterator[Row]:
        """Rows of `record_coverage`, one a kind."""
        for kind in KINDS:
            whole = [e for e in (first, second) if e is not None and e.covers(kind)]
            spaces = [{r.owner for r in e.of(KINDS[kind])} for e in whole]
            yield {
                "source": self._source,
                "kind": kind,
                "exports": len(whole) if second is None or len(whole) == 2 else min(len(whole), 1),
                "spaces": sorted(set.intersection(*spaces)) if spaces else [],
                "everywhere": self._found.everywhere,
            }

    def duplicates(self, first: Export, second: Export | None) -> Iterator[Row]:
        """Rows of `record_duplicates`."""
        for export in (first, second):
            by_place = {record.place: record for record in export.records} if export else {}
            for duplicate in export.duplicates if export else ():
                record = by_place.get(duplicate.first) or by_place.get(duplicate.second)
                yield {
                    "source": self._source,
                    "kind": duplicate.kind,
                    "what": duplicate.what,
                    "space": record.owner if record else "",
                    "name": record.name if record else "",
                }


def _ref(template: TemplateRef) -> str | None:
    space = template.atespace or template.namespace
    return f"{space}/{template.name}" if template.name else None


def _place(uri: str) -> tuple[str | None, str | None, str | None]:
    """Bucket and prefix of a URI, or why it names no place of a snapshot."""
    if not uri:
        return None, None, None
    try:
        bucket, place = parse_uri(uri)
        return bucket, place.prefix, None
    except LocationError as err:
        reason = err.reason
    try:
        bucket, key = split_uri(uri)
    except LocationError:
        return None, None, reason
    return bucket, key.removesuffix("/"), reason
