"""A map as a result: the same for the same evidence; its views tell it, whoever wrote the keys."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from axnb.case.case import Case
from axnb.loading import load, load_state
from axnb.mapping import state_map
from axnb.report.folder import VIEWS, write_folder, write_views
from axnb.report.map_result import AskedMap, map_result
from axnb.result import Result
from axnb.settings import Settings
from axnb.testing.buckets import WOUNDS, BucketBuilder
from axnb.testing.fleet import Actor, Fleet, Snapshot
from axnb.testing.records import export
from axnb.text import is_hidden
from tests.make_sample_state import SAMPLE
from tests.report.made import MARKUP, without_run

_LARGE = 1_000_000


def result_of(
    folder: Path, *, records: bool = True, log: str | None = None, settings: Path | None = None
) -> Result:
    """The result of a map of FOLDER/snapshots and FOLDER/records, every object read."""
    asked = AskedMap.now(settings, verify=True)
    with Case(settings=Settings.read(settings) if settings else Settings()) as case:
        if log is not None:
            load(case, [log])
        given = [folder / "records"] if records else []
        found = load_state(case, [str(folder / "snapshots")], given, verify=True)
        return map_result(case, state_map(case, found.skipped), asked)


@cache
def sample() -> Result:
    """The result of the sample data."""
    log, settings = str(SAMPLE / "log.sqlite"), SAMPLE / "axnb.toml"
    return result_of(SAMPLE, log=log, settings=settings)


def hostile(folder: Path) -> Result:
    """A bucket whose every name is markup, or moves a cursor, with wounds on all."""
    bucket, actors = BucketBuilder("hostile"), []
    for number, text in enumerate(MARKUP):
        # A key cannot hold all that a manifest can.
        plain = re.sub(r"[/\x00]", "-", text)
        built = bucket.snapshot(
            "B1b", actor_name=plain, name=f"2026-06-28T10:00:0{number}Z-{'A' * 26}"
        )
        WOUNDS["object-missing"](bucket, built)
        named = bucket.snapshot("B3b", actor_name=text)
        assert named.manifest is not None
        named.manifest |= {"actorTemplateName": text, "pauseImage": text}
        bucket.put_manifest(named)
        WOUNDS["object-truncated"](bucket, named)
        uri = f"gs://b/{named.prefix}-gone"
        actors.append(Actor(text, uid=text, template=text, snapshots=[Snapshot("s", uri)]))
    bucket.write(folder / "snapshots")
    (folder / "records").mkdir()
    for kind in ("actors", "snapshots"):
        text = export(Fleet(actors=actors), kind, "august")
        (folder / "records" / f"{kind}.json").write_text(text, encoding="utf-8")
    return result_of(folder)


# --- the result ----------------------------------------------------------------------------------


def test_the_sample_is_counted() -> None:
    result = sample()
    assert (result.drill, result.verdict) == ("map", "failed")
    measures = dict(result.measures)
    measures.pop("secrets")
    assert measures == {
        "snapshots": 35,
        "refused": 3,
        "unknown": 0,
        "data_only": 2,
        "full": 30,
        "orphans": 1,
        "conversations": 30,
        "endangered": 5,
    }
    groups = {group["action"]: group for group in result.actions}
    assert list(groups) == ["no-good-snapshot", "refused", "data-only", "full"]
    assert [group["count"] for group in result.actions] == [5, 3, 2, 30]
    assert len(groups["full"]["snapshots"]) == 30
    assert {s["whose"] for s in groups["refused"]["snapshots"]} == {
        *("many-steps", "sigterm-mid-turn", "(nobody)"),
    }
    assert result.answer["schema"] == "axnb.map/1"


def test_a_copy_elsewhere_gives_the_same_result(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "copy")
    folder = tmp_path / "copy"
    found = result_of(folder, log=str(folder / "log.sqlite"), settings=folder / "axnb.toml")
    assert without_run(found) == without_run(sample())
    assert str(tmp_path) not in json.dumps(without_run(found))


def test_a_result_is_read_back_and_its_views_are_written_anew(tmp_path: Path) -> None:
    write_folder(sample(), tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in VIEWS}
    found = Result.read(tmp_path)
    assert found.as_dict() == json.loads(json.dumps(sample().as_dict()))
    write_views(found, tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in VIEWS} == before


def test_the_command_that_maps_again_names_every_option() -> None:
    again = sample().run["again"]
    assert again.startswith("axnb map log.sqlite ")
    for word in ("--records=1-actors.json", "--snapshots=", "--verify", "--settings=axnb.toml"):
        assert word in again


def test_nothing_that_was_read_is_never_ok(tmp_path: Path) -> None:
    (tmp_path / "snapshots").mkdir()
    found = result_of(tmp_path, records=False)
    assert found.verdict == "inconclusive"
    assert found.measures["snapshots"] == 0
    report = VIEWS["report.html"](found)
    assert "There is no snapshot. That is no proof that there was none." in report


def test_an_ok_says_what_it_does_not_prove(tmp_path: Path) -> None:
    result = sample()
    calm = replace(result, verdict="ok", findings=(), why=("No check found an error.",))
    assert "Nothing was found." in BeautifulSoup(VIEWS["report.html"](calm), "html.parser").text


# --- its views -----------------------------------------------------------------------------------


def test_the_report_tells_snapshots_conversations_and_objects() -> None:
    page = BeautifulSoup(VIEWS["report.html"](sample()), "html.parser")
    words = " ".join(page.get_text(" ").split())
    for told in (
        "Map: ✗ failed",
        "without a good snapshot 5",
        "What a restore gives back",
        "Conversations without a good snapshot 5",
        "Its record names a snapshot that is not in the bucket.",
        "An object that it needs is damaged; some builds would restore it with wrong content.",
        "139 objects read = 139 parsed + 0 rejected",
        "100 records read = 100 parsed + 0 rejected",
        "witness: key in the bucket",
    ):
        assert told in words
    cells = {cell.text for cell in page.find_all("td")}
    key = "axantigravity/snapshots/ax/58785dc5-e8b8-4f25-90c0-b7392bd80927/pages.img.zstd"
    assert key in cells
    assert "Calls to read back" not in words
    assert "Conversations by what to do" not in words


def test_the_ticket_and_the_ci_server_name_the_objects() -> None:
    markdown, junit = VIEWS["report.md"](sample()), VIEWS["junit.xml"](sample())
    assert "## What a restore gives back" in markdown
    assert "`many-steps`, current: `an object that it needs is damaged" in markdown or (
        "`many-steps`, current: an object that it needs is damaged" in markdown
    )
    for text in (markdown, junit):
        assert "1c12a9db-c496-4cbd-a437-5830b1381b1c" in text
        assert "ax/deleted-draft" in text


@pytest.mark.parametrize("name", VIEWS)
def test_no_name_comes_to_life(name: str, tmp_path: Path) -> None:
    result = hostile(tmp_path)
    assert result.verdict == "failed"
    text = VIEWS[name](result)
    assert {c for c in text if is_hidden(c)} <= {"\n"}
    if name == "report.html":
        page = BeautifulSoup(text, "html.parser")
        assert not page.find_all(["script", "img", "a", "link", "iframe"])
        assert "<img src=x onerror=alert(1)>" in page.get_text()


@pytest.mark.slow
def test_the_largest_map_has_small_views() -> None:
    """Every place full, and every text of the kind that takes the most room."""
    result = sample()
    text = "\"&<>'`|" * 180
    ids = ["AX301"] * 9
    snapshot: dict[str, Any] = {"source": text, "key": text, "whose": text, "layout": text}
    snapshot |= {"content": text, "taken_at": None, "current": True, "because": text}
    conversation: dict[str, Any] = {"source": text, "conversation_id": text, "last_step": None}
    conversation |= {"standing": text, "advice": text, "findings": ids}
    finding = {"id": "AX301", "name": "n", "severity": "error", "source": text, "sentence": text}
    finding |= {"keys": {"snapshot": text, "object": text, "actor": text}, "witness": []}
    worst = replace(
        result,
        examined=(text,) * 50,
        why=(text,) * 50,
        scope=(text,) * 50,
        actions=tuple(
            {
                **group,
                "conversations": [conversation] * 100 if group["conversations"] else [],
                "snapshots": [{**snapshot, "findings": ids}] * 100,
            }
            for group in result.actions
        ),
        findings=tuple({**finding, "id": c["id"]} for c in result.checks for _ in range(20)),
        sources=tuple({**s, "name": text, "notes": [text] * 15} for s in result.sources * 9),
    )
    for name, render in VIEWS.items():
        assert len(render(worst).encode()) < _LARGE, name
