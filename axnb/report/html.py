"""The report: one HTML file without script, address or payload, from a result."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from axnb.report import (
    charts,
    drill_charts,
    matrix_charts,
    matrix_view,
    rehearsal_words,
    restore_charts,
)
from axnb.report.drill_view import DrillView, drill_view, rank
from axnb.report.drill_words import CLASSES, does, interrupted, program_rows, reach
from axnb.report.migration_view import MigrationView, migration_view
from axnb.report.rehearsal_view import RehearsalView, rehearsal_view
from axnb.report.restore_view import lost_view, standing, steps
from axnb.report.view import MOST_SENTENCES, MOST_SOURCES, brief, capital, view, whose
from axnb.report.words import SOURCE_KINDS
from axnb.result import Result
from axnb.text import count, safe

if TYPE_CHECKING:
    from jinja2 import Environment

_LIVE = "live backup"

#: Remarks on one source that are shown, and files that a command names.
_MOST_REMARKS = 10
_MOST_FILES = 60

#: Lines of a plan that are shown.
_MOST_PLAN = 400

#: Letters that all points of a drill may take that are told in full.
_DETAILS_ROOM = 250_000


#: How a source was read, by the mode that its custody names.
_HOW = {
    "copy": "It was copied whole, and was still equal to its copy after the last row was read.",
    _LIVE: "It was read as a database in use: SQLite's backup API copied it, and the digest is "
    "that of the copy.",
}
#: What is counted of a source of a kind.
_NOUNS = {"bucket": "object", "records": "record"}
_IN_ONE_TRANSACTION = "It was read in one repeatable-read, read-only transaction."

#: Prints `Result.digest` of a folder, with Python alone.
_DIGEST_COMMAND = (
    "python3 -c \"import hashlib, json; r = json.load(open('result.json', encoding='utf-8')); "
    "del r['run']; print(hashlib.sha256(json.dumps(r, sort_keys=True).encode()).hexdigest())\""
)
_SERVER_COMMAND = 'psql -Atc "select system_identifier from pg_control_system()"'


def render_report(result: Result) -> str:
    """The report as HTML text: the same for the same result."""
    looked = view(result)
    drawn = charts.lines(result.lanes, several=looked.several)
    return (
        environment("axnb.report")
        .get_template("report.html.j2")
        .render(
            view=looked,
            result=result,
            bars=charts.bars(result.actions),
            bars_title=charts.BAR_TITLES.get(result.drill, ""),
            lanes=drawn,
            lane_width=_lane_width(drawn),
            size=charts,
            drill_size=drill_charts,
            attention=result.measures.get("need_attention", 0),
            sources=[_source(source) for source in result.sources[:MOST_SOURCES]],
            most=MOST_SENTENCES,
            check=_check(result),
            **_drill(result),
        )
    )


def _drill(result: Result) -> dict[str, Any]:
    """What the report shows of a result that has steps."""
    rehearsal = rehearsal_view(result)
    drill = None if rehearsal else drill_view(result)
    if rehearsal is not None:
        return {"drill": None, "interrupted": [], **_rehearsal(result, rehearsal)}
    if drill is None:
        return {"drill": None, "interrupted": []}
    return {
        "drill": drill,
        "interrupted": interrupted(result),
        "reach": reach(drill),
        "program": program_rows(result),
        "classes": list(CLASSES.items()),
        "matrix": drill_charts.matrix(drill),
        "pictures_of": _pictures(drill),
        "detailed": _detailed(drill),
        "has_effects": any(point.effect for policy in drill.policies for point in policy.points),
    }


def _rehearsal(result: Result, looked: RehearsalView) -> dict[str, Any]:
    """What it shows of a drill that answers in words."""
    words, lost = rehearsal_words, lost_view(result)
    return {
        "rehearsal": looked,
        "lead": words.LEADS.get(result.drill, words.LEAD),
        "glossary": words.GLOSSARIES.get(result.drill, ""),
        "reach": " ".join([words.reach(looked), *words.measured(result)]),
        "forgotten": result.unresolved,
        "read_back": words.why_read_back(result),
        "files": words.file_names(result),
        "lost": lost,
        "lost_picture": restore_charts.lost_picture(lost) if lost else None,
        "phases": restore_charts.phases(result.run),
        "rto": words.timed(result.run),
        "plan": words.plan_lines(result.plan, _MOST_PLAN),
        "plan_length": result.plan.count("\n"),
        "restore_size": restore_charts,
        **_migration(result, migration_view(result)),
    }


def _migration(result: Result, looked: MigrationView | None) -> dict[str, Any]:
    """What it shows of a migration besides."""
    if looked is None:
        return {"migration": None}
    return {
        "migration": looked,
        "matrix_means": matrix_view.MEANS,
        "matrix_ways": looked.matrix.ways(),
        "compatibility_picture": matrix_charts.matrix_picture(looked.matrix),
        "compatibility_size": matrix_charts,
        "as_it_is": rehearsal_words.as_it_is(result),
        "as_migrated": rehearsal_words.as_migrated(result),
    }


def _detailed(drill: DrillView) -> set[tuple[str, str]]:
    """The points that are told in full, the worst first: strangers' texts can take all the room."""
    room, found = _DETAILS_ROOM, set()
    for point in sorted(drill.all_points(), key=rank):
        room -= len(repr(point))
        if room > 0:
            found.add((point.policy, point.name))
    return found


