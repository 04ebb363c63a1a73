"""`axnb notebook run`: what it is given, what it says, what it leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import Result

from axnb.cli.notebooks import _joined
from axnb.errors import UsageError
from axnb.notebook.runner import Run, run_notebook
from axnb.notebook.shipped import find_notebook
from axnb.report.folder import VIEWS
from tests.notebook.runs import NOTEBOOK, QUOTES, REPOSITORY, log_of
from tests.notebook.tiny import OUT, save, tiny

Cli = Callable[..., Result]

WHOLE = {"result.json", *VIEWS, NOTEBOOK.name}


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# --- from end to end -----------------------------------------------------------------------------


def test_a_run_from_end_to_end(axnb: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "someone" / "case-42"
    home.mkdir(parents=True)
    monkeypatch.chdir(home)
    shutil.copyfile(log_of("failed"), "log.sqlite")
    result = axnb("notebook", "run", "triage", "-p", "source", "log.sqlite", "--out", "out/a")
    assert result.exit_code == 1
    assert result.stdout == (
        "✗ failed: the result is in out/a (result.json, report.html, junit.xml, report.md, "
        "01_triage.ipynb).\n"
    )
    assert result.stderr == f"axnb: {NOTEBOOK} runs; its result goes to out/a.\n"
    out = home / "out" / "a"
    assert _names(out) == WHOLE
    assert _names(home) == {"log.sqlite", "out"}
    found = json.loads((out / "result.json").read_text("utf-8"))
    assert found["verdict"] == "failed"
    assert len(found["run"]["id"]) == 32
    told = "".join((out / name).read_text("utf-8") for name in WHOLE)
    for private in ("someone", str(tmp_path), str(REPOSITORY), "axnb-notebook-", "axnb-run-"):
        assert private not in told
    cells = nbformat.read(out / NOTEBOOK.name, as_version=4).cells
    assert "An Exception was encountered" not in "".join(cell.source for cell in cells)
    (error,) = (o for c in cells for o in c.get("outputs", ()) if o.output_type == "error")
    assert error.traceback == ["VerdictError: the verdict is failed."]


@pytest.mark.slow
def test_a_source_that_cannot_be_read(axnb: Cli, tmp_path: Path) -> None:
    Path("log.sqlite").write_text("no log")
    result = axnb("notebook", "run", "triage", "-p", "source=log.sqlite", "--out", "out")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.splitlines()[1:] == [axnb("triage", "log.sqlite").stderr.strip()]
    assert not Path("out").exists()


@pytest.mark.slow
def test_a_run_that_is_repeated_replaces_the_result(axnb: Cli, tmp_path: Path) -> None:
    ids = []
    for log in ("failed", "ok"):
        axnb("notebook", "run", "01_triage", "-p", "source", log_of(log), "--out", "out")
        found = json.loads(Path("out/result.json").read_text("utf-8"))
        assert found["verdict"] == log
        ids.append(found["run"]["id"])
        assert _names(tmp_path / "out") == WHOLE
    assert ids[0] != ids[1]


#: A verdict, the exit code, and how the last line starts.
ENDS = {
    "ok": (0, "✓ ok: the result is in"),
    "failed": (1, "✗ failed: the result is in"),
    "inconclusive": (3, "? inconclusive: the result is in"),
    "not-run": (3, "– not-run: the result is in"),
}


@pytest.mark.parametrize("verdict", ENDS)
def test_the_last_line_agrees_with_the_exit_code(verdict: Any) -> None:
    ran = Run(Path("out"), ("result.json",), verdict, False)
    assert (ran.exit_code, ran.sentence) == (
        ENDS[verdict][0],
        f"{ENDS[verdict][1]} out (result.json).",
    )


@pytest.mark.slow
@pytest.mark.parametrize("verdict", ENDS)
def test_the_verdict_is_that_of_the_file(axnb: Cli, verdict: str, tmp_path: Path) -> None:
    """The cells say what they like."""
    cell = "print('the verdict is ok')" if verdict != "ok" else "print('the verdict is failed')"
    notebook = tiny(tmp_path, save(verdict), cell)
    result = axnb("notebook", "run", notebook, "--out", "out")
    assert result.exit_code == ENDS[verdict][0]
    assert result.stdout.startswith(ENDS[verdict][1])


@pytest.mark.slow
@pytest.mark.parametrize(("verdict", "code"), [("inconclusive", 0), ("not-run", 3), ("failed", 1)])
def test_only_an_inconclusive_verdict_can_be_accepted(
    axnb: Cli, verdict: str, code: int, tmp_path: Path
) -> None:
    notebook = tiny(tmp_path, save(verdict), declared=f"{OUT}\naccept_inconclusive: bool = False")
    run = ("notebook", "run", notebook, "--out", "out", "-p", "accept_inconclusive")
    assert axnb(*run, "yes").exit_code == code
    assert axnb(*run, "no").exit_code == ENDS[verdict][0]


def test_texts_arrive_as_they_are(tmp_path: Path) -> None:
    texts = [QUOTES, "{x} {0} {{", "\\", "'''", '"""', "\n\r\t\0\x1b", "é\u2028\U0001f600", "007"]
    names = [f"text{number}" for number in range(len(texts))]
    declared = "\n".join([OUT, *(f'{name}: str = ""' for name in names), "all: list = []"])
    notebook = tiny(
        tmp_path,
        save("ok", texts=f"[{', '.join(names)}]", all="all"),
        declared=declared,
        name="{a} {0}.ipynb",
    )
    out = tmp_path / "{b} {1}"
    given = {"out": str(out), "all": texts, **dict(zip(names, texts, strict=True))}
    ran = run_notebook(notebook, given)
    found = json.loads((out / "result.json").read_text("utf-8"))["parameters"]
    assert found == {"texts": texts, "all": texts}
    assert ran.files == ("result.json", *VIEWS, "{a} {0}.ipynb")


