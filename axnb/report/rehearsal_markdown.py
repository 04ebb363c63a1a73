"""A drill that answers in words, in Markdown: its words, what is not ok, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator

from axnb.report.drill_view import StepView
from axnb.report.markdown_text import as_code, as_row, as_text
from axnb.report.migration_view import migration_view
from axnb.report.rehearsal_view import RehearsalView
from axnb.report.rehearsal_words import measured, reach
from axnb.report.restore_view import lost_view, standing, steps
from axnb.result import Result
from axnb.text import count

#: Checks and conversations that a ticket holds.
_MOST = 20


def word_lines(looked: RehearsalView, result: Result) -> Iterator[str]:
    """How it went, and the verdict of each check in a table."""
    yield as_text(" ".join([reach(looked), *measured(result)]))
    yield ""
    yield as_row(["", "checks"])
    yield "|---|---|"
    for word in looked.words:
        name = f"{word.sign} {as_text(word.name)}"
        checks = ", ".join(f"{step.sign} {as_text(step.check)}" for step in word.steps)
        yield as_row([name, checks or "–"])


def bad_lines(looked: RehearsalView) -> Iterator[str]:
    """The checks that failed, then those that are inconclusive."""
    found = [
        (f"{word.name} {step.check}", step)
        for word in looked.words
        for step in word.steps
        if step.verdict in ("failed", "inconclusive")
    ]
    found.sort(key=lambda entry: entry[1].verdict != "failed")
    yield from (_bad(name, step) for name, step in found[:_MOST])
    if len(found) > _MOST:
        yield f"- … {len(found) - _MOST:,} more in `result.json`"


def _bad(name: str, step: StepView) -> str:
    expected, observed = as_text(step.expected), as_text(step.observed)
    return f"- {step.sign} **{as_text(name)}**: expected {expected}; observed {observed}"


def lost_lines(result: Result) -> Iterator[str]:
    """The conversations that lose something, the worst first."""
    lost = lost_view(result)
    if lost is None or not lost.lines:
        return
    yield as_row(["conversation", "restored to", "lost", "twice", "will come again", "snapshot"])
    yield f"|{'---|' * 6}"
    for line in lost.lines[:_MOST]:
        ranges = [steps(of) for of in (line.lost, line.twice, line.coming)]
        stands = as_text(standing(line)) if line.relation else "–"
        yield as_row([as_code(line.conversation_id), str(line.restored), *ranges, stands])
    left = len(lost.lines) - _MOST + lost.more
    if left > 0:
        yield ""
        yield f"- … {left:,} more in `result.json`"


def version_lines(result: Result) -> Iterator[str]:
    """The log under every version, as it is and migrated, and the paths that have no place."""
    looked = migration_view(result)
    if looked is None:
        return
    rows = looked.matrix.of("whole")
    yield as_row(["", *(row.name for row in rows)])
    yield f"|{'---|' * (1 + len(rows))}"
    for n, version in enumerate(looked.matrix.versions):
        name = f"**{version.name}**, the target" if version.is_target else version.name
        cells = (f"{row.cells[n].sign} {as_text(row.cells[n].words)}" for row in rows)
        yield as_row([name, *cells])
    if losses := looked.became.losses:
        yield ""
        yield f"- {as_text(looked.target)} has no place for:"
        for loss in losses[:_MOST]:
            accepted = "accepted" if loss.accepted else "not accepted"
            yield f"  - {as_code(loss.path)}: {count(loss.times, 'time')}, {accepted}"
        left = len(losses) - _MOST + looked.became.more_losses
        if left > 0:
            yield f"  - … {left:,} more in `result.json`"
