"""Results to write reports of: made from logs, and by hand."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from axnb.ax.behaviour import Harness
from axnb.case.case import Case
from axnb.loading import load, load_witnesses
from axnb.report.html import render_report
from axnb.report.junit import render_junit
from axnb.report.markdown import render_markdown
from axnb.report.triage_result import Asked, triage_result
from axnb.result import Result
from axnb.settings import Settings
from axnb.testing.hostile import every, hostile_log
from axnb.testing.hostile_texts import hostile_texts
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, decide, say
from axnb.triaging import Question, triage
from tests import ax_logs

#: What a stranger may try in a report.
MARKUP = (
    "<img src=x onerror=alert(1)>",
    "</title></style><script>alert(1)</script>",
    "\"' onmouseover='alert(1)\" `x` ``y`` &amp; &lt;",
    "</script><script>\u2028alert(1)//",
    "\x1b[31mred\x1b]8;;https://evil.example/\x07b\u202ec\x9b",
    "[x](javascript:alert(1)) ![y](https://evil.example/z.png) <https://evil.example/>",
    "a | b\n|---|---|\n```\n# c @someone #12",
)


def result_of(
    *logs: Path | LogBuilder,
    clients: Sequence[Path] = (),
    server_logs: Sequence[Path] = (),
    ax_version: str | None = None,
    harnesses: Sequence[str] = (),
    settings: Settings | None = None,
    threads: int | None = None,
    **asked: Any,
) -> Result:
    """The result of a triage, as the command line makes it."""
    with tempfile.TemporaryDirectory() as folder, Case(settings=settings or Settings()) as case:
        if threads is not None:
            with case.writing() as session:
                session.execute(f"set threads = {threads}")
        paths = [
            # Hostile rows fit no key and no type.
            log
            if isinstance(log, Path)
            else log.write_sqlite(Path(folder, f"log-{n}.sqlite"), keyed=False, typed=False)
            for n, log in enumerate(logs)
        ]
        loaded = load(case, [str(path) for path in paths])
        beside = load_witnesses(case, clients, server_logs)
        named = tuple(Harness.parse(text) for text in harnesses)
        skipped = (*loaded.skipped, *beside.skipped)
        found = triage(case, Question(ax_version, named), (), skipped)
        return triage_result(case, found, Asked.now(ax_version, harnesses, **asked))


def healthy() -> LogBuilder:
    """A log in which all is well."""
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}), say("done"))
    log.turn("well", "hi")
    return log


def failed() -> LogBuilder:
    """Turns without an end, open calls, a question, a row that nobody can read, names of markup."""
    log = healthy()
    for text in MARKUP:
        log.harness = text
        log.interrupted(text, text, call(text, {text: text}, text))
    log.harness = "antigravity"
    log.interrupted("silent", "hi")
    log.turn("asking", "hi", ask("May I?"))
    log.turn("asked", "hi", ask("May I?"), decide("approved"))
    log.turn("gap", "hi", say("a"), say("b"))
    log.rows = [row for row in log.rows if (row.conversation_id, row.step) != ("gap", 2)]
    log.turn("broken", "hi")
    log.rows.append(StoredRow("broken", 3, "{"))
    return log


def inconclusive() -> LogBuilder:
    """A call that nobody knows the outcome of, and nothing that is wrong."""
    log = healthy()
    log.turn("open", "hi", call("charge", {"n": 2}))
    return log


def hostile() -> LogBuilder:
    """Every third hostile text in each place; the others have their turn elsewhere."""
    return hostile_log({kind: texts[::3] for kind, texts in hostile_texts().items()})


def empty() -> LogBuilder:
    """No row at all."""
    return LogBuilder("G8")


def asked_wrongly() -> LogBuilder:
    """A log of another generation than the server that is asked: nobody may touch it."""
    log = LogBuilder("G6")
    log.turn("c1", "hi", call("charge", {"n": 1}), answer({"ok": True}))
    log.interrupted("c2", "hi", call("charge", {"n": 2}))
    return log


@cache
def made(name: str) -> Result:
    """One of the results above; it is made once."""
    if name == "several":
        return result_of(failed(), healthy(), inconclusive())
    if name == "touch not":
        return result_of(asked_wrongly(), ax_version="v0.2.3")
    makers = {
        "ok": healthy,
        "failed": failed,
        "inconclusive": inconclusive,
        "empty": empty,
        "hostile": hostile,
    }
    return result_of(makers[name]())


NAMES = ("ok", "failed", "inconclusive", "empty", "hostile", "several", "touch not")


@cache
def real(log: ax_logs.RealLog) -> Result:
    """The result of a log of real servers, with what these printed."""
    return result_of(log.sqlite, server_logs=log.server_logs)


def by_hand(**parts: Any) -> Result:
    """A result without a triage."""
    whole = Result(drill="resume", verdict="ok", parameters={}, sources=(), run=RUN)
    return replace(whole, **parts)


def finding(number: int = 1, severity: str = "error", **parts: Any) -> dict[str, Any]:
    """A finding as it stands in a result."""
    return {
        "id": f"AX{number:03}",
        "name": f"class-{number}",
        "severity": severity,
        "source": "log",
        "keys": {"conversation_id": f"c{number}", "step": number},
        "sentence": "it is so.",
        "witness": [{"step": number, "digest": "0" * 64}],
        **parts,
    }


def source(**parts: Any) -> dict[str, Any]:
    """A source as it stands in a result."""
    whole = {"name": "log", "kind": "eventlog", "read": 2, "parsed": 2, "rejected": 0}
    return {**whole, "custody": {}, "notes": [], "incomplete": [], "generations": ["G8"], **parts}


RUN: Mapping[str, Any] = {
    "id": "0" * 32,
    "started": "2026-01-02T03:04:05+00:00",
    "seconds": 1.5,
    "axnb": "0.0.1",
    "python": "3.11.0",
    "platform": "Linux",
    "user": "somebody",
    "locators": ["log.sqlite"],
    "asked_as": "v0.2.3 (G8)",
    "again": "axnb triage log.sqlite --json",
}
OTHER_RUN: Mapping[str, Any] = {
    "id": "f" * 32,
    "started": "2031-10-11T12:13:14+00:00",
    "seconds": 99,
    "axnb": "9.9.9",
    "python": "4.0",
    "platform": "Plan9",
    "user": "<b>root</b>",
    "locators": ["other.db", "more.db"],
    "asked_as": "another",
    "again": "",
}


def without_run(result: Result) -> dict[str, Any]:
    """All that is the same for the same evidence."""
    told = json.loads(json.dumps(result.as_dict()))
    del told["run"]
    return dict(told)


def timeless(result: Result) -> tuple[str, str, str]:
    """The views without the places in which they name the run."""
    page = BeautifulSoup(render_report(result), "html.parser")
    for element in page.find_all(id=re.compile("^run")):
        element.decompose()
    junit = re.sub(r' (time|timestamp)="[^"]*"', "", render_junit(result))
    markdown = re.sub(r"^- Run: .*\n", "", render_markdown(result), flags=re.MULTILINE)
    return str(page), junit, markdown


def all_hostile() -> list[str]:
    """Every hostile text."""
    return [*MARKUP, *every(hostile_texts())]
