"""A watchdog beside a node: it raises an alert for each turn that nobody seems to finish.

It looks at one log, the server's port and the actor's. A conversation whose last state is PENDING
is told to Alertmanager as `AxTurnInterrupted` while the server or the actor does not answer, or no
row was added for a while; it is resolved once the conversation has come to an end. The log is only
read: a SQLite file by `mode=ro`, whose hot journal is never rolled back here (that it would have to
be is itself a sign: an append was cut), one short read at a time.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axnb.ax.versions import Generation, resolve
from axnb.errors import AxnbError
from axnb.runtimes import alerts
from axnb.runtimes.processes import answers
from axnb.runtimes.run_alerts import NAME, RUN
from axnb.runtimes.watched_log import Look, WatchedLog

#: Alertmanager takes an alert for resolved that was not posted for 5 minutes.
_AGAIN_SECONDS = 60.0
_POST_SECONDS = 5.0


@dataclass
class _Raised:
    """An alert that fires."""

    summary: str
    starts_at: str
    posted: float


@dataclass
class Watch:
    """What is known from look to look; `due` says what is to be posted."""

    stall: float
    #: Whose alerts these are: a label; empty for none.
    run: str = ""
    _raised: dict[str, _Raised] = field(default_factory=dict)
    _rows: dict[str, tuple[int, float]] = field(default_factory=dict)

    def due(self, look: Look, is_down: Mapping[str, bool], clock: float) -> list[dict[str, Any]]:
        """Alerts to post after a look; `is_down` says which of `server` and `actor` is."""
        signs = [f"the {name} does not answer" for name, down in is_down.items() if down]
        if look.is_cut:
            signs.append("an append was cut")
        made = []
        for conversation_id, (rows, is_pending) in look.conversations.items():
            known = self._rows.get(conversation_id)
            if known is None or known[0] != rows:
                known = self._rows[conversation_id] = rows, clock
            its_signs = list(signs)
            if clock - known[1] >= self.stall:
                its_signs.append(f"no row was added after row {rows}")
            if is_pending and its_signs:
                made += self._raise(conversation_id, "; ".join(its_signs), clock)
            elif not is_pending and conversation_id in self._raised:
                made.append(self._resolved(conversation_id))
        gone = self._raised.keys() - look.conversations.keys()
        return made + [self._resolved(conversation_id) for conversation_id in sorted(gone)]

    def _raise(self, conversation_id: str, signs: str, clock: float) -> list[dict[str, Any]]:
        summary = f"a turn has no end: {signs}"
        before = self._raised.get(conversation_id)
        is_told = before is not None and before.summary == summary
        if before is not None and is_told and clock - before.posted < _AGAIN_SECONDS:
            return []
        starts_at = alerts.now() if before is None else before.starts_at
        self._raised[conversation_id] = _Raised(summary, starts_at, clock)
        return [self._alert(conversation_id, summary, starts_at)]

    def _resolved(self, conversation_id: str) -> dict[str, Any]:
        raised = self._raised.pop(conversation_id)
        return self._alert(conversation_id, raised.summary, raised.starts_at, alerts.now())

    def not_posted(self, posted: Iterable[Mapping[str, Any]]) -> None:
        """Take note that alerts did not arrive: those that fire are due again, and so are those
        that are resolved."""
        for one in posted:
            conversation_id = one["labels"]["conversation_id"]
            summary = one["annotations"]["summary"] if "endsAt" in one else ""
            self._raised[conversation_id] = _Raised(summary, one["startsAt"], float("-inf"))

    def _alert(
        self, conversation_id: str, summary: str, starts_at: str, ends_at: str | None = None
    ) -> dict[str, Any]:
        labels = {"alertname": NAME, "conversation_id": conversation_id, "severity": "critical"}
        labels |= {RUN: self.run} if self.run else {}
        return alerts.alert(labels, {"summary": summary}, starts_at=starts_at, ends_at=ends_at)


def watch(
    log: WatchedLog,
    url: str,
    ports: Mapping[str, int],
    kept: Watch,
    every: float,
    stopped: threading.Event,
) -> None:
    """Look and post until `stopped`. What cannot be read or posted now is tried again."""
    while not stopped.wait(every):
        is_down = {name: not answers(port) for name, port in ports.items()}
        look = log.look(is_alone=is_down.get("server", False))
        due = kept.due(look, is_down, time.monotonic())
        if not due:
            continue
        try:
            alerts.post(url, due, seconds=_POST_SECONDS)
        except AxnbError as err:
            print(err, file=sys.stderr, flush=True)
            kept.not_posted(due)


def main(arguments: Sequence[str]) -> int:
    """Watch until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="watchdog", allow_abbrev=False)
    parser.add_argument("--log", required=True, help="a SQLite file or a PostgreSQL DSN")
    parser.add_argument("--generation", required=True)
    parser.add_argument("--alertmanager", required=True, help="its address")
    parser.add_argument("--server-port", type=int)
    parser.add_argument("--actor-port", type=int)
    parser.add_argument("--stall", type=float, default=1.0, help="seconds without a row")
    parser.add_argument("--every", type=float, default=0.1, help="seconds between two looks")
    parser.add_argument("--run", default="", help="the label of this name; none without it")
    given = parser.parse_args(list(arguments))
    ports = {"server": given.server_port, "actor": given.actor_port}
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    try:
        generation: Generation = resolve(given.generation)
    except AxnbError as err:
        print(err, file=sys.stderr)
        return err.exit_code
    told = {name: port for name, port in ports.items() if port is not None}
    log = WatchedLog(given.log, generation)
    watch(log, given.alertmanager, told, Watch(given.stall, given.run), given.every, stopped)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
