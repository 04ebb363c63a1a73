"""Faults of payloads: strangers wrote them. One bad row is a finding and never a failed load."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from axnb.case.case import Case
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings, Tool
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say
from tests.servers import PostgresServer

from .looks import (
    END,
    Load,
    Run,
    contents,
    counts,
    healthy,
    keys,
    rejects,
    states,
    tool_call,
    triaged,
    user_text,
    with_rows,
)

CHECKOUT = Path(__file__).parents[2]
ODD_END = END % "odd"


def reasons(case: Case) -> list[tuple[int, str]]:
    """(step, reason) of the rejects of the odd conversation, which are all rejects."""
    found = [(step, reason) for name, step, reason in rejects(case) if name == "odd"]
    assert len(found) == len(rejects(case))
    return found  # type: ignore[return-value]


def arguments(case: Case) -> list[str]:
    """Arguments of the odd conversation's calls, in order."""
    query = (
        "select arguments from parts where conversation_id = 'odd' and kind = 'tool_call' "
        "order by position, part"
    )
    return [text for (text,) in case.rows(query)]


def texts(case: Case) -> list[str]:
    """Texts of the odd conversation, in order."""
    query = (
        "select text from parts where conversation_id = 'odd' and kind = 'text' "
        "order by position, part"
    )
    return [text for (text,) in case.rows(query)]


def write(tmp_path: Path, payloads: Sequence[Any]) -> Path:
    """The healthy log, and one conversation of these payloads."""
    return with_rows(payloads).write_sqlite(tmp_path / "log.sqlite")


# --- LJ-08: deep nesting --------------------------------------------------------------------------

