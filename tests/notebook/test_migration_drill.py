"""The notebook of the migration drill: a real migration, its result, what the cells show."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from axnb.errors import UsageError
from axnb.notebook.migrations import open_migration_drill
from axnb.notebook.runner import run_notebook
from axnb.notebook.shipped import find_notebook
from axnb.report.folder import VIEWS
from axnb.testing.logs import LogBuilder, call, say
from tests.notebook.runs import REPOSITORY

NOTEBOOK = REPOSITORY / "notebooks" / "30_version_migration_drill.ipynb"


@pytest.mark.parametrize("name", ["migration", "version_migration_drill"])
def test_it_is_found_by_its_name(name: str) -> None:
    assert find_notebook(name).samefile(NOTEBOOK)


def test_a_log_that_would_lose_everything(tmp_path: Path) -> None:
    log = LogBuilder("G6")
    log.turn("done", "Which seats are free?", say("12A."))
    log.interrupted("cut", "Reserve 12A", call("reserve", {"seat": "12A"}))
    source = log.write_sqlite(tmp_path / "log.sqlite")
    work = open_migration_drill(str(source), harnesses=["antigravity"], out=str(tmp_path / "out"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"result.json", *VIEWS}
    matrix = work.matrix().frame
    target = matrix[matrix["version"] == "G8"].set_index("rows_of")
    assert target.loc["as it is", "outcome"] == "loses"
    assert target.loc["migrated", "outcome"] == "works"
    fates = work.conversations().frame.set_index("conversation_id")
    assert fates.loc["done", "damages"] == "unmigrated: other-words"
    assert {*work.checks().frame["word"]} == {"matrix", "copy", "serve", "rollback", "plan"}
    assert "axnb migrate" in work.plan().text()
    assert work.plan().frame.empty
    assert work.finish() == "The verdict is ok."


@pytest.mark.slow
def test_it_runs_without_a_parameter(tmp_path: Path) -> None:
    ran = run_notebook(NOTEBOOK, {"out": str(tmp_path / "out")})
    assert (ran.verdict, ran.exit_code) == ("ok", 0)
    assert set(ran.files) == {"result.json", *VIEWS, NOTEBOOK.name}
    cells = nbformat.read(ran.folder / NOTEBOOK.name, as_version=4).cells
    shown = "\n".join(
        str(output.get("data", {}).get("text/html", ""))
        for cell in cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    for told in ("all 30 lose in silence", "all 30 work", "Freeze the writers", "round-trip"):
        assert told in shown
    assert shown.count("<svg role") == 1, "the matrix"
    assert "widget" not in shown


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"to": "G4"}, "no log is migrated to G4"),
        ({"to": "v9"}, "v9"),
        ({"to": 8}, "to takes a text"),
        ({"harnesses": ["a", "a"]}, "named twice"),
        ({"ax_bin": ["no-such-program"]}, "no program"),
        ({"source": "postgresql://u:secret@host/db"}, "password"),
        ({"settings": "no.toml"}, "no.toml"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    given: dict[str, object], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        open_migration_drill(**given)  # type: ignore[arg-type]
