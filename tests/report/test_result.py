"""A result folder's result.json: written, read, refused, and the same for the same evidence."""

from __future__ import annotations

import getpass
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result as Finished
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axnb.errors import SourceError
from axnb.notebook.workspace import open_triage
from axnb.report.folder import VIEWS
from axnb.report.html import _DIGEST_COMMAND
from axnb.result import Result
from axnb.testing.logs import LogBuilder, call
from axnb.text import is_hidden
from tests.report.made import (
    MARKUP,
    NAMES,
    RUN,
    by_hand,
    failed,
    finding,
    healthy,
    made,
    result_of,
    source,
    timeless,
    without_run,
)

Cli = Callable[..., Finished]

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "axnb" / "result.schema.json").read_text(encoding="utf-8")
)


# --- the schema ----------------------------------------------------------------------------------


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == {*by_hand().as_dict()}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_fits_the_schema_and_comes_back(name: str, tmp_path: Path) -> None:
    result = made(name)
    path = result.write(tmp_path)
    written = json.loads(path.read_text(encoding="utf-8"))
    if name != "hostile":  # it has nothing more, and takes its time
        jsonschema.validate(written, SCHEMA, jsonschema.Draft7Validator)
    read = Result.read(tmp_path)
    assert json.loads(json.dumps(read.as_dict())) == written
    assert read.digest() == result.digest()
    assert [render(read) for render in VIEWS.values()] == [
        render(result) for render in VIEWS.values()
    ]


def test_nothing_in_the_file_is_hidden(tmp_path: Path) -> None:
    text = made("failed").write(tmp_path).read_text(encoding="utf-8")
    assert {c for c in text if is_hidden(c)} == {"\n"}


# --- the digest ----------------------------------------------------------------------------------


def _computed(folder: Path) -> str:
    """What the command that the report prints says, with nothing but Python."""
    code = _DIGEST_COMMAND.removeprefix('python3 -c "').removesuffix('"')
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=folder, capture_output=True, check=True
    )
    return told.stdout.decode().strip()


@pytest.mark.parametrize("name", ["failed", "several"])
def test_anybody_can_compute_the_digest(name: str, tmp_path: Path) -> None:
    made(name).write(tmp_path)
    assert _computed(tmp_path) == made(name).digest()


def test_the_digest_is_that_of_a_file_with_more_than_is_known(tmp_path: Path) -> None:
    """A newer version may have added a key; this one still names the digest of the file."""
    path = made("ok").write(tmp_path)
    told = json.loads(path.read_text(encoding="utf-8"))
    told["younger"] = {"a": 1}
    told["findings"].append({**finding(), "younger": 2})
    del told["lanes"]
    path.write_text(json.dumps(told), encoding="utf-8")
    read = Result.read(tmp_path)
    assert read.digest() == _computed(tmp_path) != made("ok").digest()
    assert read.lanes == ()


def test_the_digest_is_of_all_but_the_run() -> None:
    assert by_hand(run=RUN).digest() == by_hand(run={}).digest()
    assert by_hand(plan="x").digest() != by_hand().digest()


# --- refused -------------------------------------------------------------------------------------

#: Parts that are no such parts.
WRONG: dict[str, dict[str, Any]] = {
    "another schema": {"schema": "axnb.result/2"},
    "no schema": {"schema": None},
    "another verdict": {"verdict": "fine"},
    "a verdict that is none": {"verdict": ["ok"]},
    "texts that are none": {"why": [1]},
    "a text instead of texts": {"scope": "all"},
    "a source without counts": {"sources": [{"name": "log", "kind": "eventlog"}]},
    "a count that is a text": {"sources": [source(read="2")]},
    "a count below zero": {"sources": [source(read=-1)]},
    "custody that is a text": {"sources": [source(custody="x")]},
    "custody of files without digests": {"sources": [source(custody={"files": {"a": {}}})]},
    "a finding without an id": {"findings": [{}]},
    "a finding with markup for an id": {"findings": [finding(id="<b>")]},
    "a finding of another severity": {"findings": [finding(severity="fatal")]},
    "a finding with keys that are none": {"findings": [finding(keys=[])]},
    "a witness that is none": {"findings": [finding(witness=[1])]},
    "actions without conversations": {"actions": [{"action": "resume"}]},
    "calls without a count": {"unresolved": {"calls": []}},
    "a step without a verdict": {"steps": [{"point": 1, "check": "state"}]},
    "a lane that is none": {"lanes": [[]]},
    "a check that is none": {"checks": [{"id": "AX101"}]},
    "parameters as a list": {"parameters": []},
    "a parameter of parameters of parameters": {"parameters": {"a": {"b": {}}}},
    "a run that is none": {"run": None},
    "locators that are none": {"run": {"locators": 5}},
    "endless seconds": {"run": {"seconds": 1e300}},
}


