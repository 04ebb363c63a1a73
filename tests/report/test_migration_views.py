"""The views of a migration drill: its matrix, its losses, the way back, and the plan."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from axnb.errors import SourceError
from axnb.report.drill_text import render_drill
from axnb.report.folder import VIEWS
from axnb.report.html import render_report
from axnb.report.junit import render_junit
from axnb.report.markdown import render_markdown
from axnb.report.matrix_charts import BOX, matrix_picture
from axnb.report.matrix_view import MOST_ROWS, SIGNS, matrix_view
from axnb.report.migration_view import MOST_DAMAGES, migration_view
from axnb.report.rehearsal_text import step_line
from axnb.report.rehearsal_words import evidence_lines
from axnb.report.terminal import WIDTH
from axnb.result import Result, to_json
from axnb.text import columns, is_hidden
from tests.report.made import MARKUP
from tests.report.made_drill import drill_result
from tests.report.made_migration import (
    BROKEN,
    CUT,
    LOST,
    MATRIX,
    PLAN,
    WELL,
    answer,
    cell,
    damage,
    migration_drill,
    no_copy,
    row,
    whole_migration,
)

MADE: dict[str, Callable[[], Result]] = {
    "failed": migration_drill,
    "whole": whole_migration,
    "no copy": no_copy,
}
SECTIONS = (
    "What v0.2.3 (G8) would do with the log as it is",
    "What the migration does",
    "Does it work there?",
    "Can one go back?",
    "The plan",
)


def _page(result: Result) -> BeautifulSoup:
    return BeautifulSoup(render_report(result), "html.parser")


def _words(page: Any) -> str:
    return re.sub(r"\s+", " ", page.get_text(" "))


def _table(page: BeautifulSoup, label: str) -> list[list[str]]:
    region = page.find("div", attrs={"aria-label": label})
    assert region is not None, label
    rows = region.select("tbody tr")
    return [[c.get_text(" ", strip=True) for c in row("td")] for row in rows]


# --- the matrix ----------------------------------------------------------------------------------


def test_the_matrix_has_the_log_first_and_specimens_last() -> None:
    looked = matrix_view(migration_drill())
    assert looked is not None
    assert [(row.group, row.name) for row in looked.rows] == [
        *(("whole", "as it is"), ("whole", "migrated"), ("log", "G5, G6"), ("specimen", "G3")),
    ]
    assert [v.name for v in looked.versions if v.is_target] == ["G8"]
    as_it_is, migrated, *_, specimen = looked.rows
    assert [c.kind for c in as_it_is.cells] == [*["fails"] * 4, "works", "loses", "loses"]
    assert [c.short for c in as_it_is.cells[-2:]] == ["4 of 90", "9 of 9"]
    assert [c.short for c in migrated.cells[-2:]] == ["3 owners", "works"]
    assert [c.kind for c in specimen.cells[:3]] == ["works", "differs", "fails"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (cell(works=1), "1 works"),
        (cell(works=3), "all 3 work"),
        (cell(works=2, differs=1), "all 2 work, 1 answers a request otherwise"),
        (
            cell(works=1, loses=1, contents=4, contents_lost=1),
            "1 loses in silence (1 of 4 contents)",
        ),
        (cell(loses=2, owners_lost=2), "all 2 lose in silence (2 owners)"),
        (cell(fails=2, how={"harness-changed": 1, "unreadable": 1}), "it refuses the owner; a row"),
        (cell(unknown=1, outcome="unknown"), "of 1 it is not known"),
        (cell(), "no conversation"),
    ],
)
def test_a_cell_in_words(told: dict[str, Any], words: str) -> None:
    looked = matrix_view(migration_drill(answer=answer(matrix=[row("G3", "log", 3, G3=told)])))
    assert looked is not None
    (found,) = looked.of("log")
    assert words in found.cells[0].words


def test_shapes_and_words_tell_the_kinds_without_colour() -> None:
    page = _page(migration_drill())
    picture = page.select_one("svg.compatibility")
    assert picture is not None
    groups = picture.select("g")
    assert len(groups) == 4 * 7
    shapes = {
        "works": "path.tick",
        "differs": "rect.differs",
        "loses": "rect.loses",
        "fails": "rect.fail",
    }
    looked = matrix_view(migration_drill())
    assert looked is not None
    cells = [c for row in looked.rows for c in row.cells]
    for drawn, told in zip(groups, cells, strict=True):
        assert drawn.title.get_text() == f"{told.version}: {told.words}"
        assert drawn.select_one(shapes[told.kind]) is not None
        assert drawn.find("text").get_text() == told.short
    assert [t.get_text() for t in picture.select("text") if "target" in t.get_text()] == [
        "G8 target"
    ]
    assert picture.select_one("rect.target") is not None
    rows = _table(page, "The compatibility matrix in words")
    assert [row[1:] for row in rows] == [
        [f"{c.sign} {c.words}" for c in row.cells] for row in looked.rows
    ]


def test_how_much_is_lost_is_seen() -> None:
    looked = matrix_view(migration_drill())
    assert looked is not None
    drawn = {d.words: d for d in matrix_picture(looked).cells if d.kind == "loses"}
    heights = {words.partition("(")[2]: d.height for words, d in drawn.items()}
    assert heights["9 of 9 contents, 2 owners)"] == BOX
    assert 0 < heights["4 of 90 contents)"] < BOX / 3
    assert 0 < heights["3 owners)"] < BOX / 3, "an owner is something, too"
    for one in drawn.values():
        for x, y in re.findall(r"([\d.]+) ([\d.]+)", one.strokes):
            assert abs(float(x) - one.x) <= BOX / 2 + 0.1
            assert one.top - 0.1 <= float(y) <= one.top + one.height + 0.1


def test_nearly_all_is_not_all() -> None:
    told = cell(loses=2, contents=100_000, contents_lost=99_999)
    made = answer(log=[row("as-it-is", "log", 2, G8=told)])
    looked = matrix_view(migration_drill(answer=made))
    assert looked is not None
    assert matrix_picture(looked).cells[6].height < BOX
    assert "◐ 99 %" in render_drill(migration_drill(answer=made))


def test_rows_that_are_cut_are_counted() -> None:
    many = [row(f"G{n}", "log", 1) for n in range(MOST_ROWS + 3)]
    page = _page(migration_drill(answer=answer(matrix=many)))
    assert f"{MOST_ROWS} of {MOST_ROWS + 5} rows are shown" in _words(page)


# --- the report ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_sections_come_in_the_order_of_need(name: str) -> None:
    page = _page(MADE[name]())
    heads = [head.get_text(" ", strip=True) for head in page.find_all("h2")]
    assert [head for head in heads if head in SECTIONS] == [*SECTIONS]
    assert heads.index("Why") < heads.index(SECTIONS[0])
    levels = [int(h.name[1]) for h in page.find_all(re.compile("^h[1-6]$"))]
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []
    for table in page.find_all("table"):
        width = len(table.find_all("th"))
        assert {len(row.find_all("td")) for row in table.tbody.find_all("tr")} <= {width}
        assert table.find_parent(attrs={"role": "region", "aria-label": True, "tabindex": "0"})
    tables = page.select("table.judged")
    assert [t.find_parent("div")["aria-label"].split()[-1] for t in tables] == [
        "matrix",
        "copy",
        "serve",
        "rollback",
        "plan",
    ]
    assert page.find("pre", attrs={"aria-label": "The plan"}).get_text() == PLAN.rstrip()


def test_what_the_migration_does() -> None:
    page = _page(migration_drill())
    words = _words(page)
    for told in (
        "20 rows read, 20 written: 18 in the words of G8, 2 with the same text.",
        "1 conversation whose rows name no owner: antigravity is named.",
        "1 row told another number than the key, which counts.",
        "4 rows of execution_log, copied as they are",
        "the table notes is not carried.",
    ):
        assert told in words
    assert _table(page, "Losses by path") == [
        ["session_id", "7", "✗ no"],
        ["messages[].role", "2", "yes"],
    ]
    assert _table(page, "Rows that stay as they are") == [
        [BROKEN, "2", "Ends too early: at character 53"]
    ]
    assert "Nothing is lost: v0.2.3 (G8) has a place" in _words(_page(whole_migration()))
    assert "There is no copy: the disk is full." in _words(_page(no_copy()))
    assert "Nothing is lost" not in _words(_page(no_copy()))


def test_each_conversation_as_it_is_and_migrated_the_worst_first() -> None:
    rows = {
        row[0]: row[1:]
        for row in _table(_page(migration_drill()), "Conversations under the target")
    }
    assert [*rows] == [CUT, LOST, BROKEN]
    assert rows[LOST][2:] == [
        "◐ loses 7 of 7 contents, its owner nothing; a new turn",
        "✓ works nothing; a new turn",
        "unmigrated: other-words, owner-rebound",
    ]
    assert rows[CUT][2] == "✗ fails: no such column foretold: nothing; a new turn"
    assert rows[CUT][4] == "migrated: closed-unrun unmigrated: owner-rebound"
    assert rows[BROKEN][2].startswith("– unreadable as it was")
    assert WELL not in rows, "what is well is not listed"


def test_the_way_there_and_back() -> None:
    page = _page(migration_drill())
    ((name, *stages),) = _table(page, "Interrupted conversations there and back")
    assert name == CUT
    assert stages[0] == "▸ interrupted at step 3, drill"
    assert stages[2] == "■ finished at step 5, drill the turn goes on; a new turn"
    words = _words(page)
    with_one = words.index("With a migration there and back .")
    without = words.index("Without a migration: the file is opened")
    assert with_one < words.index("closed-unrun, in 1 conversation: an interrupted") < without
    assert without < words.index("owner-rebound, in 2 conversations: bound to another owner")
    calm = _words(_page(whole_migration()))
    assert "With a migration there and back : nothing that was seen." in calm
    assert "was not rehearsed; the checks below say why" in _words(_page(no_copy()))


def test_damage_that_is_cut_is_counted() -> None:
    many = [damage(f"c{n}", "unmigrated", "other-words", n) for n in range(MOST_DAMAGES + 4)]
    looked = migration_view(migration_drill(answer=answer(damage=many)))
    assert looked is not None
    (_, way) = looked.rollbacks
    assert (way.kinds[0].conversations, way.kinds[0].more) == (MOST_DAMAGES + 4, 4)


def test_traces_of_an_earlier_change_are_told_and_not_counted() -> None:
    page = _page(migration_drill())
    ((name, done, shown),) = _table(page, "Traces of an earlier change of version")
    assert (name, shown) == (LOST, "2 contents in messages.")
    assert "no version reads both" in done
    assert "It was there before the drill" in _words(page)


def test_the_reader_sees_few_numbers_first() -> None:
    measures = {name: n for n, name in enumerate(("conversations", "asked", "ok", "loss_paths"))}
    page = _page(migration_drill(measures=measures))
    shown = [of.dt.get_text() for of in page.select("dl.numbers > div")]
    assert shown == ["conversations", "paths without a place"]


# --- the other views -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_a_terminal_shows_the_matrix_and_what_comes_next(name: str) -> None:
    text = render_drill(MADE[name]())
    assert [line for line in text.splitlines() if columns(line) > WIDTH] == []
    assert "G8 ◂" in text
    assert "◐ 9/9" in text
    assert "Next:  axnb migrate log.sqlite migrated.sqlite --to=G8" in text
    assert "axnb explain AX141" in text
    if name == "failed":
        assert "--default-harness=drill '--accept-loss=messages[].role' --dry-run" in (
            " ".join(text.replace("\\\n", " ").split())
        )
        assert "messages[].role (2), accepted" in text
        assert text.count("session_id (7)") == 1, "what was observed is not said again"
    if name == "whole":
        assert "--dry-run" not in text
        assert len(text.splitlines()) < 20, "quiet when all is well"


def test_colour_is_a_second_voice() -> None:
    plain = render_drill(migration_drill())
    coloured = render_drill(migration_drill(), colour=True)
    assert "\x1b[31m◐\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]+m", "", coloured) == plain


def test_a_log_in_a_database_is_named_by_its_variable() -> None:
    run = {**migration_drill().run, "again": "axnb drill migration AX_EVENTLOG_DSN --to=G8"}
    text = render_drill(migration_drill(run=run))
    assert "axnb migrate AX_EVENTLOG_DSN AX_MIGRATED_DSN --to=G8" in text
    nameless = render_drill(migration_drill(run={**run, "again": ""}))
    assert "axnb migrate" not in nameless


def test_progress_is_one_line_a_check() -> None:
    told = step_line("copy", "rows", {"verdict": "ok", "observed": "5 rows\x1b[31m " + "x" * 200})
    assert told.startswith("copy rows                   ✓ ok           5 rows")
    assert columns(told) == WIDTH
    assert not any(is_hidden(c) for c in told)


def test_markdown_tells_the_log_under_every_version() -> None:
    text = render_markdown(migration_drill())
    assert "| **G8**, the target | ◐ all 3 lose in silence (9 of 9 contents, 2 owners) | " in text
    assert "- v0.2.3 (G8) has no place for:" in text
    assert "`session_id`: 7 times, not accepted" in text


def test_other_results_have_no_matrix() -> None:
    assert matrix_view(drill_result()) is None
    assert migration_view(drill_result()) is None


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        ({"conversation_id": "c", "what": "a number is lost"}, "c: a number is lost"),
        ({"conversation_id": "", "what": "2 requests"}, "(empty): 2 requests"),
        (
            {"conversation_id": "c", "step": 3, "what": "value", "listed": ["a.b"]},
            "c step 3: value; listed a.b",
        ),
        ({"conversation_id": "c", "does": None, "foretold": "x"}, "c: does ; foretold x"),
        ({"conversation_id": "c", "step": 1, "reason": "too deep"}, "c step 1: too deep"),
        ({"path": "a.b", "times": 1, "accepted": True}, "a.b (1), accepted"),
    ],
)
def test_evidence_is_told_in_words(evidence: dict[str, Any], told: str) -> None:
    assert evidence_lines([evidence], 3) == (told,)


# --- strangers, and other programs ---------------------------------------------------------------


def _hostile(text: str) -> Result:
    """A migration drill in which every text that can be a stranger's is one."""
    made = copy.deepcopy(answer())
    for one in (*made["conversations"], *made["rollback"], *made["damage"], *made["history"]):
        one["conversation_id"] = text
    for one in made["conversations"]:
        one |= {"owner": text, "owner_after": text}
        one["before"] |= {"how": text, "does": {"empty": text, "input": text}, "server": None}
    for one in (*made["damage"], *made["history"]):
        one["sentence"] = text
    for one in made["rollback"]:
        for stage in one["stages"]:
            stage["owner"] = text
        for asked in one["asked"]:
            asked |= {"empty": text, "input": text}
    left = [{"conversation_id": text, "step": text, "reason": text}]
    made["migration"] |= {"losses": {text: 1}, "owners": {text: 1}, "notes": [text]}
    made["migration"] |= {"as_it_is_first": left}
    made["matrix"] = [{**MATRIX[0], "rows": text}]
    shown = [{"conversation_id": text, "what": text}, {"path": text, "times": 1}]
    steps = [
        {**step, "observed": text, "expected": text, "evidence": shown}
        for step in migration_drill().steps
    ]
    return migration_drill(answer=made, plan=text, steps=tuple(steps))


