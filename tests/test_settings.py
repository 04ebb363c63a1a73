"""`axnb.toml`: what it may say, what is refused by name, and what it changes from end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.errors import UsageError
from axnb.loading import load
from axnb.settings import Settings, Tool
from axnb.testing.logs import LogBuilder, answer, call
from axnb.triaging import triage

SAMPLE = Path(__file__).parents[1] / "sample_data" / "axnb.toml"

Cli = Callable[..., Result]


def _read(text: str | bytes, folder: Path) -> Settings:
    path = folder / "axnb.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Settings.read(path)


# --- what it may say -----------------------------------------------------------------------------


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.read()
    assert (settings.memory_limit, settings.statement_timeout) == ("800MB", 600)
    assert settings.memory_bytes == 800_000_000
    assert (settings.scratch, dict(settings.tools)) == (None, {})


def test_the_file_of_the_working_directory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "axnb.toml").write_text("statement_timeout = 7")
    monkeypatch.chdir(tmp_path)
    assert Settings.read().statement_timeout == 7


def test_everything_it_may_say(tmp_path: Path) -> None:
    text = f"""
        memory_limit = "1.5 GiB"
        scratch = "{tmp_path}"
        statement_timeout = 30
        [tools.charge_card]
        operation_id = "$.order.ids[0].key-1"
        [tools."http.get"]
        consequential = false
    """
    settings = _read(text, tmp_path)
    assert settings.memory_limit == "1.5 GiB"
    assert settings.memory_bytes == 3 << 29
    assert settings.scratch == tmp_path
    assert settings.statement_timeout == 30
    assert settings.tools == {
        "charge_card": Tool("charge_card", "$.order.ids[0].key-1", True),
        "http.get": Tool("http.get", None, False),
    }


def test_the_environment_goes_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AXNB_SCRATCH", str(tmp_path))
    assert _read('scratch = "/"', tmp_path).scratch == tmp_path
    monkeypatch.chdir(tmp_path)
    (tmp_path / "axnb.toml").unlink()
    assert Settings.read().scratch == tmp_path
    monkeypatch.setenv("AXNB_SCRATCH", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="AXNB_SCRATCH"):
        Settings.read()


def test_the_sample_is_valid() -> None:
    tools = Settings.read(SAMPLE).tools
    assert tools["charge_card"].operation_id == "$.idempotency_key"
    assert tools["http_get"].consequential is False


# --- what is refused -----------------------------------------------------------------------------

INVALID = {
    "= nothing": "TOML",
    "memory_limit": "TOML",
    "memory = '1GB'": "memory",
    "memory_limit = 600": "memory_limit",
    "memory_limit = 'lots'": "memory_limit",
    "memory_limit = '0MB'": "memory_limit",
    "memory_limit = '-1GB'": "memory_limit",
    "scratch = 5": "scratch",
    "scratch = true": "scratch",
    "scratch = '/none/such'": "scratch",
    "statement_timeout = 0": "statement_timeout",
    "statement_timeout = -1": "statement_timeout",
    "statement_timeout = true": "statement_timeout",
    "statement_timeout = '60'": "statement_timeout",
    "statement_timeout = 1.5": "statement_timeout",
    "tools = 1": "tools",
    "tools = ['a']": "tools",
    "[tools]\ncharge = '$.id'": "tools.charge",
    "[tools.charge]\noperation-id = '$.id'": "tools.charge",
    "[tools.charge]\noperation_id = 5": "tools.charge.operation_id",
    "[tools.charge]\noperation_id = ''": "tools.charge.operation_id",
    "[tools.charge]\noperation_id = 'id'": "tools.charge.operation_id",
    "[tools.charge]\noperation_id = '$'": "tools.charge.operation_id",
    "[tools.charge]\noperation_id = '$.*'": "tools.charge.operation_id",
    "[tools.charge]\noperation_id = '$..id'": "tools.charge.operation_id",
    '[tools.charge]\noperation_id = "$.id\'; drop table events"': "tools.charge.operation_id",
    "[tools.charge]\nconsequential = 'no'": "tools.charge.consequential",
    "[tools.charge]\nconsequential = 0": "tools.charge.consequential",
}


def _log(path: Path) -> Path:
    log = LogBuilder("G6")
    log.turn("c", "hi", call("charge", {"n": 1}), answer({"ok": True}))
    return log.write_sqlite(path)


@pytest.mark.parametrize("text", INVALID)
def test_what_cannot_be_meant_is_refused_by_name(axnb: Cli, text: str, tmp_path: Path) -> None:
    (tmp_path / "axnb.toml").write_text(text)
    result = axnb("triage", _log(tmp_path / "log.sqlite"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert INVALID[text] in result.stderr
    assert "axnb.toml" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not TOML"):
        _read(b"scratch = '\xff'", tmp_path)


def test_a_file_that_is_named_must_be_there(axnb: Cli, tmp_path: Path) -> None:
    result = axnb("triage", _log(tmp_path / "log.sqlite"), "--settings", "none.toml")
    assert result.exit_code == 2
    assert "none.toml" in result.stderr


def test_a_folder_in_its_place_is_refused(axnb: Cli, tmp_path: Path) -> None:
    (tmp_path / "axnb.toml").mkdir()
    result = axnb("triage", _log(tmp_path / "log.sqlite"))
    assert (result.exit_code, "axnb.toml" in result.stderr) == (2, True)


# --- operation ids -------------------------------------------------------------------------------

ARGUMENTS = {
    "key": "order-4",
    "order": {"ids": [{"id": "deep"}], "name": "x"},
    "with-hyphen": "hyphen",
    "number": 9007199254740991,
    "flag": True,
    "nothing": None,
    "empty": "",
    "unicode": "käse \u202e\U0001f600",
}


def _calls(settings: str, log: LogBuilder, folder: Path) -> list[tuple[Any, ...]]:
    """(operation id, where it is from, consequential) of each call, through the command line."""
    from axnb.case.case import Case

    path = log.write_sqlite(folder / "log.sqlite")
    with Case(settings=_read(settings, folder)) as case:
        load(case, [str(path)])
        return case.rows(
            "select operation_id, operation_id_from, consequential from tool_calls "
            "order by call_position"
        )


RULES = {
    "$.key": "order-4",
    "$.order.ids[0].id": "deep",
    "$.with-hyphen": "hyphen",
    "$.number": "9007199254740991",
    "$.flag": "true",
    "$.unicode": "käse \u202e\U0001f600",
    "$.nothing": None,
    "$.empty": None,
    "$.missing": None,
    "$.order.ids[7].id": None,
}


@pytest.mark.parametrize("generation", ["G3", "G6", "G8"])
@pytest.mark.parametrize("nul", [False, True], ids=["fast path", "careful path"])
def test_an_operation_id_by_rule(generation: str, nul: bool, tmp_path: Path) -> None:
    """A tool for each rule, with the same arguments; a NUL in them takes the careful path."""
    arguments = {**ARGUMENTS, **({"nul": "a\0b"} if nul else {})}
    log, settings = LogBuilder(generation), []
    for number, path in enumerate(RULES):
        settings.append(f"[tools.tool_{number}]\noperation_id = '{path}'")
        log.turn("c", "hi", call(f"tool_{number}", arguments), answer({"ok": True}))
    found = _calls("\n".join(settings), log, tmp_path)
    by_rule = [(value, path) if value else ("call_1", "call-id") for path, value in RULES.items()]
    assert found == [(*origin, True) for origin in by_rule]


def test_a_rule_is_for_its_tool_alone(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    both = call("charge", {"key": "k"}, "a"), call("refund", {"key": "k"}, "b")
    log.turn("c", "hi", *both, answer({}, "charge", "a"), answer({}, "refund", "b"))
    found = _calls("[tools.charge]\noperation_id = '$.key'", log, tmp_path)
    assert found == [("k", "$.key", True), ("b", "call-id", True)]


def test_a_call_without_any_id_has_none(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {}, ""), answer({}, "charge", ""))
    assert _calls("", log, tmp_path) == [(None, "none", True)]


def test_rules_hold_where_ids_alone_do_not_pair(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {"key": "1"}, "x"), call("charge", {"key": "2"}, "x"))
    found = _calls("[tools.charge]\noperation_id = '$.key'", log, tmp_path)
    assert found == [("1", "$.key", True), ("2", "$.key", True)]


def test_the_operation_id_is_what_a_person_reads(axnb: Cli, tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge"), answer({"ok": True}))
    log.turn("c", "hi", call("charge", {"key": "order-4"}))
    path = log.write_sqlite(tmp_path / "log.sqlite")
    (tmp_path / "axnb.toml").write_text("[tools.charge]\noperation_id = '$.key'")
    assert "charge order-4   no result logged" in axnb("triage", path).stdout
    assert "order-4 (from $.key)" in axnb("show", path, "c").stdout
    (call_found,) = json.loads(axnb("triage", path, "--json").stdout)["conversations"][0][
        "unresolved_calls"
    ]
    assert (call_found["operation_id"], call_found["operation_id_from"]) == ("order-4", "$.key")


# --- tools that change nothing -------------------------------------------------------------------


def _unanswered(folder: Path) -> Path:
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge"), answer({"ok": True}))
    log.turn("finished", "hi", call("http_get", {"url": "x"}))
    return log.write_sqlite(folder / "log.sqlite")


def test_an_unknown_read_is_no_doubt(axnb: Cli, tmp_path: Path) -> None:
    log = _unanswered(tmp_path)
    assert axnb("triage", log).exit_code == 3
    (tmp_path / "axnb.toml").write_text("[tools.http_get]\nconsequential = false")
    result = axnb("triage", log, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["verdict"]) == (0, "ok")
    assert {f["severity"] for f in found["findings"]} == {"info"}
    actions = {c["conversation_id"]: c["action"] for c in found["conversations"]}
    assert actions == {"fine": "nothing", "finished": "nothing"}


def test_an_unknown_read_needs_no_reading_back(axnb: Cli, tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.interrupted("read", "hi", call("http_get"))
    log.interrupted("both", "hi", call("http_get", {}, "a"), call("charge", {}, "b"))
    path = log.write_sqlite(tmp_path / "log.sqlite")
    (tmp_path / "axnb.toml").write_text("[tools.http_get]\nconsequential = false")
    found = json.loads(axnb("triage", path, "--json").stdout)
    actions = {c["conversation_id"]: c["action"] for c in found["conversations"]}
    assert actions == {"read": "unblock", "both": "read-back-then-unblock"}


def test_settings_of_a_load_stay_with_the_case(case: Any, tmp_path: Path) -> None:
    """Rules are applied when a source is loaded; asking again needs no axnb.toml."""
    from axnb.case.case import Case

    log = _unanswered(tmp_path)
    kept = Case(tmp_path / "case.duckdb", _read("[tools.http_get]\nconsequential=false", tmp_path))
    load(kept, [str(log)])
    assert triage(Case(tmp_path / "case.duckdb", Settings())).verdict == "ok"
