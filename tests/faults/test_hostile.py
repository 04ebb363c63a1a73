"""Texts that strangers wrote to do harm, in every place they can fill, through every verb and form.

Nothing is executed (each text that is makes a file of an unguessable name), no source changes, what
is contents stays hidden, what is shown is visible, and the end is an answer or one clear sentence.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from click.testing import CliRunner, Result

from axnb.ax.behaviour import Harness
from axnb.case.case import Case
from axnb.cli import main
from axnb.errors import UsageError
from axnb.loading import load
from axnb.notebook.runner import run_notebook
from axnb.notebook.workspace import open_triage
from axnb.report.html import render_report
from axnb.settings import Settings
from axnb.testing.hostile import (
    every,
    hostile_log,
    hostile_server_log,
    hostile_settings,
    hostile_texts,
    hostile_transcript,
    huge_log,
    storable,
)
from axnb.testing.logs import LogBuilder
from tests.servers import PostgresServer

CHECKOUT = Path(__file__).parents[2]
NOTEBOOK = CHECKOUT / "notebooks" / "01_triage.ipynb"

CANARY = f"canary-{secrets.token_hex(8)}"
SECRET = f"s3cret-{secrets.token_hex(8)}"
TEXTS = hostile_texts(CANARY)
ALL = tuple(every(TEXTS))


def _halved(text: str) -> str:
    """Without halves of surrogate pairs, which no file and no server takes."""
    return text.encode(errors="replace").decode()


#: One of each kind, and those that have the most of it.
FEW = (
    *(texts[0] for texts in TEXTS.values()),
    TEXTS["long"][2],
    *(
        "a\nb\r\nc\td\x0b\x0ce",
        "\u2066a\u2067b\u2068c\u2069",
        "a\0b",
        "--json",
        "ends in a backslash \\",
    ),
)

#: What the argument vector of a process cannot hold.
ARGUMENTS = tuple(text for text in ALL if "\0" not in text)


def _texts(name: str) -> dict[str, tuple[str, ...]]:
    """What a log such as `G8`, `G8-all` or `G8-markup` holds."""
    kind = name.partition("-")[2]
    return {"": {"few": FEW}, "all": TEXTS}.get(kind) or {"few": FEW, kind: TEXTS[kind]}


# --- a world of its own --------------------------------------------------------------------------


@dataclass
class World:
    """Folders in which whatever is executed would leave its canary."""

    root: Path
    logs: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("home", "tmp", "work", "sources", "cases"):
            (self.root / name).mkdir()

    @property
    def sources(self) -> Path:
        """What is read and never written."""
        return self.root / "sources"

    def log(self, name: str) -> Path:
        """A hostile log of a generation, written once."""
        path = self.sources / f"{name}.sqlite"
        if not path.exists():
            log = hostile_log(_texts(name), name.partition("-")[0], SECRET)
            log.write_sqlite(path, keyed=False, typed=False)
        return path

    def case(self, name: str) -> Path:
        """A case that holds it."""
        path = self.root / "cases" / f"{name}.duckdb"
        log = self.log(name)
        if not path.exists():
            with Case(path, Settings()) as case:
                load(case, [str(log)])
        return path

    def canaries(self) -> list[Path]:
        """Files that something executed would have made."""
        outside = [folder / CANARY for folder in (self.root.parent, Path("/tmp"), CHECKOUT)]
        return [*self.root.rglob(CANARY), *(path for path in outside if path.exists())]

    def fingerprint(self) -> dict[str, str]:
        """Each source and each case by its sha256."""
        return {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for folder in (self.sources, self.root / "cases")
            for path in sorted(folder.iterdir())
        }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(autouse=True)
def _nothing_is_executed(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(world.root / "work")
    monkeypatch.setenv("HOME", str(world.root / "home"))
    monkeypatch.setenv("TMPDIR", str(world.root / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(world.root / "tmp"))
    monkeypatch.delenv("AX_EVENTLOG_DSN", raising=False)
    before = world.fingerprint()
    yield
    found = world.canaries()
    for path in found:
        path.unlink()
    assert found == []
    after = world.fingerprint()
    assert {name: after.get(name) for name in before} == before


def _run(*arguments: Any, code: set[int] | None = None, **options: Any) -> Result:
    """Run the command line in this process."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], **options)
    assert result.exit_code in (code or {0, 1, 3}), result.output[:2000]
    assert "fault of axnb" not in result.stderr
    assert "Traceback" not in result.output
    return result


