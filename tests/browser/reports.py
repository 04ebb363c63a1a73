"""Reports of logs that differ, each by a real triage; of maps; and of a drill made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from axnb.notebook.workspace import open_triage
from axnb.report.folder import write_folder
from axnb.result import Result
from axnb.testing.hostile import Texts, hostile_log, hostile_texts
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.browser.jupyterlab import REPOSITORY
from tests.report.made_drill import drill_result
from tests.report.made_migration import migration_drill
from tests.report.made_restore import restore_result
from tests.report.test_map_result import hostile, sample

SAMPLE = REPOSITORY / "sample_data"

#: Names that are markup, break out of markup, or are too long for a line.
_NAMES = (
    "<img src=x onerror=alert(1)>",
    "</title></style><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "n" * 300,
    "漢" * 100,
    "\u202eabc\u200b",
)


def _sample(folder: Path) -> Path:
    return SAMPLE / "log.sqlite"


def _healthy(folder: Path) -> Path:
    log = LogBuilder("G8")
    log.turn("c1", "Charge it", call("charge_card", {"n": 1}), answer({"ok": True}), say("Done."))
    return log.write_sqlite(folder / "healthy.sqlite")


def _empty(folder: Path) -> Path:
    return LogBuilder("G8").write_sqlite(folder / "empty.sqlite")


def _named(folder: Path) -> Path:
    """Names that are markup, the file's too, and wounds that make the report tell them."""
    log = LogBuilder("G8")
    for name in _NAMES:
        log.interrupted(name, name, call(name, {name: name, "idempotency_key": name}, name))
    return log.write_sqlite(folder / f"{_NAMES[0].replace('/', '')}.sqlite")


def _hostile(folder: Path) -> Path:
    """A hostile text of each kind, in every place."""
    return _written(folder, {kind: texts[:1] for kind, texts in hostile_texts().items()})


def _all_hostile(folder: Path) -> Path:
    """All hostile texts, in every place: a long report."""
    return _written(folder, hostile_texts())


def _written(folder: Path, texts: Texts) -> Path:
    return hostile_log(texts).write_sqlite(folder / "hostile.sqlite", keyed=False, typed=False)


LOGS: dict[str, Callable[[Path], Path]] = {
    "sample": _sample,
    "healthy": _healthy,
    "empty": _empty,
    "named": _named,
    "hostile": _hostile,
    "all-hostile": _all_hostile,
}


#: Reports of maps and of drills.
OTHERS: dict[str, Callable[[Path], Result]] = {
    "map": lambda _: sample(),
    "hostile-map": hostile,
    "drill": lambda _: drill_result(),
    "restore": lambda _: restore_result(),
    "migration": lambda _: migration_drill(),
}


def build_report(name: str, folder: Path) -> Path:
    """Triage one of `LOGS`, or make one of `OTHERS`, and write its report into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if name in OTHERS:
        write_folder(OTHERS[name](folder), folder / "out")
        return folder / "out" / "report.html"
    settings = str(SAMPLE / "axnb.toml") if name == "sample" else ""
    work = open_triage(str(LOGS[name](folder)), str(folder / "out"), settings=settings)
    work.save()
    work.case.close()
    return folder / "out" / "report.html"
