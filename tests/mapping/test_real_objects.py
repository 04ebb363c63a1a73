"""Every bucket that Substrate itself wrote, good, torn and damaged, against what its builds did."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from axnb.case.case import Case
from axnb.evidence.buckets import BucketLocator
from axnb.evidence.snapshots import load_snapshots
from axnb.mapping import StateMap, prepare, state_map
from axnb.mapping.answer import MappedSnapshot
from axnb.result import Finding
from axnb.settings import Settings
from axnb.settings_target import TargetSettings, TemplateSettings
from tests.substrate import objects

_LAYOUTS = {name: name.upper()[:2] + name[2:] for name in ("b0", "b1a", "b1b", "b2")}
_LAYOUTS |= {name: f"B3{name[-1]}" for name in ("b3a", "b3b", "b3c")}

#: Substrate's builds by the layout that they write.
_BUILDS = {
    "e7e804a7": "B0",
    "fe93d160": "B1a",
    "93607917": "B1b",
    "86e138f6": "B1b",
    "a44545ee": "B2",
    "3a2d0c1d": "B3a",
    "074fd1c1": "B3b",
    "4948de6b": "B3c",
}


def _layout(name: str) -> str:
    return _LAYOUTS[name.removeprefix("damaged-").split("-")[0]]


@cache
def _pinned() -> tuple[frozenset[str], frozenset[str]]:
    """Digests of the runtime and pause images of every manifest that nobody changed."""
    assets, images = set(), set()
    for case in objects.good_cases():
        for key, data in case.objects.items():
            if key.endswith("/manifest.json"):
                manifest = json.loads(data)
                assets |= {asset["sha256"] for asset in manifest["assets"].values()}
                images |= {manifest["pauseImage"]} if "pauseImage" in manifest else set()
    return frozenset(assets), frozenset(images)


def _target(layout: str, built: date | None = None) -> TargetSettings:
    assets, images = _pinned()
    return TargetSettings(
        layout=layout,
        built=built,
        sandbox_classes=frozenset({"gvisor", "microvm"}),
        architectures=frozenset({"amd64"}),
        same_cpu=True,
        pause_images=images,
        assets=assets,
        templates={"ax/agent": TemplateSettings("t-1"), "ax/agent-mv": TemplateSettings("t-2")},
    )


def _load(case: Case, name: str, folder: Path) -> str:
    for key, data in objects.case(name).objects.items():
        path = folder / name / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return load_snapshots(case, BucketLocator("file", str(folder / name)), verify=True)


@cache
def _mapped(layout: str) -> tuple[StateMap, dict[str, str], dict[tuple[str, str], str]]:
    """All cases of a layout, mapped for a target of the same layout; sources by case; digests."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Case(settings=Settings(target=_target(layout))) as case,
    ):
        names = [c.name for c in objects.cases() if _layout(c.name) == layout]
        sources = {name: _load(case, name, Path(folder)) for name in names}
        digests = case.rows("select source, key, restored_sha256 from snapshot_objects")
        found = {(source, key): digest for source, key, digest in digests}
        return state_map(case), sources, found


def _of(name: str) -> list[tuple[MappedSnapshot, list[Finding]]]:
    """The snapshots of a case with their findings of the room of snapshots above info."""
    found, sources, _ = _mapped(_layout(name))
    return [
        (
            snapshot,
            [
                finding
                for finding in found.findings
                if finding.id.startswith("AX3")
                and finding.severity != "info"
                and (finding.source, finding.snapshot) == (sources[name], snapshot.key)
            ],
        )
        for snapshot in found.snapshots
        if snapshot.row["source"] == sources[name]
    ]


_GOOD = [c.name for c in objects.good_cases() if all(r["ok"] for r in c.restores.values())]
_BAD = [c.name for c in objects.cases() if c.name not in _GOOD]
_UNSEEN = ("declared-size-larger", "other-object")


@pytest.mark.parametrize("name", _GOOD)
def test_what_its_own_build_restores_is_restorable(name: str) -> None:
    restores, (_, sources, digests) = objects.case(name).restores, _mapped(_layout(name))
    snapshots = _of(name)
    assert {snapshot.key for snapshot, _ in snapshots} == set(restores)
    for snapshot, findings in snapshots:
        assert snapshot.restorable in ("full", "data-only"), snapshot.judged
        assert findings == []
        assert snapshot.row["is_complete"]
        for file in restores[snapshot.key]["restored_files"]:
            key = f"{snapshot.key}/{file['name']}.zstd"
            assert digests[sources[name], key] == file["sha256"]


@pytest.mark.parametrize("name", _BAD)
def test_what_is_torn_or_damaged_is_named_and_refused(name: str) -> None:
    """Also where Substrate's own reader takes it."""
    for snapshot, findings in _of(name):
        if "extra-object" in name:
            assert [finding.severity for finding in findings] == ["warning"]
            assert snapshot.restorable in ("full", "data-only")
        else:
            assert any(finding.object for finding in findings)
            allowed = ("refused", "unknown") if name.endswith(_UNSEEN) else ("refused",)
            assert snapshot.restorable in allowed, snapshot.judged


@pytest.mark.slow
@pytest.mark.skipif(not objects.IS_WHOLE, reason="only the whole collection tells of other builds")
def test_no_other_build_is_said_to_restore_what_it_did_not() -> None:
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in objects.truth()["cross_build_restore"]:
        runs[run["case"]].append(run)
    days = {name: date.fromisoformat(b["date"]) for name, b in objects.truth()["builds"].items()}
    for name, told in runs.items():
        with tempfile.TemporaryDirectory() as folder, Case(settings=Settings()) as case:
            _load(case, name, Path(folder))
            for run in told:
                build = run["reader_build"]
                with case.reading() as session:
                    judged = prepare(session, _target(_BUILDS[build], days[build]))
                said = {j.decision.restorable for j in judged.values()}
                assert run["ok"] or not said & {"full", "data-only"}, (name, build, said)
