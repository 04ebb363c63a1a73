"""The notebooks as they are shipped: small, clean, explained."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from axnb.notebook.workspace import open_triage
from tests.notebook.runs import NOTEBOOK


def _cells(kind: str) -> list[nbformat.NotebookNode]:
    return [c for c in nbformat.read(NOTEBOOK, as_version=4).cells if c.cell_type == kind]


def test_the_shipped_notebook_is_clean() -> None:
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))
    for cell in _cells("code"):
        assert (cell.outputs, cell.execution_count) == ([], None)


def test_the_notebook_is_small_and_holds_no_sql() -> None:
    cells = _cells("code")
    assert len(cells) <= 8
    assert [c.source for c in cells if len(c.source.splitlines()) > 10] == []
    sql = re.compile(r"\b(select|insert|update|delete|join|where)\b", re.IGNORECASE)
    assert [c.source for c in cells if sql.search(c.source)] == []


def _inspected() -> Mapping[str, Mapping[str, Any]]:
    import papermill

    found: Mapping[str, Mapping[str, Any]] = papermill.inspect_notebook(str(NOTEBOOK))
    return found


def test_every_parameter_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        found = _inspected()
    assert "Unable to parse" not in caplog.text
    assert set(found) == set(inspect.signature(open_triage).parameters)
    for parameter in found.values():
        assert parameter["inferred_type_name"] in ("str", "list", "bool")
        assert len(parameter["help"]) > 10


def test_papermill_can_explain_the_notebook() -> None:
    from papermill.__main__ import papermill

    result = CliRunner().invoke(papermill, ["--help-notebook", str(NOTEBOOK)])
    assert result.exit_code == 0
    for name in _inspected():
        assert name in result.output
    assert "Unable to parse" not in result.output
    assert "Unknown type" not in result.output
