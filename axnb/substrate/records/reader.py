"""Read an export of the control plane: what `kubectl ate get … -o json` or `kubectl get … -o json`
prints, several of these behind each other, or stored records as JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from axnb.substrate.records import actors, cluster
from axnb.substrate.records.documents import LISTS, Ended, Found, Limits, camel, decoded, values
from axnb.substrate.records.fields import Fields, RejectedError, examine
from axnb.substrate.records.model import KINDS, Place, Record

_R = TypeVar("_R", bound=Record)

_KUBERNETES: dict[str, tuple[str, Callable[[Fields, Place], Record]]] = {
    "ActorTemplate": ("template", cluster.kubernetes_template),
    "SandboxConfig": ("sandbox-config", cluster.sandbox_config),
    "WorkerPool": ("worker-pool", cluster.worker_pool),
}
_GROUP = "ate.dev/"

_READERS: dict[str, Callable[[Fields, Place], Record]] = {
    "actor": actors.actor,
    "snapshot": actors.snapshot,
    "tag": actors.tag,
    "atespace": actors.atespace,
    "template": cluster.template,
    "worker": cluster.worker,
}

#: Fields that one kind alone has, on top of a record; in this order, the first that fits.
_MARKS = (
    ("worker", ("workerPod", "workerPool", "workerPodUid")),
    ("actor", ("actorId", "sourceSnapshotTag", "sourceTag", "localSnapshotInfo")),
    ("snapshot", ("sourceActor", "sourceActorUid", "contentScope")),
    ("template", ("containers", "snapshotsConfig", "snapshotConfig", "sandboxConfig")),
    ("tag", ("scope", "snapshot")),
    ("actor", ("actorTemplate", "actorTemplateName", "actorTemplateNamespace")),
)
_STATUS_MARKS = (
    ("snapshot", ("sourceActor", "sourceActorUid", "sourceActorVersion", "actorTemplateUid")),
    ("actor", ("state", "workerAssignment", "snapshots", "latestSnapshot", "externalSnapshot")),
    ("template", ("phase", "goldenSnapshot", "sandboxAssets")),
    ("tag", ("snapshot",)),
)

#: What a wrapper may hold beside its list. A token means that the server had more to tell.
_TOKENS = ("nextPageToken",)
_WRAPPER = (*_TOKENS, "apiVersion", "kind", "metadata")


@dataclass(frozen=True)
class Reject:
    """A record that could not be read: the class and path of RejectedError, and where it stands.

    `kind` is "" where not even that is known.
    """

    kind: str
    reason: str
    path: str
    place: Place


@dataclass(frozen=True)
class Duplicate:
    """A record that a list holds twice: lists are paged, and may repeat records or miss some.

    equal      the same record again
    different  the same one, changed between two pages; the higher version is kept
    namesake   another uid under the same name: it was deleted and made anew; both are kept
    """

    what: str
    kind: str
    first: Place
    second: Place


@dataclass(frozen=True)
class Document:
    """One JSON document of an export.

    form    `list`, `array`, `object` (one record), `empty` ({}: how an empty list is printed)
            or `other` (not JSON)
    kinds   kinds of its records; of a list without records the kind that it is a list of
    cut     its end is missing
    more    a page of a list, and not the last one
    """

    number: int
    form: str
    kinds: tuple[str, ...]
    records: int
    rejects: int
    cut: bool
    more: bool


@dataclass(frozen=True)
class Export:
    """What an export holds. `unknown`: how many records have a field that axnb has no name for, by
    the field's path; `complete`: nothing of it is missing, as far as it tells by itself."""

    records: tuple[Record, ...] = ()
    rejects: tuple[Reject, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    documents: tuple[Document, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)

    def of(self, kind: type[_R]) -> list[_R]:
        """The records of one kind, in order."""
        return [record for record in self.records if isinstance(record, kind)]

    @property
    def complete(self) -> bool:
        """Was every record read to its end?"""
        whole = not any(document.cut or document.more for document in self.documents)
        return bool(self.documents) and whole and not self.rejects

    def covers(self, kind: str) -> bool:
        """Does it hold a list of this kind, of which nothing is missing?

        A reject of another kind does not matter; one whose kind is not known may be of this kind.
        """
        listed = [document for document in self.documents if kind in document.kinds]
        whole = not any(document.cut or document.more for document in listed)
        lost = any(reject.kind in (kind, "") for reject in self.rejects)
        return bool(listed) and whole and not lost


def read_export(data: bytes, asked: str = "", limits: Limits | None = None) -> Export:
    """Read an export. `asked` is the kind that was asked for: an empty list does not tell its own.

    Nothing in `data` raises: what cannot be read is a reject.
    """
    reading = _Reading(asked, limits or Limits())
    if len(data) > reading.limits.size:
        reading.reject("", RejectedError("too-large"), Place(0))
        reading.end(Ended(0, "other", cut=True))
        return reading.export()
    for value in values(decoded(data)):
        if isinstance(value, Ended):
            reading.end(value)
        else:
            reading.read(value)
        if len(reading.rejects) >= reading.limits.rejects:
            reading.reject("", RejectedError("too-many-rejects"), Place(value.document))
            reading.end(Ended(value.document, "other", cut=True))
            break
    return reading.export()


def join(exports: list[Export]) -> Export:
    """Several exports of one moment as one: each command prints one kind.

    Documents are numbered on; a record that two of them hold is a duplicate.
    """
    reading = _Reading("", Limits())
    for export in exports:
        first = len(reading.documents)
        for record in export.records:
            moved = Place(record.place.document + first, record.place.index)
            reading.keep(_kind(record), replace(record, place=moved))
        reading.rejects += [
            replace(r, place=Place(r.place.document + first, r.place.index)) for r in export.rejects
        ]
        reading.duplicates += [
            replace(
                d,
                first=Place(d.first.document + first, d.first.index),
                second=Place(d.second.document + first, d.second.index),
            )
            for d in export.duplicates
        ]
        reading.documents += [replace(d, number=d.number + first) for d in export.documents]
        for path, count in export.unknown.items():
            reading.unknown[path] = reading.unknown.get(path, 0) + count
    return reading.export()


def _kind(record: Record) -> str:
    return next(kind for kind, known in KINDS.items() if type(record) is known)


class _Reading:
    """An export in the making."""

    def __init__(self, asked: str, limits: Limits) -> None:
        self.asked, self.limits = asked, limits
        self.rejects: list[Reject] = []
        self.duplicates: list[Duplicate] = []
        self.documents: list[Document] = []
        self.unknown: dict[str, int] = {}
        self._records: dict[tuple[str, str, str], Record] = {}
        self._names: dict[tuple[str, str, str], Record] = {}
        self._here: list[str] = []
        self._refused = 0

    def read(self, found: Found) -> None:
        """Read one value as a record."""
        place, kind = Place(found.document, found.index), found.promised
        try:
            examine(found.value, self.limits)
            if len(self._records) >= self.limits.records:
                raise RejectedError("too-many")
            if not isinstance(found.value, dict):
                raise RejectedError("wrong-type")
            opened: list[Fields] = []
            top = Fields(found.value, "$", self.limits, opened)
            kind, read = kind_of(top, found.promised)
            record = read(top, place)
            if not record.name and kind != "worker":
                raise RejectedError("no-name")
        except RejectedError as err:
            self.reject(kind, err, place)
        else:
            paths = sorted({path for fields in opened for path in fields.unread()})
            for path in paths:
                if path in self.unknown or len(self.unknown) < self.limits.paths:
                    self.unknown[path] = self.unknown.get(path, 0) + 1
            self._here.append(kind)
            self.keep(kind, replace(record, unknown=tuple(paths[:50])))

    def reject(self, kind: str, error: RejectedError, place: Place) -> None:
        """Count a record that cannot be read."""
        self._refused += 1
        self.rejects.append(Reject(kind, error.reason, error.path, place))

    def keep(self, kind: str, record: Record) -> None:
        """Take a record, unless it is there already."""
        name = (kind, record.owner, _name(record))
        key = (kind, "uid", record.uid) if record.uid else name
        other = self._records.get(key)
        if other is None:
            namesake = self._names.get(name)
            if namesake is not None:
                self._twice("namesake", kind, namesake, record)
            self._records[key] = record
            self._names.setdefault(name, record)
            return
        same = record == other and record.unknown == other.unknown
        self._twice("equal" if same else "different", kind, other, record)
        if (record.version or 0) > (other.version or 0):
            self._records[key] = record

    def _twice(self, what: str, kind: str, first: Record, second: Record) -> None:
        self.duplicates.append(Duplicate(what, kind, first.place, second.place))

    def end(self, ended: Ended) -> None:
        """Close a document."""
        kinds = {*self._here}
        if not self._here and ended.form in ("list", "array", "empty"):
            promised = {_promise(name) for name in ended.listed} - {""}
            kinds = promised or ({self.asked} - {""})
        self.documents.append(
            Document(
                ended.document,
                ended.form,
                tuple(sorted(kinds)),
                len(self._here),
                self._refused,
                ended.cut,
                ended.form == "list" and _has_more(ended.rest),
            )
        )
        if ended.form == "list":
            for name in ended.rest:
                if camel(name) not in _WRAPPER:
                    path = f"$.{camel(name)}" if name.isidentifier() else "$.?"
                    self.unknown[path] = self.unknown.get(path, 0) + 1
        self._here, self._refused = [], 0

    def export(self) -> Export:
        """What was read."""
        return Export(
            tuple(self._records.values()),
            tuple(self.rejects),
            tuple(self.duplicates),
            tuple(self.documents),
            dict(sorted(self.unknown.items())),
        )


def _promise(listed: str) -> str:
    return LISTS.get(camel(listed), "")


def _has_more(rest: Mapping[str, Any]) -> bool:
    """Did the server have more to tell than this page?"""
    metadata = rest.get("metadata")
    inner = metadata.get("continue") if isinstance(metadata, dict) else None
    tokens = [rest[name] for name in rest if camel(name) in _TOKENS]
    return any(token not in (None, "") for token in [inner, *tokens])


def _name(record: Record) -> str:
    """What a record is called: a worker before August has no name but its pod's."""
    pod = getattr(record, "pod", "")
    return record.name or f"{getattr(record, 'pool', '')}/{pod}"


def kind_of(top: Fields, promised: str) -> tuple[str, Callable[[Fields, Place], Record]]:
    """The kind of a record and what reads it, by its own fields.

    `promised` is the kind that its list names: it decides where the fields do not. Raises
    RejectedError where both say something else, and for a kind that is none of Substrate's.
    """
    if isinstance(top.get("apiVersion"), str) and isinstance(top.get("kind"), str):
        group, kind = top.text("apiVersion"), top.text("kind")
        if not group.startswith(_GROUP) or kind not in _KUBERNETES:
            raise RejectedError("other-kind", "$.kind")
        return _KUBERNETES[kind]
    if isinstance(top.get("proto"), str) and not top.has("metadata"):
        # A row of Substrate's PostgreSQL tables: binary protobuf, no JSON.
        raise RejectedError("not-decoded", "$.proto")
    found = _by_marks(top)
    if found and promised and found != promised:
        raise RejectedError("other-kind")
    kind = promised or found or _by_metadata(top)
    if not kind:
        raise RejectedError("unknown-kind")
    return kind, _READERS[kind]


def _by_marks(top: Fields) -> str:
    status = top.get("status")
    if isinstance(status, dict):
        names = {camel(name) for name, value in status.items() if value is not None}
        inner = next((kind for kind, marks in _STATUS_MARKS if names & set(marks)), "")
        if inner in ("snapshot", "template") or (inner == "actor" and not top.has("workerPod")):
            return inner
    return next((kind for kind, marks in _MARKS if top.has(*marks)), "") or (
        "tag" if isinstance(status, dict) and "snapshot" in status else ""
    )


def _by_metadata(top: Fields) -> str:
    """What has nothing but a name is an atespace; in an atespace, an actor in no state."""
    metadata = top.get("metadata")
    if isinstance(metadata, dict):
        return "" if metadata.get("atespace") else "atespace"
    return "atespace" if top.has("name") else ""
