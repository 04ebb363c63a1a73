"""The second notebook: its result, its report and the notebook as it ran."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from axnb.errors import UsageError, VerdictError
from axnb.notebook.maps import open_map
from axnb.notebook.runner import run_notebook
from axnb.notebook.shipped import find_notebook
from axnb.report.folder import VIEWS
from axnb.testing.buckets import BucketBuilder
from tests.notebook.runs import REPOSITORY

NOTEBOOK = REPOSITORY / "notebooks" / "02_snapshots.ipynb"


def _bucket(folder: Path) -> str:
    bucket = BucketBuilder()
    bucket.snapshot("B3b", actor_name="c1")
    bucket.write(folder)
    return str(folder)


def test_it_is_found_by_its_name() -> None:
    assert find_notebook("snapshots").samefile(NOTEBOOK)


def test_the_sample_runs_without_a_parameter(tmp_path: Path) -> None:
    ran = run_notebook(NOTEBOOK, {"out": str(tmp_path / "out"), "verify": True})
    assert (ran.verdict, ran.exit_code) == ("failed", 1)
    assert set(ran.files) == {"result.json", *VIEWS, NOTEBOOK.name}
    result = json.loads((ran.folder / "result.json").read_text("utf-8"))
    assert (result["drill"], result["measures"]["full"]) == ("map", 30)
    cells = nbformat.read(ran.folder / NOTEBOOK.name, as_version=4).cells
    shown = "\n".join(
        str(output.get("data", {}).get("text/html", ""))
        for cell in cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    for told in ("5 of 30 conversations have no good snapshot", "35 snapshots", "AX315"):
        assert told in shown


@pytest.mark.parametrize("accepted", [False, True])
def test_the_last_cell_fails_where_the_verdict_does(accepted: bool, tmp_path: Path) -> None:
    work = open_map(_bucket(tmp_path / "bucket"), accept_inconclusive=accepted)
    assert work.result().verdict == "inconclusive"
    if accepted:
        assert work.finish() == "The verdict is inconclusive."
        return
    with pytest.raises(VerdictError, match="inconclusive"):
        work.finish()


def test_a_bucket_that_cannot_be_read_is_no_ok(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        open_map(str(tmp_path / "nothing"))
    work = open_map(_bucket(tmp_path / "bucket"), records=[str(tmp_path / "gone.json")])
    assert work.result().verdict == "inconclusive"
    assert any("gone.json cannot be read" in sentence for sentence in work.result().why)
    assert str(tmp_path) not in json.dumps([*work.result().why, *work.result().answer["doubts"]])
