"""Parameters: read by the declared type, refused by name, never a secret."""

from __future__ import annotations

import json
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from axnb.errors import UsageError
from axnb.notebook.parameters import (
    Parameter,
    declared,
    gathered,
    read_values,
    refuse_secrets,
)
from axnb.notebook.workspace import open_triage
from tests.notebook.runs import QUOTES, by_papermill, healthy, log_of, scratch
from tests.notebook.tiny import tiny
from tests.servers import PostgresServer

# --- texts, by the declared type -----------------------------------------------------------------

DECLARED = """\
text: str = ""  # a text
flag: bool = False
texts: list = []
number: int = 1
share: float = 0.5
maybe: Optional[str] = None
words: List[str] = []
plain = "by its default"
some = ["by", "its", "default"]
out: str = ""
"""


@pytest.fixture(scope="module")
def known() -> dict[str, Parameter]:
    """What a notebook declares of each type."""
    return declared(tiny(scratch() / "declared", declared=DECLARED), "tiny.ipynb")


#: A parameter, what is typed, and what the notebook gets.
READ: list[tuple[str, str, Any]] = [
    *(("text", text, text) for text in ("007", "", "yes", "2026-01-02", "[1]", "~", QUOTES)),
    *(("flag", text, True) for text in ("true", "True", "yes", "YES")),
    *(("flag", text, False) for text in ("false", "FALSE", "no")),
    ("texts", "[]", []),
    ("texts", '["a", "b"]', ["a", "b"]),
    (
        "texts",
        "[a=accepts, 007, 1, yes, 2026-01-02]",
        ["a=accepts", "007", "1", "yes", "2026-01-02"],
    ),
    ("texts", "- a\n- b", ["a", "b"]),
    ("texts", json.dumps([QUOTES, "{x}", "\U0001f600"]), [QUOTES, "{x}", "\U0001f600"]),
    ("words", "[a]", ["a"]),
    ("some", "[a]", ["a"]),
    ("maybe", "a", "a"),
    ("plain", "007", "007"),
    ("number", "12", 12),
    ("number", "-1", -1),
    ("share", "0.25", 0.25),
    ("share", "1", 1.0),
]


@pytest.mark.parametrize(("name", "text", "value"), READ)
def test_a_text_is_read_by_the_declared_type(
    known: dict[str, Parameter], name: str, text: str, value: Any
) -> None:
    found = read_values(known, {name: text}, "tiny.ipynb")
    assert found == {name: value}
    assert type(found[name]) is type(value)


#: A parameter, and what no value of its type is made of.
REFUSED: list[tuple[str, Any]] = [
    *(("text", value) for value in ("None", None, 7, True, ["a"], {}, "\udcff")),
    *(("maybe", value) for value in ("None", None)),
    *(("flag", value) for value in ("", "maybe", "None", "1", 1, None)),
    *(
        ("texts", value)
        for value in ("", "a", "a, b", "[null]", "[~]", "[[a]]", "[{a: b}]", "{a: b}")
    ),
    *(("texts", value) for value in ("[", "None", "[" * 5000, [1], [None], 5, "[*a]")),
    *(("number", value) for value in ("", "1.5", "one", "None", True, 1.5, "9" * 5000)),
    *(("share", value) for value in ("", "nan", "inf", "half", True, None)),
]


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=lambda value: repr(value)[:20])
def test_what_does_not_fit_is_refused_by_name(
    known: dict[str, Parameter], name: str, value: Any
) -> None:
    with pytest.raises(UsageError, match=f"^the parameter {name} ") as caught:
        read_values(known, {name: value}, "tiny.ipynb")
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("name", ["unknown", "x = 1\nopen('owned', 'w').close()\ny", "text "])
def test_names_that_are_not_declared_are_refused(known: dict[str, Parameter], name: str) -> None:
    """Papermill would execute them."""
    with pytest.raises(UsageError, match=r"^tiny\.ipynb has no parameter"):
        read_values(known, {name: "1"}, "tiny.ipynb")


FILE = """\
text: 2026-01-02
flag: yes
texts: [007, no, "a b"]
words:
- "x'); drop"
number: 12
plain: |
  two
  lines
"""


