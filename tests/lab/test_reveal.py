"""Payloads: hidden until a person asks, on record before they are shown, and the right ones."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axnb.ax.rows import STATES, Part, Row
from axnb.errors import CaseError
from axnb.lab import timeline as timeline_module
from axnb.notebook.workspace import TriageWorkspace
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, decide, say, think
from tests.lab.desks import control, desk_of, opened, told, widget_of
from tests.lab.test_opening import held

SECRET = "s3cret-5f0c"


def _log() -> LogBuilder:
    log = LogBuilder("G8")
    log.interrupted("one", SECRET, say(""), call("pay", {"key": SECRET}), decide("approved"))
    log.rows += [
        StoredRow("one", 10, f"no json {SECRET}"),
        StoredRow("one", 11, b"\xff" + SECRET.encode()),
    ]
    log.turn("long", "é" * 3000)
    return log


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> TriageWorkspace:
    """A private case."""
    return opened(tmp_path_factory.mktemp("reveal"), _log())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> TriageWorkspace:
    """A case file."""
    folder = tmp_path_factory.mktemp("kept")
    return opened(folder, _log(), case=str(folder / "case.duckdb"))


@pytest.fixture
def kept(shared: TriageWorkspace) -> TriageWorkspace:
    """A case file in which nothing is on record."""
    with shared.case.writing() as session:
        session.execute("delete from reveals")
    return shared


def _reveals(work: TriageWorkspace) -> list[Any]:
    return work.case.rows("select source, conversation_id, parts from reveals")


def _choose(widget: Any, words: str) -> None:
    box = control(widget, "Payload")
    box.value = next(key for label, key in box.options if words in label)


def _shown(work: TriageWorkspace, words: str) -> str:
    """What is said after somebody asked for the part whose label holds some words."""
    desk_of(work).choose(("log", "one"))
    widget = widget_of(work.timeline())
    _choose(widget, words)
    assert SECRET not in told(widget)
    control(widget, "Reveal").click()
    return told(widget.children[2])


def test_a_private_case_says_who_and_when(private: TriageWorkspace) -> None:
    said = _shown(private, "◆ call")
    assert f'{{"key":"{SECRET}"}}' in said
    assert re.search(r"revealed by \S+ at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: 1 part", said)
    assert _reveals(private) == []


def test_a_case_file_has_it_on_record_first(
    kept: TriageWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    show = timeline_module.shown_payload

    def watch(payload: str | bytes) -> tuple[str, str]:
        seen.extend(_reveals(kept))
        return show(payload)

    monkeypatch.setattr(timeline_module, "shown_payload", watch)
    said = _shown(kept, "▸ user")
    assert seen == [("log", "one", 1)]
    assert SECRET in said
    assert "The case has recorded it." in said
    _shown(kept, "◆ call")
    assert len(_reveals(kept)) == 2


@pytest.mark.parametrize("part", ["▪ text", "▸ approved"])
def test_an_empty_payload_reveals_nothing(part: str, kept: TriageWorkspace) -> None:
    assert "Nothing is revealed: it is empty." in _shown(kept, part)
    assert _reveals(kept) == []


def test_raw_bytes_of_a_rejected_row(private: TriageWorkspace) -> None:
    assert f"no json {SECRET}" in _shown(private, "step 10")
    assert f"\\xff{SECRET}" in _shown(private, "step 11")


def test_raw_bytes_that_were_not_kept(kept: TriageWorkspace) -> None:
    with kept.case.writing() as session:
        ((raw,),) = session.execute("select raw from rejects where step = 10").fetchall()
        session.execute("update rejects set raw = null where step = 10")
    assert "Nothing is revealed: its raw bytes were not kept." in _shown(kept, "step 10")
    assert _reveals(kept) == []
    with kept.case.writing() as session:
        session.execute("update rejects set raw = ? where step = 10", [raw])


def test_a_payload_is_cut_between_letters(private: TriageWorkspace) -> None:
    view = private.timeline()
    desk_of(private).choose(("log", "long"))
    text, note = view.reveal(int(view.frame["row"][0]), 1)
    assert text == "é" * 2048
    assert note.startswith("… 4,096 of 6,000 bytes are shown. revealed by ")


def test_a_click_that_comes_too_late_reveals_nothing(kept: TriageWorkspace) -> None:
    widget = widget_of(kept.timeline())
    control(widget, "Reveal").click()
    assert SECRET not in told(widget)
    assert _reveals(kept) == []


def test_a_case_that_cannot_record_shows_nothing(kept: TriageWorkspace) -> None:
    """Reading is possible while another process reads; writing is not."""
    path = kept.case.path
    assert path is not None
    desk_of(kept).choose(("log", "one"))
    widget = widget_of(kept.timeline())
    _choose(widget, "◆ call")
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); "
        "print('held', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        control(widget, "Reveal").click()
        said = told(widget)
        process.communicate("\n")
    assert "✗ nothing is revealed, since the case cannot record it: " in said
    assert "is held by process" in said
    assert SECRET not in said
    assert _reveals(kept) == []


def test_a_locked_case_shows_nothing(kept: TriageWorkspace) -> None:
    path = kept.case.path
    assert path is not None
    view = kept.timeline()
    row = int(view.frame["row"][0])
    with held(path), pytest.raises(CaseError, match="is held by process"):
        view.reveal(row, 1)
    assert _reveals(kept) == []


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that everybody can reach."""
    folder = Path(tempfile.mkdtemp(prefix="axnb-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_case_that_nobody_may_write_shows_nothing(readable: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is needed to become a normal user")
    path = readable / "case.duckdb"
    opened(readable, _log(), case=str(path))
    path.chmod(0o444)
    readable.chmod(0o555)
    code = (
        "import sys; from axnb.notebook.workspace import open_triage\n"
        "work = open_triage('', case=sys.argv[1])\n"
        "work.choice()._desk.choose(('log', 'one'))\n"
        "view = work.timeline()\n"
        "try: print(view.reveal(int(view.frame['row'][0]), 1))\n"
        "except Exception as err: print('raised', type(err).__name__, err)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    ran = subprocess.run(
        [*user, *command],
        capture_output=True,
        text=True,
        cwd="/",
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": "/", "PATH": "/usr/bin:/bin"},
    )
    assert ran.stdout.startswith("raised CaseError nothing is revealed"), ran.stderr
    assert "make the file and its folder writable" in ran.stdout
    assert SECRET not in ran.stdout


# --- a part of several ---------------------------------------------------------------------------

_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
_PARTS = st.one_of(
    st.builds(say, _TEXTS),
    st.builds(think, _TEXTS),
    _TEXTS.map(lambda text: call("pay", {"a": text})),
    _TEXTS.map(lambda text: answer({"b": text}, "pay")),
)


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(_PARTS, min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_part_gives_its_own_payload(rows: list[list[Part]]) -> None:
    log = LogBuilder("G8")
    for parts in rows:
        log.add(Row("one", STATES.index("STATE_PENDING"), parts=tuple(parts)))
    with tempfile.TemporaryDirectory() as folder:
        work = opened(Path(folder), log)
    view = work.timeline()
    frame = view.frame
    lines = frame[frame["n"].notna()]
    assert [len(parts) for parts in rows] == list(lines.groupby("row").size())
    for (row, n), part in zip(
        zip(lines["row"], lines["n"], strict=True),
        (part for parts in rows for part in parts),
        strict=True,
    ):
        text, note = view.reveal(int(row), int(n))
        assert text == timeline_module.shown_payload(part.value or "")[0]
        assert ("revealed by" if part.value else "it is empty") in note
    work.case.close()
