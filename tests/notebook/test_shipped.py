"""The notebooks as they are shipped: small, clean, explained."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from axnb.notebook.drills import open_resume_drill
from axnb.notebook.maps import open_map
from axnb.notebook.migrations import open_migration_drill
from axnb.notebook.restores import open_restore_drill
from axnb.notebook.workspace import open_triage
from tests.notebook.runs import REPOSITORY

#: Each notebook, with the call that takes its parameters.
NOTEBOOKS = {
    "01_triage.ipynb": open_triage,
    "02_snapshots.ipynb": open_map,
    "10_resume_drill.ipynb": open_resume_drill,
    "20_backup_restore_drill.ipynb": open_restore_drill,
    "30_version_migration_drill.ipynb": open_migration_drill,
}

pytestmark = pytest.mark.parametrize("name", NOTEBOOKS)


def _path(name: str) -> Path:
    return REPOSITORY / "notebooks" / name


def _cells(name: str, kind: str) -> list[nbformat.NotebookNode]:
    return [c for c in nbformat.read(_path(name), as_version=4).cells if c.cell_type == kind]


def test_every_notebook_is_looked_at(name: str) -> None:
    assert {path.name for path in (REPOSITORY / "notebooks").iterdir()} == set(NOTEBOOKS)


def test_the_shipped_notebook_is_clean(name: str) -> None:
    nbformat.validate(nbformat.read(_path(name), as_version=4))
    for cell in _cells(name, "code"):
        assert (cell.outputs, cell.execution_count) == ([], None)


def test_the_notebook_is_small_and_holds_no_sql(name: str) -> None:
    cells = _cells(name, "code")
    assert len(cells) <= 8
    assert [c.source for c in cells if len(c.source.splitlines()) > 10] == []
    sql = re.compile(r"\b(select|insert|update|delete|join|where)\b", re.IGNORECASE)
    assert [c.source for c in cells if sql.search(c.source)] == []


def _inspected(name: str) -> Mapping[str, Mapping[str, Any]]:
    import papermill

    found: Mapping[str, Mapping[str, Any]] = papermill.inspect_notebook(str(_path(name)))
    return found


def test_every_parameter_is_explained(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        found = _inspected(name)
    assert "Unable to parse" not in caplog.text
    assert set(found) == set(inspect.signature(NOTEBOOKS[name]).parameters)
    for parameter in found.values():
        assert parameter["inferred_type_name"] in ("str", "list", "bool", "int")
        assert len(parameter["help"]) > 10


def test_papermill_can_explain_the_notebook(name: str) -> None:
    from papermill.__main__ import papermill

    result = CliRunner().invoke(papermill, ["--help-notebook", str(_path(name))])
    assert result.exit_code == 0
    for parameter in _inspected(name):
        assert parameter in result.output
    assert "Unable to parse" not in result.output
    assert "Unknown type" not in result.output
