"""What a reconciliation drill is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from axnb.errors import UsageError
from axnb.evidence.ledgers.load import Ledger, moment
from axnb.settings import Settings

#: Before that day nobody could get AX (`event-log.md` §1.0), so no call is older.
FIRST_DAY = datetime(2026, 5, 20, tzinfo=UTC)


@dataclass(frozen=True)
class ReconciliationOptions:
    """What a reconciliation drill is asked. Raises UsageError for what makes no sense."""

    #: Logs; none: the one that AX_EVENTLOG_DSN names, or what the case holds.
    sources: Sequence[str] = ()
    ledgers: Sequence[Ledger] = ()
    server_logs: Sequence[Path] = ()
    #: A case file to keep what is loaded in, or with what was loaded before.
    case: Path | None = None
    #: Is a SQLite source in use?
    live: bool = False
    #: When the calls of the logs were made, at the earliest and at the latest, if somebody knows.
    since: datetime | None = None
    until: datetime | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        names = [ledger.name for ledger in self.ledgers]
        if len({*names}) < len(names):
            raise UsageError("--effects names two ledgers alike: each needs a name of its own.")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise UsageError("--since is after --until.")


def parse_moment(option: str, text: str | None) -> datetime | None:
    """A moment with its zone. Raises UsageError."""
    if text is None:
        return None
    found = moment(text)
    if found is None or found.tzinfo is None or not 1970 < found.year < 9999:
        raise UsageError(f"{option} is a moment with a zone, such as 2026-11-01T00:00:00Z.")
    return found.astimezone(UTC)
