"""How a drill looks on a terminal: the verdict, a grid a policy, and what a person must do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from axnb.ax.versions import GENERATIONS
from axnb.report.commands import Command, explain, next_lines
from axnb.report.drill_view import DrillView, Point, Policy, StepView, drill_view, telling
from axnb.report.drill_words import SHORT_POINTS, does, interrupted, reach
from axnb.report.rehearsal_text import render_rehearsal
from axnb.report.rehearsal_view import rehearsal_view
from axnb.report.terminal import COLOURS, WIDTH, beside, verdict_word
from axnb.report.view import brief, capital
from axnb.result import SIGNS, Result, Verdict
from axnb.runtimes import POLICIES
from axnb.text import columns, cut, cut_middle, pad, safe, wrap

if TYPE_CHECKING:
    from axnb.drills.resume import Judged

_NAME = 12
_POINT = 33
_EFFECT = 14
_FEW = 16


def render_drill(result: Result, *, colour: bool = False) -> str:
    """The whole drill as text, without a line end."""
    if (answered := rehearsal_view(result)) is not None:
        return render_rehearsal(result, answered, colour=colour)
    looked = drill_view(result)
    lines = [*_heads(result), "", *_verdict(result, looked, colour)]
    if looked is not None and result.verdict != "ok":
        for policy in looked.policies:
            lines += ["", *_policy(policy, looked, colour)]
        if told := list(_persons(looked)):
            lines += ["", *told]
    if result.verdict != "ok":
        lines += ["", *_scope(result)]
        if offered := next_lines(_offered(result, looked), WIDTH):
            lines += ["", *offered]
    return "\n".join(lines)


def point_line(done: Judged) -> str:
    """A point in one line, when it is done: `ax 3  ? inconclusive  tool committed, not logged`."""
    name = f"{done.policy} {done.point or 'cancelled'}"
    title = SHORT_POINTS.get(done.title, done.title)
    return f"{name:<28}{SIGNS[done.verdict]} {done.verdict:<14}{title}"


def _heads(result: Result) -> list[str]:
    told = interrupted(result) or [(result.drill, list(result.examined) or ["a drill"])]
    return [line for name, sentences in told for line in beside(name, sentences, _NAME)]


def _verdict(result: Result, looked: DrillView | None, colour: bool) -> list[str]:
    shown, word = verdict_word(result.verdict, colour)
    told = reach(looked) if looked is not None else list(result.why) or ["Nothing was checked."]
    lines = [line for sentence in told for line in wrap(safe(sentence), WIDTH - 16)]
    first = f"{shown}{' ' * (16 - len(word))}{lines[0]}"
    return [first, *(f"{'':16}{line}" for line in lines[1:])]


# --- a policy ------------------------------------------------------------------------------------


def _policy(policy: Policy, looked: DrillView, colour: bool) -> list[str]:
    shown, word = verdict_word(policy.verdict, colour)
    name = cut_middle(policy.name.upper(), 30)
    told = f"{does(policy)}." if _has_effects(policy) else ""
    room = WIDTH - columns(f"{name}  {word}   ")
    lines = [f"{name}  {shown}   {_cut(told, room)}".strip()]
    lines += [f"  {line}" for line in wrap(capital(policy.means), WIDTH - 2) if line]
    room = (WIDTH - _POINT - _EFFECT) // max(len(looked.columns), 1) - 2
    names = looked.columns
    if sum(columns(name) + 2 for name in names) > WIDTH - _POINT - _EFFECT + 1:
        names = tuple(cut(name, max(room, 1)) for name in names)
    widths = [columns(name) for name in names]
    heads = "  ".join(names)
    lines.append(_cut(f"{'':{_POINT}}{heads} effects", WIDTH))
    for point in policy.points:
        lines.append(_row(point, widths, colour))
        if point.outcomes:
            lines.append(_cut(f"     {'; '.join(point.outcomes)}", WIDTH))
        if point.reversal is not None and point.reversal.verdict == "failed":
            lines.append(_cut(f"     not undone: {safe(point.reversal.observed)}", WIDTH))
    lines += _cancelled(policy.cancelled, colour)
    if policy.more:
        lines.append(f"  … {policy.more:,} more; the report has all")
    return lines


def _cancelled(point: Point | None, colour: bool) -> list[str]:
    """The cancellation after the commit, where it is not as expected."""
    if point is None or point.verdict == "ok":
        return []
    told = next((step.observed for step in point.steps if step is not None), "")
    if point.reversal is not None and point.reversal.verdict == "failed":
        told += f"; not undone: {point.reversal.observed}"
    shown, _ = verdict_word(point.verdict, colour)
    return [_cut(f"  cancelled after the commit: {shown}  {safe(told)}", WIDTH)]


def _has_effects(policy: Policy) -> bool:
    return any(point.effect for point in policy.points)


def _row(point: Point, widths: Sequence[int], colour: bool) -> str:
    name = _cut(f"  {cut_middle(point.name, 8)}  {point.short}", _POINT - 1)
    room = WIDTH - _POINT - sum(width + 2 for width in widths) + 1
    signs = "  ".join(
        _sign(step, width, colour) for step, width in zip(point.steps, widths, strict=True)
    )
    effect = _cut(point.effect, max(room, 0))
    return f"{pad(name, _POINT)}{signs} {effect}".rstrip()


def _sign(step: StepView | None, width: int, colour: bool) -> str:
    """A sign below the middle of its column's head."""
    verdict: Verdict = "not-run" if step is None else step.verdict
    sign = step.sign if step is not None else "–"
    left = (width - 1) // 2
    shown = f"\x1b[{COLOURS[verdict]}m{sign}\x1b[0m" if colour else sign
    return f"{'':{left}}{shown}{'':{width - left - 1}}"


