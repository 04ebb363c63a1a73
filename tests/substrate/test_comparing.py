"""Two exports: only what is in neither of two whole ones is called absent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from axnb.substrate.comparing import Change, Presence, compare
from axnb.substrate.records import Export, read_export
from axnb.testing.fleet import Actor, Fleet
from axnb.testing.records import export

A, B, C = (Actor(f"conv-{n}", uid=f"u-{n}") for n in "abc")


def listed(*actors: Actor, shape: str = "august") -> Export:
    return read_export(export(Fleet(actors=actors), "actors", shape).encode(), asked="actor")


def changes(before: Export | None, after: Export | None) -> dict[str, Change]:
    return {s.record.name: s.change for s in compare(before, after).seen}


def test_what_came_went_changed_and_stayed() -> None:
    moved = replace(B, version=2, state="CRASHED")
    found = changes(listed(A, B), listed(moved, C))
    assert found == {"conv-a": Change.WENT, "conv-b": Change.CHANGED, "conv-c": Change.CAME}
    assert changes(listed(A), listed(A)) == {"conv-a": Change.STABLE}


def test_presence() -> None:
    found = compare(listed(A, B), listed(B, C))
    assert found.presence("actor", uid="u-b", owner="ax") is Presence.PRESENT
    assert found.presence("actor", name="conv-b") is Presence.PRESENT
    assert found.presence("actor", uid="u-a", owner="ax") is Presence.UNSTABLE
    assert found.presence("actor", uid="u-c", owner="ax") is Presence.UNSTABLE
    assert found.presence("actor", uid="u-z", owner="ax") is Presence.ABSENT


def test_an_atespace_that_was_not_shown_may_not_have_been_asked_for() -> None:
    one, other = listed(A), listed(A)
    assert compare(one, other).presence("actor", uid="z", owner="team-b") is Presence.UNKNOWN
    assert compare(one, other).presence("actor", uid="z") is Presence.UNKNOWN
    everywhere = compare(one, other, everywhere=True)
    assert everywhere.presence("actor", uid="z", owner="team-b") is Presence.ABSENT
    assert everywhere.presence("actor", uid="z") is Presence.ABSENT


def test_an_empty_list_of_all_atespaces_holds_nothing() -> None:
    found = compare(listed(), listed(), everywhere=True)
    assert found.presence("actor", uid="z") is Presence.ABSENT
    assert compare(listed(), listed()).presence("actor", uid="z", owner="ax") is Presence.UNKNOWN


@pytest.mark.parametrize("missing", ["before", "after", "both"])
def test_a_missing_export_is_unknown(missing: str) -> None:
    before = None if missing in ("before", "both") else listed(A)
    after = None if missing in ("after", "both") else listed(A)
    found = compare(before, after, everywhere=True)
    assert found.presence("actor", uid="u-a") is Presence.UNKNOWN
    assert found.presence("actor", uid="z") is Presence.UNKNOWN
    assert {s.change for s in found.seen} == (set() if missing == "both" else {Change.SEEN_ONCE})


@pytest.mark.parametrize(
    "partial",
    [
        export(Fleet(actors=[A, B]), "actors", "august")[:-40].encode(),
        b'{"actors":[{"metadata":{"atespace":"ax","name":"conv-a","uid":"u-a"}},7]}',
        b'{"actors":[{"metadata":{"atespace":"ax","name":"conv-a"}}],"nextPageToken":"t"}',
        b"{}",
    ],
    ids=["torn", "reject", "page", "empty"],
)
def test_an_export_that_is_not_whole_is_unknown(partial: bytes) -> None:
    found = compare(listed(A, B), read_export(partial), everywhere=True)
    assert found.presence("actor", uid="z") is Presence.UNKNOWN
    assert found.presence("actor", uid="u-b") is Presence.UNKNOWN
    assert Change.WENT not in {s.change for s in found.seen}


def test_another_kind_was_not_asked_for() -> None:
    found = compare(listed(A), listed(A), everywhere=True)
    assert found.presence("snapshot", name="s") is Presence.UNKNOWN


def test_one_that_was_made_anew() -> None:
    anew = replace(A, uid="u-2")
    found = compare(listed(A), listed(anew))
    assert [s.change for s in found.seen] == [Change.REPLACED, Change.REPLACED]
    assert found.presence("actor", name="conv-a", owner="ax") is Presence.UNSTABLE


def test_records_without_uids_say_nothing_about_a_uid() -> None:
    june = listed(A, shape="june")
    found = compare(june, june, everywhere=True)
    assert found.presence("actor", uid="u-z") is Presence.UNKNOWN
    assert found.presence("actor", name="conv-z", owner="ax") is Presence.ABSENT
    assert found.presence("actor", name="conv-a", owner="ax") is Presence.PRESENT


def test_an_export_in_another_shape_is_a_change() -> None:
    """A build was upgraded in between: fields moved, and nothing says that values did not."""
    assert changes(listed(A, shape="august"), listed(A, shape="october")) == {
        "conv-a": Change.CHANGED
    }
