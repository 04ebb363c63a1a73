"""Opening anew: what a person chose takes the place of what was open, or nothing changes."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from axnb.case.case import Case
from axnb.errors import AxnbError, CaseError
from axnb.notebook.workspace import TriageWorkspace, open_triage
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.lab.desks import control, desk_of, every, opened, told, views, widget_of


def _log(name: str = "cut") -> LogBuilder:
    log = LogBuilder("G6")
    log.interrupted(name, "hi", call("pay", {"n": 1}))
    log.turn("fine", "hi", call("pay", {"n": 1}), answer({"ok": True}), say("done"))
    return log


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process holds a case file."""
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate("\n")


class Notebook:
    """All views of a workspace, as a person has them."""

    def __init__(self, work: TriageWorkspace) -> None:
        self.work = work
        self.views = views(work)
        self.widgets = [widget_of(view) for view in self.views]
        self.choice = self.widgets[0]

    def load(self, **given: Any) -> str:
        """Fill the fields, press the button, wait; what is said beside it."""
        for label, value in given.items():
            control(self.choice, label.replace("_", " ")).value = value
        control(self.choice, "Load and triage").click()
        self.work.choice().task.wait()
        return told(self.choice.children[1])

    def shown(self) -> list[str]:
        """What every widget says, apart from how the last load went."""
        return [told(self.choice.children[2]), *map(told, self.widgets[1:])]


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Notebook:
    """A notebook for what changes nothing."""
    folder = tmp_path_factory.mktemp("unchanged")
    return Notebook(opened(folder, _log(), out=str(folder / "out")))


@pytest.fixture
def notebook(tmp_path: Path) -> Notebook:
    """A notebook with a private case and a result folder."""
    return Notebook(opened(tmp_path, _log(), out=str(tmp_path / "out")))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"Source": "nothing.sqlite"}, "nothing.sqlite does not exist"),
        ({"Source": "postgresql://me:hunter2@127.0.0.1/db"}, "holds a password"),
        ({"Source": __file__}, "test_opening.py"),
        ({"Harnesses": "=accepts"}, "harness"),
        ({"Beside_it": "client="}, "beside"),
        ({"Beside_it": "expect-last=3"}, "expect"),
        ({"Conversation": "nobody"}, "no source has a conversation 'nobody'"),
        ({"Conversation": "\ud800"}, "UTF-8"),
    ],
)
def test_what_cannot_be_opened_leaves_all_as_it_was(
    given: dict[str, Any], sentence: str, unchanged: Notebook
) -> None:
    notebook, fields = unchanged, ("Source", "Harnesses", "Beside it", "Conversation")
    valid = {label: control(notebook.choice, label).value for label in fields}
    before, case, chosen = notebook.shown(), notebook.work.case, dict(notebook.work._chosen)
    said = notebook.load(**given)
    for label, value in valid.items():
        control(notebook.choice, label).value = value
    assert said.startswith("✗")
    assert sentence in said
    assert "hunter2" not in said
    assert notebook.shown() == before
    assert notebook.work.case is case
    assert notebook.work._chosen == chosen
    assert case.rows("select count(*) from sources") == [(1,)]


def test_another_source_takes_its_place(notebook: Notebook, tmp_path: Path) -> None:
    old = notebook.work.case
    other = _log("other").write_sqlite(tmp_path / "other.sqlite")
    assert notebook.load(Source=str(other)) == f"The result is in {tmp_path / 'out'}."
    assert all("cut" not in shown for shown in notebook.shown())
    assert "other.sqlite" in notebook.shown()[0]
    result = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
    assert [c["conversation_id"] for c in result["answer"]["conversations"]] == ["fine", "other"]
    with pytest.raises(CaseError, match="the case was closed"):
        old.rows("select 1")
    assert dict(zip(*notebook.work.choice().frame.to_dict("list").values(), strict=True))[
        "source"
    ] == str(other)


def test_nobody_holds_the_old_case(notebook: Notebook) -> None:
    tables = notebook.work.tables()
    assert tables.query is not None
    control(tables.query.box, "Run").click()
    tables.query.task.wait()
    old = [ref(found) for found in (notebook.work.case, notebook.work.triage, notebook.work.result)]
    spill = notebook.work.case._spill
    assert not notebook.load(AX_version="G8").startswith("✗")
    gc.collect()
    assert [found() for found in old] == [None, None, None]
    assert not spill.exists()


def test_another_version_is_asked(notebook: Notebook) -> None:
    notebook.load(AX_version="G8")
    assert notebook.work.triage.target.generation.name == "G8"
    assert "Do not touch" in notebook.shown()[2]
    notebook.load(AX_version="")
    assert notebook.work.triage.target.generation.name == "G6"


