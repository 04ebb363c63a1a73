"""`[effects.NAME]` in every form that it can be written, and what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from axnb.errors import UsageError
from axnb.settings import Settings
from axnb.settings_ledgers import STATES, LedgerSettings

WHOLE = """
[effects.payments]
table = "billing.payments"
tool = "charge_card"
tools = ["refund"]
committed = ["Settled"]
failed = ["declined"]
pending = ["queued"]
reversed = ["refunded"]
zone = "UTC"
covers_from = 2026-11-01T02:00:00+02:00
covers_to = 2026-12-01T00:00:00Z
lag = "15m"
business_key = ["customer", "cents"]
[effects.payments.columns]
operation_id = "reference"
[effects.payments.arguments]
cents = "$.amount[0]"
"""


def _read(folder: Path, text: str) -> dict[str, LedgerSettings]:
    path = folder / "axnb.toml"
    path.write_text(text, encoding="utf-8")
    return dict(Settings.read(path).ledgers)


def test_all_of_it(tmp_path: Path) -> None:
    assert _read(tmp_path, "") == {}
    assert _read(tmp_path, WHOLE) == {
        "payments": LedgerSettings(
            table="billing.payments",
            tool="charge_card",
            tools=("refund",),
            states={
                "settled": "committed",
                "declined": "failed",
                "queued": "pending",
                "refunded": "reversed",
            },
            zone=ZoneInfo("UTC"),
            covers_from=datetime(2026, 11, 1, tzinfo=UTC),
            covers_to=datetime(2026, 12, 1, tzinfo=UTC),
            lag=timedelta(minutes=15),
            business_key=("customer", "cents"),
            columns={"operation_id": "reference"},
            arguments={"cents": "$.amount[0]"},
        )
    }


def test_what_the_page_tells_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "reconciliation.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert _read(tmp_path, told)["bank"].columns["reverses"] == "refund_of"
    words = {word for words in STATES.values() for word in words}
    assert all(f"`{word}`" in page for word in words)


def test_a_status_means_what_the_operator_says_or_what_leaves_no_doubt() -> None:
    plain, said = LedgerSettings(), LedgerSettings(states={"ok": "committed"})
    assert [plain.state(s) for s in (None, "Succeeded", "failed ", "ok", "error", "")] == [
        "committed",
        "committed",
        "failed",
        "unclear",
        "unclear",
        "unclear",
    ]
    assert [said.state(s) for s in (None, "OK", "succeeded", "failed")] == [
        "committed",
        "committed",
        "unclear",
        "unclear",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("effects = 1", "is not a table"),
        ("[effects]\npayments = 1", "is not a table"),
        ('[effects."a b"]', "a name that is not of letters"),
        ("[effects.a]\ncolour = 1", "does not know: colour"),
        ("[effects.a]\ntool = 1", "effects.a.tool"),
        ('[effects.a]\ncommitted = "x"', "effects.a.committed"),
        ('[effects.a]\ncommitted = ["x"]\nfailed = ["X"]', "two meanings"),
        ('[effects.a]\nzone = "Mars/Olympus"', "no time zone"),
        ('[effects.a]\ncovers_from = "2026-11-01T00:00:00Z"', "covers_from"),
        ("[effects.a]\ncovers_to = 2026-11-01T00:00:00", "covers_to"),
        (
            "[effects.a]\ncovers_from = 2026-11-02T00:00:00Z\ncovers_to = 2026-11-01T00:00:00Z",
            "covers nothing",
        ),
        ('[effects.a]\nlag = "soon"', "effects.a.lag"),
        ("[effects.a.columns]\noperation_id = 1", "effects.a.columns"),
        ('[effects.a.columns]\ncolour = "x"', "knows no colour"),
        ('[effects.a.arguments]\ncents = "amount"', "effects.a.arguments.cents"),
        ('[effects.a]\nbusiness_key = "x"', "effects.a.business_key"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        _read(tmp_path, text)
