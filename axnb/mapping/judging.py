"""Would the described target restore a snapshot? From what a case holds to the rules' words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from axnb.settings_target import TargetSettings
from axnb.substrate.restore import CHANGES, LAYOUTS, decide
from axnb.substrate.restore_facts import Decision, SnapshotFacts, Target

Row = Mapping[str, Any]

#: The last day of the newest layout that is looked at.
_END = date(2026, 12, 31)

#: Layouts whose builds write and read the same: several frames an object are all the difference.
_SAME = {"B3c": "B3b"}

#: An export may name a template's golden snapshot; what it holds.
Golden = Mapping[str, str]


@dataclass(frozen=True)
class Judged:
    """A decision, and what it rests on that nothing proves."""

    decision: Decision
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Templates:
    """What records say of templates, by SPACE/NAME."""

    #: When it was made.
    created: Mapping[str, datetime]
    #: `golden` where data is restored onto the golden snapshot.
    from_data: Mapping[str, str]
    #: What its golden snapshot holds: full, data, unknown or "" if there is none.
    golden: Mapping[str, str]
    #: sha256 of the runtime that it froze.
    assets: Mapping[str, frozenset[str]]


class Judge:
    """Judges snapshots against a target, or by themselves where none is described."""

    def __init__(self, target: TargetSettings | None, templates: Templates) -> None:
        self._target = target
        self._templates = templates

    def judge(self, row: Row) -> Judged:
        """A row of the query `linked`."""
        if row["manifest_reason"] == "unreadable":
            return Judged(
                Decision("unknown", "manifest", "the store did not hand out its manifest")
            )
        facts, assumed = self._facts(row)
        found: list[Decision] = []
        for layout in self._layouts(row):
            one = replace(facts, layout=layout)
            found += [decide(one, target) for target in self._targets(one)]
        if not found:
            return Judged(Decision("unknown", "layout", "its keys are of no known layout"))
        decision = _agreed(found)
        is_good = decision.restorable in ("full", "data-only")
        return Judged(decision, tuple(assumed) if is_good else ())

    def _layouts(self, row: Row) -> list[str]:
        """Who may have written it; where the target's build may have, that one."""
        found = [name for name in row["generation"].split("|") if name in LAYOUTS]
        if self._target and self._target.layout and self._target.layout in found:
            return [self._target.layout]
        if "B0" in found and len(found) > 1:
            # Named after builds began to write manifests.
            found.remove("B0")
        return found

    def _facts(self, row: Row) -> tuple[SnapshotFacts, list[str]]:
        assumed: list[str] = []
        template, uid = self._template(row, assumed)
        assets = [asset["sha256"] or "" for asset in row["assets"]]
        arches = {asset["arch"] for asset in row["assets"]} - {None}
        said = row["content"] if row["content"] in ("full", "data") else row["record_content"] or ""
        facts = SnapshotFacts(
            layout="",
            manifest=row["manifest"],
            sandbox_class=row["sandbox_class"] or ("" if row["manifest"] == "read" else "gvisor"),
            content=said,
            listed=tuple(row["files"]) if row["files"] is not None else None,
            present=tuple(row["present"]),
            damaged=tuple(row["damaged"]),
            suspect=tuple(row["suspect"]),
            verified=row["verified"],
            sparse=bool(row["has_sparse"]),
            data_files=tuple(row["data_files"] or ()),
            pause_image=row["pause_image"] or "",
            assets=tuple(assets),
            arch=next(iter(arches)) if len(arches) == 1 else "",
            template=template,
            template_uid=uid,
            from_data=self._templates.from_data.get(template, ""),
        )
        return facts, assumed

    def _template(self, row: Row, assumed: list[str]) -> tuple[str, str]:
        """Its template and that one's uid; what nobody recorded is assumed, and said."""
        template, uid = row["template"] or "", row["template_uid"] or ""
        known = self._target.templates if self._target else None
        if not known:
            return template, uid
        if not template:
            # Up to B1 nothing in a bucket names a template.
            template = min(known)
            assumed.append("its template is one of the target's")
        if template in known and not uid:
            created = self._templates.created.get(template)
            if created is not None and row["moment"] is not None and created > row["moment"]:
                return template, "an older one"
            uid = known[template].uid
            assumed.append("its template was not replaced since")
        return template, uid

    def _targets(self, facts: SnapshotFacts) -> list[Target]:
        told = self._target
        if told is None:
            # A build of its own time: what that would refuse, all would.
            return [Target(built=day) for day in _days(facts.layout)[:1]]
        layout = told.layout or _layout_of(told.built)
        days = [told.built] if told.built else _days(layout)
        frozen = told.templates.get(facts.template) if told.templates else None
        is_own = _SAME.get(facts.layout, facts.layout) == _SAME.get(layout, layout)
        return [
            Target(
                built=day,
                wrote_it=is_own,
                same_cpu=told.same_cpu,
                sandbox_classes=told.sandbox_classes,
                assets=told.assets,
                arches=told.architectures,
                pause_images=told.pause_images,
                templates={name: t.uid for name, t in told.templates.items()}
                if told.templates is not None
                else None,
                template_assets=self._frozen(facts.template, frozen.assets if frozen else None),
                golden=self._templates.golden.get(facts.template),
            )
            for day in days
            if day is not None
        ]

    def _frozen(self, template: str, told: frozenset[str] | None) -> frozenset[str] | None:
        return told if told is not None else self._templates.assets.get(template)


def _agreed(found: Sequence[Decision]) -> Decision:
    """What all say; unknown where they differ: nobody told which build it is."""
    first = found[0]
    if any(one.restorable != first.restorable for one in found):
        kinds = sorted({one.restorable for one in found})
        return Decision(
            "unknown",
            "day-of-change",
            f"the builds that it may be differ ({', '.join(kinds)}): say target.built",
        )
    if len({(one.code, one.reason, one.crashes) for one in found}) == 1:
        return first
    return replace(first, code="", reason="", crashes=False)


def _days(layout: str) -> list[date]:
    """A day of each time between changes while builds wrote a layout."""
    start = LAYOUTS[layout]
    end = min((day for day in LAYOUTS.values() if day > start), default=_END)
    begins = sorted({start, *(day for day in CHANGES if start < day < end)})
    return [day + timedelta(days=1 if layout != "B4" else 10) for day in begins]


def _layout_of(built: date | None) -> str:
    days = [(day, name) for name, day in LAYOUTS.items() if built is not None and day <= built]
    return max(days)[1] if days else "B0"
