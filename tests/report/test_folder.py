"""A result folder: the result first, then its views, each whole or not there, and none large."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from click.testing import Result as Finished

from axnb.errors import AxnbError
from axnb.report.folder import VIEWS, write_folder, write_views
from axnb.result import Result
from axnb.testing.hostile_texts import hostile_texts
from axnb.testing.logs import LogBuilder, answer, ask, call, say
from tests.report.made import made, result_of

Cli = Callable[..., Finished]

_LARGE = 1_000_000


def test_a_folder_holds_the_result_and_its_views(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    write_folder(made("failed"), folder)
    assert {path.name for path in folder.iterdir()} == {"result.json", *VIEWS}
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o644
        path.read_text(encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    write_folder(made("failed"), folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_result_is_written_before_a_view_can_fail(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(AxnbError, match=r"report\.html"):
        write_folder(made("ok"), tmp_path)
    assert json.loads((tmp_path / "result.json").read_text("utf-8"))["verdict"] == "ok"
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", "report.html"}


def test_no_half_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(made("ok"), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AxnbError, match="No space left"):
        write_folder(made("failed"), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("out", ["file/out", "file"])
def test_where_nothing_can_be_written_is_an_error_of_axnb(
    out: str, axnb: Cli, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    LogBuilder("G8").write_sqlite(tmp_path / "log.sqlite")
    done = axnb("triage", "log.sqlite", "--out", out)
    assert done.exit_code in (2, 4)
    assert "file" in done.stderr
    assert "Traceback" not in done.stderr


# --- size ----------------------------------------------------------------------------------------

#: What takes the most room: escaped in HTML, in bytes of UTF-8, and without a column of its own.
_WIDE = ("\"&<>'`|" * 60, "\U0001f600" * 90, "e\u0301\u0302\u0303\u0304" * 90, "\u202e" * 60)


@cache
def _large(conversations: int) -> Result:
    """Wounded conversations with many classes, long ids and hostile ids."""
    log = LogBuilder("G8")
    hostile = [text for texts in hostile_texts().values() for text in texts]
    texts = [t.encode(errors="replace").decode() for t in (*_WIDE, *hostile)]
    for number in range(conversations):
        text = texts[number % len(texts)]
        name = f"{text[:300]}{number}"
        log.harness = "antigravity"
        # The builder looks for the last step among all rows, which are many.
        kept, log.rows = log.rows, []
        if number % 3 == 0:
            log.interrupted(
                name, "hi", call(text, {"a": text}, text), call(text, {"b": text}, text)
            )
        elif number % 3 == 1:
            log.turn(name, "hi", answer({"a": 1}, text, text), call(text, {}, text), ask("?", text))
        else:
            log.turn(name, "hi", say("a"), say("b"), say("c"))
            del log.rows[2]
            log.interrupted(name, "hi", call(text, {"idempotency_key": text}, text))
        log.rows = kept + log.rows
    return result_of(log)


@pytest.mark.parametrize("conversations", [400, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_large_result_has_small_views(conversations: int) -> None:
    result = _large(conversations)
    assert result.measures["need_attention"] == conversations
    assert len({finding["id"] for finding in result.findings}) >= 8
    for name, render in VIEWS.items():
        text = render(result)
        assert len(text.encode()) < _LARGE, name
        assert "result.json" in text
    told = VIEWS["report.html"](result)
    for group in result.actions:
        assert f"{group['count']:,} conversations are shown" in told or group["count"] <= 75
    for identity in {finding["id"] for finding in result.findings}:
        for name in VIEWS:
            assert identity in VIEWS[name](result)


@pytest.mark.slow
def test_the_worst_that_fits_a_result_has_small_views() -> None:
    """Every place full, and every text of the kind that takes the most room."""
    text = _WIDE[0] * 3
    result = made("failed")
    conversation = {
        "source": text,
        "conversation_id": text,
        "last_step": 1,
        "standing": text,
        "advice": text,
        "findings": ["AX110"] * 9,
    }
    finding = {
        "id": "AX110",
        "name": "n",
        "severity": "error",
        "source": text,
        "sentence": text,
        "keys": {"conversation_id": text, "step": 10**9},
        "witness": [{"step": 10**9, "digest": "0" * 64}] * 9,
    }
    call = {"tool": text, "operation_id": text, "source": text, "conversation_id": text}
    parts = {name: value for name, value in vars(result).items() if not name.startswith("_")}
    worst = Result(
        **{
            **parts,
            "examined": (text,) * 50,
            "why": (text,) * 50,
            "scope": (text,) * 50,
            "actions": tuple(
                {**result.actions[0], "conversations": [conversation] * 100} for _ in range(9)
            ),
            "unresolved": {"count": 5000, "calls": [{**call, "step": 1, "known": text}] * 100},
            "findings": tuple(
                {**finding, "id": check["id"]} for check in result.checks for _ in range(20)
            ),
            "sources": tuple(
                {**s, "name": text, "notes": [text] * 15} for s in result.sources * 25
            ),
        }
    )
    for name, render in VIEWS.items():
        assert len(render(worst).encode()) < _LARGE, name


def test_an_id_of_a_megabyte_does_no_harm(tmp_path: Path) -> None:
    name = "n" * 1_000_000
    log = LogBuilder("G8")
    log.interrupted(name, "hi", call(name[:1000], {}, name[:1000]))
    result = result_of(log)
    write_folder(result, tmp_path)
    for path in tmp_path.iterdir():
        assert path.name == "result.json" or path.stat().st_size < 100_000
    write_views(Result.read(tmp_path), tmp_path)
