"""The report: one HTML file without script, address or payload, from a result."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from axnb.report import charts
from axnb.report.view import MOST_COLUMNS, ReportView, view
from axnb.result import Result
from axnb.text import cut_middle, safe

if TYPE_CHECKING:
    from jinja2 import Environment

#: Remarks on one source that are shown.
_MOST_REMARKS = 20

#: How a source was read, by the mode that its custody names.
_HOW = {
    "copy": "It was copied whole, and was still equal to its copy after the last row was read.",
    "live backup": "It was in use: SQLite's backup API copied it, and only the copy is on record.",
}
_IN_ONE_TRANSACTION = "It was read in one repeatable-read, read-only transaction."

#: Prints `Result.digest` of a folder, with Python alone.
_DIGEST_COMMAND = (
    "python3 -c \"import hashlib, json; r = json.load(open('result.json', encoding='utf-8')); "
    "del r['run']; print(hashlib.sha256(json.dumps(r, sort_keys=True).encode()).hexdigest())\""
)


def render_report(result: Result) -> str:
    """The report as HTML text: the same for the same result."""
    looked = view(result)
    drawn = charts.lines(result.lanes)
    return (
        environment("axnb.report")
        .get_template("report.html.j2")
        .render(
            view=looked,
            result=result,
            bars=charts.bars(result.actions),
            lanes=drawn,
            lane_width=_lane_width(drawn),
            size=charts,
            attention=result.measures.get("need_attention", 0),
            sources=[_source(source) for source in result.sources],
            check=_check(looked),
        )
    )


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
        "brief": _brief,
        "capital": _capital,
        "moment": _moment,
        "plain": _plain,
    }
    return templates


def _brief(value: Any, width: int = MOST_COLUMNS) -> str:
    """A stranger's value on one line and of bounded length; nothing for none."""
    return "" if value is None else cut_middle(safe(str(value)), width)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _moment(text: Any) -> str:
    """A time as people write it: `2026-11-30 10:57 UTC`."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return _brief(text)


def _plain(value: Any) -> str:
    """A parameter as text."""
    if value in ("", None) or value == []:
        return "–"
    if isinstance(value, list):
        return ", ".join(map(str, value))
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
    return {
        "name": source.get("name"),
        "kind": source.get("kind"),
        "generations": " ".join(source.get("generations") or ()),
        "read": f"{source.get('read', 0):,}",
        "parsed": f"{source.get('parsed', 0):,}",
        "rejected": f"{source.get('rejected', 0):,}",
        "how": how,
        "custody": list(_custody(custody)),
        "remarks": remarks[:_MOST_REMARKS],
        "remarks_count": len(remarks),
    }


def _custody(custody: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    files: Mapping[str, Any] = custody.get("files") or {}
    for name, found in files.items():
        yield f"{name}, {found['size']:,} bytes", f"sha256 {found['sha256']}"
    for name, value in custody.items():
        if name == "files" or (files and name in ("mode", "sha256")):
            continue
        yield name.replace("_", " "), f"{value:,}" if name == "bytes" else str(value)


def _check(looked: ReportView) -> dict[str, str]:
    """Commands with which a reader checks the report."""
    files: list[str] = []
    servers = False
    for source in looked.result.sources:
        custody = source.get("custody") or {}
        files += custody.get("files") or {}
        servers = servers or "system_identifier" in custody
    commands = ["sha256sum " + " ".join(shlex.quote(safe(name)) for name in files)] if files else []
    if servers:
        commands.append('psql -c "select system_identifier from pg_control_system()"')
    again = looked.result.run.get("again")
    return {
        "evidence": "\n".join(commands) or "(no file and no server was read)",
        "result": _DIGEST_COMMAND,
        "again": str(again) if again else "axnb triage --help",
    }
