"""Alerts in the words of Alertmanager's API v2: posting them, asking for them, receiving them.

An alert is its labels: one with the same labels is the same alert. It is resolved by posting it
with an `endsAt` that is over; without one Alertmanager sets a time after which it is resolved if it
was not posted again (`resolve_timeout`, 5 min by default). `GET /api/v2/alerts` tells those that
are not resolved. Source: Alertmanager's api/v2/openapi.yaml and api/v2/api.go, 0.27 and later.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

from axnb.errors import AxnbError
from axnb.runtimes.json_client import call

if TYPE_CHECKING:
    from axnb.runtimes.json_server import Request

#: An alert as `POST /api/v2/alerts` takes it, and as `GET` gives it.
Alert = Mapping[str, Any]

_TIMEOUT = timedelta(minutes=5)
_MATCHER = re.compile(r'\s*([^=!~\s"]+)\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\]|\\.)*)"|([^"]*?))\s*')


def now() -> str:
    """This moment in RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def alert(
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    *,
    starts_at: str,
    ends_at: str | None = None,
    generator_url: str | None = None,
) -> dict[str, Any]:
    """An alert to post; with `ends_at` in the past it resolves the one with the same labels."""
    made: dict[str, Any] = {"labels": dict(labels), "annotations": dict(annotations)}
    made["startsAt"] = starts_at
    if ends_at is not None:
        made["endsAt"] = ends_at
    if generator_url is not None:
        made["generatorURL"] = generator_url
    return made


def post(url: str, alerts: Sequence[Alert], *, seconds: float = 10.0) -> None:
    """Post alerts to an Alertmanager, or to a receiver. Raises AxnbError if it does not take them.

    `url` is its address without `/api/v2`: `http://127.0.0.1:9093`, with a path prefix if it has
    one.
    """
    call("POST", _place(url), [dict(one) for one in alerts], seconds=seconds)


def active(
    url: str, matchers: Mapping[str, str] | None = None, *, seconds: float = 10.0
) -> list[dict[str, Any]]:
    """Alerts that are not resolved and have these labels. Raises AxnbError."""
    filters = [("filter", f'{name}="{_escaped(text)}"') for name, text in (matchers or {}).items()]
    answer = call("GET", f"{_place(url)}?{urlencode(filters)}", seconds=seconds)
    if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
        raise AxnbError("the answer is not that of an Alertmanager.")
    return answer