@pytest.mark.parametrize("text", [*MARKUP, "\x00", "\ud800", "{{ 7*7 }}", "]]>", "x" * 100_000])
def test_no_text_comes_to_life(text: str) -> None:
    result = _hostile(text)
    page = _page(result)
    assert {t.name for t in page.find_all(True)} == {t.name for t in _page(migration_drill())(True)}
    assert page.find_all(re.compile("^(script|img|a|iframe)$")) == []
    assert [
        name for tag in page.find_all(True) for name in tag.attrs if name.startswith("on")
    ] == []
    shown = render_drill(result)
    assert [c for c in shown if is_hidden(c) and c != "\n"] == []
    render_markdown(result)
    render_junit(result)
    assert len(render_report(result)) < 1_000_000


def test_every_sign_is_another() -> None:
    assert len({*SIGNS.values()}) == len(SIGNS)


@pytest.mark.parametrize("name", MADE)
def test_a_result_is_read_again_as_it_was(name: str, tmp_path: Path) -> None:
    made = MADE[name]()
    (tmp_path / "result.json").write_text(to_json(made.as_dict()), "utf-8")
    read = Result.read(tmp_path)
    assert read == made
    for render in VIEWS.values():
        assert render(read) == render(made)


#: What the views rely on: a place in the answer -> a value that is refused there.
WRONG: dict[str, tuple[list[Any], Any]] = {
    "no target": (["target"], None),
    "a cell without a number": (["matrix", 0, "versions", "G8", "works"], "3"),
    "a version is missing": (["log", 0, "versions", "G3"], ...),
    "rows of nowhere": (["matrix", 0, "from"], "elsewhere"),
    "losses without a number": (["migration", "losses"], {"a": "b"}),
    "rows without an end": (["migration", "as_it_is"], ...),
    "nothing of what it does": (["conversations", 0, "before", "does"], ...),
    "a server without an answer": (["conversations", 0, "before", "server"], {"empty": {}}),
    "an outcome of no kind": (["conversations", 0, "outcome"], "fine"),
    "a stage without a state": (["rollback", 0, "stages", 0, "state"], ...),
    "a server of no side": (["rollback", 0, "asked", 0, "server"], "third"),
    "damage of no way": (["damage", 0, "way"], "sideways"),
    "a trace without a sentence": (["history", 0, "sentence"], ...),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_view_can_show_is_refused(name: str, tmp_path: Path) -> None:
    path, value = WRONG[name]
    whole = json.loads(to_json(migration_drill().as_dict()))
    *places, last = path
    at = whole["answer"]
    for place in places:
        at = at[place]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    (tmp_path / "result.json").write_text(json.dumps(whole), "utf-8")
    with pytest.raises(SourceError):
        Result.read(tmp_path)
