"""`[effects.NAME]` of `axnb.toml`: how to read the ledger of a tool system.

[effects.payments]                 # axnb load --effects payments=FILE-OR-DSN
table = "billing.payments"         # of a database; may be left out where only one fits
tool = "charge_card"               # whose effects these are, where no column tells
tools = ["charge_card"]            # whose effects stand in it, even where none does
committed = ["settled"]            # statuses of what has happened, …
failed = ["declined"]              # … of what has not, and will not
pending = ["queued"]               # … of what may still happen
reversed = ["refunded"]            # … and of what was taken back
zone = "UTC"                       # of times that tell none
covers_from = 2026-11-01T00:00:00Z # it has every effect from then …
covers_to = 2026-12-01T00:00:00Z   # … until then
lag = "15m"                        # how late an effect may come to stand in it
business_key = ["customer", "cents"]   # columns that together tell one business from another

[effects.payments.columns]         # ours = theirs; a path such as "$.data.id" in JSON lines
operation_id = "reference"
conversation_id = "session"
tool = "kind"
status = "state"
time = "created_at"
reverses = "refund_of"             # the operation id of what this entry takes back

[effects.payments.arguments]       # a column, and where a call's arguments hold the same
cents = "$.amount"

Columns that are called as ours need no line. Without `covers_from` and `covers_to` nobody has said
what is in the ledger, and what is missing from it means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from axnb.errors import UsageError

#: Our names of a ledger's columns.
COLUMNS = ("operation_id", "conversation_id", "tool", "status", "time", "reverses")

#: What became of an effect, by words that leave no doubt; operators explain their own.
STATES: Mapping[str, frozenset[str]] = {
    "committed": frozenset({"committed", "completed", "done", "executed", "settled", "succeeded"}),
    "failed": frozenset({"declined", "failed", "rejected"}),
    "pending": frozenset({"pending", "processing", "queued"}),
    "reversed": frozenset({"refunded", "released", "reversed", "voided"}),
}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]+\])+")
_LAG = re.compile(r"([0-9]{1,6})(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_TEXTS = {"table", "tool", "zone", "lag"}
_KEYS = _TEXTS | {
    *STATES,
    "tools",
    "covers_from",
    "covers_to",
    "business_key",
    "columns",
    "arguments",
}


@dataclass(frozen=True)
class LedgerSettings:
    """What an operator says of one ledger."""

    table: str | None = None
    tool: str | None = None
    tools: tuple[str, ...] = ()
    #: Status in small letters -> state, where an operator says so.
    states: Mapping[str, str] = field(default_factory=dict)
    zone: ZoneInfo | None = None
    covers_from: datetime | None = None
    covers_to: datetime | None = None
    lag: timedelta = timedelta(0)
    business_key: tuple[str, ...] = ()
    #: Our name of a column -> the ledger's.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: Column -> path into the arguments of a call.
    arguments: Mapping[str, str] = field(default_factory=dict)

    def column(self, ours: str) -> str:
        """What the ledger calls a column."""
        return self.columns.get(ours, ours)

    def kept(self) -> tuple[str, ...]:
        """Columns beside ours that an effect is compared or told apart by."""
        return tuple(sorted({*self.arguments, *self.business_key}))

    def state(self, status: str | None) -> str:
        """What became of an effect; an entry without a status is there because it happened.

        `unclear` for a word that nobody has explained.
        """
        if status is None:
            return "committed"
        word = status.strip().lower()
        if word in self.states:
            return self.states[word]
        if self.states:
            return "unclear"
        return next((state for state, words in STATES.items() if word in words), "unclear")


def is_ledger_name(name: str) -> bool:
    """Can a ledger be called so?"""
    return _NAME.fullmatch(name) is not None


def read_ledgers(tables: Any, file: Path) -> dict[str, LedgerSettings]:
    """The settings of all ledgers, by name. Raises UsageError."""
    if not isinstance(tables, dict):
        raise UsageError(f"effects in {file} is not a table.")
    for name in tables:
        if not is_ledger_name(name):
            raise UsageError(
                f"effects in {file} has a name that is not of letters, digits, '.', '_' and '-', "
                "60 at most."
            )
    return {name: _ledger(table, f"effects.{name}", file) for name, table in tables.items()}


def _ledger(table: Any, where: str, file: Path) -> LedgerSettings:
    if not isinstance(table, dict):
        raise UsageError(f"{where} in {file} is not a table.")
    if unknown := sorted(table.keys() - _KEYS):
        raise UsageError(f"{where} in {file} has a key that axnb does not know: {unknown[0]}.")
    for key in sorted(_TEXTS & table.keys()):
        if not isinstance(table[key], str) or not table[key]:
            raise UsageError(f"{where}.{key} in {file} is not a text.")
    columns = _texts(table.get("columns", {}), f"{where}.columns", file)
    if unknown := sorted(columns.keys() - set(COLUMNS)):
        raise UsageError(
            f"{where}.columns in {file} knows no {unknown[0]}: it takes {', '.join(COLUMNS)}."
        )
    arguments = _texts(table.get("arguments", {}), f"{where}.arguments", file)
    for column, path in arguments.items():
        if not _PATH.fullmatch(path):
            raise UsageError(f"{where}.arguments.{column} in {file} is no path such as '$.key'.")
    begins, ends = (_moment(table.get(f"covers_{e}"), where, e, file) for e in ("from", "to"))
    if begins is not None and ends is not None and begins >= ends:
        raise UsageError(f"{where} in {file} covers nothing: covers_from is not before covers_to.")
    return LedgerSettings(
        table=table.get("table"),
        tool=table.get("tool"),
        tools=_list(table.get("tools", []), f"{where}.tools", file),
        states=_states(table, where, file),
        zone=_zone(table.get("zone"), where, file),
        covers_from=begins,
        covers_to=ends,
        lag=_lag(table.get("lag"), where, file),
        business_key=_list(table.get("business_key", []), f"{where}.business_key", file),
        columns=columns,
        arguments=arguments,
    )


def _texts(value: Any, where: str, file: Path) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(v, str) and v for v in value.values()):
        raise UsageError(f"{where} in {file} is not a table of texts.")
    return value


def _list(value: Any, where: str, file: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
        raise UsageError(f"{where} in {file} is not a list of texts.")
    return tuple(value)


def _states(table: dict[str, Any], where: str, file: Path) -> dict[str, str]:
    states: dict[str, str] = {}
    for state in STATES:
        for word in _list(table.get(state, []), f"{where}.{state}", file):
            if states.setdefault(word.strip().lower(), state) != state:
                raise UsageError(f"{where} in {file} gives the status {word!r} two meanings.")
    return states


def _moment(value: Any, where: str, end: str, file: Path) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None or not 1970 < value.year < 9999:
        raise UsageError(
            f"{where}.covers_{end} in {file} is no moment with a zone, such as "
            "2026-11-01T00:00:00Z without quotes."
        )
    return value.astimezone(UTC)


def _zone(name: str | None, where: str, file: Path) -> ZoneInfo | None:
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"{where}.zone in {file} is no time zone such as 'UTC'.") from None


def _lag(text: str | None, where: str, file: Path) -> timedelta:
    if text is None:
        return timedelta(0)
    found = _LAG.fullmatch(text)
    if found is None:
        raise UsageError(f"{where}.lag in {file} is no time such as '15m'.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