# --- what may be shown ---------------------------------------------------------------------------

_HIDDEN = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def _hidden(text: str) -> set[str]:
    """Characters that move a cursor, turn a line around or cannot be seen."""
    found = {c for c in set(text) if c != "\n" and unicodedata.category(c) in _HIDDEN}
    return found | set(_INVISIBLE.findall(text))


def _piles(text: str) -> list[str]:
    """Marks that run over other lines: too many, or without a letter of their own."""
    kinds = "".join("m" if unicodedata.category(c) in ("Mn", "Me") else "." for c in text)
    found = [text[m.start() : m.end()] for m in re.finditer("m{5,}", kinds)]
    return found + [text[m.start() :][:5] for m in re.finditer("(?m)^m", kinds)]


def _columns(line: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.category(c) in ("Mn", "Me") for c in line)


def _safe(text: str, *, secret: bool = False, piles: bool = False) -> str:
    """Check that a text may go to a terminal and tells no contents; returns it."""
    assert _hidden(text) == set()
    assert piles or _piles(text) == []
    if not secret:
        assert SECRET not in text
        assert SECRET.encode().hex() not in text.lower()
    return text


def _too_wide(text: str, width: int = 100) -> list[str]:
    return [line for line in text.splitlines() if _columns(line) > width]


def _sentences(result: Result) -> list[str]:
    """What is said on stderr: lines of axnb that are safe."""
    _safe(result.stderr)
    lines = result.stderr.splitlines()
    assert [line for line in lines if not line.startswith("axnb: ")] == []
    return lines


# --- every verb ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "options"),
    [
        ("G3", []),
        ("G8-all", ["--all"]),
        ("G8-all", ["--ax-version", "G4"]),
        pytest.param("G3", ["--all"], marks=pytest.mark.slow),
        pytest.param("G3", ["--ax-version", "G8"], marks=pytest.mark.slow),
        pytest.param("G3", ["--ax-version", "G4"], marks=pytest.mark.slow),
        pytest.param("G8-all", [], marks=pytest.mark.slow),
        pytest.param("G8-all", ["--ax-version", "G8"], marks=pytest.mark.slow),
    ],
)
def test_triage_shows_what_is_there_and_tells_no_contents(
    world: World, generation: str, options: list[str]
) -> None:
    result = _run("triage", "--case", world.case(generation), *options, code={1})
    assert _too_wide(_safe(result.stdout)) == []
    assert _sentences(result) == []


@pytest.mark.parametrize(
    "generation",
    ["G5", "G6", *(pytest.param(name, marks=pytest.mark.slow) for name in ("G4", "G5b", "G7"))],
)
def test_every_generation_is_read(world: World, generation: str) -> None:
    path = world.log(generation)
    shown = _run("triage", path, "--json", code={1}).stdout
    found = json.loads(_safe(shown, piles=True))
    ids = {c["conversation_id"] for c in found["conversations"]}
    assert ids >= {storable(text) for text in FEW}
    assert found["sources"][0]["read"] == len(hostile_log(_texts(generation), generation).rows)


@pytest.mark.parametrize("generation", [pytest.param("G3", marks=pytest.mark.slow), "G8-all"])
def test_json_holds_the_same_ids(world: World, generation: str) -> None:
    result = _run("triage", "--case", world.case(generation), "--json", code={1})
    found = json.loads(_safe(result.stdout, piles=True))
    by_id = {c["conversation_id"]: c for c in found["conversations"]}
    texts = tuple(every(_texts(generation)))
    ids = {f"{storable(text)}{mark}" for text in texts for mark in ("", "?", "!", "~")}
    assert by_id.keys() >= ids
    for text in texts:
        if text == storable(text):
            calls = by_id[text]["unresolved_calls"]
            assert {call["tool"] for call in calls} == {text, f"{text}2"}


def test_tables_hold_no_formula_and_no_contents(world: World) -> None:
    import pyarrow.parquet as pq

    _run("triage", "--case", world.case("G8-all"), "--csv", "t.csv", "--parquet", "t.parquet")
    with Path("t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [value for row in rows for name, value in row.items() if name != "last_step"]
    # What a spreadsheet strips from a cell may not uncover a formula.
    bare = [re.sub(r"^[\s\u200b\ufeff\x00-\x1f]+", "", text) for text in texts]
    assert [text for text in bare if text.startswith(tuple("=+-@＝＋－＠"))] == []
    table = pq.read_table("t.parquet").to_pylist()
    for cells, values in zip(rows, table, strict=True):
        name = values["conversation_id"]
        assert cells["conversation_id"] in (name, f"'{name}")
    assert {values["conversation_id"] for values in table} >= {storable(text) for text in ALL}
    assert SECRET not in repr(rows) + repr(table)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=str(n), marks=(pytest.mark.slow,) if n % 2 else ())
        for n, text in enumerate(FEW)
    ],
)
def test_a_conversation_is_shown(world: World, text: str) -> None:
    command = ("show", world.log("G8"), "--case", world.case("G8"), "--", storable(text))
    result = _run(*command, code={1})
    assert _too_wide(_safe(result.stdout)) == []
    assert _sentences(result) == []


