"""The notebook of the resume drill: a real drill of one point, its result, what the cells show."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from axnb.errors import UsageError
from axnb.notebook.drills import open_resume_drill
from axnb.notebook.runner import run_notebook
from axnb.notebook.shipped import find_notebook
from axnb.report.folder import VIEWS
from tests.notebook.runs import REPOSITORY

NOTEBOOK = REPOSITORY / "notebooks" / "10_resume_drill.ipynb"


def test_it_is_found_by_its_name() -> None:
    assert find_notebook("resume_drill").samefile(NOTEBOOK)


@pytest.mark.slow
def test_a_drill_of_one_point_and_two_policies(tmp_path: Path) -> None:
    given = {"policies": '["ax", "read-before-retry"]', "points": "3", "out": str(tmp_path / "out")}
    ran = run_notebook(NOTEBOOK, given)
    assert (ran.verdict, ran.exit_code) == ("failed", 1)
    assert set(ran.files) == {"result.json", *VIEWS, NOTEBOOK.name}
    result = json.loads((ran.folder / "result.json").read_text("utf-8"))
    effects = {(s["policy"], s["verdict"]) for s in result["steps"] if s["check"] == "side-effect"}
    assert effects == {("ax", "inconclusive"), ("read-before-retry", "ok")}
    cells = nbformat.read(ran.folder / NOTEBOOK.name, as_version=4).cells
    shown = "\n".join(
        str(output.get("data", {}).get("text/html", ""))
        for cell in cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    for told in ("14 checks at 2 points", "1 uncertain", "1 reused", "held at actor.committed"):
        assert told in shown
    assert shown.count("<svg role") == 2, "the matrix, and the timeline of a point"
    assert "widget" not in shown


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"policies": ["hope"]}, "hope"),
        ({"policies": []}, "policy"),
        ({"points": "9"}, "no point 9"),
        ({"generation": "G7"}, "G7"),
        ({"store": "mysql"}, "mysql"),
        ({"points": 3}, "points takes a text"),
        ({"snapshots": "s3://key:secret@host/b"}, "password"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    given: dict[str, object], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        open_resume_drill(**given)  # type: ignore[arg-type]