@pytest.mark.slow
def test_a_library_of_the_working_directory_is_not_imported(axnb: Cli, tmp_path: Path) -> None:
    """It may be a folder of evidence."""
    for name in ("pandas.py", "ipykernel_launcher.py", "axnb.py", "traitlets.py"):
        Path(name).write_text("open('owned', 'w')")
    axnb("notebook", "run", "triage", "-p", "source", log_of("ok"), "--out", "out")
    assert Path("out/result.json").exists()
    assert not Path("owned").exists()


# --- what it is given ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["triage", "triage.ipynb", "01_triage", "01_triage.ipynb"])
def test_a_shipped_notebook_has_a_short_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny(tmp_path, name="01_triage.ipynb")
    assert find_notebook(name).samefile(NOTEBOOK)
    assert find_notebook("./01_triage.ipynb").samefile(tmp_path / "01_triage.ipynb")


@pytest.mark.parametrize(
    "name", ["", "nothing", "nothing.ipynb", "log.sqlite", "01", "nul\0.ipynb"]
)
def test_another_notebook_is_not_there(name: str) -> None:
    with pytest.raises(
        UsageError,
        match=r"^there is no notebook .*; name one of 01_triage, 02_snapshots, 10_resume_drill, "
        r"20_backup_restore_drill, 30_version_migration_drill, or",
    ):
        find_notebook(name)


SECRET = "hunter2"

#: What is wrong with a command, and its arguments after `axnb notebook run`.
WRONG = {
    "there is no notebook": ["nothing", "--out", "out"],
    "say where the result goes": ["triage"],
    "say where the result goes: --out": ["triage", "-p", "out", ""],
    "two different folders": ["triage", "-p", "out", "a", "--out", "b"],
    "has no parameter 'unknown'": ["triage", "-p", "unknown", "1", "--out", "out"],
    "the parameter accept_inconclusive": [
        *("triage", "-p", "accept_inconclusive", "maybe", "--out", "out")
    ],
    "the parameter harnesses": ["triage", "-p", "harnesses=drill", "--out", "out"],
    "the parameter ax_version": ["triage", "-p", "ax_version", "None", "--out", "out"],
    "the parameter source holds a password": [
        *("triage", "-p", f"source=postgresql://user:{SECRET}@h/db", "--out", "out")
    ],
    "the parameter harnesses holds a password": [
        *("triage", "-p", "harnesses", f'["postgresql://user:{SECRET}@h/db"]', "--out", "out")
    ],
    "the parameter conversation holds a password": ["triage", "-f", "secret.yaml", "--out", "out"],
    "takes a name and a value": ["triage", "--out", "out", "-p", "source"],
    "no.yaml cannot be read": ["triage", "-f", "no.yaml", "--out", "out"],
    "the settings no.toml": ["triage", "-p", "settings", "no.toml", "--out", "out"],
    "Invalid value for '--timeout'": ["triage", "--out", "out", "--timeout", "0"],
}


@pytest.mark.parametrize("why", WRONG)
def test_wrong_usage_is_told_before_any_work(axnb: Cli, why: str, tmp_path: Path) -> None:
    Path("secret.yaml").write_text(f"conversation: password={SECRET}")
    result = axnb("notebook", "run", *WRONG[why])
    assert (result.exit_code, result.stdout) == (2, "")
    assert why.replace("the settings ", "") in result.stderr
    assert SECRET not in result.stderr
    assert len(result.stderr.splitlines()) == 1 or result.stderr.startswith("Usage:")
    assert _names(tmp_path) == {"secret.yaml"}


