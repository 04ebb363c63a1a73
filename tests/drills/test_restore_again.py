"""The command that gives a restore drill again: names of files, and no password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from axnb.drills.restore.again import command_again
from axnb.drills.restore.options import RestoreOptions
from axnb.settings import Settings

SETTINGS = Settings(environment={"MY_LOG": "postgresql://u:secret@host/db"})


def _again(*sources: str, expected: tuple[str, ...] = (), **asked: Any) -> str:
    options = RestoreOptions.parse(sources, None, (), expected, SETTINGS, **asked)
    return " ".join(command_again(options))


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("/somewhere/log.sqlite", "log.sqlite"),
        ("/somewhere/-log.sqlite", "./-log.sqlite"),
        ("/somewhere/my log.sqlite", "'./my log.sqlite'"),
        ("sqlite:////somewhere/log.sqlite", "log.sqlite"),
        ("MY_LOG", "MY_LOG"),
        ("postgresql://u:secret@host:5433/db", "postgresql://host:5433/db"),
        (
            "postgresql://u:secret@host/db?sslmode=require&schema=ax",
            "'postgresql://host/db?schema=ax'",
        ),
        ("host=host dbname=db password=secret", "postgresql://host/db"),
    ],
)
def test_a_source_is_named_without_its_folder_and_its_password(source: str, word: str) -> None:
    assert _again(source) == f"axnb drill restore {word} --json"


def test_it_asks_as_it_was_asked() -> None:
    told = _again(
        *("/a/log.sqlite", "/b/lost.sqlite"),
        expected=("c=7",),
        backup=Path("/c/backup.sqlite"),
        records=[Path("/d/one.json"), Path("/d/two.json")],
        snapshots="s3://bucket/prefix",
        rpo_steps=3,
        settings_name="axnb.toml",
    )
    assert told == (
        "axnb drill restore log.sqlite lost.sqlite --backup=backup.sqlite "
        "--snapshots=s3://bucket/prefix --records=one.json --records=two.json "
        "--expect-last=c=7 --rpo-steps=3 --settings=axnb.toml --json"
    )


def test_there_is_none_where_names_do_not_tell() -> None:
    assert _again("/a/log.sqlite", "/b/log.sqlite") == ""
    assert _again("/a/log\x1b.sqlite") == ""
    assert _again("host='a b' dbname=db") == "", "an address that is not shown"


def test_a_file_that_looks_like_a_dsn_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("user=log").touch()
    assert _again("user=log") == "axnb drill restore ./user=log --json"


def test_an_ax_yaml_is_named_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ax.yaml").write_text(
        "eventlog: {type: sqlite, config: {path: log.sqlite}}\n", encoding="utf-8"
    )
    assert _again("ax.yaml") == "axnb drill restore ax.yaml --json"