def _place(url: str) -> str:
    return f"{url.rstrip('/')}/api/v2/alerts"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class AlertReceiver:
    """A small receiver in this process that speaks both calls and forgets nothing."""

    def __init__(self, port: int = 0) -> None:
        from axnb.runtimes.json_server import JsonServer

        self._changed = threading.Condition()
        self._bodies: list[list[dict[str, Any]]] = []
        self._kept: dict[str, _Kept] = {}
        self._server = JsonServer(self._answer, port).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Its address, for `post` and `active`."""
        return self._server.url

    @property
    def bodies(self) -> list[list[dict[str, Any]]]:
        """Every body that was posted, in order."""
        with self._changed:
            return list(self._bodies)

    def alerts(self) -> list[dict[str, Any]]:
        """Every alert that was ever posted as it is now, also what is resolved: then `endsAt` is
        over, and `status.state` is `resolved`, which Alertmanager itself does not tell."""
        with self._changed:
            return self._told()

    def wait_for(
        self, predicate: Callable[[list[dict[str, Any]]], bool], seconds: float = 10.0
    ) -> list[dict[str, Any]]:
        """Wait until `predicate` holds of `alerts()`; these. Raises AxnbError if it never does."""
        with self._changed:
            if not self._changed.wait_for(lambda: predicate(self._told()), seconds):
                raise AxnbError(f"the alert that was waited for did not come in {seconds:g} s.")
            return self._told()

    def close(self) -> None:
        """Stop listening. What came is kept; whoever waits looks for a last time."""
        self._server.stop()
        with self._changed:
            self._changed.notify_all()

    def _told(self) -> list[dict[str, Any]]:
        return [kept.told() for _, kept in sorted(self._kept.items())]

    def _answer(self, request: Request) -> tuple[int, Any]:
        if request.path != ("api", "v2", "alerts"):
            raise KeyError(request.path)
        if request.method == "POST":
            self._take(request.body)
            return 200, None
        filters = [_matcher(text) for text in request.query.get("filter", [])]
        with self._changed:
            firing = [one for one in self._told() if one["status"]["state"] == "active"]
        return 200, [one for one in firing if all(holds(one["labels"]) for holds in filters)]

    def _take(self, body: Any) -> None:
        alerts = [_checked(one) for one in _list(body)]
        with self._changed:
            self._bodies.append(alerts)
            for one in alerts:
                kept = _Kept.of(one)
                before = self._kept.get(kept.fingerprint)
                if before is not None and before.is_firing:
                    kept.starts_at = min(kept.starts_at, before.starts_at)
                self._kept[kept.fingerprint] = kept
            self._changed.notify_all()


def _list(body: Any) -> list[Any]:
    if not isinstance(body, list):
        raise ValueError("the body is no list of alerts.")
    return body


def _checked(one: Any) -> dict[str, Any]:
    """An alert that Alertmanager takes, without labels that are empty."""
    if not isinstance(one, dict):
        raise ValueError("an alert is no object.")
    labels, annotations = one.get("labels"), one.get("annotations", {})
    for texts in (labels, annotations):
        if not isinstance(texts, dict) or not all(isinstance(v, str) for v in texts.values()):
            raise ValueError("labels and annotations are texts by name.")
    labels = {name: text for name, text in (labels or {}).items() if text}
    if not labels:
        raise ValueError("at least one label pair required.")
    for name in ("startsAt", "endsAt"):
        if name in one:
            _moment(one[name])
    return {**one, "labels": labels, "annotations": annotations}


def _moment(text: Any) -> datetime:
    if not isinstance(text, str):
        raise ValueError("a time is no text.")
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time has no zone.")
    return moment


@dataclass
class _Kept:
    """An alert as it was posted last."""

    fingerprint: str
    posted: dict[str, Any]
    starts_at: datetime
    ends_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, posted: dict[str, Any]) -> _Kept:
        at = datetime.now(UTC)
        ends = _moment(posted["endsAt"]) if "endsAt" in posted else None
        starts = _moment(posted["startsAt"]) if "startsAt" in posted else ends or at
        if ends is not None and ends < starts:
            raise ValueError("start time must be before end time.")
        return cls(_fingerprint(posted["labels"]), posted, starts, ends or at + _TIMEOUT, at)

    @property
    def is_firing(self) -> bool:
        return self.ends_at > datetime.now(UTC)

    def told(self) -> dict[str, Any]:
        return {
            **self.posted,
            "startsAt": self.starts_at.isoformat(),
            "endsAt": self.ends_at.isoformat(),
            "updatedAt": self.updated_at.isoformat(),
            "fingerprint": self.fingerprint,
            "receivers": [{"name": "axnb"}],
            "status": {
                "state": "active" if self.is_firing else "resolved",
                "silencedBy": [],
                "inhibitedBy": [],
                "mutedBy": [],
            },
        }


def _fingerprint(labels: Mapping[str, str]) -> str:
    """FNV-1a of the labels in order, as Prometheus has it."""
    text = b"".join(
        name.encode() + b"\xff" + labels[name].encode() + b"\xff" for name in sorted(labels)
    )
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def _matcher(text: str) -> Callable[[Mapping[str, str]], bool]:
    """One `filter`: does an alert with these labels match it? A label that is not there is empty.

    Raises ValueError for what is no matcher.
    """
    match = _MATCHER.fullmatch(text)
    if match is None:
        raise ValueError("a filter is no matcher.")
    name, sign, quoted, bare = match.groups()
    wanted = bare if quoted is None else re.sub(r"\\(.)", _unescaped, quoted)
    if "~" in sign:
        try:
            pattern = re.compile(wanted)
        except re.error:
            raise ValueError("a filter is no regular expression.") from None
        return lambda labels: bool(pattern.fullmatch(labels.get(name, ""))) == (sign == "=~")
    return lambda labels: (labels.get(name, "") == wanted) == (sign == "=")


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
