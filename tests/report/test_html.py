"""The report: in its order, with nothing alive in it, whole, bounded, and the same without the run.

What a browser makes of it is looked at in `tests/browser`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from click.testing import Result as Finished

from axnb.report.commands import Commands
from axnb.report.html import render_report
from axnb.report.view import brief, view
from axnb.result import Result
from axnb.testing.logs import LogBuilder, say
from axnb.text import cut_middle, is_hidden, safe
from tests import ax_logs
from tests.checks import pairs
from tests.report.made import (
    MARKUP,
    NAMES,
    OTHER_RUN,
    RUN,
    by_hand,
    finding,
    healthy,
    made,
    real,
    result_of,
    source,
)
from tests.servers import PostgresServer

Cli = Callable[..., Finished]

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "div", "h1", "h2", "h3"),
    *("p", "span", "em", "code", "pre", "ul", "li", "dl", "dt", "dd", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "desc", "g", "path", "rect", "circle", "text"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "role", "scope"),
    *("tabindex", "aria-label", "aria-labelledby", "aria-hidden", "viewbox", "width", "height"),
    *("x", "y", "d", "rx", "cx", "cy", "r", "text-anchor"),
}
SECTIONS = (
    "Why",
    "What to do, and what not to touch",
    "Findings",
    "Step by step",
    "Evidence",
    "Scope: what was not looked at, and what was assumed",
    "How to check this report",
)


@cache
def _page(name: str) -> BeautifulSoup:
    return BeautifulSoup(render_report(made(name)), "html.parser")


def _parsed(result: Result) -> BeautifulSoup:
    return BeautifulSoup(render_report(result), "html.parser")


def _words(page: Any) -> str:
    return re.sub(r"\s+", " ", page.get_text(" "))


def _section(page: BeautifulSoup, title: str) -> list[Any]:
    """What stands between a heading and the next one of its level."""
    (head,) = [h for h in page.find_all("h2") if h.get_text().startswith(title)]
    found = []
    for element in head.find_next_siblings():
        if element.name == "h2":
            break
        found.append(element)
    return found


# --- its shape -----------------------------------------------------------------------------------


def test_the_verdict_stands_first_and_the_sections_in_order() -> None:
    page = _page("failed")
    assert page.h1 is not None
    assert page.h1.get_text() == "Triage: ✗ failed"
    assert tuple(h.get_text() for h in page.find_all("h2")) == SECTIONS


@pytest.mark.parametrize("name", NAMES)
def test_headings_tables_and_pictures_can_be_heard(name: str) -> None:
    page = _page(name)
    levels = [int(h.name[1]) for h in page.find_all(re.compile("^h[1-6]$"))]
    assert levels.count(1) == 1
    steps = itertools.pairwise(levels)
    assert [(one, other) for one, other in steps if other > one + 1] == []
    assert [th for th in page.find_all("th") if th.get("scope") != "col"] == []
    for table in page.find_all("table"):
        assert table.find_parent(attrs={"role": "region", "aria-label": True, "tabindex": "0"})
        width = len(table.find_all("th"))
        assert {len(row.find_all("td")) for row in table.tbody.find_all("tr")} == {width}
    for picture in page.find_all("svg"):
        if picture.get("aria-hidden") != "true":
            title, description = picture.find("title"), picture.find("desc")
            assert picture["aria-labelledby"] == f"{title['id']} {description['id']}"
            assert title.get_text(strip=True)
            assert description.get_text(strip=True)
    ids = [element["id"] for element in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert page.html is not None
    assert page.html["lang"] == "en"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_and_nothing_is_loaded(name: str) -> None:
    text = render_report(made(name))
    page = _page(name)
    assert {tag.name for tag in page.find_all()} <= TAGS
    assert {a for tag in page.find_all() for a in tag.attrs} <= ATTRIBUTES
    (policy,) = page.find_all("meta", attrs={"http-equiv": True})
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert page.style is not None
    assert re.findall(r"@import|url\(|expression\(|</", page.style.get_text()) == []
    assert text.count("<style") == 1
    assert {c for c in text if is_hidden(c)} == {"\n"}
    # The words of strangers may name an address, but as words alone.
    marks = re.sub(r">[^<]*<", "><", text.replace(page.style.get_text(), ""))
    marks = re.sub(r'aria-label="[^"]*"', "", marks)
    assert re.findall(r"//|javascript:", marks) == []


def test_tags_are_closed_where_they_were_opened() -> None:
    """A parser forgives what swallows the rest of a page elsewhere."""
    for name in NAMES:
        text = re.sub(r"<style>.*?</style>", "", render_report(made(name)), flags=re.DOTALL)
        stack: list[str] = []
        for closing, tag, alone in re.findall(r"<(/?)([a-z0-9]+)[^<>]*?(/?)>", text):
            if alone or tag == "meta":
                continue
            if closing:
                assert stack.pop() == tag
            else:
                stack.append(tag)
        assert stack == []
        assert len(re.findall("<", text)) == len(re.findall(r"</?[a-z0-9!]", text))


def test_what_strangers_wrote_is_text_everywhere() -> None:
    page = _page("failed")
    words = _words(page)
    for text in MARKUP:
        assert re.sub(r"\s+", " ", cut_middle(safe(text), 120)) in words
    words = _words(_page("hostile"))
    shown = [c for group in view(made("hostile")).actions for c in group["conversations"]]
    assert len(shown) > 100
    for c in shown:
        assert re.sub(r"\s+", " ", brief(c["conversation_id"])).strip() in words


def test_a_hostile_file_name_is_text(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>`'\"$(touch x).sqlite"
    page = _parsed(result_of(healthy().write_sqlite(tmp_path / name)))
    assert {tag.name for tag in page.find_all()} <= TAGS
    assert name in _words(page)
    command = page.find(attrs={"aria-label": "Command that checks the evidence"})
    assert command is not None
    assert shlex.split(command.get_text())[2:] == [name]


@pytest.mark.parametrize("text", [*MARKUP, "\0", "\ud800", "\ufffe", "{{ 7*7 }}", "--> x"])
def test_no_part_of_a_result_can_be_markup(text: str) -> None:
    """Also one that no triage makes: a report may be written from a file that came by mail."""
    evil = text + "\" ' --> </title>"
    result = by_hand(
        drill=evil,
        examined=(evil,),
        why=(evil,) * 9,
        parameters={evil: [evil, {evil: evil}]},
        measures={evil: 1},
        sources=(source(name=evil, kind=evil, notes=[evil], custody={evil: evil}),),
        findings=(finding(sentence=evil, keys={"conversation_id": evil}, source=evil),),
        scope=(evil,),
        run={**RUN, **dict.fromkeys(("id", "started", "axnb", "user", "again"), evil)},
    )
    page = _parsed(result)
    assert {tag.name for tag in page.find_all()} <= TAGS
    assert {a for tag in page.find_all() for a in tag.attrs} <= ATTRIBUTES


# --- what it says --------------------------------------------------------------------------------


def _bars(page: BeautifulSoup) -> dict[str, int]:
    description = page.find(id="bars-desc")
    if description is None:
        return {}
    return {title: int(n) for title, n in re.findall(r"([A-Z][^:.]*): (\d+)\.", description.text)}


def _check_numbers(result: Result) -> None:
    page = _parsed(result)
    assert _bars(page) == {group["title"]: group["count"] for group in result.actions}
    classes: dict[str, int] = {}
    for found in result.findings:
        classes[found["id"]] = classes.get(found["id"], 0) + 1
    told = {
        h.get_text().split()[1]: int(h.get_text().rpartition(", ")[2].replace(",", ""))
        for h in (e for e in _section(page, "Findings") if e.name == "h3")
    }
    assert told == classes
    attention = [c for c in result.answer["conversations"] if c["action"] != "nothing"]
    words = " ".join(_words(e) for e in _section(page, "What to do")) if result.actions else ""
    for c in attention[:100]:
        assert re.sub(r"\s+", " ", cut_middle(safe(c["conversation_id"]), 120)).strip() in words
    cells = page.select("td")
    assert sum("the whole source" in cell for cell in cells) <= len(result.findings)
    numbers = {d.dt.get_text(): d.dd.get_text() for d in page.select(".numbers div")}
    assert numbers.get("rows read", numbers.get("row read")) == f"{result.measures['rows_read']:,}"


@pytest.mark.parametrize("name", [n for n in NAMES if n != "hostile"])
def test_the_numbers_are_those_of_the_result(name: str) -> None:
    _check_numbers(made(name))


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(ax_logs.sqlite_logs(), "crafted-sqlite", "g3-sqlite", "g8-sqlite"),
)
def test_real_logs_are_told_in_full_and_in_little_room(log: ax_logs.RealLog) -> None:
    result = real(log)
    _check_numbers(result)
    assert len(render_report(result).encode()) < 1_000_000


def test_a_conversation_is_named_with_its_log_where_there_are_several() -> None:
    """Two logs may hold the same conversation, and only one of them a wound."""
    page = _page("several")
    tables = [t for t in page.find_all("table") if t.find("th", string="conversation")]
    assert len(tables) > 5
    for table in tables:
        assert table.th.get_text() == "log"
        assert {row.td.get_text() for row in table.tbody.find_all("tr")} <= {
            "log",
            "log-2",
            "log-3",
        }
    descriptions = page.find(id="lanes-desc")
    assert descriptions is not None
    assert "log-3: open: " in descriptions.get_text()
    assert _page("failed").find("th", string="log") is None


def test_a_healthy_log_is_quiet() -> None:
    page = _page("ok")
    words = _words(page)
    assert "✓ ok" in words
    assert "2 conversations, all finished, every logged call answered." in words
    assert "That proves neither that the log is complete" in words
    assert "No conversation needs attention." in words
    assert "Do not touch" not in words
    assert "Calls to read back" not in words
    assert len(render_report(made("ok"))) < 30_000


def test_what_not_to_touch_stands_before_what_to_do() -> None:
    page = _page("touch not")
    groups = [h.get_text() for e in [_section(page, "What to do")] for h in e if h.name == "h3"]
    assert groups[0].startswith("Do not touch")
    assert "The first request under v0.2.3" in _words(page)
    text = render_report(made("touch not"))
    assert "V0.2" not in text


def test_a_sentence_begins_large_and_a_version_does_not() -> None:
    group = {"action": "name-owner", "title": "Name the owner", "count": 1, "findings": []}
    reasons = ("v0.2.3 does not see the owner", "one row hides the rest", "step 3: it is so")
    groups = tuple({**group, "reason": reason, "conversations": []} for reason in reasons)
    words = _words(_parsed(by_hand(drill="triage", actions=groups)))
    for told in ("v0.2.3 does not", "One row hides", "Step 3: it is so"):
        assert f" {told}" in words


def test_an_empty_log_says_that_it_proves_nothing() -> None:
    words = _words(_page("empty"))
    assert "? inconclusive" in words
    assert words.count("That is no proof that there was none") == 1
    assert "0 rows read = 0 parsed + 0 rejected." in words
    assert "Nothing was found." in words


def test_rejected_rows_are_told() -> None:
    words = _words(_page("failed"))
    assert "1 row could not be read." in words
    assert "+ 1 rejected." in words


def test_a_result_without_parts_says_so() -> None:
    words = _words(_parsed(by_hand()))
    for sentence in ("The result gives no reason.", "No source was read.", "Nothing was found."):
        assert sentence in words
    assert "What to do, and what not to touch" not in words, "that is for a triage"


def test_one_is_told_as_one() -> None:
    result = by_hand(
        why=("a.",) * 6,
        sources=(
            source(read=1, parsed=1, custody={"files": {"a": {"size": 1, "sha256": "0" * 64}}}),
        ),
        findings=(finding(),) * 4,
    )
    words = _words(_parsed(result))
    for wrong in ("1 rows", "1 bytes", "1 findings", "1 errors", "1 sources", "1 files"):
        assert wrong not in words
    assert "1 row read = 1 parsed + 0 rejected." in words
    assert "a, 1 byte" in words


@pytest.mark.parametrize("name", ["ok", "inconclusive", "empty", "touch not"])
def test_sentences_do_not_flatter(name: str) -> None:
    words = _words(_page(name)).replace("!=", "")
    assert re.findall(r"successful\w*|please|unfortunately|!", words, re.IGNORECASE) == []


def test_a_witness_is_named_by_step_and_keyed_digest() -> None:
    result = made("failed")
    words = _words(_page("failed"))
    found = next(f for f in result.findings if f["id"] == "AX110")
    witness = found["witness"][0]
    assert f"{witness['step']} {witness['digest'][:12]}" in words


# --- where something is cut ----------------------------------------------------------------------


def test_whatever_is_cut_is_counted() -> None:
    conversation = {
        "source": "log",
        "conversation_id": "c",
        "last_step": 1,
        "standing": "s",
        "advice": "a.",
        "findings": [],
    }
    group = {"title": "Resume", "reason": "r", "findings": [], "action": "resume"}
    call = {
        "tool": "t",
        "operation_id": None,
        "source": "log",
        "conversation_id": "c",
        "step": None,
        "known": "no result logged",
    }
    lane = {"source": "log", "conversation_id": "c", "action": "resume", "total": 0, "marks": []}
    witness = [{"step": n, "digest": None} for n in range(7)]
    files = {f"f{n}": {"size": 1, "sha256": "0" * 64} for n in range(65)}
    result = by_hand(
        drill="triage",
        examined=("e.",) * 45,
        why=("w.",) * 50,
        scope=("s.",) * 47,
        measures={"need_attention": 1234},
        actions=({**group, "count": 999, "conversations": [conversation] * 400},),
        unresolved={"count": 777, "calls": [call]},
        findings=tuple(finding(1, witness=witness) for _ in range(888)),
        lanes=(lane,) * 24,
        sources=(source(notes=["n."] * 33, custody={"files": files}),) * 41,
    )
    words = _words(_parsed(result))
    for told in (
        "30 of 45 sentences are shown",
        "30 of 45 more sentences are shown",
        "30 of 47 sentences are shown",
        "200 of 999 conversations are shown",
        "1 of 777 calls is shown",
        "203 of 888 findings are shown",
        "Show 203 of 888",
        "24 of 1,234 conversations are shown",
        "10 of 33 remarks are shown",
        "20 of 41 sources are shown",
        "… 3 more",
    ):
        assert told in words, told
    assert "more files are not in this command" in words


# --- how to check --------------------------------------------------------------------------------


def _command(page: BeautifulSoup, label: str) -> str:
    (found,) = page.find_all("pre", attrs={"aria-label": label})
    return str(found.get_text())


def test_the_printed_commands_check_the_report(
    axnb: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed where the log lies they print the digests, and give the same answer."""
    folder = tmp_path / "evidence"
    folder.mkdir()
    log = LogBuilder("G8")
    log.turn("-c d'", "hi", say("a"))
    log.interrupted("e", "hi")
    log.write_sqlite(folder / "-a log's.sqlite", pragmas=["journal_mode = wal"])
    client = folder / "out put.jsonl"
    client.write_text('{"conversation":"e","number":0,"kind":"text"}\n')
    (folder / "of tools.toml").write_text("[tools.x]\nconsequential = false\n")
    options = ["--conversation=e", "--conversation=-c d'", "--harness", "a b=accepts"]
    options += [
        "--expect-last",
        "e=9",
        "--ax-version",
        "G8",
        "--settings",
        folder / "of tools.toml",
    ]
    done = axnb("triage", folder / "-a log's.sqlite", "--client", client, *options, "--out", "out")
    assert done.exit_code == 1
    page = BeautifulSoup(Path("out/report.html").read_text("utf-8"), "html.parser")
    result = Result.read(Path("out"))

    printed = subprocess.run(
        _command(page, "Command that checks the evidence"),
        shell=True,
        cwd=folder,
        capture_output=True,
        check=True,
    ).stdout.decode()
    digests = {
        name: found["sha256"]
        for s in result.sources
        for name, found in s["custody"]["files"].items()
    }
    assert len(digests) == 2
    assert {line[66:]: line[:64] for line in printed.splitlines()} == digests
    shown = {e.get_text() for e in page.find_all(class_="id")}
    assert {f"sha256 {digest}" for digest in digests.values()} <= shown

    if shutil.which("python3"):
        computed = subprocess.run(
            _command(page, "Command that checks the result"),
            shell=True,
            cwd="out",
            capture_output=True,
            check=True,
        )
        assert computed.stdout.decode().strip() in _words(page)

    name, *words = shlex.split(_command(page, "Command that answers again"))
    assert name == "axnb"
    monkeypatch.chdir(folder)
    assert json.loads(axnb_in(folder, axnb, words)) == result.answer


