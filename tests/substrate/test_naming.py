"""A snapshot that is named by name is found in the records."""

from __future__ import annotations

from axnb.substrate.naming import by_name, followed
from axnb.substrate.records import ActorRecord, SnapshotRecord, Stored, read_export
from axnb.testing.records import export
from tests.substrate import fleets


def test_a_name_is_followed() -> None:
    fleet = fleets.healthy()
    text = export(fleet, "actors", "august") + export(fleet, "snapshots", "august")
    found = read_export(text.encode())
    named = by_name(found.of(SnapshotRecord))
    (latest,) = [a.latest for a in found.of(ActorRecord) if a.latest]
    assert followed(latest, named) == Stored(
        "gs://b/agent/snapshots/ax/s-2", "ax", "s-2", "data", "t-1", source_version=7
    )
    assert followed(latest, {}) is None


def test_a_uri_needs_no_record() -> None:
    stored = Stored(uri="gs://b/x", name="x")
    assert followed(stored, {}) is stored
