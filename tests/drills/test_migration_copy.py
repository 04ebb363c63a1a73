"""What a migration drill says of a copy: each wound of one turns the steps that are about it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case
from axnb.drills.migration.copying import check_copy, check_round_trip, check_source
from axnb.drills.migration.ground import Ground
from axnb.drills.migration.logs import ScratchLog
from axnb.drills.migration.matrix import matrix_of_all, summary
from axnb.drills.migration.options import MigrationDrillOptions
from axnb.drills.migration.past import traces
from axnb.drills.migration.rehearsing import look
from axnb.drills.migration.serving import decoded
from axnb.drills.migration.snapshots import check_snapshots, counted
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, call
from tests.ax_logs import ROOT
from tests.drills.migration_logs import executing, ground, small, verdicts
from tests.mapping.test_verbs import _TARGET, World

COPY = ("rows", "content", "owners", "losses", "left-as-is", "round-trip")

#: What is done to the copy -> steps that it turns. A round trip starts from the copy.
WOUNDS = {
    "nothing": ("update conversation_log set step = step", set()),
    "a row is gone": (
        "delete from conversation_log where conversation_id = 'done' and step = 3",
        {"rows", "round-trip"},
    ),
    "a row is new": (
        "insert into conversation_log values "
        '(\'cut\', 3, \'{"conversation_id":"cut","state":"STATE_COMPLETED"}\')',
        {"rows", "round-trip"},
    ),
    "a digit is another": (
        "update conversation_log set payload = replace(payload, '\"amount\":9', '\"amount\":8') "
        "where conversation_id = 'done' and step = 3",
        {"content", "round-trip"},
    ),
    "a turn is closed": (
        "update conversation_log set payload = replace(payload, 'PENDING', 'COMPLETED') "
        "where conversation_id = 'cut' and step = 2",
        {"content", "round-trip"},
    ),
    "a call has another id": (
        "update conversation_log set payload = replace(payload, 'call_1', 'call_2') "
        "where conversation_id = 'done' and step = 4",
        {"content", "round-trip"},
    ),
    "an owner is gone": (
        "update conversation_log set payload = replace(payload, '\"agent_id\":\"drill\",', '') "
        "where conversation_id = 'drilled' and step = 1",
        {"owners", "round-trip"},
    ),
    "an owner is another": (
        "update conversation_log set payload = replace(payload, '\"drill\"', '\"other\"') "
        "where conversation_id = 'drilled' and step = 1",
        {"owners", "round-trip"},
    ),
    "an unreadable row is another": (
        "update conversation_log set payload = '{\"conversation_id\":1}' "
        "where conversation_id = 'torn'",
        {"left-as-is", "round-trip"},
    ),
}


@pytest.fixture(scope="module")
def torn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A small log of G6 with a row that nobody can read; all wounds share what is read of it."""
    log, folder = small("G6"), tmp_path_factory.mktemp("torn")
    log.rows.append(StoredRow("torn", 1, '{"conversation_id":"torn","step":1'))
    with ground(log.write_sqlite(folder / "source.sqlite"), folder, to="G8") as of:
        yield of


#: Wounds that are like another one.
SLOW = ("a row is new", "a call has another id", "an owner is another")


@pytest.mark.parametrize(
    "wound", [pytest.param(w, marks=[pytest.mark.slow] * (w in SLOW)) for w in WOUNDS]
)
def test_a_wound_of_the_copy_turns_its_steps(wound: str, torn: Ground) -> None:
    statement, turned = WOUNDS[wound]
    name = f"migrated-{list(WOUNDS).index(wound)}"
    of = replace(torn, migrate=executing(statement, name), steps=[])
    carried = of.carry(of.raw, name, of.target)
    check_copy(of, carried)
    check_round_trip(of, carried, f"{name}-back")
    found = verdicts(of)
    assert tuple(found) == COPY
    assert {check for check, verdict in found.items() if verdict != "ok"} == turned
    assert set(found.values()) <= {"ok", "failed"}