def axnb_in(folder: Path, axnb: Cli, words: list[str]) -> str:
    """What the command line says in a folder."""
    from click.testing import CliRunner

    from axnb.cli import main

    assert Path.cwd() == folder
    return CliRunner().invoke(main, words).stdout


def test_twelve_logs_are_asked_again_in_their_order() -> None:
    answer = pairs.triage_of(healthy())
    names = ["log", *(f"log-{n}" for n in range(2, 13))]
    # As the case gives them: by the letters of their names.
    sources = tuple(
        replace(answer.sources[0], name=name, locator=f"/somewhere/{name}.sqlite")
        for name in sorted(names)
    )
    again = Commands(replace(answer, sources=sources)).again((), (), "")
    assert again == ["axnb", "triage", *(f"{name}.sqlite" for name in names), "--json"]


@pytest.mark.parametrize("case", ["two of one name", "one that cannot be read", "a hidden letter"])
def test_no_command_is_printed_that_would_answer_something_else(case: str, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        healthy().write_sqlite(tmp_path / folder / "log.sqlite")
    hidden = healthy().write_sqlite(tmp_path / "a\u200b.sqlite")
    result = {
        "two of one name": lambda: result_of(
            tmp_path / "a" / "log.sqlite", tmp_path / "b" / "log.sqlite"
        ),
        "one that cannot be read": lambda: result_of(
            tmp_path / "a" / "log.sqlite", clients=[tmp_path / "gone"]
        ),
        "a hidden letter": lambda: result_of(hidden),
    }[case]()
    page = _parsed(result)
    assert page.find_all(attrs={"aria-label": "Command that answers again"}) == []
    assert "No single command gives this answer again" in _words(page)
    if case == "a hidden letter":
        assert page.find_all(attrs={"aria-label": "Command that checks the evidence"}) == []
        assert "1 more file is not in this command" in _words(page)


def test_a_live_backup_is_not_said_to_be_checkable(axnb: Cli, tmp_path: Path) -> None:
    healthy().write_sqlite(tmp_path / "log.sqlite")
    axnb("triage", "log.sqlite", "--live", "--out", "out")
    page = BeautifulSoup(Path("out/report.html").read_text("utf-8"), "html.parser")
    assert page.find_all(attrs={"aria-label": "Command that checks the evidence"}) == []
    assert "cannot be computed again" in _words(page)
    assert "--live" in _command(page, "Command that answers again")


CUSTODY = {
    "mode": "repeatable read, read only",
    "system_identifier": "7434343434343434343",
    "server_version": "18.1",
    "database": "ax",
    "schema": "public",
    "snapshot": "751:751:",
    "lsn": "0/1A2B3C4",
    "standby": False,
}


def test_a_database_has_no_digest_and_the_report_says_so() -> None:
    page = _parsed(by_hand(sources=(source(custody=CUSTODY),)))
    words = _words(page)
    assert page.find_all(attrs={"aria-label": "Command that checks the evidence"}) == []
    assert "pg_control_system" in _command(page, "Command that checks the server")
    assert "A database has no digest" in words
    assert "It was read in one repeatable-read, read-only transaction." in words
    for value in ("7434343434343434343", "0/1A2B3C4", "751:751:", "false"):
        assert value in words
    hidden = _parsed(by_hand(sources=(source(custody={**CUSTODY, "system_identifier": None}),)))
    assert hidden.find_all(attrs={"aria-label": "Command that checks the server"}) == []
    assert "A database has no digest" in _words(hidden)


def test_a_real_database_is_told(
    postgres: PostgresServer, axnb: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = postgres.create_database()
    healthy().write_postgres(dsn)
    monkeypatch.setenv("AX_EVENTLOG_DSN", dsn)
    assert axnb("triage", "--out", "out").exit_code == 0
    result = Result.read(Path("out"))
    texts = [path.read_text("utf-8") for path in Path("out").iterdir()]
    assert [text for text in texts if postgres.password in text] == []
    page = BeautifulSoup(Path("out/report.html").read_text("utf-8"), "html.parser")
    (locator,) = result.run["locators"]
    assert locator.startswith("postgresql://")
    assert locator in shlex.split(_command(page, "Command that answers again"))
    assert result.sources[0]["custody"]["system_identifier"] in _words(page)
    jsonless = {k: v for k, v in result.as_dict().items() if k != "run"}
    assert locator not in json.dumps(jsonless), "where it lies is told in the run alone"


# --- the run -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["failed", "ok", "empty"])
def test_only_elements_that_say_so_depend_on_the_run(name: str) -> None:
    pages = []
    for run in (RUN, OTHER_RUN):
        parts = {k: v for k, v in vars(made(name)).items() if not k.startswith("_")}
        text = render_report(Result(**{**parts, "run": run}))
        page = BeautifulSoup(text, "html.parser")
        marked = page.find_all(id=re.compile("^run"))
        assert [element["id"] for element in marked] == ["run", "run-again"]
        for element in marked:
            element.decompose()
        pages.append(str(page))
    assert pages[0] == pages[1]
    digests = {hashlib.sha256(page.encode()).hexdigest() for page in pages}
    assert len(digests) == 1
