"""The notebook of the restore drill: a real restore, its result, what the cells show."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from axnb.errors import UsageError, VerdictError
from axnb.notebook.restores import open_restore_drill
from axnb.notebook.runner import run_notebook
from axnb.notebook.shipped import find_notebook
from axnb.report.folder import VIEWS
from tests import ax_logs
from tests.notebook.runs import REPOSITORY

LOGS = ax_logs.ROOT / "restored-sqlite"
GIVEN = {
    "source": str(LOGS / "log.sqlite"),
    "backup": str(LOGS / "backup.sqlite"),
    "beside": [str(LOGS / "lost.sqlite")],
}
NOTEBOOK = REPOSITORY / "notebooks" / "20_backup_restore_drill.ipynb"


@pytest.mark.parametrize("name", ["restore", "backup_restore_drill", "20_backup_restore_drill"])
def test_it_is_found_by_its_name(name: str) -> None:
    assert find_notebook(name).samefile(NOTEBOOK)


def test_a_word_that_several_have_is_no_name() -> None:
    with pytest.raises(UsageError, match="there is no notebook 'drill'"):
        find_notebook("drill")


def test_a_backup_that_was_put_back(tmp_path: Path) -> None:
    """The log went on from a backup: each cell says what it has to say of it."""
    work = open_restore_drill(**GIVEN, out=str(tmp_path / "out"))  # type: ignore[arg-type]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"result.json", *VIEWS}
    lost = work.lost().frame.set_index("conversation_id")
    assert lost.loc["orders", "twice"] == "7-12"
    assert {("create_ticket", 9), ("charge_card", 8)} <= {
        (call.tool, call.step) for call in work.calls().frame.itertuples()
    }
    assert "failed" in {*work.checks().frame["verdict"]}
    assert work.phases().frame["counts"].any()
    assert [row["name"] for row in work.result().sources] == ["log-2", "log-3", "backup"]
    with pytest.raises(VerdictError, match="failed"):
        work.finish()


@pytest.mark.slow
def test_it_runs_without_a_parameter(tmp_path: Path) -> None:
    ran = run_notebook(NOTEBOOK, {"out": str(tmp_path / "out")})
    assert (ran.verdict, ran.exit_code) == ("ok", 0)


@pytest.mark.slow
def test_a_run_for_a_scheduler(tmp_path: Path) -> None:
    given = {**GIVEN, "beside": json.dumps(GIVEN["beside"]), "out": str(tmp_path / "out")}
    ran = run_notebook(NOTEBOOK, given)
    assert (ran.verdict, ran.exit_code) == ("failed", 1)
    assert set(ran.files) == {"result.json", *VIEWS, NOTEBOOK.name}
    cells = nbformat.read(ran.folder / NOTEBOOK.name, as_version=4).cells
    shown = "\n".join(
        str(output.get("data", {}).get("text/html", ""))
        for cell in cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    for told in ("handed out twice", "create_ticket", "RTO: ", "restored to step 6"):
        assert told in shown
    assert shown.count("<svg role") == 2, "what is lost, and the phases"
    assert "widget" not in shown


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"source": "", "backup": ""}, "name a log"),
        ({"rpo_steps": -1}, "--rpo-steps"),
        ({"rpo_steps": "3"}, "rpo_steps takes a whole number"),
        ({"source": "postgresql://u:secret@host/db"}, "password"),
        ({"beside": ["snapshots=s3://b/p"]}, "beside takes logs"),
        ({"beside": ["expect-last=nobody"]}, "--expect-last"),
        ({"beside": ["client="]}, "without a value"),
        ({"settings": "no.toml"}, "no.toml"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    given: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AX_EVENTLOG_DSN", raising=False)
    with pytest.raises(UsageError, match=told):
        open_restore_drill(**given)  # type: ignore[arg-type]
