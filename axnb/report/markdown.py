"""Markdown of a result, to be pasted into a ticket: the verdict, what to do, what was found.

Strangers' texts stand in code spans: there no link, mention, tag or table comes to life, in any
dialect. A sentence stands as it is only if it holds nothing that any dialect knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from axnb.report.drill_markdown import matrix_lines, red_lines
from axnb.report.drill_view import drill_view
from axnb.report.drill_words import interrupted
from axnb.report.markdown_text import as_code, as_row, as_text
from axnb.report.rehearsal_markdown import bad_lines, lost_lines, version_lines, word_lines
from axnb.report.rehearsal_view import rehearsal_view
from axnb.report.view import ReportView, about, view
from axnb.result import Result

#: Conversations of a group, calls, sources and sentences that a ticket holds.
_MOST = 20

#: What the groups of a result are.
_DOES = {
    "triage": "What to do, and what not to touch",
    "map": "What a restore gives back",
}


def render_markdown(result: Result) -> str:
    """The result as Markdown; what differs between two runs stands in one line that says so."""
    looked = view(result)
    return "\n".join(_lines(looked)) + "\n"


def _lines(looked: ReportView) -> Iterator[str]:
    result = looked.result
    yield f"# {looked.sign} {result.verdict}: {as_text(result.drill)}"
    yield ""
    yield from _sentences([*result.examined, *_interrupted(result)])
    yield f"- {_run(result.run)}"
    yield from _section("Why", _sentences(result.why))
    yield from _section(_DOES.get(result.drill, _DOES["triage"]), _actions(looked))
    if rehearsal := rehearsal_view(result):
        yield from _section("What was checked", word_lines(rehearsal, result))
        yield from _section("Checks that are not ok", bad_lines(rehearsal))
        yield from _section("What is lost, and where", lost_lines(result))
        yield from _section("What every version makes of the log", version_lines(result))
    elif drill := drill_view(result):
        yield from _section("The matrix", matrix_lines(drill))
        yield from _section("Checks that are not ok", red_lines(drill))
    yield from _section("Calls to read back from their tools", _calls(looked))
    found = "Wounds that the log already had, not counted" if rehearsal else "Findings"
    yield from _section(f"{found}: {looked.tally}", _findings(looked))
    yield from _section("Evidence", _sources(result.sources))
    yield from _section("Scope", _sentences(result.scope))
    yield ""
    yield f"Digest of the result, its block `run` aside: `{looked.digest}`."


def _interrupted(result: Result) -> list[str]:
    """What a drill interrupted and how, where the result does not say it in its own words."""
    told = [(name, sentence) for name, every in interrupted(result) for sentence in every]
    shown = [(n, sentence) for n, sentence in told if n == "asked as" or not result.examined]
    return [f"{name}: {sentence}" for name, sentence in shown]


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", f"## {title}", "", *found)


def _sentences(sentences: Sequence[str]) -> Iterator[str]:
    yield from (f"- {as_text(sentence)}" for sentence in sentences[:_MOST])
    yield from _more(len(sentences))


def _more(number: int, shown: int = _MOST, start: str = "- ") -> Iterator[str]:
    if number > shown:
        yield f"{start}… {number - shown:,} more in `result.json`"


def _run(run: Mapping[str, Any]) -> str:
    about = [", ".join(run.get("locators") or ()), run.get("started")]
    about += [f"axnb {run.get('axnb', '(unknown)')}", f"run {run.get('id', '(unknown)')}"]
    return f"Run: {' · '.join(as_code(text) for text in about if text)} · not sealed"


def _conversation(looked: ReportView, source: str, conversation_id: str) -> str:
    """A conversation, with its log where there are several."""
    return (
        f"{as_text(source)} {as_code(conversation_id)}"
        if looked.several
        else as_code(conversation_id)
    )


def _actions(looked: ReportView) -> Iterator[str]:
    for group in looked.actions:
        ids = f" ({' '.join(group['findings'][:_MOST])})" if group["findings"] else ""
        title, reason = as_text(group["title"]), as_text(group["reason"])
        yield f"- **{title}, {group['count']:,}:** {reason}{ids}"
        shown = group["conversations"][:_MOST]
        for c in shown:
            name = _conversation(looked, c["source"], c["conversation_id"])
            yield f"  - {name}: {as_text(c['advice'])}"
        if shown:
            yield from _more(group["count"], len(shown), "  - ")
        # Those that come back whole are a number.
        held = [] if group["action"] == "full" else group["snapshots"][:_MOST]
        for s in held:
            current = ", current" if s["current"] else ""
            whose, because = as_code(s["whose"]), as_text(s["because"])
            yield f"  - {whose}{current}: {because} ({as_code(s['key'])})"
        if held:
            yield from _more(group["count"], len(held), "  - ")


def _calls(looked: ReportView) -> Iterator[str]:
    unresolved = looked.result.unresolved
    calls = unresolved.get("calls") or []
    if not calls:
        return
    yield "| tool | operation id | conversation | step | the log holds |"
    yield "|---|---|---|---|---|"
    for call in calls[:_MOST]:
        operation = call["operation_id"]
        cells = [as_code(call["tool"]) if call["tool"] else "(no name)"]
        cells += [as_code(operation) if operation else "(no id)"]
        cells += [_conversation(looked, call["source"], call["conversation_id"])]
        cells += ["?" if call["step"] is None else str(call["step"]), as_text(call["known"])]
        yield as_row(cells)
    if unresolved["count"] > min(len(calls), _MOST):
        yield ""
        yield from _more(unresolved["count"], min(len(calls), _MOST))


def _findings(looked: ReportView) -> Iterator[str]:
    if not looked.classes:
        return
    yield "| | finding | severity | count | first |"
    yield "|---|---|---|---|---|"
    for c in looked.classes:
        first = _first(looked, c.first[0])
        yield as_row([c.sign, f"{c.id} {c.name}", c.severity, f"{c.count:,}", first])


def _first(looked: ReportView, finding: Mapping[str, Any]) -> str:
    """`c1` step 4: the sentence."""
    keys, source = finding["keys"], finding["source"]
    if "conversation_id" in keys:
        place = [_conversation(looked, source, keys["conversation_id"])]
    else:
        place = [as_text(source)] if looked.several else []
        place += [as_code(key)] if (key := about(finding)) is not None else []
    place += [f"step {keys['step']}"] if "step" in keys else []
    return f"{' '.join(place)}: {as_text(finding['sentence'])}".removeprefix(": ")


def _sources(sources: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from (_source(source) for source in sources[:_MOST])
    yield from _more(len(sources))


def _source(source: Mapping[str, Any]) -> str:
    custody = source.get("custody") or {}
    counts = "read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(**source)
    told = [f"{word} {as_code(custody[key])}" for key, word in _CUSTODY if custody.get(key)]
    return f"- {as_text(source['name'])}: {', '.join([counts, *told])}"


#: What of a custody a ticket needs, and how it is called.
_CUSTODY = (
    ("sha256", "sha256"),
    ("listing_sha256", "sha256 of the listing"),
    ("system_identifier", "system"),
    ("lsn", "LSN"),
)
