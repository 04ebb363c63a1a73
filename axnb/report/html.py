"""The report: one HTML file without script, address or payload, from a result."""

from __future__ import annotations

from typing import Any

from axnb.result import SIGNS, Result
from axnb.text import safe
from axnb.triaging import ACTIONS

_MAX_ROWS = 200


def render_report(result: Result) -> str:
    """The report as HTML text."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("axnb", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["safe_text"] = lambda value: "" if value is None else safe(str(value))
    return environment.get_template("report.html.j2").render(
        result=result.as_dict(),
        sign=SIGNS[result.verdict],
        groups=_groups(result.answer),
        findings=_by_class(result),
        limit=_MAX_ROWS,
    )


def _groups(answer: Any) -> list[dict[str, Any]]:
    """Conversations by what to do, the most urgent first."""
    groups = []
    for action in ACTIONS:
        chosen = [c for c in answer.get("conversations", ()) if c["action"] == action]
        if chosen:
            groups.append({"action": action, "count": len(chosen), "rows": chosen[:_MAX_ROWS]})
    return groups


def _by_class(result: Result) -> list[dict[str, Any]]:
    """Findings by class, errors first."""
    classes: dict[str, list[Any]] = {}
    for finding in result.findings:
        classes.setdefault(finding["id"], []).append(finding)
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(
        (
            {
                "id": identity,
                "name": found[0]["name"],
                "severity": found[0]["severity"],
                "count": len(found),
                "rows": found[:_MAX_ROWS],
            }
            for identity, found in classes.items()
        ),
        key=lambda group: (order[group["severity"]], group["id"]),
    )