DEPTH = 100_000
ARRAYS = "[" * DEPTH + "]" * DEPTH
OBJECTS = '{"a":' * DEPTH + "1" + "}" * DEPTH
BOTH = '{"a": [ ' * (DEPTH // 2) + "1" + "] }" * (DEPTH // 2)
#: Rows that are nested too deep, and what they are refused for.
DEEP = [
    (tool_call(f'{{"x":{ARRAYS}}}'), "nested too deep"),
    (tool_call(f'{{"x":{OBJECTS}}}'), "nested too deep"),
    (tool_call(f'{{"x":{BOTH}}}'), "nested too deep"),
    (f'{{"conversation_id":"odd","unknown":{BOTH}}}', "nested too deep"),
    (f'{{"conversation_id":"odd","steps":{ARRAYS}}}', "wrong type"),
    (ARRAYS, "wrong type"),
    ("[" * DEPTH, "ends too early"),
    (tool_call('{"x":' + "[" * DEPTH + "}"), "not JSON"),
]


def test_deep_nesting_costs_its_row_only(tmp_path: Path) -> None:
    # In a process of its own: what does not survive this does not fail, it is gone.
    path = write(tmp_path, [*(row for row, _ in DEEP), ODD_END])
    case = tmp_path / "case.duckdb"
    command = [sys.executable, "-m", "axnb.cli", "load", str(path), "--case", str(case)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT)
    assert run.stderr == ""
    assert run.returncode == 3
    with Case(case, Settings()) as loaded:
        assert counts(loaded) == (9 + len(DEEP), 9, len(DEEP))
        assert reasons(loaded) == [(step, reason) for step, (_, reason) in enumerate(DEEP, 1)]
        assert states(loaded) == {"c1": "finished", "c2": "finished", "odd": "unreadable"}


def test_deep_nesting_under_every_verb(axnb: Run, tmp_path: Path) -> None:
    nested = '{"a":' * 20_000 + "1" + "}" * 20_000
    path = write(tmp_path, [tool_call(nested)])
    found = triaged(axnb("triage", path, "--json"), 1)
    asked = {c["conversation_id"]: c["next"]["empty"] for c in found["conversations"]}
    assert asked == {"c1": "nothing", "c2": "nothing", "odd": "unreadable"}
    for command in (["triage", path, "--all"], ["show", path, "odd", "--reveal"]):
        assert len(axnb(*command).stdout) < 7000


@pytest.mark.parametrize("depth", [100, 4000])
def test_what_ax_reads_is_read(case: Case, load: Load, tmp_path: Path, depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    load(write(tmp_path, [tool_call(nested), ODD_END]))
    assert counts(case) == (10, 10, 0)
    assert arguments(case) == [nested]


# --- LJ-09: large rows ----------------------------------------------------------------------------


def test_a_row_of_17_mib_is_read(case: Case, tmp_path: Path) -> None:
    large = "a" * (17 << 20)
    path = write(tmp_path, [user_text(f'"{large}"'), ODD_END])
    load_log(case, locate(str(path), {}).log)
    assert counts(case) == (10, 10, 0)
    assert texts(case) == [large]
    assert states(case)["odd"] == "finished"


def test_only_an_excerpt_of_a_large_row_is_shown(axnb: Run, tmp_path: Path) -> None:
    path = write(tmp_path, [tool_call(f'{{"image":"{"a" * (3 << 20)}"}}'), ODD_END])
    assert len(axnb("show", path, "odd", "--reveal").stdout) < 10_000
    assert len(axnb("triage", path, "--all").stdout) < 5000


def _too_large(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, bytes]:
    """A log with a row of 70 MiB: where it is, and the row."""
    large = user_text(f'"{"a" * (70 << 20)}"')
    log = with_rows([large, ODD_END])
    if store == "sqlite":
        source = str(log.write_sqlite(tmp_path / "log.sqlite"))
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        source = log.write_postgres(server.create_database())
    return source, large.encode()


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_row_of_70_mib_is_kept_by_reference(
    axnb: Run, tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    source, large = _too_large(store, tmp_path, request)
    path = tmp_path / "case.duckdb"
    found = triaged(axnb("triage", source, "--case", path, "--json"), 3)
    with Case(path, Settings()) as case:
        assert counts(case) == (10, 9, 1)
        ((reason, size, digest, raw),) = case.rows("select reason, size, digest, raw from rejects")
        assert (reason, size, raw) == ("too large", len(large), None)
        assert digest == hashlib.sha256(large).digest()
    asked = {c["conversation_id"]: c["next"]["empty"] for c in found["conversations"]}
    assert asked == {"c1": "nothing", "c2": "nothing", "odd": "unknown"}
    assert path.stat().st_size < 20 << 20


_MEASURED = """
import resource, sys
from axnb.cli import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "size", "most"), [(20_000, 30_000, 1500), (16, 30_000_000, 2000)])
def test_many_large_rows_do_not_fill_the_memory(
    tmp_path: Path, rows: int, size: int, most: int
) -> None:
    large = user_text(f'"{"a" * size}"', '"STATE_COMPLETED"')
    log = LogBuilder("G8")
    log.rows = [StoredRow(f"c{n}", 1, large) for n in range(rows)]
    path = log.write_sqlite(tmp_path / "log.sqlite")
    case = tmp_path / "case.duckdb"
    command = [sys.executable, "-c", _MEASURED, "load", str(path), "--case", str(case)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT)
    assert run.returncode == 0, run.stderr
    # 300 to 600 MB of rows. DuckDB may take 800 MB, and holds the rows of 30 MB once more when it
    # writes them into the file.
    assert int(run.stderr.split()[-1]) < most


# --- LJ-03, LJ-04: numbers ------------------------------------------------------------------------

DIGITS = [
    "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808",
    "18446744073709551617", "100000000000000000000000000001", "-0", "-0.0", "0", "1.0", "1e2",
    "1E+2", "1e22", "0.1", "0.1234567890123456789", "12345678901234567.25", "5e-324", "1e-400",
    "0e0",
]  # fmt: skip
NO_NUMBERS = [
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "-Infinity",
    "01",
    "1.",
    ".5",
    "0x1",
    "+1",
    "1_0",
]


@pytest.mark.parametrize("spelling", ['{"id":%s}', '{ "id" : %s }', '{"\\u0069d":%s}'])
def test_digits_survive(case: Case, load: Load, tmp_path: Path, spelling: str) -> None:
    rows = [tool_call(spelling.replace("%s", digits)) for digits in DIGITS]
    load(write(tmp_path, [*rows, ODD_END]))
    assert rejects(case) == []
    assert arguments(case) == [f'{{"id":{digits}}}' for digits in DIGITS]


def test_digits_of_an_operation_id_survive(tmp_path: Path) -> None:
    spellings = [f'{{"id":{digits}}}' for digits in DIGITS]
    spellings += [f'{{"id": {digits}}}' for digits in DIGITS]
    assert operation_ids(tmp_path, spellings) == DIGITS * 2


def test_an_operation_id_is_what_lies_at_its_path(tmp_path: Path) -> None:
    expected = {
        '{"a":{"id":-0},"id":0}': "0",
        '{"id":-0,"a":{"id":0}}': "-0",
        '{"x":"\\"id\\":-0,","id":0}': "0",
        '{"a":{"id":1},"ID":2}': "call_3",
        '{"id":"-0"}': "-0",
        '{"id":"a\\u0000b"}': "a\0b",
        '{"id":"a\\\\u0000b"}': r"a\u0000b",
        '{"id":""}': "call_7",
        '{"id":null}': "call_8",
    }
    assert operation_ids(tmp_path, list(expected)) == list(expected.values())


def operation_ids(tmp_path: Path, spellings: Sequence[str]) -> list[str]:
    """Operation ids of calls with these arguments, where `id` is said to hold them."""
    rows = [tool_call(text, f'"call_{n}"') for n, text in enumerate(spellings)]
    settings = Settings(tools={"pay": Tool("pay", "$.id")})
    with Case(settings=settings) as case:
        load_log(case, locate(str(write(tmp_path, [*rows, ODD_END])), {}).log)
        assert rejects(case) == []
        query = "select operation_id from tool_calls where tool = 'pay' order by call_position"
        return [name for (name,) in case.rows(query)]


@pytest.mark.parametrize("spelling", ['{"id":%s}', '{"id": [%s]}'])
def test_what_is_no_number_is_a_reject(
    case: Case, load: Load, tmp_path: Path, spelling: str
) -> None:
    rows = [tool_call(spelling.replace("%s", digits)) for digits in NO_NUMBERS]
    load(write(tmp_path, [*rows, ODD_END]))
    found = reasons(case)
    assert [step for step, _ in found] == list(range(1, len(NO_NUMBERS) + 1))
    assert [reason for _, reason in found[:2]] == ["number out of range"] * 2
    assert {reason for _, reason in found[2:]} == {"not JSON"}


def test_the_number_of_keys_changes_no_value(case: Case, load: Load, tmp_path: Path) -> None:
    rows = []
    for count in (1, 199, 200, 201, 5000):
        members = [f'"k{n}":9007199254740993' for n in range(count - 1)]
        rows.append("{" + ",".join([*members, '"f":1.5']) + "}")
    load(write(tmp_path, [*(tool_call(row) for row in rows), ODD_END]))
    assert arguments(case) == rows


# --- LJ-06, LJ-07: keys ---------------------------------------------------------------------------


def test_a_key_twice_is_a_reject_where_ax_refuses_it(
    case: Case, load: Load, tmp_path: Path
) -> None:
    refused = [
        '{"state":"STATE_PENDING","state":"STATE_PENDING"}',
        '{"conversation_id":"odd","conversationId":"odd"}',
        '{"conversation_id":"odd","conversation_\\u0069d":"odd"}',
        tool_call('{"a":1,"a":2}'),
        tool_call('{"a":1,"a":1}'),
        tool_call('{"a": 1, "b": {"a": 1, "a": 2}}'),
        tool_call('{"a":[{"b":1,"b":1}]}'),
        tool_call('{"a":1,"\\u0061":2}'),
        user_text('"x"').replace('"role":"user"', '"role":"user","role":"user"'),
    ]
    accepted = [
        '{"conversation_id":"odd","unknown":1,"unknown":2}',
        '{"conversation_id":"odd","unknown":{"a":1,"a":2}}',
        tool_call('{"a":{"b":1},"c":{"b":1}}'),
    ]
    load(write(tmp_path, [*refused, *accepted, ODD_END]))
    expected = [(step, "duplicate key") for step in range(1, len(refused) + 1)]
    assert reasons(case) == expected
    assert arguments(case) == ['{"a":{"b":1},"c":{"b":1}}']


def test_keys_that_differ_by_case_are_two(case: Case, load: Load, tmp_path: Path) -> None:
    pairs = ['{"id":1,"ID":2,"Id":3}', '{"args": {"id": 1, "ID": 2}}', '{"é":1,"É":2}']
    other = '{"Conversation_id":"x","conversation_id":"odd","STATE":9,"state":"STATE_PENDING"}'
    load(write(tmp_path, [*(tool_call(pair) for pair in pairs), other, ODD_END]))
    assert counts(case) == (13, 13, 0)
    assert arguments(case) == [pair.replace(" ", "") for pair in pairs]
    query = "select json_extract_string(arguments, '$.id'), json_extract_string(arguments, '$.ID')"
    found = case.rows(f"{query} from parts where conversation_id = 'odd' and step = 1")
    assert found == [("1", "2")]
    assert case.rows("select state from events where conversation_id = 'odd' and step = 4") == [
        ("STATE_PENDING",)
    ]


# --- LJ-01, LJ-02: characters ---------------------------------------------------------------------

LONE = [r"\ud83d…", r"\udc00", r"\ude00\ud83d", r"\ud83d\u0041", r"\uD83D", r"x\ud83d\ud83d\ude00"]


def test_a_lone_surrogate_is_a_reject(case: Case, load: Load, tmp_path: Path) -> None:
    rows = [user_text(f'"{half}"') for half in LONE]
    rows += [tool_call(f'{{"{half}":1}}') for half in LONE]
    rows += [
        tool_call("{}", r'"\ud800"'),
        '{"conversation_id":"odd","\\udc00":1}',
        '{"conversation_id":"odd","unknown":["\\udfff"]}',
        '{"conversation_id":"\\ud800"}',
    ]
    load(write(tmp_path, [*rows, ODD_END]))
    assert reasons(case) == [(step, "lone surrogate") for step in range(1, len(rows) + 1)]
    raw = case.rows("select raw from rejects order by step")
    assert raw == [(row.encode(),) for row in rows]
    # Its row counts as a row: nothing is missing.
    assert keys(case, "rejects") == [("odd", step) for step in range(1, len(rows) + 1)]


def test_a_lone_surrogate_reaches_no_output(axnb: Run, tmp_path: Path) -> None:
    path = write(tmp_path, [user_text(r'"\ud83d"'), ODD_END])
    result = axnb("triage", path, "--json")
    found = triaged(result, 1)
    assert {c["conversation_id"]: c["next"]["empty"] for c in found["conversations"]}["odd"] == (
        "unreadable"
    )
    result.stdout.encode()
    axnb("show", path, "odd", "--reveal").stdout.encode()


def test_a_pair_of_surrogates_is_a_character(case: Case, load: Load, tmp_path: Path) -> None:
    rows = [user_text(r'"\ud83d\ude00"'), user_text('"😀"'), user_text(r'"\uD83D\uDE00" ')]
    load(write(tmp_path, [*rows, tool_call(r'{"\ud83d\ude00":"\ud83d\ude00"}'), ODD_END]))
    assert texts(case) == ["😀"] * 3
    assert arguments(case) == ['{"😀":"😀"}']


#: What the document says, and what it means.
NULS = {
    r"a\u0000b": "a\0b",
    r"a\\u0000b": r"a\u0000b",
    r"a\\\u0000b": "a\\\0b",
    r"\u0000": "\0",
    r"\\u0000\u0000": "\\u0000\0",
    "ab": "ab",
}


@pytest.mark.parametrize("space", ["", "\n\t"], ids=["none", "lines"])
def test_a_nul_is_one_character_whichever_way_its_row_takes(
    case: Case, load: Load, tmp_path: Path, space: str
) -> None:
    # White space and other spellings send a row another way; what it means stays the same.
    rows = [user_text(f'"{raw}"').replace('":', f'":{space}') for raw in NULS]
    rows += [
        tool_call(f'{{"k":{space}"{raw}","{raw}":{space}1}}', f'"{raw}"').replace(
            '":"', f'":{space}"'
        )
        for raw in NULS
    ]
    load(write(tmp_path, [*rows, ODD_END]))
    assert rejects(case) == []
    assert texts(case) == list(NULS.values())
    found = [json.loads(text) for text in arguments(case)]
    assert found == [{"k": text, text: 1} for text in NULS.values()]
    ids = "select call_id from tool_calls where conversation_id = 'odd' order by call_position"
    assert [name for (name,) in case.rows(ids)] == list(NULS.values())


def test_ids_with_a_nul_pair_and_stay_apart(case: Case, load: Load, tmp_path: Path) -> None:
    log = healthy()
    names = ["k\0x", r"k\u0000x", "k"]
    log.interrupted("odd", "Pay", *(call("pay", {"n": n}, name) for n, name in enumerate(names)))
    for name in reversed(names):
        log.output("odd", answer({"ok": name}, "pay", name))
    load(log.write_sqlite(tmp_path / "log.sqlite"))
    query = (
        "select call_id, operation_id, pairing, result_step - call_step from tool_calls "
        "where conversation_id = 'odd' order by call_position"
    )
    assert case.rows(query) == [(name, name, "id", 5 - 2 * n) for n, name in enumerate(names)]


# --- LJ-10, LJ-11, LJ-12, LJ-13: torn, broken, fused ----------------------------------------------

WHOLE = tool_call('{"a":[1,-2.5e+10,true,false,null,"x\\u0041\\"\\\\é"],"b":{"c":{},"d":0.25}}')


def test_a_torn_row_is_told_from_a_broken_one(case: Case, load: Load, tmp_path: Path) -> None:
    # Cut at every place: in a name, a number, a word, an escape, between two tokens.
    torn = [WHOLE[:length] for length in range(1, len(WHOLE))]
    load(write(tmp_path, torn))
    assert counts(case) == (8 + len(torn), 8, len(torn))
    wrong = [
        (torn[step - 1][-12:], reason)
        for step, reason in reasons(case)
        if reason != "ends too early"
    ]
    assert wrong == []


BROKEN = {
    "a control character": WHOLE.replace("true", '"\x01"'),
    "a missing colon": WHOLE.replace('"b":', '"b"'),
    "a missing quote": WHOLE.replace('"name"', '"name'),
    "the wrong mark": WHOLE.replace("],", "},", 1),
    "bytes lost in the middle": WHOLE[:40] + WHOLE[60:],
    "bytes repeated": WHOLE[:60] + WHOLE[40:],
    "an unknown escape": WHOLE.replace("\\u0041", "\\x41"),
    "a comma too many": WHOLE.replace('"d":0.25', '"d":0.25,'),
    "single quotes": WHOLE.replace('"', "'"),
    "a comment": "/* */" + WHOLE,
    "Python": WHOLE.replace("true", "True"),
}


def test_a_broken_row_did_not_end_too_early(case: Case, load: Load, tmp_path: Path) -> None:
    load(write(tmp_path, [*BROKEN.values(), ODD_END]))
    assert [step for step, _ in reasons(case)] == list(range(1, len(BROKEN) + 1))
    assert "ends too early" not in {reason for _, reason in reasons(case)}


def test_nine_of_ten_rows_are_used(axnb: Run, tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("c1", "Count", *(say(str(n)) for n in range(8)))
    log.rows[3] = StoredRow("c1", 4, "{broken")
    path = log.write_sqlite(tmp_path / "log.sqlite")
    found = triaged(axnb("triage", path, "--json"))
    source = found["sources"][0]
    assert (source["read"], source["parsed"], source["rejected"]) == (10, 9, 1)
    assert "read 10 = parsed 9 + rejected 1" in axnb("triage", path).stdout
    assert found["conversations"][0]["last_step"] == 10


def test_two_records_in_one_row(case: Case, load: Load, tmp_path: Path) -> None:
    first, second = user_text('"A"'), user_text('"B"')
    rows = [
        first + second,
        first[:60] + second,
        second + first[:60],
        first,
        second + "\n" + ODD_END,
    ]
    load(write(tmp_path, rows))
    assert [step for step, _ in reasons(case)] == [1, 2, 3, 5]
    assert dict(reasons(case))[1] == dict(reasons(case))[5] == "text after the end"
    # The row that is whole is counted once, and nothing is made of the halves.
    assert texts(case) == ["A"]


def test_space_around_a_document_is_nothing(case: Case, load: Load, tmp_path: Path) -> None:
    around = [("", "\r\n"), ("\n", "\n\n"), (" \t", "  "), ("\r", "\r"), ("", "")]
    rows = [before + user_text('"A"') + after for before, after in around]
    load(write(tmp_path, [*rows, ODD_END]))
    assert counts(case) == (14, 14, 0)
    assert texts(case) == ["A"] * 5


def test_what_ax_takes_for_no_space_is_a_reject(case: Case, load: Load, tmp_path: Path) -> None:
    marks = ["\ufeff", "\u00a0", "\u2028", "\x0b", "\x0c", "\x00"]
    rows = [mark + ODD_END for mark in marks] + [ODD_END + mark for mark in marks]
    load(write(tmp_path, [*rows, ODD_END]))
    assert [step for step, _ in reasons(case)] == list(range(1, 13))


NO_EVENTS = [
    "[]",
    '""',
    "12",
    "-1",
    "[ ]",
    '"x"',
    "null",
    "true",
    "0",
    "[{}]",
    "{}x",
    "",
    " ",
    "\n",
]


def test_a_document_that_is_no_object_is_a_reject(case: Case, load: Load, tmp_path: Path) -> None:
    load(write(tmp_path, [*NO_EVENTS, "{}", "{ }", " {}\n", ODD_END]))
    assert [NO_EVENTS[step - 1] for step, _ in reasons(case)] == NO_EVENTS
    assert counts(case) == (12 + len(NO_EVENTS), 12, len(NO_EVENTS))


# --- LJ-14, SD-08: enums, defaults, unknown kinds -------------------------------------------------

#: A state as it stands in the row, the state that AX reads, and what becomes of the conversation.
STATES = {
    '"STATE_COMPLETED"': ("STATE_COMPLETED", "finished"),
    '"STATE_PENDING"': ("STATE_PENDING", "interrupted"),
    "3": ("STATE_COMPLETED", "finished"),
    "1": ("STATE_PENDING", "interrupted"),
    "3.0": ("STATE_COMPLETED", "finished"),
    "4": ("STATE_CANCELED", "finished"),
    "9": ("STATE_9", "finished"),
    '"3"': ("STATE_UNSPECIFIED", "finished"),
    '"STATE_NEW"': ("STATE_UNSPECIFIED", "finished"),
    '"state_completed"': ("STATE_UNSPECIFIED", "finished"),
    "null": ("STATE_UNSPECIFIED", "finished"),
    "0": ("STATE_UNSPECIFIED", "finished"),
}


def test_states_by_name_by_number_and_unknown(case: Case, load: Load, tmp_path: Path) -> None:
    log = healthy()
    for raw in STATES:
        log.rows.append(StoredRow(f"as {raw}", 1, f'{{"agent_id":"antigravity","state":{raw}}}'))
    log.rows.append(StoredRow("absent", 1, '{"agent_id":"antigravity"}'))
    load(log.write_sqlite(tmp_path / "log.sqlite"))
    assert rejects(case) == []
    found = dict(case.rows("select conversation_id, state from events where step = 1"))
    assert {raw: found[f"as {raw}"] for raw in STATES} == {raw: s for raw, (s, _) in STATES.items()}
    assert found["absent"] == "STATE_UNSPECIFIED"
    finished = states(case)
    assert {raw: finished[f"as {raw}"] for raw in STATES} == {r: s for r, (_, s) in STATES.items()}


def test_a_state_of_another_type_is_a_reject(case: Case, load: Load, tmp_path: Path) -> None:
    raws = ["99999999999", "true", "{}", "[]", "1.5"]
    load(write(tmp_path, [*(f'{{"state":{raw}}}' for raw in raws), ODD_END]))
    assert [step for step, _ in reasons(case)] == [1, 2, 3, 4, 5]
    assert states(case)["odd"] == "unreadable"


def test_an_index_by_number_and_as_text(case: Case, load: Load, tmp_path: Path) -> None:
    plain = user_text('"A"')
    rows = [
        plain.replace('"steps":[{', f'"steps":[{{"index":{raw},')
        for raw in ("12", '"12"', '"12.0"', "1.2e1", "null")
    ]
    bad = [
        plain.replace('"steps":[{', f'"steps":[{{"index":{raw},')
        for raw in ("12.5", '"x"', "9223372036854775808", '"9223372036854775808"', '" 12"')
    ]
    load(write(tmp_path, [*rows, *bad, ODD_END]))
    assert [step for step, _ in reasons(case)] == [6, 7, 8, 9, 10]
    assert texts(case) == ["A"] * 5


def test_an_absent_default_is_the_default(case: Case, load: Load, tmp_path: Path) -> None:
    result = '{"call_id":"call_1","function_result":{"name":"pay"}}'
    row = f'{{"conversation_id":"odd","steps":[{{"tool_result":{result}}}]}}'
    load(write(tmp_path, [tool_call("{}"), row, ODD_END]))
    assert case.rows("select is_error from parts where kind = 'tool_result'") == [(False,)] * 2
    assert case.rows("select outcome from tool_calls where tool = 'pay'") == [("completed",)]


UNKNOWN_STEPS = [
    '{"teleport":{"to":"Mars"}}',
    '{"teleport":{},"description":"?"}',
    "{}",
    '{"content":{"role":"user","content":[{"hologram":{}}]}}',
    '{"tool_call":{"id":"call_9","remote_call":{"name":"x"}}}',
]


def test_an_unknown_kind_keeps_its_place(axnb: Run, tmp_path: Path) -> None:
    rows = [
        user_text('"A"'),
        *(f'{{"steps":[{step}]}}' for step in UNKNOWN_STEPS),
        user_text('"B"'),
    ]
    path = write(tmp_path, [*rows, ODD_END])
    case = tmp_path / "case.duckdb"
    found = triaged(axnb("triage", path, "--case", case, "--json"))
    (odd,) = [c for c in found["conversations"] if c["conversation_id"] == "odd"]
    assert (odd["state"], odd["last_step"]) == ("finished", len(rows) + 1)
    with Case(case, Settings()) as loaded:
        assert counts(loaded) == (9 + len(rows), 9 + len(rows), 0)
        query = "select step, kind from parts where conversation_id = 'odd' order by position, part"
        kinds = loaded.rows(query)
    assert [step for step, _ in kinds] == list(range(1, len(rows) + 1))
    assert kinds[0][1] == kinds[-1][1] == "text"
    assert {kind for _, kind in kinds[1:5]}.isdisjoint({"text", "tool_call", "tool_result"})


def test_an_unknown_kind_inside_a_row_keeps_its_place(
    case: Case, load: Load, tmp_path: Path
) -> None:
    steps = '{"content":{"content":[{"text":{"text":"A"}},{"hologram":{}},{"text":{"text":"B"}}]}}'
    row = f'{{"steps":[{steps},{{"teleport":{{}}}},{{"tool_call":{{"id":"call_1"}}}}]}}'
    load(write(tmp_path, [row, ODD_END]))
    query = "select part, kind, text from parts where conversation_id = 'odd' order by part"
    found = case.rows(query)
    assert [part for part, *_ in found] == [1, 2, 3, 4, 5]
    assert [(kind, text) for _, kind, text in found if kind == "text"] == [
        ("text", "A"),
        ("text", "B"),
    ]
    assert found[0][1] == found[2][1] == "text"
    assert found[4][1] == "tool_call"


# --- LJ-15: times ---------------------------------------------------------------------------------


def test_times_and_zones_change_nothing(
    axnb: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogBuilder("G3")
    log.turn("c1", "Hello", say("Hello."))
    ((exec_id, payload, at), *rest) = log.executions
    times = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2016-12-31T23:59:60Z"]
    stamped = [(exec_id, payload[:-1] + f',"timestamp":"{t}"}}', t) for t in times]
    log.executions = [*stamped, (exec_id, payload, at), *rest]
    path = log.write_sqlite(tmp_path / "log.sqlite")
    answers = []
    for zone in ("Pacific/Kiritimati", "America/St_Johns", "UTC"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        answers.append(axnb("triage", path, "--json").stdout)
    monkeypatch.delenv("TZ")
    time.tzset()
    assert answers[0] == answers[1] == answers[2]
    assert json.loads(answers[0])["conversations"][0]["state"] == "finished"
    assert "TZ" not in os.environ or os.environ["TZ"] != "UTC"


# --- all of it together ---------------------------------------------------------------------------

SECRET = "S3cr3t-in-a-payload"
WIDE = {
    "many steps": '{"steps":[' + ",".join(["{}"] * 20_000) + "]}",
    "many texts": '{"steps":[{"content":{"content":['
    + ",".join(['{"text":{"text":"a"}}'] * 10_000)
    + "]}}]}",
    "many keys": tool_call("{" + ",".join(f'"k{n}":1' for n in range(40_000)) + "}"),
    "many digits": tool_call(f'{{"n":0.{"9" * 300_000}}}'),
    "more digits": tool_call(f'{{"n":{"9" * 100_000}}}'),
    "many escapes": user_text(f'"{chr(92)}u0041{chr(92) * 400_000}"'),
    "many quotes": user_text(f'"{(chr(92) + chr(34)) * 300_000}"'),
    "keys in a text": user_text(
        f'"{(chr(92) + chr(34) + "arguments" + chr(92) + chr(34) + ":{") * 20_000}"'
    ),
    "much space": " " * 500_000 + ODD_END + " " * 400_000,
    "a huge exponent": '{"steps":[{"index":1e99999999999999999999}]}',
    "a tiny exponent": tool_call('{"n":1e-999999999999}'),
    "a large signature": f'{{"steps":[{{"thought":{{"signature":"{"A" * 600_000}"}}}}]}}',
}


def test_wide_rows_take_no_time(case: Case, load: Load, tmp_path: Path) -> None:
    path = write(tmp_path, [*WIDE.values(), ODD_END])
    began = time.process_time()
    load(path)
    assert time.process_time() - began < 20
    assert counts(case)[0] == 9 + len(WIDE)
    assert [list(WIDE)[step - 1] for step, _ in reasons(case)] == ["more digits", "a huge exponent"]


def test_a_zoo_of_rows_fails_no_load_and_tells_no_secret(axnb: Run, tmp_path: Path) -> None:
    zoo: list[Any] = [
        *(row.replace("odd", f"odd {SECRET}") for row in BROKEN.values()),
        *(user_text(f'"{SECRET}{half}"') for half in LONE),
        *(tool_call(f'{{"{SECRET}":{digits}}}') for digits in NO_NUMBERS),
        f"{SECRET}".encode() + b"\xff",
        SECRET,
        f'{{"state":"{SECRET}"}}',
        f'{{"conversation_id":["{SECRET}"]}}',
        tool_call(f'{{"{SECRET}":1,"{SECRET}":2}}'),
        f'{{"{SECRET}":' * 20_000,
        None,
    ]
    log = with_rows(zoo)
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False)
    result = axnb("triage", path, "--all", "--json")
    found = triaged(result, 1)
    assert found["sources"][0]["read"] == 8 + len(zoo)
    assert {c["conversation_id"] for c in found["conversations"]} == {"c1", "c2", "odd"}
    assert [c["action"] for c in found["conversations"]][:2] == ["nothing", "nothing"]
    outputs = [result.output, axnb("triage", path).output, axnb("show", path, "odd").output]
    assert not any(SECRET in output for output in outputs)


def test_the_healthy_rows_beside_a_zoo_are_what_they_are_alone(
    case: Case, load: Load, tmp_path: Path
) -> None:
    with Case(settings=Settings()) as alone:
        path = healthy().write_sqlite(tmp_path / "alone.sqlite")
        load_log(alone, locate(str(path), {}).log)
        expected = contents(alone)
    load(
        write(tmp_path, [*BROKEN.values(), *NO_EVENTS, *(user_text(f'"{half}"') for half in LONE)])
    )
    assert [row for row in contents(case) if row[0] != "odd"] == expected
