"""DataFrames of what a view shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from axnb.lab.frames import frame_of, plain
from axnb.lab.rows import RowsBrowser
from axnb.notebook.workspace import TriageWorkspace
from axnb.testing.hostile import hostile_log
from axnb.testing.logs import LogBuilder
from axnb.text import is_hidden
from tests.lab.desks import desk_of, opened, views

WHOLE = {
    *("step", "last_step", "unknown_calls", "open_questions", "count", "turn", "bytes", "row"),
    *("n", "rows", "size"),
}
TEXTS = {"terminal": ("\x1b[31mred\x1b]0;owned\x07", "a\u202eb\u200bc\x9b", "ok\rfailed")}


@pytest.fixture(scope="module", params=["empty", "hostile"])
def work(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TriageWorkspace:
    """A log without a row, and one of rows that strangers wrote."""
    log = LogBuilder("G8") if request.param == "empty" else hostile_log(TEXTS, "G8")
    return opened(tmp_path_factory.mktemp(request.param), log)


def test_frames_are_typed_and_harmless(work: TriageWorkspace) -> None:
    frames = [view.frame for view in views(work)]
    frames += [work.conversations().calls, RowsBrowser(desk_of(work)).frame]
    for frame in frames:
        assert len(frame.columns) > 1
        for name in frame.columns:
            assert (str(frame[name].dtype) == "Int64") == (name in WHOLE), name
            assert not any(is_hidden(c) for v in frame[name] if isinstance(v, str) for c in v)


def test_whole_numbers_stay_whole() -> None:
    records = [{"step": 2**63 - 1, "tool": "a"}, {"step": None, "tool": None}]
    frame = frame_of(records, ("step", "tool"))
    assert frame["step"].iloc[0] == 2**63 - 1
    assert frame["step"].isna().tolist() == [False, True]
    assert frame["tool"].tolist() == ["a", None]


def test_text_is_cut() -> None:
    frame = frame_of(({"tool": "x" * 1_000_000, "step": n} for n in range(60)), ("tool", "step"))
    shown = plain(frame)
    assert len(shown) < 5_000
    assert shown.endswith("\n… 10 more rows")
    assert plain(frame_of((), ("tool",))) == "(no row)"


def test_a_row_browser_has_a_frame_of_all_rows(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for n in range(40):
        log.interrupted(f"c{n}", "hi")
    browser = RowsBrowser(desk_of(opened(tmp_path, log)))
    assert len(browser.frame) == 40
