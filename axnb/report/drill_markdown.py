"""The matrix of a drill in Markdown, and the checks that are not ok."""

from __future__ import annotations

from collections.abc import Iterator

from axnb.report.drill_view import DrillView, Policy, StepView
from axnb.report.drill_words import does, reach
from axnb.report.markdown_text import as_row, as_text

#: Checks that a ticket holds.
_MOST = 40


def matrix_lines(looked: DrillView) -> Iterator[str]:
    """The matrix as a table a policy; a sign is a verdict."""
    yield f"{as_text(' '.join(reach(looked)))} ✓ ok, ✗ failed, ? inconclusive, – not run."
    for policy in looked.policies:
        yield ""
        if policy.name:
            name, verdict = as_text(policy.name), f"{policy.sign} {as_text(policy.word)}"
            yield f"**{name}: {verdict}**: {_told(policy)}"
            yield ""
        yield as_row(["point", *map(as_text, looked.columns), "effects"])
        yield f"|{'---|' * (len(looked.columns) + 2)}"
        for point in policy.points:
            name = f"{as_text(point.name)} {as_text(point.short)}" if point.short else point.name
            signs = ["–" if step is None else step.sign for step in point.steps]
            effect = as_text(point.effect) if point.effect else "–"
            yield as_row([name if point.short else as_text(name), *signs, effect])


def _told(policy: Policy) -> str:
    effects = any(point.effect for point in policy.points)
    return as_text(f"{does(policy)}." if effects else policy.means or "no side effect is told")


def red_lines(looked: DrillView) -> Iterator[str]:
    """The checks that failed, then those that are inconclusive."""
    found = [
        (" ".join(filter(None, [policy.name, point.name, step.check])), step)
        for policy in looked.policies
        for point in (*policy.points, policy.cancelled)
        if point is not None
        for step in (*point.steps, point.reversal)
        if step is not None and step.verdict in ("failed", "inconclusive")
    ]
    found.sort(key=lambda entry: entry[1].verdict != "failed")
    yield from (_red(name, step) for name, step in found[:_MOST])
    if len(found) > _MOST:
        yield f"- … {len(found) - _MOST:,} more in `result.json`"


def _red(name: str, step: StepView) -> str:
    runs = f" ({as_text(step.runs)})" if step.runs else ""
    expected, observed = as_text(step.expected), as_text(step.observed)
    return f"- {step.sign} **{as_text(name)}**{runs}: expected {expected}; observed {observed}"
