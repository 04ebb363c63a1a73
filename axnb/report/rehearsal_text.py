"""How a drill that answers in words looks on a terminal: the verdict, each word with its checks,
the calls to read back, and what was not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from axnb.report.commands import Command, explain, next_lines
from axnb.report.drill_view import StepView, as_verdict
from axnb.report.matrix_text import matrix_lines, migration_commands
from axnb.report.matrix_view import matrix_view
from axnb.report.rehearsal_view import RehearsalView, Word
from axnb.report.rehearsal_words import file_names, measured, reach, read_back, timed
from axnb.report.terminal import COLOURS, WIDTH, beside, verdict_word
from axnb.report.view import brief
from axnb.report.words import SOURCE_KINDS
from axnb.result import SIGNS, Result
from axnb.text import columns, count, cut, cut_middle, pad, safe, wrap

_CHECK = 19
_VERDICT = 16

#: Lines of evidence of one check, calls and sources that a terminal shows.
_MOST_EVIDENCE, _MOST_CALLS, _MOST_SOURCES = 3, 8, 8


def render_rehearsal(result: Result, looked: RehearsalView, *, colour: bool = False) -> str:
    """The whole drill as text, without a line end."""
    lines = [*_heads(result), "", *_verdict(result, looked, colour)]
    if (matrix := matrix_view(result)) is not None:
        lines += ["", *matrix_lines(matrix, whole=result.verdict == "ok", colour=colour)]
    if result.verdict != "ok":
        if calls := list(_calls(result)):
            lines += ["", *calls]
        for word in looked.words:
            lines += ["", *_word(word, colour)]
        lines += ["", *_rest(result)]
    if offered := next_lines(_offered(result), WIDTH):
        lines += ["", *offered]
    return "\n".join(lines)


def step_line(point: str, check: str, step: Mapping[str, Any]) -> str:
    """A check in one line, when it is done: `copy rows   ✓ ok   63 rows in the log, 63 …`."""
    verdict = as_verdict(step["verdict"])
    told = f"{f'{point} {check}':<28}{SIGNS[verdict]} {verdict:<13}{step['observed']}"
    line = safe(told)
    return line if columns(line) <= WIDTH else f"{cut(line, WIDTH - 1)}…"


# --- what was read, and how it went --------------------------------------------------------------


def _heads(result: Result) -> Iterator[str]:
    names = file_names(result)
    told = [
        (cut_middle(safe(names[str(source["name"])]), 30), _about(source))
        for source in result.sources[:_MOST_SOURCES]
    ]
    width = max([len("rehearsed"), *(columns(name) for name, _ in told)]) + 2
    for name, about in told:
        yield from beside(name, [about], width)
    if left := len(result.sources) - len(told):
        yield from beside("", [f"{count(left, 'source')} more"], width)
    examined = [brief(sentence, 300) for sentence in result.examined]
    yield from beside(
        "rehearsed", [". ".join(examined) or f"a {brief(result.drill, 40)} drill"], width
    )


def _about(source: Mapping[str, Any]) -> str:
    """`AX log of G6; rows: read 18, parsed 18, rejected 0`."""
    kind = SOURCE_KINDS.get(source["kind"], source["kind"])
    of = " ".join(source.get("generations") or ())
    noun = "objects" if source["kind"] == "bucket" else "rows"
    counts = "read {read:,}, parsed {parsed:,}, rejected {rejected:,}".format(**source)
    return f"{kind}{f' of {of}' if of else ''}; {noun}: {counts}"


def _verdict(result: Result, looked: RehearsalView, colour: bool) -> list[str]:
    shown, word = verdict_word(result.verdict, colour)
    told = [reach(looked), *measured(result), timed(result.run)]
    lines = [line for one in told if one for line in wrap(safe(one), WIDTH - _VERDICT)]
    first = f"{shown}{' ' * (_VERDICT - len(word))}{lines[0]}"
    return [first, *(f"{'':{_VERDICT}}{line}" for line in lines[1:])]


# --- what to read back ---------------------------------------------------------------------------


def _calls(result: Result) -> Iterator[str]:
    calls = result.unresolved.get("calls") or []
    if not calls:
        return
    number = result.unresolved["count"]
    these = "this call" if number == 1 else "these calls"
    yield f"{f'READ BACK  {number:,}':<30}{read_back(result)} {these}"
    names = file_names(result)
    shown = [
        (
            cut_middle(safe(call["conversation_id"]) or "(empty)", 28),
            "step ?" if call["step"] is None else f"step {call['step']}",
            cut_middle(safe(f"{call['tool']} {call['operation_id'] or '(no id)'}"), 30),
            f"{call['known']}, in {names.get(call['source'], call['source'])}",
        )
        for call in calls[:_MOST_CALLS]
    ]
    widths = [max(columns(row[n]) for row in shown) + 3 for n in range(3)]
    for row in shown:
        cells = "".join(pad(cell, width) for cell, width in zip(row, widths, strict=False))
        yield f"  {cells}{cut_middle(safe(row[3]), max(WIDTH - 2 - sum(widths), 0))}"
    if number > len(shown):
        yield f"  … {number - len(shown):,} more; the report has them"


# --- a word --------------------------------------------------------------------------------------


def _word(word: Word, colour: bool) -> Iterator[str]:
    shown, plain = verdict_word(word.verdict, colour)
    name = word.name.upper()
    room = WIDTH - columns(f"{name}  {plain}   ")
    yield f"{name}  {shown}   {cut_middle(word.title, max(room, 0))}".rstrip()
    for step in word.steps:
        yield from _step(step, colour)
    if not word.steps:
        yield "  nothing was checked"
    if word.more:
        yield f"  … {count(word.more, 'more check')}; the report has them"


def _step(step: StepView, colour: bool) -> Iterator[str]:
    sign = f"\x1b[{COLOURS[step.verdict]}m{step.sign}\x1b[0m" if colour else step.sign
    name = pad(cut_middle(step.check.replace("-", " "), _CHECK - 2), _CHECK)
    told = [step.observed or "–"]
    if step.verdict in ("failed", "inconclusive"):
        told += [f"expected: {step.expected}"] if step.expected else []
        # What the observation says already is not said again.
        shows = [line for line in step.evidence if line not in step.observed]
        told += shows[:_MOST_EVIDENCE]
        left = len(shows) - _MOST_EVIDENCE
        told += [f"… {left:,} more lines of evidence in the report"] if left > 0 else []
    lines = [line for one in told for line in wrap(safe(one), WIDTH - _CHECK - 4)]
    yield f"  {sign} {name}{lines[0]}".rstrip()
    yield from (f"    {'':{_CHECK}}{line}" for line in lines[1:])


# --- the end -------------------------------------------------------------------------------------


def _rest(result: Result) -> list[str]:
    lines = []
    if result.findings:
        number = count(len(result.findings), "finding")
        told = f"{number} of what was there before the drill; the report has them, none is counted."
        lines += beside("wounds", [told], 12)
    if result.plan:
        number = count(len(result.plan.splitlines()), "line")
        told = f"{number}, in the report and in result.json; none of it was run."
        lines += beside("plan", [told], 12)
    scope = " ".join(brief(sentence, 400) for sentence in result.scope)
    lines += beside("not seen", [scope or "The result names none."], 12)
    return lines


def _offered(result: Result) -> list[Command | None]:
    """Commands that can be pasted where the files lie."""
    again = str(result.run.get("again") or "").removesuffix(" --json")
    offered = list(migration_commands(result, again))
    if result.verdict == "ok":
        return offered
    # What came to nothing comes to nothing again.
    is_told = any(step["verdict"] == "ok" for step in result.steps)
    if again and is_told:
        offered.append([*again.split(" "), "--out", "drill"])
    number = result.measures.get("numbers_again")
    if isinstance(number, int) and number:
        offered.append(explain("AX107"))
    elif result.measures.get("rpo_steps"):
        offered.append(explain("AX103"))
    return offered
