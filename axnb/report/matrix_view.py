"""The compatibility matrix of a migration drill, ready for a picture, a table and a terminal.

It comes from the drill's answer, `axnb.migration-drill/1`: what every AX version makes of the rows
of every generation, and of the log as a whole, before and after its migration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from axnb.ax.versions import GENERATIONS
from axnb.report.view import brief
from axnb.result import Result
from axnb.text import count

SCHEMA = "axnb.migration-drill/1"

#: Rows that are shown.
MOST_ROWS = 24

Kind = Literal["works", "differs", "loses", "fails", "unknown"]

#: A sign for each kind, for people who see no colour and for everybody else.
SIGNS: Mapping[str, str] = {
    "works": "✓",
    "differs": "≈",
    "loses": "◐",
    "fails": "✗",
    "unknown": "?",
}

#: What each kind means, as a legend says it.
MEANS: Mapping[str, str] = {
    "works": "works",
    "differs": "works, and answers a request otherwise",
    "loses": "loses in silence: so many contents, or owners",
    "fails": "fails: an error at every request",
    "unknown": "not known",
}

#: How a version fails: in full, and where there is little room.
HOWS: Mapping[str, tuple[str, str]] = {
    "wrong-column": ("no such column", "column"),
    "unreadable": ("a row that it cannot decode", "decode"),
    "harness-changed": ("it refuses the owner", "owner"),
    "harness-missing": ("the owner is not registered", "harness"),
    "lost-pending": ("the interrupted turn is not found", "turn"),
}

#: The rows, by where they come from.
GROUPS: Mapping[str, str] = {
    "whole": "This log, as a whole",
    "log": "Its conversations, by who wrote their rows",
    "specimen": "Other generations, by specimens of the drill's own",
}

#: What the two rows of the whole log are called.
WHOLE: Mapping[str, str] = {"as-it-is": "as it is", "migrated": "migrated"}


@dataclass(frozen=True)
class Cell:
    """What one version makes of some conversations."""

    version: str
    kind: Kind
    #: What there is room for in a picture: `51 of 51`, `column`.
    short: str
    words: str
    #: Of what is stored, how much is lost: 0 to 1.
    share: float

    @property
    def sign(self) -> str:
        """The sign of its kind."""
        return SIGNS[self.kind]


@dataclass(frozen=True)
class Row:
    """Some conversations under every version."""

    name: str
    #: A word of GROUPS.
    group: str
    conversations: int
    cells: tuple[Cell, ...]

    @property
    def label(self) -> str:
        """The row where its group is not seen: `this log, as it is`, `specimen of G3`."""
        of = {"whole": "this log,", "log": "its rows of", "specimen": "specimen of"}
        return f"{of[self.group]} {self.name}"


@dataclass(frozen=True)
class Version:
    """A column."""

    name: str
    release: str
    is_target: bool


@dataclass(frozen=True)
class MatrixView:
    """The matrix."""

    target: str
    versions: tuple[Version, ...]
    rows: tuple[Row, ...]
    #: Rows that were left out.
    more: int = 0

    def of(self, *groups: str) -> tuple[Row, ...]:
        """The rows of some groups."""
        return tuple(row for row in self.rows if row.group in groups)

    def ways(self) -> str:
        """How versions fail that fail here: `column: no such column.`"""
        short = {c.short for row in self.rows for c in row.cells if c.kind == "fails"}
        told = [f"{name}: {means}" for means, name in HOWS.values() if name in short]
        return f"Fails by {'; '.join(told)}." if told else ""


def matrix_view(result: Result) -> MatrixView | None:
    """Look at the matrix of a migration drill; None for a result of another kind."""
    answer = result.answer
    if answer.get("schema") != SCHEMA:
        return None
    target = str(answer["target"])
    rows = [_row("whole", told) for told in answer["log"]]
    rows += [_row(told["from"], told) for told in answer["matrix"]]
    rows.sort(key=lambda row: list(GROUPS).index(row.group))
    return MatrixView(
        target=label(target),
        versions=tuple(
            Version(name, g.releases[-1] if g.releases else "", name == target)
            for name, g in GENERATIONS.items()
        ),
        rows=tuple(rows[:MOST_ROWS]),
        more=max(0, len(rows) - MOST_ROWS),
    )


def label(name: str) -> str:
    """A generation with its release, where axnb knows it: `v0.2.3 (G8)`."""
    return GENERATIONS[name].label if name in GENERATIONS else brief(name, 20)


def _row(group: str, told: Mapping[str, Any]) -> Row:
    name = str(told["rows"])
    versions = told["versions"]
    return Row(
        name=WHOLE.get(name) or brief(name.replace("+", ", "), 60),
        group=group if group in GROUPS else "specimen",
        conversations=told["conversations"],
        cells=tuple(_cell(name, versions[name]) for name in GENERATIONS if name in versions),
    )


def _cell(version: str, told: Mapping[str, Any]) -> Cell:
    kind: Kind = told["outcome"] if told["outcome"] in SIGNS else "unknown"
    if kind == "works" and told["differs"]:
        kind = "differs"
    stored = told["contents"]
    share = told["contents_lost"] / stored if kind == "loses" and stored else 0.0
    return Cell(version, kind, _short(kind, told), in_words(told), min(1.0, share))


def _short(kind: str, told: Mapping[str, Any]) -> str:
    if kind == "loses":
        if told["contents_lost"]:
            return f"{told['contents_lost']:,} of {told['contents']:,}"
        return count(told["owners_lost"], "owner")
    if kind == "fails":
        ways = [HOWS.get(how, ("", brief(how, 10)))[1] for how in told["how"]]
        return ways[0] if len(ways) == 1 else count(len(ways), "way")
    return {"works": "works", "differs": "differs"}.get(kind, "not known")


def in_words(told: Mapping[str, Any]) -> str:
    """A cell in words: `3 work, 20 lose in silence: 34 of 34 contents, 20 owners`."""
    return ", ".join(_told(told)) or "no conversation"


def _told(told: Mapping[str, Any]) -> Iterator[str]:
    every = told["works"] + told["loses"] + told["fails"] + told["unknown"]
    if number := told["works"]:
        yield f"{_of(number, every)} {'works' if number == 1 else 'work'}"
    if number := told["loses"]:
        lost = [f"{told['contents_lost']:,} of {count(told['contents'], 'content')}"]
        lost = lost if told["contents_lost"] else []
        lost += [count(told["owners_lost"], "owner")] if told["owners_lost"] else []
        verb = "loses" if number == 1 else "lose"
        yield f"{_of(number, every)} {verb} in silence ({', '.join(lost)})"
    if number := told["fails"]:
        ways = "; ".join(HOWS.get(how, (brief(how, 40), ""))[0] for how in told["how"])
        yield f"{_of(number, every)} {'fails' if number == 1 else 'fail'} ({ways})"
    if number := told["unknown"]:
        yield f"of {number:,} it is not known"
    if number := told["differs"]:
        one = "answers" if number == 1 else "answer"
        yield f"{number:,} {one} a request otherwise"


def _of(number: int, every: int) -> str:
    return f"all {number:,}" if number == every > 1 else f"{number:,}"
