"""The alerts of one run: what was raised for a conversation, and what became of it.

An Alertmanager has alerts of everybody, and those of earlier runs, whose conversations have the
same names. Ours have the run's token as a label. Only what was raised after the interruption began
counts: an alert that fires already tells nobody of it.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from axnb.errors import AxnbError
from axnb.runtimes import alerts
from axnb.runtimes.alerts import Alert, AlertReceiver

#: The name of a watchdog's alerts, and their label that says which run they are of.
NAME, RUN = "AxTurnInterrupted", "run"

#: How long an alert may take to be raised or resolved. What has not come by then, has not come.
ALERT_SECONDS = 30.0

_POLL_SECONDS = 0.1

#: An Alertmanager that could not be read for so long is not asked any more for now.
_GIVE_UP_SECONDS = 2.0

#: An alert is its labels.
_Key: TypeAlias = tuple[tuple[str, str], ...]


@dataclass
class _Seen:
    """What is known of a conversation's alerts."""

    #: As each was told last.
    told: dict[_Key, Alert] = field(default_factory=dict)
    firing: set[_Key] = field(default_factory=set)
    #: What fired when the interruption began, and since when.
    before: frozenset[tuple[_Key, str]] = frozenset()
    at_resume: dict[_Key, str] = field(default_factory=dict)
    #: Could it be read at the last look?
    is_readable: bool = True

    def take(self, found: Iterable[Alert]) -> None:
        """Alertmanager does not tell what is resolved: what fired and is gone, is."""
        now = {_key(alert): alert for alert in found}
        self.told |= now
        # A state that nobody knows is not an end.
        self.firing = {key for key, alert in now.items() if _state(alert) != "resolved"}

    @property
    def raised(self) -> list[_Key]:
        """Those that were raised since the interruption began."""
        since = {key: (key, str(alert.get("startsAt", ""))) for key, alert in self.told.items()}
        return [key for key in self.told if since[key] not in self.before]

    @property
    def fires(self) -> bool:
        """Does one of them fire?"""
        return not self.firing.isdisjoint(self.raised)

    def state(self, key: _Key) -> str:
        """`firing` or `resolved`."""
        return "firing" if key in self.firing else "resolved"


class Alerts:
    """The alerts of a run: at a small receiver of ours, or at any Alertmanager by its address."""

    def __init__(self, alertmanager: str = "") -> None:
        #: What a watchdog puts on its alerts; nobody else's have it.
        self.run = secrets.token_hex(8)
        self._receiver = None if alertmanager else AlertReceiver()
        self.url = self._receiver.url if self._receiver else alertmanager
        self._seen: dict[str, _Seen] = {}
        self._closed = threading.Event()

    def close(self) -> None:
        """Resolve what still fires, and stop the receiver. Whoever waits, waits no more."""
        self._closed.set()
        for conversation_id in list(self._seen):
            # A rehearsal that was closed has said it, if that is not possible.
            with suppress(AxnbError):
                self.resolve(conversation_id)
        if self._receiver is not None:
            self._receiver.close()

    def begin(self, conversation_id: str) -> None:
        """The interruption begins: what fires now is not of it."""
        seen = self._look(conversation_id)
        seen.before = frozenset((key, str(seen.told[key].get("startsAt", ""))) for key in seen.told)

    def note(self, conversation_id: str) -> None:
        """The resume begins: keep in mind which alerts fire now."""
        seen = self._look(conversation_id)
        seen.at_resume = {key: seen.state(key) for key in seen.raised}

    def wait_firing(self, conversation_id: str, seconds: float = ALERT_SECONDS) -> None:
        """Wait until an alert names the conversation; what never comes is seen later."""
        self._wait(conversation_id, seconds, firing=True)

    def wait_resolved(self, conversation_id: str, seconds: float = ALERT_SECONDS) -> None:
        """Wait until none fires any more."""
        self._wait(conversation_id, seconds, firing=False)

    def of(self, conversation_id: str) -> tuple[dict[str, Any], ...] | None:
        """Every alert of the interruption: `{labels, annotations, state, at_resume}`.

        The state is `firing` or `resolved`, what it was right before the resume may also be
        `absent`. The run's token is no part of the labels. None if it cannot be read now.
        """
        seen = self._look(conversation_id)
        if not seen.is_readable:
            return None
        return tuple(
            {
                "labels": {name: text for name, text in key if name != RUN},
                "annotations": dict(seen.told[key].get("annotations") or {}),
                "state": seen.state(key),
                "at_resume": seen.at_resume.get(key, "absent"),
            }
            for key in seen.raised
        )

    def resolve(self, conversation_id: str) -> None:
        """Resolve what still fires, once no watchdog raises it again; a drill pages nobody for
        ever. Raises AxnbError if that is not possible."""
        seen = self._look(conversation_id)
        if not seen.firing:
            return
        at = alerts.now()
        due = [
            alerts.alert(
                dict(key),
                seen.told[key].get("annotations") or {},
                starts_at=str(seen.told[key].get("startsAt") or at),
                ends_at=at,
            )
            for key in sorted(seen.firing)
        ]
        try:
            alerts.post(self.url, due)
        except AxnbError as err:
            raise AxnbError(f"an alert of the drill may fire on: {err}") from err
        seen.firing = set()

    def _wait(self, conversation_id: str, seconds: float, *, firing: bool) -> None:
        if self._receiver is not None:
            seen = self._kept(conversation_id)

            def is_so(found: list[dict[str, Any]]) -> bool:
                seen.take(self._ours(found, conversation_id))
                return seen.fires == firing or self._closed.is_set()

            with suppress(AxnbError):
                self._receiver.wait_for(is_so, seconds)
            return
        deadline = time.monotonic() + seconds
        while (seen := self._look(conversation_id)).is_readable and seen.fires != firing:
            if time.monotonic() > deadline or self._closed.wait(_POLL_SECONDS):
                return

    def _look(self, conversation_id: str) -> _Seen:
        """Look now; where it cannot be read, again for a while."""
        seen = self._kept(conversation_id)
        # Who could not be read the last time is asked once.
        deadline = time.monotonic() + (_GIVE_UP_SECONDS if seen.is_readable else 0.0)
        while True:
            try:
                found = self._receiver.alerts() if self._receiver else self._asked(conversation_id)
            except AxnbError:
                # What cannot be read is not known: that is neither an alert nor none.
                seen.is_readable = False
                if time.monotonic() > deadline or self._closed.wait(_POLL_SECONDS):
                    return seen
            else:
                seen.is_readable = True
                seen.take(self._ours(found, conversation_id))
                return seen

    def _asked(self, conversation_id: str) -> list[dict[str, Any]]:
        wanted = {"alertname": NAME, "conversation_id": conversation_id, RUN: self.run}
        return alerts.active(self.url, wanted)

    def _kept(self, conversation_id: str) -> _Seen:
        return self._seen.setdefault(conversation_id, _Seen())

    def _ours(self, found: Iterable[Alert], conversation_id: str) -> list[Alert]:
        """Alerts of this run and conversation: who answers may not know filters."""
        wanted = {"alertname": NAME, "conversation_id": conversation_id, RUN: self.run}
        return [alert for alert in found if wanted.items() <= dict(_key(alert)).items()]


def _key(alert: Alert) -> _Key:
    labels = alert.get("labels")
    if not isinstance(labels, Mapping):
        return ()
    return tuple(sorted((str(name), str(text)) for name, text in labels.items()))


def _state(alert: Alert) -> str:
    status = alert.get("status")
    return str(status.get("state", "")) if isinstance(status, Mapping) else ""
