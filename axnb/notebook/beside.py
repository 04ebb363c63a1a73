"""What stands beside a log, as the parameter `beside` of a notebook lists it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from axnb.errors import UsageError


@dataclass(frozen=True)
class Beside:
    """What stands beside the log, by what it is."""

    logs: list[str]
    clients: list[str]
    server_logs: list[str]
    expected: list[str]
    snapshots: list[str]
    records: list[str]
    ax_configs: list[str]

    @property
    def ax_config(self) -> Path | None:
        """The ax.yaml that says what would run now; the last one, as on the command line."""
        return Path(self.ax_configs[-1]) if self.ax_configs else None

    @classmethod
    def parse(cls, entries: Sequence[str]) -> Beside:
        """Sort entries. Raises UsageError for an empty one."""
        beside = cls([], [], [], [], [], [], [])
        kinds = {
            "client": beside.clients,
            "server-log": beside.server_logs,
            "expect-last": beside.expected,
            "snapshots": beside.snapshots,
            "records": beside.records,
            "ax-config": beside.ax_configs,
        }
        for entry in entries:
            kind, separator, value = entry.partition("=")
            known = kinds.get(kind) if separator else None
            if not entry or (known is not None and not value):
                raise UsageError(f"the parameter beside has an entry without a value: {entry!r}.")
            (beside.logs if known is None else known).append(entry if known is None else value)
        return beside
