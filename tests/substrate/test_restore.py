"""Restore rules: what Substrate's own builds did, and one rule after the other."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from axnb.substrate.restore import RULES, Decision, SnapshotFacts, Target, decide

#: Substrate's own objects, where they lie beside the checkout.
_PLACES = [parent / "shared" / "substrate-objects" for parent in Path(__file__).parents]
OBJECTS = next((place for place in _PLACES if place.is_dir()), _PLACES[0])
MEMORY = ("checkpoint.img", "pages.img", "pages_meta.img")
FILES = ("fscheckpoint.pb", "multitar.img", "pages.img", "pages_meta.img")
VM = (
    *("base-id", "config.json", "durable-dir.tar"),
    *("memory-ranges", "rootfs-upper.tar", "state.json"),
)

AUGUST = Target(
    built=date(2026, 8, 21),
    wrote_it=True,
    same_cpu=True,
    sandbox_classes=frozenset({"gvisor", "microvm"}),
    assets=frozenset({"aa"}),
    arches=frozenset({"amd64"}),
    templates={"ax/agent": "t-1"},
)
OCTOBER = replace(AUGUST, built=date(2026, 10, 20), template_assets=frozenset({"aa"}))


def full(layout: str = "B3b", **changes: Any) -> SnapshotFacts:
    facts = SnapshotFacts(
        layout,
        content="full",
        listed=MEMORY,
        present=MEMORY,
        verified=True,
        sparse=True,
        pause_image="pause@sha256:00",
        assets=("aa",),
        arch="amd64",
        template="ax/agent",
        template_uid="t-1",
    )
    return replace(facts, **changes)


def data(layout: str = "B3b", **changes: Any) -> SnapshotFacts:
    return full(layout, **({"content": "data", "listed": FILES, "present": FILES} | changes))


def vm(**changes: Any) -> SnapshotFacts:
    return full(**({"sandbox_class": "microvm", "listed": VM, "present": VM} | changes))


def test_what_is_whole_and_at_home_restores() -> None:
    assert decide(full(), AUGUST).restorable == "full"
    assert decide(data(), AUGUST).restorable == "data-only"
    assert decide(vm(), AUGUST).restorable == "full"
    assert decide(full("B4"), OCTOBER).restorable == "full"
    tar = ("durable-dir.tar",)
    assert decide(data("B4", listed=tar, present=tar), OCTOBER).restorable == "data-only"


CASES: list[tuple[str, SnapshotFacts, Target, str]] = [
    ("day-of-change", full(), replace(AUGUST, built=date(2026, 8, 11)), "unknown"),
    ("day-of-change", full(), replace(AUGUST, built=date(2026, 9, 6)), "unknown"),
    ("uri", full("B2"), AUGUST, "refused"),
    ("uri", full(), OCTOBER, "refused"),
    ("manifest", full(manifest="missing"), AUGUST, "refused"),
    ("manifest", full(manifest="unreadable"), AUGUST, "refused"),
    ("form", full("B1b"), replace(AUGUST, built=date(2026, 6, 22)), "refused"),
    ("older-build", data(), replace(AUGUST, built=date(2026, 8, 6)), "unknown"),
    ("pause-image", full("B3a", pause_image=""), AUGUST, "refused"),
    ("pause-image", vm(layout="B4", pause_image=""), OCTOBER, "unknown"),
    ("file-list", full(listed=None), AUGUST, "refused"),
    ("file-list", data(listed=None), AUGUST, "refused"),
    ("file-list", data(listed=None, present=()), AUGUST, "unknown"),
    ("missing-object", full(present=MEMORY[:2]), AUGUST, "refused"),
    ("damaged-object", full(damaged=("pages.img",)), AUGUST, "refused"),
    ("not-verified", full(verified=False), AUGUST, "unknown"),
    ("suspect-object", full(suspect=("pages.img",)), AUGUST, "unknown"),
    ("scope", data(listed=MEMORY, present=MEMORY), AUGUST, "unknown"),
    ("rootfs", vm(listed=VM[:4] + VM[5:]), AUGUST, "refused"),
    ("sandbox-class", vm(), replace(AUGUST, sandbox_classes=frozenset({"gvisor"})), "refused"),
    ("sandbox-class", full(), replace(AUGUST, sandbox_classes=None), "unknown"),
    ("architecture", full(), replace(AUGUST, arches=frozenset({"arm64"})), "refused"),
    ("assets", data(), replace(AUGUST, assets=frozenset()), "refused"),
    ("assets", data(), replace(AUGUST, assets=None), "unknown"),
    ("pause-image-pull", full(), replace(AUGUST, pause_images=frozenset({"other"})), "unknown"),
    ("frozen-runtime", full("B4"), replace(OCTOBER, template_assets=frozenset({"bb"})), "refused"),
    ("frozen-runtime", data("B4"), replace(OCTOBER, template_assets=frozenset({"bb"})), "unknown"),
    ("frozen-runtime", full("B4"), replace(OCTOBER, template_assets=None), "unknown"),
    ("template", full("B4"), replace(OCTOBER, templates={"ax/agent": "t-2"}), "refused"),
    ("template", full(), replace(AUGUST, templates={"ax/agent": "t-2"}), "unknown"),
    ("template", data(), replace(AUGUST, templates={}), "refused"),
    ("template", data(), replace(AUGUST, templates=None), "unknown"),
    ("template", full(template_uid=""), AUGUST, "unknown"),
    ("golden", data(from_data="golden"), AUGUST, "unknown"),
    ("golden", data(from_data="golden"), replace(AUGUST, golden="data"), "refused"),
    ("golden", data(from_data="golden"), replace(AUGUST, golden="full"), "unknown"),
    ("memory", full(), replace(AUGUST, wrote_it=None), "unknown"),
    ("memory", full(), replace(AUGUST, same_cpu=None), "unknown"),
    ("memory", full(), replace(AUGUST, same_cpu=False), "refused"),
    ("pause-image-pull", full(), replace(AUGUST, pause_images=frozenset({"q"})), "unknown"),
    ("suspect-object", full(suspect=("pages.img",)), AUGUST, "unknown"),
    ("memory", full("B5", content="rootfs"), OCTOBER, "unknown"),
]


@pytest.mark.parametrize(("rule", "facts", "target", "restorable"), CASES)
def test_one_rule(rule: str, facts: SnapshotFacts, target: Target, restorable: str) -> None:
    found = decide(facts, target)
    assert (found.rule, found.restorable) == (rule, restorable)
    assert found.because


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, *_ in CASES} | {"data"} == {rule.name for rule in RULES}


def test_data_outlives_a_replaced_template_or_runtime() -> None:
    both = (*MEMORY, "durable-dir.tar")
    split = full("B5", listed=both, present=both, data_files=("durable-dir.tar",))
    for target in (
        replace(OCTOBER, templates={"ax/agent": "t-2"}),
        replace(OCTOBER, template_assets=frozenset({"bb"})),
        replace(OCTOBER, arches=frozenset({"arm64"})),
    ):
        assert decide(split, target).restorable == "data-only"
    replaced = replace(AUGUST, templates={"ax/agent": "t-2"})
    assert decide(data(), replaced).restorable == "data-only"


# --- what Substrate's own builds did -------------------------------------------------------------

needs_objects = pytest.mark.skipif(not OBJECTS.exists(), reason="no objects of Substrate's own")


def _truth() -> dict[str, Any]:
    path = OBJECTS / "truth.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


TRUTH = _truth()
SAYS_LAYOUT = {"b0": "B0", "b1a": "B1a", "b1b": "B1b", "b2": "B2", "b3a": "B3a", "b3b": "B3b"}


def _facts(case: str, uri: str, scope: str | None) -> SnapshotFacts:
    """What a strict reader finds; damage that only decoding shows is told by the case's text."""
    record = TRUTH["cases"][case]
    prefix = uri.removeprefix("gs://snapshots/") + "/"
    objects = {
        o["key"].removeprefix(prefix): o for o in record["objects"] if o["key"].startswith(prefix)
    }
    path, manifest, said = OBJECTS / case / prefix / "manifest.json", {}, "missing"
    if path.exists():
        try:
            manifest, said = json.loads(path.read_text()), "read"
        except ValueError:
            said = "unreadable"
    harmed = re.match(r"(\S+)\.zstd\b", record.get("damage", ""))
    short = case.removeprefix("damaged-").split("-")[0]
    return SnapshotFacts(
        SAYS_LAYOUT.get(short, "B3c"),
        said,
        sandbox_class=record["sandbox_class"],
        content=manifest.get("scope", (scope or "").lower()),
        listed=tuple(manifest["snapshotFiles"]) if "snapshotFiles" in manifest else None,
        present=tuple(n.removesuffix(".zstd") for n in objects if n.endswith(".zstd")),
        damaged=(harmed[1],) if harmed else (),
        verified=True,
        sparse=any("sparse" in o.get("encoding", "") for o in objects.values()),
        pause_image=manifest.get("pauseImage", ""),
        assets=tuple(a["sha256"] for a in manifest.get("assets", {}).values()),
        arch="amd64",
        template="ax/agent",
        template_uid="t-1",
    )