@pytest.mark.slow
def test_every_conversation_is_shown(world: World) -> None:
    """Every second text, in one of its two conversations by turns."""
    log, case = world.log("G8-all"), world.case("G8-all")
    for number, text in enumerate(ALL[::2]):
        name = f"{storable(text)}{'~' if number % 2 else ''}"
        command = ("show", log, "--case", case, "--all", "--", name)
        assert _too_wide(_safe(_run(*command, code={0, 1, 3}).stdout)) == []


@pytest.mark.parametrize("text", [TEXTS["terminal"][0], TEXTS["long"][2], "a\0b"], ids=range(3))
def test_contents_are_shown_where_a_person_asks(world: World, text: str) -> None:
    copy = shutil.copy(world.case("G8"), world.root / "work" / "reveal.duckdb")
    for mark in ("", "~"):
        command = ("show", world.log("G8"), "--case", copy, "--reveal", "--all", "--")
        result = _run(*command, f"{storable(text)}{mark}", code={1})
        assert SECRET in result.stdout
        assert _too_wide(_safe(result.stdout, secret=True)) == []


def test_loading_says_what_it_read(world: World) -> None:
    result = _run("load", world.log("G8"), "--case", "loaded.duckdb", code={3})
    _safe(result.stdout)
    assert _sentences(result) == []


@pytest.mark.parametrize("generation", [pytest.param("G3", marks=pytest.mark.slow), "G8-all"])
def test_only_tables_of_contents_hold_contents(world: World, generation: str) -> None:
    holding = {"event_rows", "events", "parts", "careful_parts", "rejects", "executions"}
    with Case(world.case(generation), Settings()) as case, case.reading() as session:
        tables = [name for (name,) in session.execute("show tables").fetchall()]
        assert {"findings", "conversations", "tool_calls", "oddities"} <= set(tables)
        for table in set(tables) - holding:
            rows = session.execute(f'from "{table}"').fetchall()
            assert SECRET not in repr(rows), table


@pytest.mark.slow
def test_queries_show_what_is_there(world: World) -> None:
    tables = _run("sql", "--case", world.case("G8-all")).stdout.split()[1:]
    assert len(tables) > 15
    query = ";".join(f'from "{table}"' for table in tables)
    result = _run("sql", query, "--case", world.case("G8-all"), code={0})
    _safe(result.stdout, secret=True)


# --- plans ---------------------------------------------------------------------------------------

_PLANS = (
    ("G8", "G8"),
    ("G6", "G8"),
    pytest.param("G3", "G3", marks=pytest.mark.slow),
    pytest.param("G8", "G5b", marks=pytest.mark.slow),
)


