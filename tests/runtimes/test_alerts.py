"""Alerts, as Alertmanager's API v2 has them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from axnb.errors import AxnbError
from axnb.runtimes.alerts import AlertReceiver, active, alert, now, post
from axnb.runtimes.json_client import call

LABELS = {"alertname": "AxTurnInterrupted", "conversation_id": 'c "1"\\', "severity": "critical"}


@pytest.fixture
def receiver() -> Iterator[AlertReceiver]:
    with AlertReceiver() as made:
        yield made


def firing(labels: dict[str, str] = LABELS, summary: str = "down") -> dict[str, object]:
    return alert(labels, {"summary": summary}, starts_at=now(), generator_url="urn:axnb:watchdog")


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def test_an_alert_is_active_until_it_is_resolved(receiver: AlertReceiver) -> None:
    post(receiver.url, [firing()])
    (found,) = active(receiver.url, {"conversation_id": LABELS["conversation_id"]})
    assert found["labels"] == LABELS
    assert found["annotations"] == {"summary": "down"}
    assert found["status"]["state"] == "active"
    post(receiver.url, [alert(LABELS, {}, starts_at=ago(9), ends_at=ago(1))])
    assert active(receiver.url) == []
    assert [one["status"]["state"] for one in receiver.alerts()] == ["resolved"]
    assert len(receiver.bodies) == 2


def test_the_same_labels_are_the_same_alert(receiver: AlertReceiver) -> None:
    first = ago(60)
    post(receiver.url, [alert(LABELS, {"summary": "server"}, starts_at=first)])
    post(receiver.url, [firing(summary="actor")])
    (found,) = active(receiver.url)
    assert found["annotations"] == {"summary": "actor"}
    assert datetime.fromisoformat(found["startsAt"]) == datetime.fromisoformat(first)
    post(receiver.url, [firing(LABELS | {"severity": "warning"})])
    assert len({one["fingerprint"] for one in active(receiver.url)}) == 2


@pytest.mark.parametrize(
    ("matcher", "matches"),
    [
        ('alertname="AxTurnInterrupted"', True),
        ("alertname=AxTurnInterrupted", True),
        ('alertname="Other"', False),
        ('alertname!="Other"', True),
        ('alertname=~"Ax.*"', True),
        ('alertname=~"Turn"', False),
        ('alertname!~"Ax.*"', False),
        ('none=""', True),
        ('none="x"', False),
    ],
)
def test_filters(receiver: AlertReceiver, matcher: str, matches: bool) -> None:
    from urllib.parse import urlencode

    post(receiver.url, [firing()])
    query = urlencode({"filter": matcher})
    assert bool(call("GET", f"{receiver.url}/api/v2/alerts?{query}")) == matches


@pytest.mark.parametrize(
    "body",
    [
        {},
        [1],
        [{}],
        [{"labels": {}}],
        [{"labels": {"alertname": ""}}],
        [{"labels": {"alertname": 1}}],
        [{"labels": {"alertname": "a"}, "startsAt": "yesterday"}],
        [{"labels": {"alertname": "a"}, "startsAt": "2026-01-01T00:00:00"}],
        [
            {
                "labels": {"alertname": "a"},
                "startsAt": "2026-01-02T00:00:00Z",
                "endsAt": "2026-01-01T00:00:00Z",
            }
        ],
    ],
)
def test_what_alertmanager_refuses_is_refused(receiver: AlertReceiver, body: object) -> None:
    with pytest.raises(AxnbError, match="refuses the request with status 400"):
        call("POST", f"{receiver.url}/api/v2/alerts", body)
    assert receiver.alerts() == []


def test_a_fingerprint_is_that_of_prometheus(receiver: AlertReceiver) -> None:
    """Its own test of a metric's fingerprint (prometheus/common, model)."""
    robot = {"first_name": "electro", "occupation": "robot", "manufacturer": "westinghouse"}
    post(receiver.url, [firing(robot)])
    assert int(active(receiver.url)[0]["fingerprint"], 16) == 5911716720268894962


def test_waiting_ends_when_the_alert_comes(receiver: AlertReceiver) -> None:
    started = threading.Event()

    def later() -> None:
        started.wait()
        post(receiver.url, [firing()])

    thread = threading.Thread(target=later)
    thread.start()

    def came(alerts: list[dict[str, object]]) -> bool:
        started.set()
        return bool(alerts)

    assert receiver.wait_for(came, 30)[0]["labels"] == LABELS
    thread.join()


def test_waiting_in_vain_is_one_sentence(receiver: AlertReceiver) -> None:
    with pytest.raises(AxnbError, match=r"did not come in 0\.01 s"):
        receiver.wait_for(lambda alerts: bool(alerts), 0.01)


def test_an_address_with_a_password_sends_it_and_never_tells_it() -> None:
    with AlertReceiver() as receiver:
        secret = receiver.url.replace("http://", "http://me:s3cret@")
        post(secret, [firing()])
        assert len(active(secret)) == 1
    with pytest.raises(AxnbError) as caught:
        post(secret, [firing()])
    assert "s3cret" not in str(caught.value)
