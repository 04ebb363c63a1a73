"""A guided drill in a notebook: the cells wait for the person, and no cell blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from axnb.errors import AxnbError, VerdictError
from axnb.notebook import drills
from axnb.notebook.guided import GuidedDrill
from axnb.result import Result
from tests.lab.test_guide import Person
from tests.report.made_drill import drill_result

_GUIDED = """
[drill.command]
guided = true
log = "log.sqlite"
generation = "G8"
effects = ["ledger", "{operation}"]
"""


def test_the_cells_wait_for_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "axnb.toml"
    settings.write_text(_GUIDED, encoding="utf-8")
    asked: list[Any] = []

    def run(options: Any, progress: Any, ask: Any) -> Result:
        asked.append((options.confirmed, ask("Interrupt it.")))
        return drill_result("ax")

    monkeypatch.setattr(drills, "run", run)
    monkeypatch.setattr(drills, "has_person", lambda: True)
    work = drills.open_resume_drill(
        runtime="command", settings=str(settings), out=str(tmp_path / "out")
    )
    assert isinstance(work, GuidedDrill)
    person = Person(work._guide)
    assert person.is_asked().startswith("This drill interrupts your own deployment")
    with pytest.raises(AxnbError, match="it is not over"):
        work.summary()
    assert asked == []
    person.done.click()
    assert person.is_asked() == "Interrupt it."
    person.done.click()
    work._guide.wait()
    assert asked == [(True, "")]
    assert work.result().drill == "resume"
    assert (tmp_path / "out" / "result.json").exists()
    assert work.matrix().frame.shape[0] > 0
    with pytest.raises(VerdictError):
        work.finish()


def test_without_a_person_a_guided_drill_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "axnb.toml"
    settings.write_text(f"{_GUIDED}unattended = true\n", encoding="utf-8")
    monkeypatch.setattr(drills, "has_person", lambda: False)
    work = drills.open_resume_drill(points="3", runtime="command", settings=str(settings))
    steps = work.result().steps
    assert {step["verdict"] for step in steps} == {"not-run"}
    assert {step["observed"] for step in steps} == {
        "a guided drill needs a person: run it in a terminal or in its notebook, or give a command "
        "for every step."
    }