def test_a_result_that_cannot_be_written_leaves_all_as_it_was(
    unchanged: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = unchanged
    before, case = notebook.shown(), notebook.work.case
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setitem(notebook.work._chosen, "out", str(tmp_path / "file" / "out"))
    assert notebook.load().startswith("✗")
    assert notebook.shown() == before
    assert notebook.work.case is case


def test_what_nobody_changed_is_taken_as_it_was_chosen(tmp_path: Path) -> None:
    beside = _log("other").write_sqlite(tmp_path / "a, b.sqlite")
    source = _log().write_sqlite(tmp_path / "log.sqlite")
    notebook = Notebook(open_triage(str(source), beside=[str(beside)]))
    assert notebook.load(AX_version="G8") == (
        "Nothing was written: the parameter out names no folder."
    )
    assert len(notebook.work.triage.sources) == 2


def test_a_case_closes_after_its_last_session() -> None:
    case = Case(settings=Settings())
    with case.reading() as session:
        case.close()
        assert session.execute("select count(*) from sources").fetchall() == [(0,)]
        with pytest.raises(CaseError, match="was closed"):
            case.rows("select 1")
    assert case._private is not None
    with pytest.raises(Exception, match=r"[Cc]losed"):
        case._private.execute("select 1")


def test_a_query_on_the_old_case_is_not_shown_for_the_new_one(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query ends after another case was opened."""
    from axnb.lab import query

    box = notebook.work.tables().query
    assert box is not None
    box._text.value = "select 'old answer' as a"
    desk = desk_of(notebook.work)

    class Late(query.Queries):
        def __iter__(self) -> Iterator[Any]:
            yield from super().__iter__()
            other = open_triage(notebook.work._chosen["source"])
            desk.replace(other.case, other.triage, other.result())

    monkeypatch.setattr(query, "Queries", Late)
    control(box.box, "Run").click()
    box.task.wait()
    assert "another case was opened meanwhile" in told(box.box)
    assert "old answer" not in told(box.box)
    assert box.frame.empty


# --- case files ----------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Notebook:
    """A notebook on a case file."""
    return Notebook(opened(tmp_path, _log(), case=str(tmp_path / "case.duckdb")))


def test_a_case_file_is_reused(kept: Notebook) -> None:
    assert not kept.load(Source="").startswith("✗")
    assert "fine" in kept.work.case.frame("select conversation_id from conversations").to_string()


def test_a_held_case_file_is_one_sentence_in_every_view(kept: Notebook) -> None:
    path = kept.work.case.path
    assert path is not None
    _, _, conversations, timeline, _, tables = kept.widgets
    before = kept.shown()
    query = kept.work.tables().query
    compared = kept.work.tables().compared
    assert query is not None
    assert compared is not None
    with held(path):
        said = kept.load(AX_version="G8")
        assert f"✗ {path} is held by process " in said
        assert kept.shown() == before
        assert kept.work.triage.target.generation.name == "G6"
        control(conversations, "What to do").value = "all"
        control(conversations, "Show below").value = ("log", "fine")
        control(timeline, "Rows").value = 2_000
        control(tables, "Kind").value = "text"
        control(query.box, "Run").click()
        query.task.wait()
        control(compared.box, "First").value = ("log", "fine")
        control(compared.box, "Second").value = ("log", "cut")
        control(compared.box, "Compare", "Button").click()
        compared.task.wait()
        for widget, times in ((timeline, 1), (tables, 3)):
            assert told(widget).count("is held by process") == times
            assert "Traceback" not in told(widget)
        with pytest.raises(AxnbError, match="is held by process"):
            kept.work.timeline()._repr_mimebundle_()
    control(tables, "Kind").value = ""
    assert "is held" not in told(kept.widgets[5].children[1])
    kept.views[3]._refresh()
    assert "fine log, G6" in told(timeline)
    # What a person chooses is asked for again.
    assert not kept.load().startswith("✗")
    assert kept.work.triage.target.generation.name == "G8"


def test_a_case_file_in_use_by_a_view_is_one_sentence(kept: Notebook) -> None:
    before = kept.shown()
    with kept.work.case.reading():
        assert "is in use in this process" in kept.load(AX_version="G8")
    assert kept.shown() == before


def test_every_callback_says_what_went_wrong(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that escapes a callback is seen by nobody."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("a payload")

    monkeypatch.setattr("axnb.case.case.Case.reading", fail)
    for widget in notebook.widgets[1:]:
        for one in list(every(widget)):
            if type(one).__name__ == "Dropdown" and len(one.options) > 1:
                one.index = 1 - (one.index or 0)
            elif type(one).__name__ == "Text":
                one.value = "1"
            elif type(one).__name__ == "Button" and not one.disabled:
                one.click()
    for box in (notebook.work.tables().compared, notebook.work.tables().query):
        assert box is not None
        box.task.wait()
    said = told(notebook.widgets[3]) + told(notebook.widgets[5])
    assert "could not go on (ValueError); this is a fault of axnb." in said
    assert "a payload" not in said


@pytest.mark.parametrize("given", [{"Harnesses": "=accepts"}, {"Beside_it": "expect-last=3"}])
def test_what_makes_no_sense_is_refused_before_a_case_file_changes(
    given: dict[str, Any], kept: Notebook
) -> None:
    path = kept.work.case.path
    assert path is not None
    before = path.read_bytes()
    assert kept.load(**given).startswith("✗")
    assert path.read_bytes() == before