def test_a_notebook_is_not_replaced_by_its_run(tmp_path: Path) -> None:
    notebook = tiny(tmp_path, save("ok"))
    before = notebook.read_bytes()
    with pytest.raises(UsageError, match=r"tiny\.ipynb lies in the result folder"):
        run_notebook(notebook, {"out": str(tmp_path)})
    assert (notebook.read_bytes(), _names(tmp_path)) == (before, {"tiny.ipynb"})


@pytest.mark.parametrize("declared", ["x = 1", "out = 1", 'out: Path = ""'])
def test_a_notebook_without_a_result_folder_is_not_run(declared: str, tmp_path: Path) -> None:
    notebook = tiny(tmp_path, save("ok"), declared=declared)
    for given in ({}, {"out": str(tmp_path / "out")}):
        with pytest.raises(UsageError, match="out"):
            run_notebook(notebook, given)


def test_a_parameter_is_written_as_for_papermill_or_as_one_word() -> None:
    assert list(_joined(["-p", "a", "b=c", "-p", "a=b", "-p", "a", "-x", "--out", "d"])) == [
        *("-p", "a=b=c", "-p", "a=b", "-p", "a=-x", "--out", "d")
    ]
    assert list(_joined(["-p", "x y=1", "2", "--", "-p", "a", "b"])) == [
        *("-p", "x y=1=2", "--", "-p", "a", "b")
    ]
    assert list(_joined(["-p"])) == ["-p"]


# --- with a case ---------------------------------------------------------------------------------

_HOLDER = """
import sys
from axnb.case.case import Case
with Case(sys.argv[1]).writing():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_case_that_another_process_holds(axnb: Cli, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLDER, "case.duckdb"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as holder:  # type: ignore[call-overload]
        holder.stdout.readline()
        case = ("-p", "case", "case.duckdb")
        result = axnb(
            "notebook", "run", "triage", "-p", "source", log_of("ok"), *case, "--out", "out"
        )
        holder.stdin.close()
    assert (result.exit_code, result.stdout) == (4, "")
    assert f"case.duckdb is held by process {holder.pid} (" in result.stderr.splitlines()[-1]
    assert not Path("out").exists()


@pytest.mark.slow
def test_a_notebook_that_is_left_open_blocks_nobody(axnb: Cli, tmp_path: Path) -> None:
    from jupyter_client.manager import start_new_kernel

    log, case = log_of("ok"), tmp_path / "case.duckdb"
    manager, client = start_new_kernel(cwd=str(tmp_path))
    try:
        cell = f"""
from axnb.notebook.workspace import open_triage
work = open_triage({str(log)!r}, case={str(case)!r})
work.summary(); work.conversations(); work.tables()
"""
        assert (
            client.execute_interactive(cell, output_hook=lambda _: None)["content"]["status"]
            == "ok"
        )
        assert axnb("sql", "select count(*) from events", "--case", case).exit_code == 0
        assert axnb("load", log, "--case", case).exit_code == 0
        run = ("notebook", "run", "triage", "-p", "source", log, "-p", "case", case)
        assert axnb(*run, "--out", "out").exit_code == 0
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# --- much ----------------------------------------------------------------------------------------


_MANY = """\
from dataclasses import replace
from axnb.notebook.workspace import open_triage
from axnb.report.triage_result import Asked, triage_result

work = open_triage(source, out)
found, first = work.triage.findings, work.triage.conversations[0]
many = [replace(first, conversation_id=f"{n}") for n in range(50_000)]
many = replace(work.triage, findings=found[:1] * 50_000, conversations=tuple(many))
work._desk.replace(work.case, many, triage_result(work.case, many, Asked.now()))
print(work.save())
"""


@pytest.mark.slow
def test_fifty_thousand_findings_are_in_the_file_and_not_in_the_notebook(tmp_path: Path) -> None:
    shown = ["choice", "summary", "conversations", "timeline", "findings", "tables"]
    cells = [_MANY, *(f"work.{name}()" for name in shown), "work.finish()"]
    out = tmp_path / "out"
    notebook = tiny(tmp_path, *cells, declared=f'{OUT}\nsource: str = ""')
    ran = run_notebook(notebook, {"source": str(log_of("failed")), "out": str(out)})
    assert ran.verdict == "failed"
    found = json.loads((out / "result.json").read_text("utf-8"))
    assert len(found["findings"]) == len(found["answer"]["conversations"]) == 50_000
    assert os.stat(out / notebook.name).st_size < 100_000
    assert os.stat(out / "report.html").st_size < 200_000
