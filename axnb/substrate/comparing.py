"""Two exports, taken before and after a bucket was listed: what can be said of that moment.

Lists of the control plane are paged and no transaction: a record may be missed or repeated. So a
record is called absent only if it is in neither of two whole exports; in one of them it came, or
went, or was missed. What was not asked for, not read, or cut is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from axnb.substrate.records import KINDS, Export, Record, WorkerRecord

#: Kinds that lie in no atespace and no namespace.
_GLOBAL = ("atespace", "sandbox-config")


class Change(Enum):
    """What became of a record between two exports."""

    STABLE = "stable"
    CHANGED = "changed"
    CAME = "came"
    WENT = "went"
    #: The name is there twice, with two uids: it was deleted and made anew.
    REPLACED = "replaced"
    #: One of the exports is missing or not whole, so it is in one and nothing is said of the other.
    SEEN_ONCE = "seen-once"


class Presence(Enum):
    """Was a record there while the bucket was listed?"""

    PRESENT = "present"
    #: In one of the two exports.
    UNSTABLE = "unstable"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Seen:
    """A record in two exports; None where it is not in one."""

    kind: str
    change: Change
    before: Record | None
    after: Record | None

    @property
    def record(self) -> Record:
        """The later of the two."""
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True)
class Comparison:
    """What two exports say together.

    seen      each record once, by kind, owner, name and uid
    covered   kinds of which both exports hold a list that is whole
    owners    atespaces and namespaces that both exports show, by kind
    everywhere  the caller says that both were taken of all atespaces (`-A`)
    """

    seen: tuple[Seen, ...] = ()
    covered: frozenset[str] = frozenset()
    owners: frozenset[tuple[str, str]] = frozenset()
    everywhere: bool = False
    _by_key: dict[tuple[str, str], list[Seen]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def of(self, kind: str, change: Change | None = None) -> list[Seen]:
        """What was seen of a kind."""
        return [s for s in self.seen if s.kind == kind and change in (None, s.change)]

    def find(self, kind: str, *, name: str = "", owner: str = "", uid: str = "") -> list[Seen]:
        """What fits: a uid fits one record, a name without an owner may fit several."""
        found = self._by_key.get((kind, uid or name), [])
        return [
            s
            for s in found
            if (not uid or s.record.uid == uid)
            and (not name or s.record.name == name)
            and (not owner or s.record.owner == owner)
        ]

    def presence(self, kind: str, *, name: str = "", owner: str = "", uid: str = "") -> Presence:
        """Was such a record there? Without an owner, absence needs exports of all atespaces.

        Records of May and June have no uid: of these nothing is found, nor is it absent, by uid.
        """
        found = self.find(kind, name=name, owner=owner, uid=uid)
        if any(s.change in (Change.STABLE, Change.CHANGED) for s in found):
            return Presence.PRESENT
        if any(s.change is Change.SEEN_ONCE for s in found):
            return Presence.UNKNOWN
        if found:
            return Presence.UNSTABLE
        return Presence.ABSENT if self._is_searched(kind, owner, uid) else Presence.UNKNOWN

    def _is_searched(self, kind: str, owner: str, uid: str) -> bool:
        if kind not in self.covered:
            return False
        if uid and any(not s.record.uid for s in self.of(kind)):
            return False
        return self.everywhere or kind in _GLOBAL or (kind, owner) in self.owners


def compare(before: Export | None, after: Export | None, *, everywhere: bool = False) -> Comparison:
    """Compare two exports; None is an export that was not taken.

    `everywhere` says that both were taken of all atespaces; otherwise an atespace that either one
    does not show may not have been asked for, and nothing in it is called absent.
    """
    first, second = _by_identity(before), _by_identity(after)
    covered = frozenset(
        kind for kind in KINDS if before and after and before.covers(kind) and after.covers(kind)
    )
    uids = _names(first), _names(second)
    seen = []
    for key in sorted(first.keys() | second.keys()):
        kind, old, new = key[0], first.get(key), second.get(key)
        others = uids[0 if old is None else 1].get(key[:3], set()) - {key[3], ""}
        change = _change(old, new, kind in covered, bool(others and key[3]))
        seen.append(Seen(kind, change, old, new))
    by_key: dict[tuple[str, str], list[Seen]] = {}
    for one in seen:
        for known in {one.record.uid, one.record.name} - {""}:
            by_key.setdefault((one.kind, known), []).append(one)
    owners = _owners(first) & _owners(second)
    return Comparison(tuple(seen), covered, owners, everywhere, by_key)


_Key = tuple[str, str, str, str]


def _by_identity(export: Export | None) -> dict[_Key, Record]:
    kinds = {known: kind for kind, known in KINDS.items()}
    found: dict[_Key, Record] = {}
    for record in export.records if export else ():
        name = record.name
        if isinstance(record, WorkerRecord) and not name:
            name = f"{record.pool}/{record.pod}"
        found[kinds[type(record)], record.owner, name, record.uid] = record
    return found


def _names(records: Iterable[_Key]) -> dict[tuple[str, str, str], set[str]]:
    """The uids that a name stands for."""
    uids: dict[tuple[str, str, str], set[str]] = {}
    for *name, uid in records:
        uids.setdefault((name[0], name[1], name[2]), set()).add(uid)
    return uids


def _change(old: Record | None, new: Record | None, covered: bool, replaced: bool) -> Change:
    if old is not None and new is not None:
        return Change.STABLE if old == new and old.shape == new.shape else Change.CHANGED
    if replaced:
        return Change.REPLACED
    if not covered:
        return Change.SEEN_ONCE
    return Change.CAME if old is None else Change.WENT


def _owners(records: Iterable[_Key]) -> frozenset[tuple[str, str]]:
    return frozenset((kind, owner) for kind, owner, _, _ in records)