@pytest.mark.parametrize("accepted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_loss_is_failed_unless_it_was_accepted(*, accepted: bool, tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("c1", "Charge the card", call("charge_card"), answer({"ok": False}, is_error=True))
    source = log.write_sqlite(tmp_path / "source.sqlite")
    path = "steps[].tool_result.function_result.is_error"
    with ground(source, tmp_path, to="G6", accept_loss=[path] * accepted) as of:
        carried = of.carry(of.raw, "migrated", of.target)
        check_copy(of, carried)
        check_round_trip(of, carried)
        found = verdicts(of)
        (losses,) = (step for step in of.steps if step["check"] == "losses")
    assert found == {**dict.fromkeys(COPY, "ok"), "losses": "ok" if accepted else "failed"}
    assert losses["evidence"] == [{"path": path, "times": 1, "accepted": accepted}]


def test_a_migration_that_breaks_off_leaves_no_step_ok(tmp_path: Path) -> None:
    source = small("G6").write_sqlite(tmp_path / "source.sqlite")
    with ground(source, tmp_path, to="G8") as of:
        (tmp_path / "migrated.sqlite").touch()
        carried = of.carry(of.raw, "migrated", of.target)
        assert check_copy(of, carried) is None
        found = verdicts(of)
        told = of.steps[0]["observed"]
    assert set(found.values()) == {"inconclusive"}
    assert str(tmp_path) not in told


def test_the_default_is_named_where_no_row_names_an_owner(tmp_path: Path) -> None:
    source = small("G5").write_sqlite(tmp_path / "source.sqlite")
    with ground(source, tmp_path, to="G8", default_harness="mine") as of:
        carried = of.carry(of.raw, "migrated", of.target)
        copy = check_copy(of, carried)
        assert copy is not None
        owners = {c.conversation_id: c.owner for c in copy.conversations}
    assert owners == {"cut": "mine", "done": "mine", "drilled": "drill"}
    assert set(verdicts(of).values()) == {"ok"}


def test_a_source_that_moves_is_not_relied_on(tmp_path: Path) -> None:
    source = small("G6").write_sqlite(tmp_path / "source.sqlite")
    with ground(source, tmp_path, to="G8") as of:
        assert check_source(of, is_unchanged=of.store.is_unchanged()).verdict == "ok"
        with closing(sqlite3.connect(source)) as moved, moved:
            moved.execute("delete from conversation_log where step = 5")
        found = check_source(of, is_unchanged=of.store.is_unchanged())
    assert found.verdict == "inconclusive"


def test_what_the_target_does_not_decode_is_seen(tmp_path: Path) -> None:
    """The log as it is, in place of a migrated copy."""
    source = small("G6").write_sqlite(tmp_path / "source.sqlite")
    with ground(source, tmp_path, to="G8") as of:
        known = of.read.conversations
        for name, verdict in (("G6", "ok"), ("G8", "failed")):
            found = decoded(known, known, ScratchLog(of.raw), GENERATIONS[name])
            assert found.verdict == verdict


# --- the matrix ----------------------------------------------------------------------------------

#: Of two specimens, what each version makes of the rows of each generation.
MATRIX = {
    "G3": ["works"] * 4 + ["fails"] * 3,
    "G4": ["fails"] + ["works"] * 3 + ["fails"] * 3,
    "G5": ["works"] * 4 + ["fails"] * 3,
    "G5b": ["works", "fails", "fails", "works"] + ["fails"] * 3,
    "G7": ["fails"] * 4 + ["loses", "works", "loses"],
    "G8": ["fails"] * 4 + ["loses", "loses", "works"],
}


def test_the_matrix_has_every_generation_and_every_version(tmp_path: Path) -> None:
    source = small("G6").write_sqlite(tmp_path / "source.sqlite")
    with ground(source, tmp_path, to="G8") as of:
        rows = matrix_of_all(of.read, of.harnesses, tmp_path, of.case.settings)
    own, others = [r for r in rows if r["from"] == "log"], [r for r in rows if r["from"] != "log"]
    found = {r["rows"]: [cell["outcome"] for cell in r["versions"].values()] for r in others}
    assert found == MATRIX
    (log,) = own
    assert (log["rows"], log["conversations"]) == ("G6", 3)
    told = {name: summary(cell) for name, cell in log["versions"].items()}
    assert told == {
        **dict.fromkeys(("G3", "G4", "G5", "G5b"), "3 fail (wrong-column)"),
        "G6": "3 work",
        "G7": "3 lose in silence (9 of 9 contents)",
        "G8": "3 lose in silence (9 of 9 contents, 3 owners)",
    }


# --- snapshots -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "verdict", "told"),
    [
        pytest.param(_TARGET, "ok", "1 snapshot: 1 full", marks=pytest.mark.slow),
        (_TARGET.replace("amd64", "arm64"), "failed", "1 snapshot: 1 refused"),
        pytest.param("", "inconclusive", "1 snapshot: 1 unknown", marks=pytest.mark.slow),
    ],
)
def test_snapshots_are_held_against_the_target(
    target: str, verdict: str, told: str, tmp_path: Path
) -> None:
    world = World(tmp_path)
    _, bucket, *records = world.write("actors", "templates")
    (tmp_path / "axnb.toml").write_text(target, encoding="utf-8")
    settings = Settings.read(tmp_path / "axnb.toml")
    options = MigrationDrillOptions(
        snapshots=[bucket], records=[Path(word) for word in records if word != "--records"]
    )
    with Case(None, settings) as case:
        _, mapped = look(case, str(tmp_path / "log.sqlite"), options)
    assert mapped is not None
    found = check_snapshots(mapped)
    assert (found.verdict, found.observed) == (verdict, told)
    (layout,) = counted(mapped)["layouts"]
    assert layout["layout"] == "B3b"


# --- what happened without a migration -----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("mixed-renamed-sqlite", {"renamed-column"}),
        ("upgraded-g6-g8-sqlite", {"mixed-words", "owner-rebound"}),
        pytest.param("lived-g7-g8-sqlite", {"owner-rebound"}, marks=pytest.mark.slow),
        pytest.param("g6-custom-sqlite", set(), marks=pytest.mark.slow),
    ],
)
def test_a_log_tells_what_happened_without_a_migration(
    name: str, kinds: set[str], tmp_path: Path
) -> None:
    source = ROOT / name / "log.sqlite"
    if not source.exists():
        pytest.skip("the whole collection is not there")
    with ground(source, tmp_path, to="G8") as of:
        found = traces(of.case, of.read)
    assert {trace.kind for trace in found} == kinds
    if "mixed-words" in kinds:
        bound = [t for t in found if t.kind == "owner-rebound"]
        assert all("harness_id is drill" in t.sentence for t in bound)
        assert all("antigravity as its agent_id" in t.sentence for t in bound)