def _assets() -> frozenset[str]:
    """Of every manifest that was not tampered with."""
    return frozenset(
        asset["sha256"]
        for path in OBJECTS.glob("b*/**/manifest.json")
        for asset in json.loads(path.read_text())["assets"].values()
    )


def _runs() -> list[tuple[str, str, str | None, dict[str, Any]]]:
    own = [
        (case, s["uri"], s.get("scope"), s["restore"] | {"reader_build": s["restore"]["build"]})
        for case, record in TRUTH.get("cases", {}).items()
        for s in record["snapshots"]
    ]
    across = [
        (run["case"], s["uri"], s.get("scope"), run)
        for run in TRUTH.get("cross_build_restore", ())
        for s in TRUTH["cases"][run["case"]]["snapshots"][-1:]
    ]
    return own + across


def _decided(case: str, uri: str, scope: str | None, run: dict[str, Any]) -> Decision:
    build = run["reader_build"]
    target = replace(
        AUGUST,
        built=date.fromisoformat(TRUTH["builds"][build]["date"]),
        wrote_it=build == TRUTH["cases"][case]["encoder"],
        assets=_assets(),
    )
    return decide(_facts(case, uri, scope), target)


@needs_objects
def test_nothing_is_promised_that_failed() -> None:
    counts: dict[tuple[str, bool], int] = {}
    for case, uri, scope, run in _runs():
        found = _decided(case, uri, scope, run)
        counts[found.restorable, run["ok"]] = counts.get((found.restorable, run["ok"]), 0) + 1
        if not run["ok"]:
            assert found.restorable in ("refused", "unknown"), (case, run["reader_build"], found)
        elif run.get("restored_same_as_undamaged") is False:
            # Substrate took it, with wrong content.
            assert found.restorable in ("refused", "unknown"), (case, run["reader_build"], found)
    assert counts["full", True]
    assert counts["data-only", True]
    assert counts["refused", False]


@needs_objects
def test_what_is_refused_was_refused() -> None:
    """Unless it is damaged: there the rules are stricter than Substrate."""
    for case, uri, scope, run in _runs():
        found = _decided(case, uri, scope, run)
        if run["ok"] and found.restorable == "refused":
            # A stand-in that runs nothing takes a restore without any file for a success.
            nothing = run.get("files_restored") == 0
            assert found.rule == "damaged-object" or nothing, (case, run["reader_build"], found)


@needs_objects
def test_errors_are_those_that_a_person_saw() -> None:
    compared = 0
    for case, uri, scope, run in _runs():
        found = _decided(case, uri, scope, run)
        if run["ok"] or found.restorable != "refused" or not found.code:
            continue
        compared += 1
        where = (case, run["reader_build"], found, run["rpc_code"], run["reason"])
        assert found.code == run["rpc_code"], where
        if found.rule != "assets":
            assert found.reason == (run["reason"] or ""), where
        assert found.crashes == run["actor_crashed"], where
    assert compared
