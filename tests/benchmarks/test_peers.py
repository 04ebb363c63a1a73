"""The peers are only worth comparing with if they find the same; so they do, on a small log."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.benchmarks.build_log import GENERATIONS, build_sqlite
from tests.benchmarks.peers import COLUMNS, bare, loop, loop_through_adbc, normalize, scan

EVENTS = 3_000

Log = tuple[str, str]


@pytest.fixture(scope="module", params=GENERATIONS)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Log:
    generation = str(request.param)
    path = tmp_path_factory.mktemp("benchmark") / "log.sqlite"
    build_sqlite(path, EVENTS, generation)
    return str(path), generation


def _comparable(frame: pd.DataFrame) -> pd.DataFrame:
    """Sorted, as plain objects, without the space that json.dumps puts after a comma."""
    frame = frame.sort_values(["conversation_id", "step"], ignore_index=True)
    frame = frame[list(COLUMNS)].astype(object)
    return frame.where(frame.notna(), None)


def test_the_loop_finds_what_json_normalize_finds(log: Log) -> None:
    found, other = _comparable(loop(*log)), _comparable(normalize(*log))
    assert len(found) == EVENTS
    pd.testing.assert_frame_equal(found, other)


def test_the_loop_finds_the_same_through_adbc(log: Log) -> None:
    pd.testing.assert_frame_equal(loop_through_adbc(*log), loop(*log))


def test_duckdb_finds_what_the_loop_finds(log: Log) -> None:
    other = _comparable(bare(*log).execute("select * from typed").df())
    found = _comparable(loop(*log))
    for column in ("arguments", "result"):  # the spelling of spaces differs
        for frame in (found, other):
            frame[column] = frame[column].map(_without_spaces, na_action="ignore")
    pd.testing.assert_frame_equal(found, other)


def _without_spaces(text: str) -> str:
    return text.replace(" ", "")


def test_the_scan_reads_every_row(log: Log) -> None:
    assert scan(*log) == EVENTS


def test_a_log_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build_sqlite(tmp_path / name, 500)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
