"""Markdown of a result, to be pasted into a ticket: the verdict, what to do, what was found.

Strangers' texts stand in code spans: there no link, mention, tag or table comes to life.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from axnb.report.view import FindingClass, ReportView, view
from axnb.result import Result
from axnb.text import cut_middle, safe

#: Conversations of a group, calls and sentences that a ticket holds.
_MOST = 20
_WIDTH = 120

#: A sentence in which nothing can come to life in any dialect.
_PLAIN = re.compile(r"(?!.*www\.)[\w .,;:()'’=+%…–-]*", re.ASCII | re.IGNORECASE)


def render_markdown(result: Result) -> str:
    """The result as Markdown; what differs between two runs stands in one line that says so."""
    looked = view(result)
    return "\n".join(_lines(looked)) + "\n"


def _lines(looked: ReportView) -> Iterator[str]:
    result = looked.result
    yield f"# {looked.sign} {result.verdict}: {_text(result.drill)}"
    yield ""
    yield from (f"- {_text(sentence)}" for sentence in result.examined[:_MOST])
    yield f"- {_run(result.run)}"
    yield from _section("Why", [f"- {_text(sentence)}" for sentence in result.why[:_MOST]])
    yield from _section("What to do, and what not to touch", list(_actions(result.actions)))
    yield from _section("Calls to read back from their tools", list(_calls(result.unresolved)))
    yield from _section(f"Findings: {looked.tally}", list(_findings(looked.classes)))
    yield from _section("Evidence", [_source(source) for source in result.sources])
    yield from _section("Scope", [f"- {_text(sentence)}" for sentence in result.scope[:_MOST]])
    yield ""
    yield f"Digest of the result, its block `run` aside: `{looked.digest}`."


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"## {title}", "", *lines)


def _run(run: Mapping[str, Any]) -> str:
    about = [", ".join(map(str, run.get("locators") or ())), run.get("started")]
    about += [f"axnb {run.get('axnb')}", f"run {run.get('id')}"]
    return f"run: {' · '.join(_code(text) for text in about if text)} · not sealed"


def _actions(actions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for group in actions:
        ids = f" ({' '.join(group['findings'])})" if group["findings"] else ""
        yield f"- **{_text(group['title'])}: {group['count']:,}.** {_text(group['reason'])}{ids}"
        shown = group["conversations"][:_MOST]
        yield from (f"  - {_code(c['conversation_id'])}: {_text(c['advice'])}" for c in shown)
        if shown and group["count"] > len(shown):
            yield f"  - … {group['count'] - len(shown):,} more in `result.json`"


def _calls(unresolved: Mapping[str, Any]) -> Iterator[str]:
    calls = unresolved.get("calls") or []
    if not calls:
        return
    yield "| tool | operation id | conversation | step | the log holds |"
    yield "|---|---|---|---|---|"
    for call in calls[:_MOST]:
        operation = call["operation_id"]
        cells = [_code(call["tool"]) if call["tool"] else "(no name)"]
        cells += [_code(operation) if operation else "(no id)", _code(call["conversation_id"])]
        cells += ["?" if call["step"] is None else str(call["step"]), _text(call["known"])]
        yield _row(cells)
    if unresolved["count"] > _MOST:
        yield ""
        yield f"… {unresolved['count'] - min(len(calls), _MOST):,} more in `result.json`."


def _findings(classes: Iterable[FindingClass]) -> Iterator[str]:
    found = list(classes)
    if not found:
        return
    yield "| | finding | severity | count | first |"
    yield "|---|---|---|---|---|"
    for c in found:
        first = c.first[0]
        place = (
            [_code(first["keys"]["conversation_id"])] if "conversation_id" in first["keys"] else []
        )
        place += [f"step {first['keys']['step']}"] if "step" in first["keys"] else []
        about = f"{' '.join(place)}: " if place else ""
        told = f"{about}{_text(first['sentence'])}"
        yield _row([c.sign, f"{c.id} {_text(c.name)}", c.severity, f"{c.count:,}", told])


def _first(finding: Mapping[str, Any]) -> str:
    """`c1` step 4: the sentence."""
    keys = finding["keys"]
    place = [_code(keys["conversation_id"])] if "conversation_id" in keys else []
    place += [f"step {keys['step']}"] if "step" in keys else []
    return f"{' '.join(place)}: {_text(finding['sentence'])}".removeprefix(": ")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _source(source: Mapping[str, Any]) -> str:
    custody = source.get("custody") or {}
    digest = custody.get("sha256") or custody.get("lsn") or custody.get("system_identifier")
    counts = "read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(**source)
    return f"- {_text(source['name'])}: {counts}" + (f", {_code(digest)}" if digest else "")


def _text(value: Any) -> str:
    """A sentence: as it is if nothing in it can come to life, else as code."""
    text = cut_middle(safe(str(value)), 2 * _WIDTH)
    return text if _PLAIN.fullmatch(text) else _code(text, 2 * _WIDTH)


def _code(value: Any, width: int = _WIDTH) -> str:
    """A code span whose fence is longer than any in the text."""
    text = cut_middle(safe(str(value)), width)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    room = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{room}{text}{room}{fence}" if text else "(empty)"
