"""The alerts of one run: what counts, what is not known, and that none fires on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from axnb.ax.versions import GENERATIONS
from axnb.errors import AxnbError
from axnb.runtimes.alerts import AlertReceiver, alert, now, post
from axnb.runtimes.json_server import JsonServer, Request
from axnb.runtimes.rehearsing import World
from axnb.runtimes.run_alerts import Alerts
from tests.runtimes.test_watchdog import PENDING, add


@pytest.fixture(params=["receiver", "alertmanager"])
def made(request: pytest.FixtureRequest) -> Iterator[Alerts]:
    """The alerts of a run, at our own receiver and at one that stands for an Alertmanager."""
    with AlertReceiver() as there:
        alerts = Alerts("" if request.param == "receiver" else there.url)
        with closing(alerts):
            yield alerts


def labels(alerts: Alerts, **others: str) -> dict[str, str]:
    told = {"alertname": "AxTurnInterrupted", "conversation_id": "c", "run": alerts.run}
    return told | others


def fire(alerts: Alerts, *, since: str | None = None, ends: bool = False, **others: str) -> None:
    # Not the other way round: a millisecond between them would make it end before it begins.
    starts_at = since or now()
    ends_at = now() if ends else None
    made = alert(labels(alerts, **others), {}, starts_at=starts_at, ends_at=ends_at)
    post(alerts.url, [made])


def states(alerts: Alerts) -> list[tuple[str, str]]:
    found = alerts.of("c")
    assert found is not None
    return [(one["state"], one["at_resume"]) for one in found]


@pytest.mark.parametrize(
    "others", [{"run": "another"}, {"alertname": "Other"}, {"conversation_id": "d"}]
)
def test_others_alerts_do_not_count(made: Alerts, others: dict[str, str]) -> None:
    made.begin("c")
    fire(made, **others)
    made.note("c")
    assert made.of("c") == ()


def test_what_fires_already_is_not_counted_later(made: Alerts) -> None:
    fire(made, since="2026-01-01T00:00:00Z")
    made.begin("c")
    assert made.of("c") == ()
    fire(made, since="2026-01-01T00:00:00Z", ends=True)
    assert made.of("c") == ()
    fire(made)
    made.wait_firing("c", 20)
    assert states(made) == [("firing", "absent")]


@pytest.mark.parametrize("at_resume", ["firing", "resolved", "absent"])
def test_the_state_at_the_resume_is_kept(made: Alerts, at_resume: str) -> None:
    made.begin("c")
    if at_resume != "absent":
        fire(made)
        made.wait_firing("c", 20)
    if at_resume == "resolved":
        fire(made, ends=True)
    made.note("c")
    fire(made)
    made.wait_firing("c", 20)
    assert states(made) == [("firing", at_resume)]
    fire(made, ends=True)
    made.wait_resolved("c", 20)
    assert states(made) == [("resolved", at_resume)]


def test_the_token_of_the_run_is_not_told(made: Alerts) -> None:
    """A result is the same in every run."""
    made.begin("c")
    fire(made)
    found = made.of("c")
    assert found is not None
    assert found[0]["labels"] == {"alertname": "AxTurnInterrupted", "conversation_id": "c"}


# --- an Alertmanager that answers oddly ----------------------------------------------------------


@contextmanager
def odd(answers: list[Any]) -> Iterator[str]:
    """One that gives each answer once, the last for ever; an exception is a status of 400."""

    def answer(_: Request) -> tuple[int, Any]:
        told = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(told, Exception):
            raise told
        return 200, told() if callable(told) else told

    server = JsonServer(answer).start()
    yield server.url
    server.stop()


def test_a_look_that_fails_is_repeated() -> None:
    answers: list[Any] = [[]]
    with odd(answers) as url:
        alerts = Alerts(url)
        found = [{"labels": labels(alerts), "status": {"state": "active"}}]
        broken = ValueError("broken")
        answers[:] = [[], broken, found, broken, found, broken, []]
        alerts.begin("c")
        alerts.wait_firing("c", 20)
        alerts.note("c")
        assert states(alerts) == [("resolved", "firing")]


def test_who_cannot_be_read_at_last_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axnb.runtimes.run_alerts._GIVE_UP_SECONDS", 0.0)
    answers: list[Any] = [[], ValueError("broken")]
    with odd(answers) as url:
        alerts = Alerts(url)
        alerts.begin("c")
        assert alerts.of("c") is None
        answers[:] = [[]]
        assert alerts.of("c") == ()
        answers[:] = [ValueError("broken"), []]
        assert alerts.of("d") is None
        assert alerts.of("c") == ()


def test_what_nobody_understands_is_passed_over_or_fires() -> None:
    answers: list[Any] = [[]]
    with odd(answers) as url:
        alerts = Alerts(url)
        own = labels(alerts)
        alerts.begin("c")
        answers[:] = [
            [{}, {"labels": 1}, {"labels": own, "annotations": None, "status": {"state": "new"}}]
        ]
        assert states(alerts) == [("firing", "absent")]
        answers[:] = [[{"labels": own, "status": 1}]]
        assert states(alerts) == [("firing", "absent")]
        answers[:] = [[{"labels": own, "status": {"state": "resolved"}}]]
        assert states(alerts) == [("resolved", "absent")]


def test_nobody_waits_beyond_the_end(made: Alerts) -> None:
    """A drill that is stopped is not held up by what never comes."""
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(made.wait_firing, name, 3600.0) for name in ("c", "d")]
        made.close()
        for one in waiting:
            one.result(timeout=60)


# --- the end -------------------------------------------------------------------------------------


def test_none_fires_on() -> None:
    with AlertReceiver() as receiver:
        alerts = Alerts(receiver.url)
        fire(alerts, severity="critical")
        fire(alerts, conversation_id="d")
        fire(alerts, run="another")
        alerts.resolve("c")
        by_name = {
            (one["labels"]["conversation_id"], one["labels"]["run"]): one["status"]["state"]
            for one in receiver.alerts()
        }
        assert by_name == {
            ("c", alerts.run): "resolved",
            ("d", alerts.run): "active",
            ("c", "another"): "active",
        }


def test_who_cannot_be_told_that_it_is_over_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axnb.runtimes.run_alerts._GIVE_UP_SECONDS", 0.0)
    with AlertReceiver() as receiver:
        alerts = Alerts(receiver.url)
        fire(alerts)
        alerts.begin("c")
    with pytest.raises(AxnbError, match="may fire on"):
        alerts.resolve("c")


def test_a_world_leaves_no_alert(tmp_path: Path) -> None:
    """The watchdog of a run raises one with the run's token, and it is resolved at the end."""
    add(tmp_path / "log.sqlite", GENERATIONS["G8"], "c", PENDING)
    with AlertReceiver() as receiver:
        world = World(tmp_path / "scratch", idempotent=False, alertmanager=receiver.url)
        with closing(world):
            world.alerts.begin("c")
            log = str(tmp_path / "log.sqlite")
            world.watch(log, "G8", (1, 1), tmp_path)
            world.alerts.wait_firing("c", 30)
            assert states(world.alerts) == [("firing", "absent")]
        (found,) = receiver.alerts()
        assert found["labels"]["run"] == world.alerts.run
        assert found["status"]["state"] == "resolved"
