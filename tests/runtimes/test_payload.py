"""Rows are written as protobuf-go writes them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from google.protobuf import json_format

from axnb.ax import wire
from axnb.ax.json_text import Members, Number, dump, parse
from axnb.ax.versions import GENERATIONS
from axnb.runtimes.embedded import payload
from tests import ax_logs
from tests.ax_logs import RealLog

#: G5's builds put a space after each comma.
COMPACT = ("g6", "g7", "g8")


LOGS = [log for log in ax_logs.written_logs(COMPACT) if log.sqlite.exists()]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_every_recorded_row_is_written_back_byte_by_byte(log: RealLog) -> None:
    generation = GENERATIONS[log.truth["written_by"]["generation"]]
    with closing(sqlite3.connect(f"file:{log.sqlite}?immutable=1", uri=True)) as connection:
        payloads = connection.execute("select payload from conversation_log").fetchall()
    assert payloads
    for (text,) in payloads:
        # Our schema has no name for this one.
        known = text.replace("TYPE_JPEG", "TYPE_PNG")
        event = wire.message(generation, generation.event)()
        json_format.ParseDict(json.loads(known, parse_int=float), event)
        assert payload.text(event) == known


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("0", "0"),
        ("-0", "-0"),
        ("-0.0", "-0"),
        ("2.0", "2"),
        ("0.2", "0.2"),
        ("9007199254740993", "9007199254740992"),
        ("1e15", "1000000000000000"),
        ("123456789012345678901", "123456789012345680000"),
        ("1e21", "1e+21"),
        ("1.5E300", "1.5e+300"),
        ("0.00001", "0.00001"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("1e-300", "1e-300"),
    ],
)
def test_numbers_are_written_as_go_does(number: str, written: str) -> None:
    assert dump(payload.struct(Members([("n", Number(number))]))) == f'{{"n":{written}}}'


def test_an_object_is_written_with_its_keys_in_order() -> None:
    given = parse('{"b": [1.0, {"d": null, "c": true}], "a": "é<"}')
    assert dump(payload.struct(given)) == '{"a":"é<","b":[1,{"c":true,"d":null}]}'


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_a_word(number: str) -> None:
    value = wire.message(GENERATIONS["G8"], "Value")(number_value=float(number))
    assert payload.text(value) == f'{{"number_value":"{number}"}}'


def test_an_enum_without_a_name_is_its_number() -> None:
    event = wire.message(GENERATIONS["G8"], "StepEvent")(state=9)
    assert payload.text(event) == '{"state":9}'