def test_a_file_of_parameters(known: dict[str, Parameter], tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(FILE)
    given = gathered([file], ["number=13", "text=a=b", "text=007"], "result")
    assert read_values(known, given, "tiny.ipynb") == {
        "text": "007",
        "flag": True,
        "texts": ["007", "no", "a b"],
        "words": ["x'); drop"],
        "number": 13,
        "plain": "two\nlines\n",
        "out": "result",
    }
    assert read_values(known, gathered([file], [], None), "tiny.ipynb")["text"] == "2026-01-02"


@pytest.mark.parametrize(
    "text",
    ["text:", "text: ~", "text: null", "text: [a]", "text: {a: b}", "flag: 1", "texts: a"],
)
def test_a_value_of_a_file_that_does_not_fit(
    known: dict[str, Parameter], text: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=f"^the parameter {text.split(':')[0]} takes"):
        read_values(known, gathered([file], [], None), "tiny.ipynb")


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghijklmnop")
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- a", "holds no parameters"),
        ("text", "holds no parameters"),
        ("text: a\ntext: b", "gives the parameter 'text' twice"),
        ("? [a]\n: b", "line 1: a parameter has no name"),
        ("text: 'payload", r"is not YAML, line 1\.$"),
        ("text: *payload", r"is not YAML, line 1\.$"),
        ("[" * 5000, "is not YAML"),
        ("\x00", "is not YAML"),
    ],
)
def test_a_file_that_holds_no_parameters(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=f"^{file}.*{why}"):
        gathered([file], [], None)


def test_other_files_of_parameters(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    with pytest.raises(UsageError, match="cannot be read"):
        gathered([file], [], None)
    file.write_bytes(b"text: \xff")
    with pytest.raises(UsageError, match="is not YAML"):
        gathered([file], [], None)
    file.write_text("")
    assert gathered([file], [], None) == {}
    file.write_text(LAUGHS)
    assert gathered([file], [], None)["p"] == [None] * 9


def test_a_date_of_python_is_a_text(known: dict[str, Parameter]) -> None:
    assert known["text"].read(date(2026, 1, 2)) == "2026-01-02"
    with pytest.raises(UsageError, match="number"):
        known["number"].read(date(2026, 1, 2))


def test_two_result_folders_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two different folders"):
        gathered([], ["out=a"], "b")
    assert gathered([], ["out=a"], "a") == {"out": "a"}


def test_what_papermill_cannot_read_is_no_notebook(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    for text in ("", "payload", "{}", "[]", '{"cells": 1}'):
        file.write_text(text)
        with pytest.raises(UsageError, match=r"^a\.ipynb is no notebook"):
            declared(file, "a.ipynb")


# --- in the kernel -------------------------------------------------------------------------------


def test_any_text_reaches_the_query_as_data() -> None:
    found = by_papermill("ok").result
    assert found["parameters"]["conversations"] == [QUOTES]
    assert [c["conversation_id"] for c in found["answer"]["conversations"]] == [QUOTES]
    assert not (scratch() / "owned").exists()


@pytest.mark.parametrize(
    "name", ["source", "out", "ax_version", "conversation", "case", "settings"]
)
def test_the_text_none_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parameters: dict[str, Any] = {"source": str(log_of("ok")), name: "None"}
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
    parameters: dict[str, Any] = {"source": str(log_of("ok")), name: value}
    with pytest.raises(UsageError, match=name):
        open_triage(**parameters)


# --- secrets --------------------------------------------------------------------------------------

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
        open_triage(dsn, str(scratch() / "secret"))
    assert SECRET not in str(caught.value)
    assert not (scratch() / "secret").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"source": [f"postgresql://user:{SECRET}@127.0.0.1:1/db"]},
        {"source": f"['a', 'postgresql://user:{SECRET}@127.0.0.1:1/db']"},
        {"source": {"dsn": [f"password={SECRET}"]}},
    ],
)
def test_a_password_in_a_list_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"^the parameter source holds a password;") as caught:
        refuse_secrets(given)
    assert SECRET not in str(caught.value)


def test_a_password_in_a_name_is_not_told() -> None:
    with pytest.raises(UsageError) as caught:
        refuse_secrets({f"postgresql://user:{SECRET}@127.0.0.1:1/db": "a"})
    assert SECRET not in str(caught.value)


def test_a_password_of_the_environment_is_in_no_file(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dsn = postgres.create_database()
    healthy().write_postgres(dsn)
    monkeypatch.setenv("LOG_DSN", dsn)
    work = open_triage("LOG_DSN", str(tmp_path / "out"), case=str(tmp_path / "case.duckdb"))
    work.save()
    assert work.triage.verdict == "ok"
    assert len(list(tmp_path.rglob("*"))) == 6
    assert _files_with(postgres.password, tmp_path) == []


def _files_with(text: str, folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]
