"""The views of a map: what they show, filter and page through, with and without a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from axnb.errors import UsageError
from axnb.lab.desk import MapDesk
from axnb.lab.state import SecretsView
from axnb.notebook.maps import MapWorkspace, open_map
from axnb.notebook.workspace import open_triage
from axnb.testing.buckets import BucketBuilder
from tests.lab.desks import control, page, rows_of, told, widget_of
from tests.make_sample_state import DANGLING, SAMPLE, SUPERSEDED
from tests.report.made import MARKUP
from tests.report.test_map_result import hostile

VIEWS = ("choice", "summary", "state_map", "conversations", "findings", "secrets")


@pytest.fixture(scope="module")
def work() -> Iterator[MapWorkspace]:
    """The sample, every object read; tests leave its filters as they were."""
    opened = open_map("sample_data/snapshots", verify=True)
    yield opened
    opened.case.close()


def test_the_sample_comes_with_all_that_belongs_to_it(work: MapWorkspace) -> None:
    assert {row["name"] for row in work.result().sources} == {"log", "records", "snapshots"}
    assert work.state.target is not None
    assert "2 templates" in work.result().parameters["target"]


@pytest.mark.parametrize("name", VIEWS)
def test_nobody_gets_more_than_html_and_text(name: str, work: MapWorkspace) -> None:
    view = getattr(work, name)()
    assert page(view).text.strip()
    assert view._repr_mimebundle_().keys() == {"text/plain", "text/html"}


def test_what_the_frames_hold(work: MapWorkspace) -> None:
    snapshots = work.state_map().frame
    assert len(snapshots) == 35
    assert list(snapshots["restorable"][:3]) == ["refused"] * 3
    assert set(snapshots["current"]) == {True, False}
    whose = snapshots[snapshots["whose"] == SUPERSEDED]
    assert len(whose) == 4
    assert whose["current"].sum() == 1
    bad = work.conversations().frame
    assert len(bad) == 5
    assert bad.set_index("conversation_id")["relation"][DANGLING] == "gone"
    found = work.findings().frame
    objects = found[found["id"] == "AX303"]["object"]
    assert objects.str.endswith("/pages.img.zstd").all()


def test_a_person_filters_snapshots(work: MapWorkspace) -> None:
    view = work.state_map()
    widget = widget_of(view)
    assert len(rows_of(widget)) == 25
    control(widget, "Next ›").click()
    assert "26–35 of 35 snapshots" in told(widget)
    control(widget, "Restore").value = "data-only"
    assert [row[1] for row in rows_of(widget)] == ["data only"] * 2
    control(widget, "Restore").value = "all"
    control(widget, "Which").value = "golden"
    assert len(view.frame) == 2
    control(widget, "Which").value = "all"
    control(widget, "Whose or key contains").value = SUPERSEDED
    assert len(view.frame) == 4
    assert "4 of 35 fit" in told(widget)
    control(widget, "Whose or key contains").value = "nobody's"
    assert "No snapshot fits." in told(widget)
    control(widget, "Whose or key contains").value = ""


def test_a_person_looks_at_all_conversations(work: MapWorkspace) -> None:
    widget = widget_of(work.conversations())
    assert len(rows_of(widget)) == 5
    control(widget, "Which").value = False
    assert "30 of 30 conversations fit" in told(widget)
    control(widget, "Id contains").value = SUPERSEDED
    assert [row[0] for row in rows_of(widget)] == [SUPERSEDED]
    control(widget, "Id contains").value = ""
    control(widget, "Which").value = True


def test_a_finding_about_an_object_tells_its_key(work: MapWorkspace) -> None:
    widget = widget_of(work.findings())
    control(widget, "Class").value = "AX303"
    (row,) = rows_of(widget)
    assert row[1] == "sigterm-mid-turn"
    assert row[4].endswith("/pages.img.zstd")
    control(widget, "Class").value = "all"


def test_a_person_opens_another_bucket(tmp_path: Path) -> None:
    bucket = BucketBuilder()
    bucket.snapshot("B4", actor_name="other")
    bucket.write(tmp_path / "other")
    (tmp_path / "empty").mkdir()
    work = open_map(str(tmp_path / "empty"))
    views: dict[str, Any] = {name: widget_of(getattr(work, name)()) for name in VIEWS}
    assert "No snapshot was read." in told(views["state_map"])
    assert "No log was read" in told(views["conversations"])
    choice = views["choice"]
    control(choice, "Bucket").value = str(tmp_path / "other")
    control(choice, "Load and map").click()
    work.choice().task.wait()
    assert [row[0] for row in rows_of(views["state_map"])] == ["other"]
    assert "inconclusive" in told(views["summary"])
    control(choice, "Bucket").value = "no such folder"
    control(choice, "Load and map").click()
    work.choice().task.wait()
    assert "neither a URL nor a folder" in told(choice)
    assert [row[0] for row in rows_of(views["state_map"])] == ["other"]


def test_secrets_are_told_by_kind_and_digest(work: MapWorkspace) -> None:
    secret = {
        "digest": "0123456789abcdef" * 4,
        "kind": "google-api-key",
        "name": "GEMINI_API_KEY<b>",
        "is_partial": False,
        "places": 2,
        "kinds_of_place": ["environment"],
        "snapshots": ["a", "b"],
        "revived_by": ["a"],
        "conversations": ["c1", "c2", "c3", "c4"],
    }
    desk = work.secrets()._desk
    state = replace(desk.state, secrets=(secret,) * 60)
    view = SecretsView(MapDesk(desk.case, state, desk.result))
    text = page(view).text
    for words in ("60 secrets in clear", "0123456789ab", "GEMINI_API_KEY<b>", "50 of 60 are shown"):
        assert words in text
    assert len(view.frame) == 60
    assert (
        "No secret was found in what was read." in page(work.secrets()).text or work.state.secrets
    )


def test_names_of_strangers_stay_text(tmp_path: Path) -> None:
    hostile(tmp_path)
    records = [str(tmp_path / "records")]
    work = open_map(str(tmp_path / "snapshots"), records, verify=True)
    for name in VIEWS:
        assert page(getattr(work, name)()).text
    assert MARKUP[0] in page(work.state_map()).text


def test_a_secret_is_no_parameter() -> None:
    with pytest.raises(UsageError):
        open_map("s3://user:password@bucket/prefix")


# --- the triage ----------------------------------------------------------------------------------


def test_a_triage_tells_the_snapshot_of_each_conversation_where_a_bucket_was_read() -> None:
    log = str(SAMPLE / "log.sqlite")
    plain = open_triage(log)
    assert "snapshot" not in plain.conversations().frame
    beside = [f"snapshots={SAMPLE / 'snapshots'}", f"records={SAMPLE / 'records'}"]
    work = open_triage(log, beside=beside, settings=str(SAMPLE / "axnb.toml"))
    frame = work.conversations().frame.set_index("conversation_id")
    assert frame["relation"][DANGLING] == "gone"
    assert frame["restorable"]["sigterm-mid-turn"] == "refused"
    assert "snapshot" in page(work.conversations()).text
    work.choice()._desk.choose(("log", "sigterm-mid-turn"))
    assert "snapshot axantigravity/snapshots/ax/58785dc5" in page(work.timeline()).text