@pytest.mark.parametrize(("generation", "asked"), _PLANS)
def test_a_plan_is_run_by_the_shell_and_does_what_it_says_alone(
    world: World, generation: str, asked: str
) -> None:
    question = ("--harness", "antigravity=refuses", "--ax-version", asked)
    command = ("triage", "--case", world.case(generation), *question, "--plan")
    script = _safe(_run(*command, code={1}).stdout)
    told = json.loads(_safe(_run(*command, "--json", code={1}).stdout, piles=True))
    assert told["plan"] == script
    copy = shutil.copy(world.log(generation), world.root / "work" / "plan.sqlite")
    before = _tables(copy)
    if shutil.which("sqlite3"):
        shell = ["sqlite3", "-bail", copy]
        done = subprocess.run(shell, input=script.encode(), capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr[:500]
    else:
        with closing(sqlite3.connect(copy)) as connection:
            connection.executescript(script)
    assert {name for name, _ in before} <= {name for name, _ in _tables(copy)}


def _tables(path: Any) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        return [
            (name, connection.execute(f'select count(*) from "{name}"').fetchone()[0])
            for (name,) in names
        ]


# --- what is refused -----------------------------------------------------------------------------


def test_no_finding_is_called_so() -> None:
    for text in ALL:
        result = _run("explain", "--", text, code={2})
        assert len(_sentences(result)) == 1


@pytest.mark.parametrize("option", ["--ax-version", "--harness", "--expect-last", "--conversation"])
def test_options_take_texts_as_texts(world: World, option: str) -> None:
    case = world.case("G8")
    values = FEW[::2] if option in ("--ax-version", "--conversation") else [ALL]
    for value in values:
        given = [value] if isinstance(value, str) else value
        options = [f"{option}={text}" for text in given]
        result = _run("triage", "--case", case, *options, code={0, 1, 2, 3})
        _safe(result.output)
        assert len(_sentences(result)) <= 1


def test_expectations_of_hostile_ids(world: World) -> None:
    options = [f"--expect-last={text}=7" for text in ALL if text == _halved(text)]
    result = _run("triage", "--case", world.case("G8"), *options, "--all", code={1})
    assert _too_wide(_safe(result.stdout)) == []


@pytest.mark.parametrize("verb", ["triage", "show", "load", "sql", "explain", "demo", "nothing"])
def test_what_is_no_command_is_said_visibly(verb: str) -> None:
    for text in FEW:
        result = _run(verb, f"--{text}", "--", text, text, text, code={0, 2})
        _safe(result.output)


# --- names of files, tables and columns ----------------------------------------------------------

#: What a file can be called.
NAMES = tuple(t for t in ALL if 0 < len(os.fsencode(_halved(t))) < 240 and not {"/", "\0"} & set(t))


def _small_log() -> LogBuilder:
    log = LogBuilder("G8")
    log.interrupted("c", SECRET)
    return log


@pytest.mark.slow
def test_files_may_be_called_anything(world: World) -> None:
    folder = world.root / "work" / "names"
    folder.mkdir()
    made = _small_log().write_sqlite(folder / "log")
    paths = []
    for text in list(NAMES[::10]):
        if text not in (".", ".."):
            paths.append(folder / f"{_halved(text)}.sqlite")
            shutil.copy(made, paths[-1])
    result = _run("triage", *paths, "--case", "names.duckdb", "--all", code={1})
    assert _too_wide(_safe(result.stdout)) == []
    _safe(_run("load", *paths[:3], "--case", "names2.duckdb", code={0}).stdout)
    for path in paths[:3]:
        assert _too_wide(_safe(_run("show", path, "c", "--case", "names.duckdb").stdout)) == []


def test_a_source_that_is_not_there_is_named_visibly(world: World) -> None:
    log = world.log("G3")
    for option in ("--client", "--server-log"):
        named = [f"{option}={text}" for text in ARGUMENTS if text == _halved(text)]
        result = _run("triage", log, *named, code={1})
        assert len(_sentences(result)) == len(named)
    for text in ALL:
        result = _run("load", "--case", "k.duckdb", "--", text, code={2, 3})
        assert len(_sentences(result)) == 1


@pytest.mark.parametrize("option", ["--case", "--settings", "--csv", "--parquet"])
def test_a_path_that_cannot_be_used_is_named_visibly(world: World, option: str) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi")
    path = log.write_sqlite(Path(f"{option}.sqlite"))
    for text in FEW:
        if text == _halved(text) and "\0" not in text:
            missing = f"missing/{text.replace(CANARY, 'x')}"
            _safe(_run("triage", path, f"{option}={missing}", code={0, 2, 4}).output)


def test_tables_and_columns_of_strangers(world: World) -> None:
    path = _small_log().write_sqlite(world.root / "work" / "columns.sqlite")
    names = [_halved(text).replace("\0", "") for text in FEW]
    with closing(sqlite3.connect(path)) as connection:
        for name in dict.fromkeys(names):
            quoted = '"' + name.replace('"', '""') + '"'
            connection.execute(f"alter table conversation_log add column {quoted} text")
            connection.execute(f'create table "t{quoted[1:]} (a)')
    result = _run("triage", path, code={1})
    assert "columns that axnb does not know" in result.stdout
    assert _too_wide(_safe(result.stdout)) == []
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("drop table conversation_log")
    result = _run("triage", path, code={3})
    assert len(_sentences(result)) == 1
    assert len(result.stderr) < 2000


# --- what stands beside a log --------------------------------------------------------------------


@pytest.mark.slow
def test_witnesses_of_strangers(world: World) -> None:
    client, server = world.sources / "client.jsonl", world.sources / "server.log"
    client.write_bytes(hostile_transcript(TEXTS, SECRET))
    server.write_bytes(hostile_server_log(TEXTS, SECRET))
    command = ("triage", world.log("G8"), "--client", client, "--server-log", server)
    case = ("--case", "witnesses.duckdb")
    result = _run(*command, *case, "--all", code={1})
    assert _too_wide(_safe(result.stdout)) == []
    assert _sentences(result) == []
    found = json.loads(_safe(_run("triage", *case, "--json", code={1}).stdout, piles=True))
    assert {"AX118", "AX119"} <= {f["id"] for f in found["findings"]}
    with Case("witnesses.duckdb", Settings()) as opened:
        for table in ("client_outputs", "server_events", "sources", "findings"):
            assert SECRET not in repr(opened.rows(f"from {table}")), table


def test_rules_for_tools_of_any_name(world: World) -> None:
    Path("rules.toml").write_text(hostile_settings(TEXTS), encoding="utf-8")
    result = _run("triage", world.log("G8"), "--settings", "rules.toml", "--all", code={1})
    assert _too_wide(_safe(result.stdout)) == []


def test_settings_that_are_wrong_are_named_visibly() -> None:
    for text in FEW:
        key = json.dumps(_halved(text).replace("\0", ""), ensure_ascii=True)
        for document in (f"{key} = 1", f"[tools.{key}]\nx = 1", f"scratch = {key}", text):
            Path("wrong.toml").write_bytes(document.encode(errors="replace"))
            result = _run("triage", "x", "--settings", "wrong.toml", code={2, 3})
            assert len(_sentences(result)) == 1


@pytest.mark.slow
def test_an_ax_yaml_of_a_stranger(world: World) -> None:
    log = str(world.log("G3"))
    texts = [text for text in ALL if text == _halved(text)]
    agents = [{"id": text, "name": text, "description": text} for text in texts]
    config = {"eventlog": {"sqlite": {"filename": log}}, "registry": {"remote_agents": agents}}
    Path("ax.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    result = _run("triage", "ax.yaml", "--all", code={1, 3})
    _safe(result.output)
    for text in FEW:
        eventlog: dict[str, Any]
        for eventlog in ({"sqlite": {"filename": text}}, {"postgres": {"dsn": text}}):
            Path("ax.yaml").write_text(json.dumps({"eventlog": eventlog}), encoding="utf-8")
            _safe(_run("triage", "ax.yaml", code={2, 3}).output)


# --- the report and the notebook -----------------------------------------------------------------


class _Page(HTMLParser):
    """Elements and attributes of a page, and its text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.text = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, ""), *((tag, name) for name, _ in attrs)}

    def handle_comment(self, data: str) -> None:
        self.found.add(("<!--", data))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.slow
def test_the_report_holds_texts_and_nothing_that_they_make(world: World) -> None:
    plain = LogBuilder("G8")
    plain.interrupted("c", "hi")
    work = open_triage(str(plain.write_sqlite(Path("plain.sqlite"))))
    hostile = open_triage(str(world.log("G8-markup")), "result")
    hostile.save()
    report = Path("result/report.html").read_text(encoding="utf-8")
    _safe(report)
    page = _Page(report)
    assert page.found <= _Page(render_report(work.result())).found
    assert re.findall(
        r"(?:src|href|action|url)\s*[=(]\s*[\"']?\w", re.sub(r"&#\d+;", "", report)
    ) == [] or (not {n for _, n in page.found} & {"src", "href", "action", "srcset"})
    assert "<script>alert(1)</script>" in page.text
    result = Path("result/result.json").read_text(encoding="utf-8")
    answer = json.loads(_safe(result, piles=True))["answer"]
    shown = {storable(text) for text in every(_texts("G8-markup"))}
    assert {c["conversation_id"] for c in answer["conversations"]} >= shown


@pytest.fixture
def _kernels_find_axnb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def _is_harness(text: str) -> bool:
    try:
        Harness.parse(text)
    except UsageError:
        return False
    return True


def _parameters(world: World) -> dict[str, Any]:
    return {
        "source": str(world.log("G6")),
        "harnesses": [text for text in ALL if _is_harness(text)],
        "out": str(world.root / "work" / "out {0} $(touch x) '\" \\"),
    }


_TEXT_TAGS = {"div", "style", "p", "ul", "li", "strong", "span", "code"}
_TABLE_TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
_PICTURE_TAGS = {"svg", "title", "desc", "text", "rect"}


@pytest.mark.usefixtures("_kernels_find_axnb")
def test_the_notebook_runs_no_parameter_and_shows_no_contents(world: World) -> None:
    parameters = _parameters(world)
    assert run_notebook(NOTEBOOK, parameters).exit_code == 1
    output = Path(parameters["out"], NOTEBOOK.name)
    _safe(output.read_text(encoding="utf-8"), piles=True)
    ran = nbformat.read(output, as_version=4)
    outputs = [o for cell in ran.cells for o in cell.get("outputs", ())]
    assert [o.ename for o in outputs if o.output_type == "error"] == ["VerdictError"]
    pages = [o.data["text/html"] for o in outputs if "text/html" in o.get("data", {})]
    assert len(pages) == 6
    for page in pages:
        tags = {tag for tag, _ in _Page(page).found}
        assert tags <= {*_TEXT_TAGS, *_TABLE_TAGS, *_PICTURE_TAGS}


@pytest.mark.slow
@pytest.mark.usefixtures("_kernels_find_axnb")
def test_plain_papermill_runs_no_parameter(world: World) -> None:
    from papermill.__main__ import papermill

    # A kernel each; that each text is written as a literal the next test says.
    for text in ARGUMENTS[::30]:
        arguments = [str(NOTEBOOK), "plain.ipynb", "--no-progress-bar"]
        for name, value in (("source", world.log("G6")), ("conversation", text)):
            arguments += ["-p", name, str(value)]
        assert CliRunner().invoke(papermill, arguments).exit_code == 1
        # Papermill keeps a parameter as it is; the outputs are ours.
        ran = Path("plain.ipynb").read_text(encoding="utf-8", errors="replace")
        assert SECRET not in ran


def test_papermill_writes_each_text_as_a_literal() -> None:
    from papermill.translators import PythonTranslator

    for text in ALL:
        if text == _halved(text):
            (line,) = ast.parse(PythonTranslator.codify({"conversation": text})).body
            assert isinstance(line, ast.Assign)
            assert ast.literal_eval(line.value) == text


# --- PostgreSQL ----------------------------------------------------------------------------------


def test_a_server_gives_the_same_and_its_password_is_told_nowhere(
    world: World, postgres: PostgresServer
) -> None:
    dsn = postgres.create_database()
    hostile_log({"few": FEW}, "G8", SECRET, store="postgres").write_postgres(dsn, keyed=False)
    case, options = "server.duckdb", {"env": {"LOG_DSN": dsn}}
    _run("load", "LOG_DSN", "--case", case, code={3}, **options)
    question = ("--harness", "antigravity=refuses")
    shown = [
        _run("triage", "--case", case, *question, *more, code={1}).stdout
        for more in ([], ["--all"], ["--json"], ["--plan"])
    ]
    for text in shown:
        _safe(text, piles=True)
        assert postgres.password not in text
    found = json.loads(shown[2])
    assert {c["conversation_id"] for c in found["conversations"]} >= {
        storable(text, "postgres") for text in FEW
    }
    if shutil.which("psql"):
        shell = ["psql", "-X", "-q", "-d", dsn]
        subprocess.run(shell, input=shown[3].encode(), capture_output=True, check=False)
    with_case = Case(case, Settings())
    assert postgres.password not in repr(with_case.rows("from sources"))


# --- large, deep and odd -------------------------------------------------------------------------


@pytest.mark.slow
def test_huge_values_are_cut(world: World) -> None:
    path = huge_log(SECRET).write_sqlite(world.root / "work" / "huge.sqlite")
    case = ("--case", "huge.duckdb")
    _run("load", path, *case, code={3})
    for options in ([], ["--all"]):
        result = _run("triage", *case, *options, code={1})
        assert _too_wide(_safe(result.stdout)) == []
        # A call has a line of its own only where every line was asked for.
        assert len(result.stdout) < (2_000_000 if options else 50_000)
    json.loads(_safe(_run("triage", *case, "--json", code={1}).stdout))
    _safe(_run("triage", *case, "--plan", code={1}).stdout)
    for name in ("text", "value", "many", "keys", "n" * 100_000, "odd-2", "odd-5", "odd-6"):
        shown = _run("show", path, *case, "--", name)
        assert _too_wide(_safe(shown.stdout)) == []
        assert len(shown.stdout) < 3_000_000
    work = open_triage(str(path), "huge")
    work.save()
    _safe(Path("huge/report.html").read_text(encoding="utf-8"))
