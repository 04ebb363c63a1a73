"""The first notebook: its result, its report and the notebook as it ran."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

from axnb.errors import AxnbError, VerdictError
from axnb.notebook.workspace import open_triage
from axnb.report.folder import VIEWS
from tests.notebook.runs import (
    HOSTILE,
    NOTEBOOK,
    RUNS,
    Run,
    by_axnb,
    by_papermill,
    healthy,
    log_of,
    scratch,
)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("failed", "accepted") else pytest.param(name, marks=pytest.mark.slow)
        for name in RUNS
    ],
)
def test_plain_papermill_fails_where_the_verdict_does(name: str) -> None:
    run = by_papermill(name)
    assert run.well == (name in ("ok", "accepted"))
    assert run.result["verdict"] == RUNS[name][0]


def test_axnb_says_that_a_cell_has_failed() -> None:
    assert by_axnb("failed").well is False


@pytest.mark.slow
def test_axnb_says_that_all_cells_ran() -> None:
    assert by_axnb("ok").well is True


def test_the_result_folder_is_whole() -> None:
    for run in (by_papermill("ok"), by_axnb("failed")):
        left = {path.name for path in run.folder.iterdir()}
        assert left == {"result.json", *VIEWS, NOTEBOOK.name}


# --- the result ----------------------------------------------------------------------------------

RESULT = {
    *("schema", "drill", "parameters", "sources", "steps", "findings", "measures", "plan", "run"),
    *("verdict", "scope"),
}


def test_the_result_is_what_the_library_says() -> None:
    found = by_axnb("failed").result
    work = open_triage(str(log_of("failed")))
    assert found.keys() >= RESULT
    assert (found["schema"], found["drill"]) == ("axnb.result/1", "triage")
    assert found["verdict"] == "failed"
    assert found["answer"] == json.loads(json.dumps(work.triage.as_dict()))
    assert found["findings"] == found["answer"]["findings"]
    assert found["parameters"]["accept_inconclusive"] is False


def test_two_runs_differ_in_the_block_run_alone() -> None:
    texts = []
    for run in (by_axnb("failed"), by_papermill("failed")):
        found = run.result
        assert found.pop("run")
        texts.append(json.dumps(found))
    assert texts[0] == texts[1]


def test_the_same_log_in_another_folder_has_the_same_result() -> None:
    """A sentence that names the whole path would differ, and would tell who keeps what where."""
    results, reports = [], []
    for name in ("a", "b"):
        folder = scratch() / f"kept-in-{name}"
        folder.mkdir()
        # In WAL mode without its -wal there is something to say about the source.
        log = healthy().write_sqlite(folder / "log.sqlite", pragmas=["journal_mode = wal"])
        open_triage(str(log), str(folder / "out")).save()
        run = Run(folder / "out", True)
        results.append({name: value for name, value in run.result.items() if name != "run"})
        reports.append(run.report)
    assert results[0] == results[1]
    assert [text for text in (json.dumps(results[0]), reports[0]) if "kept-in" in text] == []


def test_the_result_is_written_first(tmp_path: Path) -> None:
    """Whatever goes wrong later, in the report or in a cell, the result is there."""
    (tmp_path / "report.html").mkdir()
    with pytest.raises(AxnbError):
        open_triage(str(log_of("ok")), str(tmp_path)).save()
    assert json.loads((tmp_path / "result.json").read_text("utf-8"))["verdict"] == "ok"
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    working = [c.source for c in cells if c.cell_type == "code" and "tags" not in c.metadata]
    assert "open_triage(" in working[0]
    assert "finish()" in working[-1]


def test_the_verdict_is_the_code_of_the_last_error() -> None:
    for verdict, code in (("failed", 1), ("inconclusive", 3)):
        with pytest.raises(VerdictError, match=verdict) as caught:
            open_triage(str(log_of(verdict))).finish()
        assert caught.value.exit_code == code
    assert "ok" in open_triage(str(log_of("ok"))).finish()
    assert open_triage(str(log_of("inconclusive")), accept_inconclusive=True).finish()
    with pytest.raises(VerdictError):
        open_triage(str(log_of("failed")), accept_inconclusive=True).finish()


# --- the report ----------------------------------------------------------------------------------


class _Tags(HTMLParser):
    """The tags of a document, and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def _parsed(document: str) -> _Tags:
    parser = _Tags()
    parser.feed(document)
    return parser


def test_the_report_runs_nothing_and_loads_nothing() -> None:
    report = by_axnb("failed").report
    parsed = _parsed(report)
    assert (
        parsed.tags & {"script", "img", "iframe", "link", "object", "embed", "base", "a"} == set()
    )
    names = parsed.attributes
    assert {n for n in names if n.startswith("on")} | names & {"src", "href", "srcset"} == set()
    assert re.findall(r"https?:|(?<!:)//|@import|url\(", report) == []
    assert "default-src 'none'" in report


def test_hostile_ids_are_text_in_the_report() -> None:
    parsed = _parsed(by_axnb("failed").report)
    for text in HOSTILE[:4]:
        assert text in parsed.text
    assert "\\u001b[31mred" in parsed.text
    hidden = ("Cc", "Cf", "Cs")
    assert {c for c in parsed.text if unicodedata.category(c) in hidden} <= {"\n"}


# --- the notebook as it ran ----------------------------------------------------------------------


def _outputs(run: Run) -> Iterator[tuple[str, str]]:
    """(kind, text) of all that the cells put out."""
    for cell in run.notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                yield "stream", output.text
            for kind, data in output.get("data", {}).items():
                yield kind, data if isinstance(data, str) else json.dumps(data)


def test_the_executed_notebook_is_plain() -> None:
    for run in (by_papermill("ok"), by_axnb("failed")):
        nbformat.validate(run.notebook)
        assert "widgets" not in run.notebook.metadata
        kinds = {kind for kind, _ in _outputs(run)}
        assert kinds <= {"stream", "text/plain", "text/html"}
        html = "".join(text for kind, text in _outputs(run) if kind == "text/html")
        assert _parsed(html).tags & {"script", "img", "iframe"} == set()
        assert re.findall(r"https?://", html) == []


def test_hostile_text_moves_no_cursor_in_the_notebook() -> None:
    hidden = ("Cc", "Cf", "Cs")
    for kind, text in _outputs(by_axnb("failed")):
        raw = {c for c in text if unicodedata.category(c) in hidden}
        assert raw <= {"\n"}, kind


def test_the_executed_notebook_does_not_tell_where_it_was_run() -> None:
    about = by_axnb("failed").notebook.metadata.papermill
    assert [path for path in (about.input_path, about.output_path) if "/" in path] == []