# --- what to do ----------------------------------------------------------------------------------


def _persons(looked: DrillView) -> Iterable[str]:
    """The points at which recovery does not end without a person, and why: a line a reason."""
    needed = [p for policy in looked.policies for p in policy.points if p.needs_person]
    if not needed:
        return
    by_reason: dict[tuple[str, str], list[str]] = {}
    for point in needed:
        key = (point.policy, point.why or "Nobody says why.")
        by_reason.setdefault(key, []).append(cut_middle(point.name, 8))
    told = [(f"{p} {_ranges(names)}".strip(), why) for (p, why), names in by_reason.items()]
    width = min(max(columns(label) for label, _ in told), _POINT - 4)
    yield f"{f'A PERSON IS NEEDED  {len(needed):,}':<{_POINT}}read the operation back from its tool"
    for label, why in told[:_FEW]:
        yield _cut(f"  {pad(_cut(label, width), width)}  {safe(why)}", WIDTH)
    if len(told) > _FEW:
        yield f"  … {len(told) - _FEW:,} more; the report has all"


def _ranges(names: Sequence[str]) -> str:
    """`1, 3-5`: three numbers in a row or more are a range."""
    groups: list[list[str]] = []
    for name in names:
        follows = name.isdecimal() and groups and groups[-1][-1].isdecimal()
        if follows and int(name) == int(groups[-1][-1]) + 1:
            groups[-1].append(name)
        else:
            groups.append([name])
    told = [[f"{of[0]}-{of[-1]}"] if len(of) > 2 else of for of in groups]
    return ", ".join(name for of in told for name in of)


def _cut(text: str, width: int) -> str:
    return text if columns(text) <= width else f"{cut(text, width - 1)}…"


# --- the end -------------------------------------------------------------------------------------


def _scope(result: Result) -> list[str]:
    told = [brief(sentence, 400) for sentence in result.scope] or ["The result names none."]
    return beside("not seen", [" ".join(told)], _NAME)


def _offered(result: Result, looked: DrillView | None) -> list[Command]:
    """Commands that can be pasted: the worst point with its folder kept, and another policy."""
    points = [point for policy in looked.policies for point in policy.points] if looked else []
    if result.drill != "resume" or not points:
        return []
    again = ["axnb", "drill", "resume", *_asked(result.parameters)]
    worst = min(points, key=telling)
    commands = []
    if worst.policy in POLICIES and worst.name.isdecimal():
        only = ["--policy", worst.policy, "--points", worst.name]
        commands.append([*again, *only, "--keep", "kept"])
    # Others go on in their own way.
    is_ours = result.parameters.get("runtime") == "embedded"
    if is_ours and "read-before-retry" not in {point.policy for point in points}:
        commands.append([*again, "--policy", "read-before-retry", "--out", "drill"])
    if any(point.became == "uncertain" for point in points):
        commands.append(explain("AX203"))
    return commands


def _asked(parameters: Mapping[str, Any]) -> list[str]:
    """What was asked for and is not the default; only words that a drill knows."""
    known = {
        "runtime": ("ax", "command"),
        "store": ("postgres",),
        "generation": tuple(GENERATIONS.keys() - {"G8"}),
    }
    options = [
        word
        for name, values in known.items()
        if parameters.get(name) in values
        for word in (f"--{name}", str(parameters[name]))
    ]
    return [*options, "--idempotent"] if parameters.get("idempotent") is True else options
