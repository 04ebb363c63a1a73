"""The first notebook: run by axnb and by plain papermill; its result, report and parameters."""

from __future__ import annotations

import atexit
import inspect
import json
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from axnb.errors import AxnbError, UsageError, VerdictError
from axnb.notebook.runner import run_notebook
from axnb.notebook.workspace import open_triage
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.servers import PostgresServer

REPOSITORY = Path(__file__).parents[1]
NOTEBOOK = REPOSITORY / "notebooks" / "01_triage.ipynb"

#: An id that ends a string, a statement and a line, and ends in a backslash.
QUOTES = "a\"b'c\\d\ne'); open('owned', 'w') #{x} %s \\"
HOSTILE = (
    "</title></td><img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "[x](javascript:alert(1)) | ```",
    "\x1b[31mred\x1b]0;owned\x07",
    "a\u202eb\u200bc\x9b",
)


@pytest.fixture(scope="module", autouse=True)
def _kernels_find_axnb() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(REPOSITORY))
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        patch.delenv("AX_EVENTLOG_DSN", raising=False)
        patch.chdir(_scratch())
        yield


@cache
def _scratch() -> Path:
    """A folder that goes with the test process."""
    folder = Path(tempfile.mkdtemp(prefix="axnb-test-notebook-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _healthy() -> LogBuilder:
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}), say("done"))
    log.turn(QUOTES, "hi")
    return log


def _failed() -> LogBuilder:
    log = _healthy()
    for text in HOSTILE:
        log.interrupted(text, text, call(text, {text: text}, text))
    return log


def _inconclusive() -> LogBuilder:
    log = _healthy()
    log.turn("unknown", "hi", call("charge", {"n": 2}))
    return log


@cache
def _log(verdict: str) -> Path:
    builder = {"ok": _healthy, "failed": _failed, "inconclusive": _inconclusive}[verdict]
    return builder().write_sqlite(_scratch() / f"{verdict}.sqlite")


# --- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A run of the notebook and what it left."""

    folder: Path
    finished: bool

    @property
    def notebook(self) -> nbformat.NotebookNode:
        """The executed notebook."""
        return nbformat.read(self.folder / NOTEBOOK.name, as_version=4)

    @property
    def result(self) -> dict[str, Any]:
        """The result."""
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text("utf-8"))
        return found

    @property
    def report(self) -> str:
        """The report."""
        return (self.folder / "report.html").read_text(encoding="utf-8")


#: How a run is called: the log's verdict, and more parameters.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "ok": ("ok", {"conversation": QUOTES}),
    "failed": ("failed", {}),
    "inconclusive": ("inconclusive", {}),
    "accepted": ("inconclusive", {"accept_inconclusive": True}),
}


def _parameters(name: str, folder: Path) -> dict[str, Any]:
    verdict, more = RUNS[name]
    return {"source": str(_log(verdict)), "out": str(folder), **more}


@cache
def _run(name: str) -> Run:
    """Run the notebook as axnb does."""
    folder = _scratch() / name
    finished = run_notebook(NOTEBOOK, folder / NOTEBOOK.name, _parameters(name, folder))
    return Run(folder, finished)


@cache
def _run_plainly(name: str) -> Run:
    """Run papermill's own command line."""
    from papermill.__main__ import papermill

    folder = _scratch() / f"plain-{name}"
    folder.mkdir()
    arguments = [str(NOTEBOOK), str(folder / NOTEBOOK.name), "--no-progress-bar"]
    for parameter, value in _parameters(name, folder).items():
        arguments += ["-p", parameter, str(value)]
    return Run(folder, CliRunner().invoke(papermill, arguments).exit_code == 0)


@pytest.mark.parametrize("name", RUNS)
def test_plain_papermill_fails_where_the_verdict_does(name: str) -> None:
    run = _run_plainly(name)
    assert run.finished == (name in ("ok", "accepted"))
    assert run.result["verdict"] == RUNS[name][0]


def test_axnb_says_that_a_cell_has_failed() -> None:
    assert _run("failed").finished is False


@pytest.mark.slow
def test_axnb_says_that_all_cells_ran() -> None:
    assert _run("ok").finished is True


def test_the_result_folder_is_whole() -> None:
    for run in (_run_plainly("ok"), _run("failed")):
        left = {path.name for path in run.folder.iterdir()}
        assert left == {"result.json", "report.html", NOTEBOOK.name}


# --- the result ----------------------------------------------------------------------------------

RESULT = {
    *("schema", "drill", "parameters", "sources", "steps", "findings", "measures", "plan", "run"),
    *("verdict", "scope"),
}


def test_the_result_is_what_the_library_says() -> None:
    found = _run("failed").result
    work = open_triage(str(_log("failed")))
    assert found.keys() >= RESULT
    assert (found["schema"], found["drill"]) == ("axnb.result/1", "triage")
    assert found["verdict"] == "failed"
    assert found["answer"] == json.loads(json.dumps(work.triage.as_dict()))
    assert found["findings"] == found["answer"]["findings"]
    assert found["parameters"]["accept_inconclusive"] is False


def test_two_runs_differ_in_the_block_run_alone() -> None:
    texts = []
    for run in (_run("failed"), _run_plainly("failed")):
        found = run.result
        assert found.pop("run")
        texts.append(json.dumps(found))
    assert texts[0] == texts[1]


def test_the_same_log_in_another_folder_has_the_same_result() -> None:
    """A sentence that names the whole path would differ, and would tell who keeps what where."""
    results, reports = [], []
    for name in ("a", "b"):
        folder = _scratch() / f"kept-in-{name}"
        folder.mkdir()
        # In WAL mode without its -wal there is something to say about the source.
        log = _healthy().write_sqlite(folder / "log.sqlite", pragmas=["journal_mode = wal"])
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
        open_triage(str(_log("ok")), str(tmp_path)).save()
    assert json.loads((tmp_path / "result.json").read_text("utf-8"))["verdict"] == "ok"
    working = [cell.source for cell in _cells("code") if "tags" not in cell.metadata]
    assert "save()" in working[0]
    assert "finish()" in working[-1]


def test_the_verdict_is_the_code_of_the_last_error() -> None:
    for verdict, code in (("failed", 1), ("inconclusive", 3)):
        with pytest.raises(VerdictError, match=verdict) as caught:
            open_triage(str(_log(verdict))).finish()
        assert caught.value.exit_code == code
    assert "ok" in open_triage(str(_log("ok"))).finish()
    assert open_triage(str(_log("inconclusive")), accept_inconclusive=True).finish()
    with pytest.raises(VerdictError):
        open_triage(str(_log("failed")), accept_inconclusive=True).finish()


# --- parameters ----------------------------------------------------------------------------------


def test_any_text_reaches_the_query_as_data() -> None:
    found = _run_plainly("ok").result
    assert found["parameters"]["conversation"] == QUOTES
    assert [c["conversation_id"] for c in found["answer"]["conversations"]] == [QUOTES]
    assert not (_scratch() / "owned").exists()


@pytest.mark.parametrize(
    "name", ["source", "out", "ax_version", "conversation", "case", "settings"]
)
def test_the_text_none_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parameters: dict[str, Any] = {"source": str(_log("ok")), name: "None"}
    with pytest.raises(UsageError, match="None"):
        open_triage(**parameters)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("source", 5),
        ("source", None),
        ("conversation", 7),  # papermill makes a number of `-p conversation 007`
        ("conversation", ["fine"]),
        ("ax_version", 8),
        ("out", True),
        ("harnesses", "drill=accepts"),  # a list that came as a text
        ("harnesses", "drill"),
        ("harnesses", [1]),
        ("accept_inconclusive", "false"),  # `-p accept_inconclusive false` is a text, and true
        ("accept_inconclusive", "no"),
    ],
)
def test_a_value_of_another_type_is_refused_by_name(name: str, value: Any) -> None:
    parameters: dict[str, Any] = {"source": str(_log("ok")), name: value}
    with pytest.raises(UsageError, match=name):
        open_triage(**parameters)


@pytest.mark.parametrize(
    "name",
    [
        "unknown",
        "x = 1\nopen('owned', 'w').close()\ny",
        "source ",
    ],
)
def test_names_that_are_not_declared_are_refused(name: str) -> None:
    """Papermill would execute them."""
    output = _scratch() / "undeclared" / NOTEBOOK.name
    with pytest.raises(UsageError):
        run_notebook(NOTEBOOK, output, {"source": str(_log("ok")), name: 1})
    assert not (_scratch() / "owned").exists()
    assert not output.exists()


def test_where_nothing_can_be_written_is_an_error_of_axnb(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AxnbError, match="file"):
        run_notebook(NOTEBOOK, tmp_path / "file" / "out.ipynb", {"source": str(_log("ok"))})


@pytest.mark.slow
def test_braces_in_a_path_mean_nothing() -> None:
    """Papermill puts paths through str.format; here the notebook is not even there."""
    folder = _scratch() / "{source} {0}"
    folder.mkdir()
    (folder / "{a}.ipynb").write_bytes(NOTEBOOK.read_bytes())
    output = folder / "{b}.ipynb"
    assert run_notebook(folder / "{a}.ipynb", output, {"source": str(_log("ok"))}) is True
    assert output.exists()


SECRET = "hunter2"


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://user:{SECRET}@127.0.0.1:1/db",
        f"postgres://127.0.0.1:1/db?user=u&password={SECRET}",
        f"postgres://127.0.0.1:1/db?user=u&pass%77ord={SECRET}",
        f"postgres://127.0.0.1:1/db?sslpassword={SECRET}",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"host=127.0.0.1 port=1 password = '{SECRET}'",
        f"host=127.0.0.1 port=1 password\t=\t{SECRET}",
    ],
)
def test_a_password_in_a_parameter_is_refused(dsn: str) -> None:
    with pytest.raises(UsageError, match="source") as caught:
        open_triage(dsn, str(_scratch() / "secret"))
    assert SECRET not in str(caught.value)
    assert not (_scratch() / "secret").exists()


def test_a_password_is_refused_before_papermill_keeps_it() -> None:
    folder = _scratch() / "kept-secret"
    parameters = {"source": f"postgresql://user:{SECRET}@127.0.0.1:1/db", "out": str(folder)}
    with pytest.raises(UsageError):
        run_notebook(NOTEBOOK, folder / NOTEBOOK.name, parameters)
    assert _files_with(SECRET, _scratch()) == []


def test_a_password_of_the_environment_is_in_no_file(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dsn = postgres.create_database()
    _healthy().write_postgres(dsn)
    monkeypatch.setenv("LOG_DSN", dsn)
    work = open_triage("LOG_DSN", str(tmp_path / "out"), case=str(tmp_path / "case.duckdb"))
    work.save()
    assert work.triage.verdict == "ok"
    assert len(list(tmp_path.rglob("*"))) == 4
    assert _files_with(postgres.password, tmp_path) == []


def _files_with(text: str, folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


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
    report = _run("failed").report
    parsed = _parsed(report)
    assert (
        parsed.tags & {"script", "img", "iframe", "link", "object", "embed", "base", "a"} == set()
    )
    names = parsed.attributes
    assert {n for n in names if n.startswith("on")} | names & {"src", "href", "srcset"} == set()
    assert re.findall(r"https?:|(?<!:)//|@import|url\(", report) == []
    assert "default-src 'none'" in report


def test_hostile_ids_are_text_in_the_report() -> None:
    parsed = _parsed(_run("failed").report)
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
    for run in (_run_plainly("ok"), _run("failed")):
        nbformat.validate(run.notebook)
        assert "widgets" not in run.notebook.metadata
        kinds = {kind for kind, _ in _outputs(run)}
        assert kinds <= {"stream", "text/plain", "text/html"}
        html = "".join(text for kind, text in _outputs(run) if kind == "text/html")
        assert _parsed(html).tags & {"script", "img", "iframe"} == set()
        assert re.findall(r"https?://", html) == []


def test_hostile_text_moves_no_cursor_in_the_notebook() -> None:
    hidden = ("Cc", "Cf", "Cs")
    for kind, text in _outputs(_run("failed")):
        raw = {c for c in text if unicodedata.category(c) in hidden}
        assert raw <= {"\n"}, kind


def test_the_executed_notebook_does_not_tell_where_it_was_run() -> None:
    about = _run("failed").notebook.metadata.papermill
    assert [path for path in (about.input_path, about.output_path) if "/" in path] == []


# --- the notebook as it is shipped ---------------------------------------------------------------


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
