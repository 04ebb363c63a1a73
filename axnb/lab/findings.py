"""What was found: by class, with the reason of each class and the rows that prove it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from axnb.checks.registry import find_check
from axnb.lab import fragments
from axnb.lab.desk import CaseDesk, Key
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.report.words import SEVERITIES, SEVERITY_SIGNS
from axnb.result import Finding
from axnb.text import count

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_MOST = 50
_CLASSES = (
    *(Column("finding"), Column("severity"), Column("count", "number")),
    *(Column("first is about", "id"), Column("step", "number"), Column("what")),
)
_FINDINGS = (
    *(Column("finding"), Column("about", "id"), Column("step", "number")),
    *(Column("what"), Column("witness", "id")),
)
_FRAME = (
    *("id", "name", "severity", "source", "conversation_id", "step", "snapshot", "object", "actor"),
    "sentence",
)
_WHOLE = "the whole source"
_ALL = "all"
_NOBODY = ("–", -1)


class FindingsView(View):
    """Findings, the worst first."""

    _desk: CaseDesk

    def __init__(self, desk: CaseDesk) -> None:
        super().__init__(desk)
        self._class = _ALL
        self._severity = _ALL

    def _fitting(self) -> list[Finding]:
        found = [
            f
            for f in self._desk.findings
            if self._class in (_ALL, f.id) and self._severity in (_ALL, f.severity)
        ]
        return sorted(found, key=lambda f: (SEVERITIES.index(f.severity), f.id))

    @property
    def frame(self) -> pandas.DataFrame:
        """The findings that fit the filter, a row each."""
        return frame_of(map(vars, self._fitting()), _FRAME)

    def pieces(self) -> list[str]:
        """A row a class, with its first finding."""
        classes: dict[str, list[Finding]] = {}
        for finding in self._fitting():
            classes.setdefault(finding.id, []).append(finding)
        if not classes:
            return [fragments.sentence("Nothing was found.")]
        rows = [
            (
                *(_named(found[0]), found[0].severity, len(found)),
                *(self._about(found[0]), found[0].step, found[0].sentence),
            )
            for found in classes.values()
        ]
        total = sum(map(len, classes.values()))
        caption = f"{count(total, 'finding')} of {count(len(rows), 'class', 'classes')}"
        remark = f"{_MOST} classes are shown; frame has all." if len(rows) > _MOST else ""
        return [fragments.table(caption, _CLASSES, rows[:_MOST], remark)]

    def widget(self) -> DOMWidget:
        """Filters, what the chosen class means, a page of findings, and a list to choose one."""
        from axnb.lab import controls

        severity = controls.choice("Severity", [(s, s) for s in (_ALL, *SEVERITIES)])
        classes = controls.choice("Class", self._classes())
        one = controls.choice("Show its conversation", [_NOBODY])
        about, table = controls.html(), controls.html()
        offered: list[Key] = []

        def show() -> None:
            fitting = self._fitting()
            here = fitting[pager.first : pager.first + controls.PAGE]
            about.value = fragments.page(*self._meaning())
            table.value = fragments.page(*self._page(here, len(fitting)))
            pager.show(len(here), len(fitting), "findings")
            # A client can remember a conversation that no log has: there is nothing to show of it.
            named = [
                f
                for f in here
                if f.conversation_id is not None and _key(f) in self._desk.conversations
            ]
            labels = [f"{f.id} {self._desk.label(_key(f))} step {f.step}" for f in named]
            offered[:] = map(_key, named)
            one.options = controls.choices(labels, range(len(named)), _NOBODY)
            one.value = _NOBODY[1]

        def filtered(_: Any = None) -> None:
            self._severity, self._class = severity.value, classes.value
            pager.reset()
            show()

        def chosen(change: Any) -> None:
            if change.new != _NOBODY[1]:
                self._desk.choose(offered[change.new])

        def opened() -> None:
            classes.options = self._classes()
            filtered()

        said = partial(controls.callback, self._desk.lock, table)
        pager = controls.Pager(self._desk.lock, table, show)
        self._refresh = said(show)
        severity.observe(said(filtered), "value")
        classes.observe(said(filtered), "value")
        one.observe(said(chosen), "value")
        self._desk.on_case(said(opened))
        self._refresh()
        return controls.column(
            controls.row(severity, classes), about, table, controls.row(pager.row, one)
        )

    def _classes(self) -> list[tuple[str, str]]:
        counts = Counter(map(_named, self._desk.findings))
        found = [(f"{named} ({n:,})", named.split()[1]) for named, n in sorted(counts.items())]
        return [("all", _ALL), *found]

    def _meaning(self) -> list[str]:
        if self._class == _ALL:
            return []
        return [fragments.sentence(" ".join(find_check(self._class).explanation.split()))]

    def _about(self, finding: Finding) -> str:
        if finding.conversation_id is not None:
            return self._desk.label(_key(finding))
        named = finding.actor or finding.snapshot or finding.object
        return _WHOLE if named is None else named

    def _whose(self, finding: Finding) -> str:
        """The same where the key of an object stands beside it."""
        if finding.conversation_id is None and finding.actor is None:
            return "a snapshot" if finding.snapshot else "an object" if finding.object else _WHOLE
        return self._about(finding)

    def _page(self, here: list[Finding], fitting: int) -> list[str]:
        if not fitting:
            nothing = "Nothing was found." if not self._desk.findings else "No finding fits."
            return [fragments.sentence(nothing)]
        rows = [
            (
                *(_named(f), self._whose(f), f.step, f.sentence),
                _witness(f),
            )
            for f in here
        ]
        return [fragments.table(count(fitting, "finding"), _FINDINGS, rows)]


def _key(finding: Finding) -> Key:
    return finding.source, finding.conversation_id or ""


def _witness(finding: Finding) -> str:
    """The rows of a log that prove it, or the key of what lies in a bucket."""
    if key := finding.object or finding.snapshot:
        return key
    return ", ".join(f"step {w.step} {(w.digest or '')[:12]}" for w in finding.witness[:3])


def _named(finding: Finding) -> str:
    """`✗ AX110 interrupted-turn`."""
    return f"{SEVERITY_SIGNS[finding.severity]} {finding.id} {finding.name}"
