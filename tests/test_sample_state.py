"""The bucket and the records of the sample data: made anew they are the same; wounds are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from axnb.case.case import Case
from axnb.loading import load, load_state
from axnb.mapping import StateMap, state_map
from axnb.result import to_json
from axnb.settings import Settings
from tests import make_sample_state as sample

#: What git can serve to any file system.
_PLAIN = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for name in ("snapshots", "records")
        for path in (folder / name).rglob("*")
        if path.is_file()
    }


def test_the_sample_is_what_its_script_makes(tmp_path: Path) -> None:
    sample.write(tmp_path)
    assert _contents(tmp_path) == _contents(sample.SAMPLE)


def test_the_sample_is_small_and_fits_every_file_system() -> None:
    found = _contents(sample.SAMPLE)
    assert sum(map(len, found.values())) < 150_000
    assert len({name.lower() for name in found}) == len(found)
    for name in found:
        assert len(name) < 150
        assert all(_PLAIN.fullmatch(part) for part in name.split("/"))


@pytest.fixture(scope="module")
def found() -> StateMap:
    """The map of the sample, every object read."""
    folder = sample.SAMPLE
    with Case(settings=Settings.read(folder / "axnb.toml")) as case:
        load(case, [str(folder / "log.sqlite")])
        load_state(
            case,
            [(folder / "snapshots").as_uri()],
            [folder / "records"],
            verify=True,
            everywhere=True,
        )
        return state_map(case)


def test_each_wound_is_found_and_no_other(found: StateMap) -> None:
    told: dict[str, set[str]] = {}
    for finding in found.findings:
        if not finding.id.startswith("AX3"):
            continue
        whose = finding.conversation_id or (finding.actor or "").removeprefix("ax/")
        told.setdefault(finding.id, set()).add(whose)
    assert told == {
        "AX301": {""},
        "AX303": {sample.FILE_MISSING},
        "AX307": {sample.DAMAGED},
        "AX312": {sample.FORGOTTEN, sample.DELETED},
        "AX313": {sample.NO_ACTOR, "Not_A_DNS.Name"},
        "AX314": {sample.NO_ACTOR, "Not_A_DNS.Name"},
        "AX315": {sample.DANGLING},
        "AX317": {sample.SUPERSEDED},
        "AX318": {sample.DELETED},
        "AX327": {sample.STUCK},
        "AX328": {sample.TORN},
        "AX338": {"", sample.FILE_MISSING, sample.DAMAGED},
    }


def test_all_others_would_be_restored(found: StateMap) -> None:
    good = {c["conversation_id"] for c in found.conversations if c["restorable"] == "full"}
    wounded = {sample.FILE_MISSING, sample.DAMAGED, sample.DANGLING, sample.NO_ACTOR}
    assert good == {*sample.conversations()} - wounded
    # Nothing is in doubt: the settings describe the target in full.
    assert found.doubts == ()
    assumed = {s.row["actor_name"] for s in found.snapshots if s.judged.assumed}
    # Its record went with its actor.
    assert assumed == {sample.DELETED}


def test_the_golden_snapshot_is_known_as_such(found: StateMap) -> None:
    golden = [s for s in found.snapshots if s.row["is_golden"]]
    assert len(golden) == 2
    assert {s.restorable for s in golden} == {"full"}


def test_the_secret_is_found_and_nowhere_told(found: StateMap) -> None:
    (secret,) = found.secrets
    assert (secret["kind"], secret["name"]) == ("google-api-key", "GEMINI_API_KEY")
    (golden,) = secret["snapshots"]
    assert "/ate-golden/" in golden
    assert secret["revived_by"] == [golden]
    assert sample.SECRET not in to_json(found.as_dict())