def _refused(folder: Path, text: str) -> str:
    (folder / "result.json").write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        Result.read(folder)
    return str(caught.value)


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_what_is_no_result_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    said = _refused(tmp_path, json.dumps(by_hand().as_dict() | change))
    assert "result.json" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("missing", SCHEMA["required"])
def test_a_result_without_a_part_is_refused(missing: str, tmp_path: Path) -> None:
    told = by_hand().as_dict()
    del told[missing]
    _refused(tmp_path, json.dumps(told))


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "7", '"x"', "[" * 100_000, '{"schema": NaN}', "\ufeff{}", "1" * 5000],
    ids=lambda text: text[:8],
)
def test_what_is_no_json_is_refused(text: str, tmp_path: Path) -> None:
    _refused(tmp_path, text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_has_not_are_refused(number: str, tmp_path: Path) -> None:
    told = json.dumps({**by_hand().as_dict(), "measures": {"a": 5}})
    assert ": 5}" in told
    _refused(tmp_path, told.replace(": 5}", f": {number}}}"))


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    text = made("ok").write(tmp_path).read_text(encoding="utf-8")
    for end in range(0, len(text) - 2, len(text) // 23):
        _refused(tmp_path, text[:end])
    (tmp_path / "result.json").write_bytes(text.encode()[:-5] + b"\xff")
    with pytest.raises(SourceError):
        Result.read(tmp_path)


def test_a_message_does_not_repeat_what_stands_there(tmp_path: Path) -> None:
    told = {
        **by_hand().as_dict(),
        "findings": [{**finding(), "severity": "s3cret", "id": "s3cret\x1b"}],
    }
    assert "s3cret" not in _refused(tmp_path, json.dumps(told))
    told = {**by_hand().as_dict(), "parameters": {"\x1b[2J" + "x" * 500: {}}}
    said = _refused(tmp_path, json.dumps(told))
    assert [c for c in said if is_hidden(c)] == []
    assert len(said) < 300 + len(str(tmp_path))


def test_depth_that_only_some_can_write_is_refused_or_written(tmp_path: Path) -> None:
    """What is just not too deep to be read must not be too deep for what comes after."""
    for depth in range(900, 1000, 3):
        told = {**by_hand().as_dict(), "answer": {"a": "DEEP"}}
        text = json.dumps(told).replace('"DEEP"', "[" * depth + "]" * depth)
        (tmp_path / "result.json").write_text(text, encoding="utf-8")
        try:
            result = Result.read(tmp_path)
        except SourceError:
            continue
        for render in VIEWS.values():
            render(result)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value, but for the answer, which is in its own schema."""
    found = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if key == "answer":
            continue
        found.append((value, key))
        if isinstance(inner, (dict, list)):
            found += _places(inner)
    return found


_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([*MARKUP, "", "ok", "0" * 64, "AX101"])
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "step", "files", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_changed_result_is_refused_or_shown(tmp_path: Path, data: st.DataObject) -> None:
    told = json.loads(json.dumps(_small().as_dict()))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(_places(told)))
        what = data.draw(st.sampled_from(["remove", "replace", "replace", "add"]))
        if what == "replace":
            container[key] = data.draw(_ANYTHING)
        elif what == "add" and isinstance(container, dict):
            container[data.draw(st.text(max_size=5))] = data.draw(_ANYTHING)
        elif isinstance(container, dict):
            del container[key]
        else:
            container.append(data.draw(_ANYTHING))
            container[key:] = container[key + 1 :]
    (tmp_path / "result.json").write_text(json.dumps(told), encoding="utf-8")
    try:
        result = Result.read(tmp_path)
    except SourceError:
        return
    for render in VIEWS.values():
        render(result)


def _small() -> Result:
    """A result with something in every part."""
    whole = made("failed")
    return by_hand(
        drill="triage",
        verdict="failed",
        examined=whole.examined,
        why=whole.why,
        measures=whole.measures,
        parameters=whole.parameters,
        sources=(*whole.sources, source(custody={"system_identifier": "7", "lsn": "0/1"})),
        actions=whole.actions[:2],
        unresolved={"count": 2, "calls": whole.unresolved["calls"][:2]},
        steps=({"point": 1, "check": "state", "expected": "a", "observed": "b", "verdict": "ok"},),
        findings=whole.findings[:3],
        checks=whole.checks[:3],
        lanes=whole.lanes[:2],
        scope=whole.scope,
    )


# --- the command line ----------------------------------------------------------------------------


def test_the_command_line_says_what_is_wrong_in_one_sentence(axnb: Cli, tmp_path: Path) -> None:
    for text in (None, "{", json.dumps({**by_hand().as_dict(), "verdict": "fine"})):
        if text is not None:
            (tmp_path / "result.json").write_text(text, encoding="utf-8")
        for more in ([], ["--as", "junit"]):
            done = axnb("report", tmp_path, *more)
            assert (done.exit_code, done.stdout) == (3, "")
            assert len(done.stderr.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"result.json"}


def test_views_are_written_anew_from_the_result(axnb: Cli, tmp_path: Path) -> None:
    made("failed").write(tmp_path)
    assert axnb("report", tmp_path).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", *VIEWS}
    for kind, name in (("html", "report.html"), ("junit", "junit.xml"), ("markdown", "report.md")):
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert axnb("report", tmp_path, "--as", kind).stdout == written
        assert written == VIEWS[name](made("failed"))


# --- the same for the same evidence --------------------------------------------------------------


@pytest.mark.slow
def test_nothing_but_the_run_differs(axnb: Cli, tmp_path: Path) -> None:
    """In another folder, loaded twice, with another number of threads, by the command line and by
    the notebook: the same result, and the same views."""
    first = failed().write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False)
    (tmp_path / "elsewhere").mkdir()
    second = Path(shutil.copy(first, tmp_path / "elsewhere" / "log.sqlite"))
    one = result_of(first, threads=1)
    results = [one, result_of(second, second, threads=4)]
    assert axnb("triage", second, "--out", "out").exit_code == 1
    results.append(Result.read(Path("out")))
    case = tmp_path / "case.duckdb"
    for _ in range(2):
        assert axnb("triage", first, "--case", case, "--out", "out").exit_code == 1
    results.append(Result.read(Path("out")))
    results.append(open_triage(str(second)).result())
    for other in results:
        assert without_run(other) == without_run(one)
        assert timeless(other) == timeless(one)
        assert other.digest() == one.digest()
    assert len({result.run["id"] for result in results}) == len(results)


def test_no_path_and_no_user_is_told(
    axnb: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even of what could not be read: who gets a report need not know where things lie."""
    monkeypatch.setenv("LOGNAME", "somebody-else")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "case-42"
    folder.mkdir()
    log = healthy().write_sqlite(folder / "log.sqlite", pragmas=["journal_mode = wal"])
    (folder / "other.sqlite").write_text("no database")
    (folder / "link.jsonl").symlink_to(folder / "gone.jsonl")
    beside = ["--client", "case-42/none.jsonl", "--client", folder / "link.jsonl"]
    server = ["--server-log", folder / "none.log"]
    out = tmp_path / "out"
    done = axnb("triage", log, "case-42/other.sqlite", *beside, *server, "--out", out)
    assert done.exit_code == 3
    assert str(folder / "none.log") in done.stderr, "who named it is told in full"
    told = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert told["run"].pop("user") == getpass.getuser() == "somebody-else"
    texts = [json.dumps(told), *((out / name).read_text(encoding="utf-8") for name in VIEWS)]
    for text in texts:
        assert str(tmp_path) not in text
        assert "case-42" not in text
    assert "somebody-else" not in texts[0]
    for name in ("other.sqlite", "none.jsonl", "link.jsonl", "none.log"):
        assert name in json.dumps(told["scope"])


def test_a_resolved_path_is_not_told_either(axnb: Cli, tmp_path: Path) -> None:
    healthy().write_sqlite(tmp_path / "log.sqlite")
    (tmp_path / "torn.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    done = axnb("triage", "log.sqlite", "torn.sqlite", "--live", "--out", "out")
    assert done.exit_code == 3
    assert str(tmp_path) in done.stderr
    told = (tmp_path / "out" / "result.json").read_text(encoding="utf-8")
    assert "torn.sqlite cannot be" in told
    assert str(tmp_path) not in told


def test_what_changes_a_verdict_is_in_the_result(axnb: Cli, tmp_path: Path) -> None:
    """Settings by which an open call counts for nothing are an assumption that a reader must see,
    also where nobody named the file."""
    log = LogBuilder("G8")
    log.turn("c", "hi", call("look_up", {"n": 1}))
    log.write_sqlite(tmp_path / "log.sqlite")
    assert axnb("triage", "log.sqlite", "--out", "before").exit_code == 3
    (tmp_path / "axnb.toml").write_text("[tools.look_up]\nconsequential = false\n")
    assert axnb("triage", "log.sqlite", "--out", "after").exit_code == 0
    result = Result.read(Path("after"))
    assert result.parameters["settings"] == "axnb.toml"
    assert [rule["tool"] for rule in result.parameters["tools"]] == ["look_up"]
    assert any("axnb.toml" in sentence and "look_up" in sentence for sentence in result.scope)
    assert "every logged call answered" not in " ".join(result.why)
    assert "--settings=axnb.toml" in result.run["again"]
    assert not any("look_up" in sentence for sentence in Result.read(Path("before")).scope)
