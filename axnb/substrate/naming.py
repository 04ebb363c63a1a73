"""Follow a name to its snapshot: until August an actor's record does not hold the URI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from axnb.substrate.records import SnapshotRecord, Stored

Named = dict[tuple[str, str], SnapshotRecord]


def by_name(snapshots: Iterable[SnapshotRecord]) -> Named:
    """Snapshot records by atespace and name. Of two of one name, the first: see `Duplicate`."""
    found: Named = {}
    for snapshot in snapshots:
        found.setdefault((snapshot.atespace, snapshot.name), snapshot)
    return found


def followed(stored: Stored, snapshots: Named) -> Stored | None:
    """A snapshot with what its own record says of it; as it is where it has a URI already.

    None if there is no such record: Substrate then says DataLoss, "ActorSnapshot data is missing".
    A record of July has no URI, so neither has the answer.
    """
    if stored.uri or not stored.name:
        return stored
    record = snapshots.get((stored.atespace, stored.name))
    if record is None:
        return None
    return replace(
        stored,
        uri=record.uri,
        content=record.content,
        template_uid=record.template.uid,
        source_version=record.source_actor_version,
    )
