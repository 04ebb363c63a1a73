"""Pictures of the reports and the notebooks of the sample data, for people to look at.

python -m tests.browser.shots FOLDER

Those for the README, `docs/*.png`, are the ones whose names begin with `readme`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axnb.drills import migration, restore
from axnb.drills.resume import ResumeOptions, run
from axnb.report.folder import write_folder
from axnb.runtimes import POLICIES
from tests import ax_logs
from tests.browser.browser import (
    NO_BROWSER,
    THEMES,
    find_browser,
    picture,
    print_pdf,
    printing,
    running_browser,
    watched_page,
)
from tests.browser.jupyterlab import REPOSITORY, JupyterLab, Notebook
from tests.browser.reports import build_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect

NOTEBOOK = REPOSITORY / "notebooks" / "01_triage.ipynb"
MAP = REPOSITORY / "notebooks" / "02_snapshots.ipynb"
RESTORE = REPOSITORY / "notebooks" / "20_backup_restore_drill.ipynb"
MIGRATION = REPOSITORY / "notebooks" / "30_version_migration_drill.ipynb"
NARROW = 360

#: As much of the report as the README shows.
_TOP: FloatRect = {"x": 0, "y": 0, "width": 1280, "height": 1130}

#: The cells that it shows of the notebook: a conversation, step by step, among others.
_CELLS = (7, 10)


def _report_shots(browser: Browser, folder: Path, scratch: Path) -> Iterator[Path]:
    with watched_page(browser) as page:
        page.goto(build_report("sample", scratch).as_uri())
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            picture(page, path := folder / f"report-{theme}.png")
            yield path
            picture(page, path := folder / f"readme-report-{theme}.png", _TOP)
            yield path
        page.emulate_media(color_scheme="light")
        with printing(page):
            picture(page, path := folder / "report-print.png")
            yield path
        print_pdf(page, path := folder / "report.pdf")
        yield path
        page.set_viewport_size({"width": NARROW, "height": 800})
        picture(page, path := folder / "report-narrow.png")
        yield path
    for name in ("map", "drill", "restore", "migration"):
        with watched_page(browser) as page:
            page.goto(build_report(name, scratch / name).as_uri())
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                picture(page, path := folder / f"report-{name}-{theme}.png")
                yield path


def _drill_shots(browser: Browser, folder: Path, scratch: Path) -> Iterator[Path]:
    """A real drill of all policies: its matrix."""
    result = run(ResumeOptions(policies=tuple(POLICIES)))
    write_folder(result, scratch / "resume")
    with watched_page(browser) as page:
        page.goto((scratch / "resume" / "report.html").as_uri())
        box: FloatRect = page.evaluate(_SECTION, "The matrix")
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            picture(page, path := folder / f"readme-resume-{theme}.png", box)
            yield path


def _restore_shots(browser: Browser, folder: Path, scratch: Path) -> Iterator[Path]:
    """A backup that was put back, and a log that went on from it: what was lost."""
    logs = ax_logs.ROOT / "restored-sqlite"
    source, lost = str(logs / "log.sqlite"), str(logs / "lost.sqlite")
    result = restore.run(source=source, others=[lost], backup=logs / "backup.sqlite")
    write_folder(result, scratch / "restored")
    with watched_page(browser) as page:
        page.goto((scratch / "restored" / "report.html").as_uri())
        box: FloatRect = page.evaluate(_SECTION, "What is lost, and where")
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            picture(page, path := folder / f"readme-restore-{theme}.png", box)
            yield path


def _migration_shots(browser: Browser, folder: Path, scratch: Path) -> Iterator[Path]:
    """A log that was upgraded without a migration: the compatibility matrix."""
    source = ax_logs.ROOT / "upgraded-g6-g8-sqlite" / "log.sqlite"
    write_folder(migration.run(str(source), to="G8"), scratch / "migrated")
    with watched_page(browser) as page:
        page.goto((scratch / "migrated" / "report.html").as_uri())
        box: FloatRect = page.evaluate(_PICTURE, "svg.compatibility")
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            picture(page, path := folder / f"readme-migration-{theme}.png", box)
            yield path


#: A picture with some room around it.
_PICTURE = """selector => {
    const {x, y, width, height} = document.querySelector(selector).getBoundingClientRect();
    return {x: x - 16, y: y - 4, width: width + 32, height: height + 8};
}"""

#: From a heading to the next one.
_SECTION = """title => {
    const [first, next] = [...document.querySelectorAll("h2")]
        .flatMap((head, n, all) => head.textContent === title ? [head, all[n + 1]] : [])
        .map(head => head.getBoundingClientRect());
    return {x: 0, y: first.y, width: innerWidth, height: next.y - first.y - 8};
}"""


def _notebook_shots(browser: Browser, folder: Path) -> Iterator[Path]:
    with JupyterLab() as lab, watched_page(browser) as page:
        name = lab.add(NOTEBOOK, settings="sample_data/axnb.toml")
        with Notebook.open(page, lab, name) as notebook:
            notebook.run_all()
            for theme in THEMES:
                notebook.use_theme(theme)
                notebook.picture(path := folder / f"notebook-{theme}.png")
                yield path
                notebook.picture(path := folder / f"readme-notebook-{theme}.png", _CELLS)
                yield path
    logs = ax_logs.ROOT / "restored-sqlite"
    given = {"source": str(logs / "log.sqlite"), "backup": str(logs / "backup.sqlite")}
    lost = [str(logs / "lost.sqlite")]
    yield from _shots_of(browser, folder, MAP, "map", verify=True)
    yield from _shots_of(browser, folder, RESTORE, "restore", **given, beside=lost)
    yield from _shots_of(browser, folder, MIGRATION, "migration")


def _shots_of(
    browser: Browser, folder: Path, shown: Path, name: str, **given: Any
) -> Iterator[Path]:
    """One notebook as a whole."""
    with (
        JupyterLab() as lab,
        watched_page(browser) as page,
        Notebook.open(page, lab, lab.add(shown, **given)) as notebook,
    ):
        notebook.run_all()
        for theme in THEMES:
            notebook.use_theme(theme)
            notebook.picture(path := folder / f"notebook-{name}-{theme}.png")
            yield path


def main(folder: Path) -> int:
    """Write the pictures; the exit code."""
    program = find_browser()
    if program is None:
        print(NO_BROWSER, file=sys.stderr)
        return 1
    with (
        tempfile.TemporaryDirectory(prefix="axnb-shots-") as scratch,
        running_browser(program) as browser,
    ):
        for path in _report_shots(browser, folder, Path(scratch)):
            print(path)
        for path in _drill_shots(browser, folder, Path(scratch)):
            print(path)
        for path in _restore_shots(browser, folder, Path(scratch)):
            print(path)
        for path in _migration_shots(browser, folder, Path(scratch)):
            print(path)
        for path in _notebook_shots(browser, folder):
            print(path)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.browser.shots FOLDER")
    sys.exit(main(Path(sys.argv[1])))