def _pictures(drill: DrillView) -> dict[tuple[str, str], drill_charts.TimelinePicture]:
    """The timeline of each point that has one."""
    every = enumerate(drill.all_points(), 1)
    drawn = ((p, drill_charts.timeline(p, f"timeline-{n}")) for n, p in every)
    return {(p.policy, p.name): picture for p, picture in drawn if picture is not None}


@cache
def environment(*rooms: str) -> Environment:
    """The templates of some packages, which escape what they are given."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader

    templates = Environment(
        loader=ChoiceLoader([PackageLoader(room) for room in rooms]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {
        "whose": whose,
        "brief": brief,
        "capital": capital,
        "moment": _moment,
        "plain": _plain,
        "does": does,
        "steps": steps,
        "standing": standing,
    }
    return templates


def _moment(text: Any) -> str:
    """A time as people write it: `2026-11-30 10:57 UTC`."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return brief(text)


def _plain(value: Any) -> str:
    """A parameter as text."""
    if value in ("", None) or value == []:
        return "–"
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{name}={_plain(item)}" for name, item in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lane_width(drawn: Iterable[charts.Lane]) -> int:
    return max((lane.marks[-1].x for lane in drawn if lane.marks), default=0) + charts.MARK_ROOM


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source with its custody as names and values."""
    custody: Mapping[str, Any] = source.get("custody") or {}
    remarks = [*source.get("incomplete", ()), *source.get("notes", ())]
    if "system_identifier" in custody:
        how = _IN_ONE_TRANSACTION
    else:
        how = _HOW.get(str(custody.get("mode")), "")
    noun = _NOUNS.get(source["kind"], "row")
    counts = f"{count(source['read'], noun)} read = {source['parsed']:,} parsed"
    return {
        "name": source["name"],
        "kind": SOURCE_KINDS.get(source["kind"], source["kind"]),
        "generations": " ".join(source.get("generations") or ()),
        "counts": f"{counts} + {source['rejected']:,} rejected",
        "how": how,
        "custody": list(_custody(custody)),
        "remarks": remarks[:_MOST_REMARKS],
        "remarks_count": len(remarks),
    }


def _custody(custody: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    files: Mapping[str, Any] = custody.get("files") or {}
    for name, found in files.items():
        yield f"{name}, {count(found['size'], 'byte')}", f"sha256 {found['sha256']}"
    for name, value in custody.items():
        if (
            name == "files"
            or (name == "changes" and custody.get("stable"))
            or (files and name in ("mode", "sha256", "bytes"))
        ):
            continue
        shown = f"{value:,}" if name == "bytes" else _plain(value)
        yield name.replace("_", " "), shown


@dataclass(frozen=True)
class _Check:
    """How a reader checks the report."""

    #: Prints the digests of the files; empty where there is none to compute.
    files: str
    #: Files whose names cannot be pasted, and those that were in use.
    unnamed: int
    live: int
    databases: bool
    #: Prints the system identifier of a server; empty where the role could not see it.
    server: str
    result: str
    #: Gives the answer again; it names files, and so comes from the block `run`.
    again: str


def _check(result: Result) -> _Check:
    names: dict[str, None] = {}
    live = unnamed = 0
    servers = []
    for source in result.sources:
        custody = source.get("custody") or {}
        if "system_identifier" in custody:
            servers.append(custody["system_identifier"])
        if custody.get("mode") == _LIVE:
            live += 1
            continue
        for name in custody.get("files") or {}:
            # What had to be escaped to be shown would name another file.
            if safe(name) == name and len(names) < _MOST_FILES:
                names[name] = None
            else:
                unnamed += 1
    quoted = " ".join(shlex.quote(name) for name in names)
    return _Check(
        files=f"sha256sum -- {quoted}" if names else "",
        unnamed=unnamed,
        live=live,
        databases=bool(servers),
        server=_SERVER_COMMAND if any(servers) else "",
        result=_DIGEST_COMMAND,
        again=str(result.run.get("again") or ""),
    )
