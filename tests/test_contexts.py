"""What turns ran with and what would run them now: in a case, a shell and a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.ax.contexts import parts_of_text
from axnb.case.case import Case
from axnb.loading import load, load_or_reuse
from axnb.notebook.workspace import open_triage
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, call, say
from axnb.triaging import Question, triage
from tests import ax_logs
from tests.checks.wounds_contexts import configured

Cli = Callable[..., Result]

_UNKNOWN = "What would run unfinished turns now is not known: give an ax.yaml (--ax-config)."
_SILENT = "The ax.yaml does not say which model, instructions or tools would run now."


def _wounded(generation: str = "G8") -> LogBuilder:
    return configured(LogBuilder(generation), {"model": "a", "tools": ["x"]}, say("b"))


def _write(log: LogBuilder, name: str = "log.sqlite") -> str:
    return str(log.write_sqlite(Path(name)))


def _yaml(told: str, name: str = "now.yaml") -> str:
    Path(name).write_text(f"antigravity: {{default: true{told}}}\n", encoding="utf-8")
    return name


def _rows(case: Case) -> list[Any]:
    return case.rows("select * from contexts order by all")


# --- in a case ------------------------------------------------------------------------------------


def test_bytes_of_g4_and_an_object_of_later_ones_are_one(case: Case, tmp_path: Path) -> None:
    """G4 keeps base64 of JSON, and later generations an object; spelling does not matter."""
    spellings = {
        "G4": '{"model":"m","n":1.0}',
        "G5": '{"n":1,"model":"m"}',
        "G6": '{"n":1E0,"model":"m"}',
    }
    spellings |= {"G7": '{"model": "m", "n": 1}', "G8": '{"n":1,"model":"\\u006d"}'}
    paths = []
    for generation, text in spellings.items():
        log = configured(LogBuilder(generation, "drill"), text, say("b"), ended=True)
        paths.append(str(log.write_sqlite(tmp_path / f"{generation}.sqlite")))
    load(case, paths)
    found = case.rows(
        "select distinct part, fingerprint, shown, harness_id from contexts where how = 'row'"
    )
    (expected,) = (p for p in parts_of_text(spellings["G5"], is_base64=False) if p.part == "config")
    assert len(found) == 3
    assert ("config", expected.fingerprint, None, "drill") in found
    assert {(part, shown) for part, _, shown, _ in found} == {
        ("config", None), ("model", "m"), ("harness", "drill"),
    }  # fmt: skip


def test_a_turn_without_a_configuration_takes_none_over(case: Case, tmp_path: Path) -> None:
    """AX hands on what a request says: the one before does not count."""
    log = configured(LogBuilder("G8"), {"model": "a"}, say("x"), ended=True)
    configured(log, None, call("charge"), call("refund", call_id="call_2"))
    load(case, [str(log.write_sqlite(tmp_path / "log.sqlite"))])
    told = case.rows("select turn, step, part, shown, how from contexts order by all")
    assert told == [
        (1, 1, "config", None, "row"),
        (1, 1, "harness", "antigravity", "row"),
        (1, 1, "model", "a", "row"),
        (2, 4, "harness", "antigravity", "row"),
        (2, 5, "tool", "charge", "rows"),
        (2, 6, "tool", "refund", "rows"),
    ]


def test_the_last_request_of_g4_counts(case: Case, tmp_path: Path) -> None:
    """G4 goes on after an interrupted turn with a new one, which no end lies between."""
    log = configured(LogBuilder("G4", "drill"), {"model": "a"}, say("x"))
    configured(log, {"model": "b"}, say("y"))
    configured(log, {"model": "a"}, say("x"), to="d")
    log.interrupted("d", "no configuration here")
    load(case, [str(log.write_sqlite(tmp_path / "log.sqlite"))])
    told = "select conversation_id, step, shown from contexts where part = 'model'"
    assert case.rows(told) == [("c", 3, "b")]


def test_what_has_no_canonical_form_has_no_row(case: Case, tmp_path: Path) -> None:
    """AX reads a key that stands twice in bytes; no fingerprint would say which one counts."""
    log = configured(LogBuilder("G4", "drill"), '{"model":"a","model":"b"}', say("x"))
    configured(log, '{"model":"hidden text', say("x"), to="d")
    load(case, [str(log.write_sqlite(tmp_path / "log.sqlite"))])
    assert case.rows("select distinct part from contexts where how = 'row'") == [("harness",)]
    assert "hidden" not in "".join(f.sentence for f in triage(case).findings)


def test_loading_again_replaces_what_was_known(tmp_path: Path) -> None:
    path = _wounded().write_sqlite(tmp_path / "log.sqlite")
    now = tmp_path / "now.yaml"
    now.write_text("antigravity: {default: true, model: b}")
    with Case(tmp_path / "case.duckdb", Settings()) as case:
        load(case, [str(path)])
        before = _rows(case)
        load(case, [str(path)], ax_config=now)
        assert [f.id for f in triage(case).findings if f.id > "AX5"] == ["AX501"]
        load(case, [str(path)])
        assert _rows(case) == before
        assert [f.id for f in triage(case).findings if f.id > "AX5"] == []
        # What a case holds can be held against another ax.yaml.
        for model, found in (("b", ["AX501"]), ("a", []), ("c", ["AX501"])):
            now.write_text(f"antigravity: {{default: true, model: {model}}}")
            load_or_reuse(case, [], ax_config=now)
            assert [f.id for f in triage(case).findings if f.id > "AX5"] == found


def test_the_owner_says_which_harness_would_run_it(case: Case, tmp_path: Path) -> None:
    log = configured(LogBuilder("G8", "drill"), {"model": "a"}, say("x"))
    log.harness = "gone"
    configured(log, {"model": "a"}, say("x"), to="d")
    now = tmp_path / "now.yaml"
    entries = "registry: {substrate: [{id: drill, model: d}]}"
    now.write_text(f"antigravity: {{default: true, model: a}}\n{entries}\n")
    load(case, [str(log.write_sqlite(tmp_path / "log.sqlite"))], ax_config=now)
    told = [(f.conversation_id, f.sentence) for f in triage(case).findings if f.id > "AX5"]
    assert told == [("c", "turn 1 ran with the model a, and d would run it now.")]


def test_findings_show_no_text_of_a_configuration(case: Case, tmp_path: Path) -> None:
    secret = "SECRET TEXT\n"
    configuration = {
        "model": secret, "system_instructions": secret, "tools": [secret], "skills": [secret],
        "temperature": secret, secret: 1,
    }  # fmt: skip
    log = configured(LogBuilder("G8"), configuration, call(secret))
    configured(log, {"model": "b"}, say("x"), ended=True, to="d")
    configured(log, {"model": secret}, say("x"), to="d")
    now = tmp_path / "now.yaml"
    told = "model: b, system_instruction: c, tools: [d], skills: [e], temperature: 1"
    now.write_text(f"antigravity: {{default: true, {told}}}")
    load(case, [str(log.write_sqlite(tmp_path / "log.sqlite"))], ax_config=now)
    found = [f for f in triage(case).findings if f.id > "AX5"]
    assert {f.id for f in found} == {"AX501", "AX502", "AX503", "AX505", "AX507"}
    assert "SECRET" not in "".join(f.sentence for f in found)
    assert "SECRET" not in repr(_rows(case))
    assert "SECRET" not in repr(case.rows("select * from drifts"))


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(ax_logs.sqlite_logs(), "crafted-sqlite", "g4-custom-sqlite", "g8-sqlite"),
)
def test_real_logs(log: ax_logs.RealLog) -> None:
    """Servers of each generation logged the one configuration that clients sent, if any."""
    with Case(settings=Settings()) as case:
        load(case, [str(log.sqlite)])
        models = case.rows("select distinct shown from contexts where part = 'model'")
        assert models in ([], [("gemini-3.5-flash",)])
        assert case.rows("select * from drifts") == []
        newest = triage(case, Question())
    assert [f.id for f in newest.findings if f.id.startswith("AX5")] == []


# --- on the command line --------------------------------------------------------------------------


def _found(result: Result) -> tuple[list[str], list[str]]:
    told = json.loads(result.stdout)
    return [f["id"] for f in told["findings"] if f["id"] > "AX5"], told["scope"]


def test_an_ax_yaml_beside_the_log(axnb: Cli) -> None:
    log = _write(_wounded())
    found, scope = _found(axnb("triage", log, "--json"))
    assert found == []
    assert _UNKNOWN in scope
    for told, expected in ((", model: b", ["AX501"]), (", model: a, tools: [x]", [])):
        found, scope = _found(axnb("triage", log, "--json", "--ax-config", _yaml(told)))
        assert found == expected
        assert not {_UNKNOWN, _SILENT} & set(scope)
    found, scope = _found(axnb("triage", log, "--json", "--ax-config", _yaml("")))
    assert found == []
    assert _SILENT in scope


def test_nothing_is_missing_where_no_turn_is_open(axnb: Cli) -> None:
    log = configured(LogBuilder("G8"), {"model": "a"}, say("x"), ended=True)
    log.interrupted("d", "no configuration")
    assert _UNKNOWN not in _found(axnb("triage", _write(log), "--json"))[1]
    configured(log, {"model": "a"}, say("x"), to="e")
    path = _write(log, "other.sqlite")
    assert _UNKNOWN in _found(axnb("triage", path, "--json"))[1]
    assert _UNKNOWN not in _found(axnb("triage", path, "--json", "--conversation", "d"))[1]


def test_an_ax_yaml_as_the_source(axnb: Cli) -> None:
    _write(_wounded())
    name = _yaml(", model: b", "ax.yaml")
    with Path(name).open("a") as file:
        file.write("eventlog: {sqlite: {filename: log.sqlite}}\n")
    found, _ = _found(axnb("triage", name, "--json", "--out", "out"))
    assert found == ["AX501"]
    # To ask again where the log and the ax.yaml lie side by side.
    assert "--ax-config=ax.yaml" in Path("out/report.html").read_text(encoding="utf-8")
    parameters = json.loads(Path("out/result.json").read_text(encoding="utf-8"))["parameters"]
    assert parameters["ax_config"] == "ax.yaml"


def test_a_case_keeps_what_would_run_now(axnb: Cli) -> None:
    log = _write(_wounded())
    assert axnb("load", log, "--case", "k", "--ax-config", _yaml(", model: b")).exit_code == 0
    assert _found(axnb("triage", "--case", "k", "--json"))[0] == ["AX501"]
    options = ["--case", "k", "--ax-config", _yaml(", model: a"), "--json"]
    assert _found(axnb("triage", *options))[0] == []


def test_an_ax_yaml_that_cannot_be_read(axnb: Cli) -> None:
    log = _write(_wounded())
    Path("bad.yaml").write_text("[" * 5000)
    for name in ("none.yaml", "bad.yaml", "."):
        result = axnb("triage", log, "--ax-config", name)
        assert result.exit_code == 3
        assert result.stderr.count("\n") == 1
        assert name in result.stderr


# --- in a notebook --------------------------------------------------------------------------------


def test_an_ax_yaml_beside_the_log_of_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = _write(_wounded())
    work = open_triage(log, beside=[f"ax-config={_yaml(', model: b')}"])
    assert [f.id for f in work.triage.findings if f.id > "AX5"] == ["AX501"]
    assert work.result().parameters["ax_config"] == "now.yaml"
    work.case.close()
