"""AX reads a row with protojson of protobuf-go; here is what that takes and what it refuses.

Every verdict below was compared with protobuf-go itself. A document that is wrongly taken for
readable is the worst: AX then refuses a conversation that axnb calls healthy.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from axnb.ax import json_text, protojson, rows, schemas
from axnb.ax.json_text import Members, Number, PayloadError, dump, parse
from axnb.ax.rows import SCHEMA_READERS
from axnb.ax.versions import GENERATIONS

CRAFTED = Path(__file__).parents[1] / "data" / "ax-logs" / "crafted-sqlite"


def decode(payload: str, generation: str = "G8") -> dict[str, Any]:
    """What a server of a generation decodes. Raises PayloadError where it refuses."""
    return protojson.decode(parse(payload), schemas.event(GENERATIONS[generation]))


def reads(payload: str, generation: str = "G8") -> bool:
    """Does a server of this generation read the row?"""
    try:
        decode(payload, generation)
    except PayloadError:
        return False
    return True


def result_of(value: str) -> str:
    """A row with this `ax.Value` as the result of a tool."""
    return f'{{"steps":[{{"tool_result":{{"function_result":{{"result":{value}}}}}}}]}}'


# --- the text ----------------------------------------------------------------------------------

NO_JSON = {
    "empty": "",
    "only spaces": " \t\r\n",
    "cut off": '{"a":',
    "cut off in a text": '{"a":"b',
    "two documents": "{}{}",
    "text after the end": "{} x",
    "one bracket too many": '{"a":1}}',
    "wrong bracket": '{"a":1]',
    "byte order mark": "\ufeff{}",
    "byte order mark at the end": "{}\ufeff",
    "nul before": "\x00{}",
    "nul after": "{}\x00",
    "vertical tab is no space": "{\x0b}",
    "form feed is no space": "{\x0c}",
    "no-break space is no space": "{\xa0}",
    "line separator is no space": '{"a":\u20281}',
    "comma alone": "{,}",
    "trailing comma": '{"a":1,}',
    "trailing comma in a list": '{"a":[1,]}',
    "leading comma in a list": '{"a":[,1]}',
    "two commas": '{"a":[1,,2]}',
    "no comma": '{"a":1 "b":2}',
    "no comma in a list": '{"a":[1 2]}',
    "no colon": '{"a" 1}',
    "two colons": '{"a"::1}',
    "no value": '{"a":}',
    "a name alone": '{"a"}',
    "a name without quotes": "{a:1}",
    "single quotes": "{'a':1}",
    "a comment": "{}//x",
    "a comment before": "/**/{}",
    "NaN": '{"a":NaN}',
    "Infinity": '{"a":Infinity}',
    "-Infinity": '{"a":-Infinity}',
    "a word cut off": '{"a":tru}',
    "a word too long": '{"a":truee}',
    "a word and a digit": '{"a":true1}',
    "a word and a letter beyond ASCII": '{"a":trueé}',
    "capital word": '{"a":True}',
    "a minus alone": '{"a":-}',
    "two minuses": '{"a":--1}',
    "a plus": '{"a":+1}',
    "leading zero": '{"a":01}',
    "leading zero after a minus": '{"a":-01}',
    "no digit before the point": '{"a":.5}',
    "no digit after the point": '{"a":1.}',
    "no digit between point and exponent": '{"a":1.e1}',
    "two exponents": '{"a":1e1e1}',
    "an exponent that is no whole number": '{"a":1e1.0}',
    "hexadecimal": '{"a":0x1}',
    "underscore": '{"a":1_0}',
    "digits beyond ASCII": '{"a":１}',
    "a number and a minus": '{"a":1-}',
    "a raw line end in a text": '{"a":"\n"}',
    "a raw tab in a text": '{"a":"\t"}',
    "a raw nul in a text": '{"a":"\x00"}',
    "the last control character": '{"a":"\x1f"}',
    "an escape that is none": '{"a":"\\v"}',
    "an escaped single quote": '{"a":"\\\'"}',
    "a capital escape": '{"a":"\\U0041"}',
    "an escape cut off": '{"a":"\\u12"}',
    "an escape with a sign": '{"a":"\\u+123"}',
    "an escape with a space": '{"a":"\\u 123"}',
    "an escape with an underscore": '{"a":"\\u0_12"}',
    "a high surrogate alone": '{"a":"\\ud800"}',
    "a low surrogate alone": '{"a":"\\udc00"}',
    "two high surrogates and a low one": '{"a":"\\ud800\\ud800\\udc00"}',
    "surrogates the wrong way round": '{"a":"\\udc00\\ud800"}',
    "a high surrogate and a letter": '{"a":"\\ud800x"}',
    "a high surrogate and an escape": '{"a":"\\ud800\\n"}',
    "a lone surrogate in a name": '{"\\udfff":1}',
}


@pytest.mark.parametrize("payload", NO_JSON.values(), ids=NO_JSON)
def test_text_that_is_no_json_is_refused(payload: str) -> None:
    """Also where nobody looks at the value: the fault stands behind a key that AX does not know."""
    with pytest.raises(PayloadError):
        decode(payload)


@pytest.mark.parametrize("payload", ["null", "true", "1", '"a"', "[]", "[{}]"])
def test_a_row_must_be_an_object(payload: str) -> None:
    """These are JSON, and AX refuses them all the same."""
    parse(payload)
    assert not reads(payload)


SPACES = [
    "{}",
    " {} ",
    "\t\r\n {\r\n}\n",
    '{"state"\t:\n3 }',
    '{"state" : 3}',
    '{"state":3\n,"x":[ 1 ,2 ]}',
]


@pytest.mark.parametrize("payload", SPACES)
def test_json_white_space_is_taken_anywhere(payload: str) -> None:
    """Between a name and its colon as well."""
    assert reads(payload)


TEXTS = {
    '"\\u00e9"': "é",
    '"é"': "é",
    '"\\ud83d\\ude00"': "😀",
    '"\\uD83D\\uDE00"': "😀",
    '"\\\\ud800"': "\\ud800",
    '"\\/\\b\\f\\n\\r\\t\\"\\\\"': '/\b\f\n\r\t"\\',
    '"a\\u0000b"': "a\x00b",
    '"\\u001f"': "\x1f",
    '"\x7f"': "\x7f",
    '"\ufffd"': "\ufffd",
    '"\uffff"': "\uffff",
    '"\U0010ffff"': "\U0010ffff",
    '"\u2028"': "\u2028",
    '" a "': " a ",
    '""': "",
    '"\\",\\"state\\":\\"STATE_COMPLETED"': '","state":"STATE_COMPLETED',
}


@pytest.mark.parametrize(("text", "means"), TEXTS.items())
def test_texts_are_unescaped(text: str, means: str) -> None:
    """A NUL and what looks like JSON stay part of the text."""
    assert decode(f'{{"conversation_id":{text}}}') == {"conversation_id": means}


def test_names_are_unescaped_before_they_are_compared() -> None:
    """So one field can stand there twice and look like two."""
    assert decode('{"st\\u0061te":3}') == {"state": 3}
    assert not reads('{"st\\u0061te":3,"state":3}')


@pytest.mark.parametrize("number", ["1e", "1E", "0e", "1.5e", "1e+", "1e-", "-1e"])
@pytest.mark.parametrize("template", ['{{"x":{}}}', '{{"x":[{0},{0} ]}}', '{{"x":{{"a":{}\n}}}}'])
def test_an_exponent_without_digits_is_a_number_to_the_tokenizer(
    number: str, template: str
) -> None:
    """protobuf-go asks for no digit after the `e`, as long as anything else follows."""
    assert reads(template.format(number))
    assert not reads(f'{{"agent_config":{{"a":{number}}}}}')


def test_an_exponent_without_digits_is_nothing_at_the_end_of_the_text() -> None:
    """There the `e` is not part of the number, and no number ends in a letter."""
    assert not reads("1e")
    assert not reads('{"x":1e')
    assert not reads('{"x":1ex}')
    assert decode('{"state":"1e"}') == {}
    assert not reads('{"steps":[{"index":"1e"}]}')


# --- whole numbers -----------------------------------------------------------------------------

WHOLE = {
    "0": 0,
    "-0": 0,
    "7": 7,
    "1.0": 1,
    "1.50e1": 15,
    "0.1e1": 1,
    "1e2": 100,
    "1E+2": 100,
    "100e-2": 1,
    "10e-1": 1,
    "-0.0": 0,
    "0e400": 0,
    "1e0000000000000000000001": 10,
    "0.00000000000000000001e20": 1,
    "2147483647": 2**31 - 1,
    "-2147483648": -(2**31),
    "1" + "0" * 30 + "e-30": 1,
    "1." + "0" * 1000: 1,
    "0." + "0" * 5000: 0,
    # No digit of it counts, so neither does its exponent.
    "0e99999999999999999999": 0,
    "0e-99999999999999999999": 0,
    "0.0e99999999999999999999": 0,
}
NOT_WHOLE = [
    "1.5",
    "1.0e-1",
    "100e-3",
    "1e-400",
    "2147483648",
    "-2147483649",
    "1e10",
    "1e400",
    "1e2147483648",
    "1e-2147483649",
    "1" * 5000,
    # One digit more than a 64-bit number has is refused before anything is counted.
    "0.000000000000000000001e21",
    "0.00000000000000000000001e23",
    "true",
    "{}",
    "[]",
    "[1]",
    '""',
    '"x"',
    '" 3"',
    '"3 "',
    '"3\\u00a0"',
    '"3\\u2003"',
    '"3\\n"',
    '"+3"',
    '"03"',
    '"0x3"',
    '"1_0"',
    '"１"',
    '"3x"',
    '"3 4"',
    '"[3]"',
    '"null"',
    '"NaN"',
    '"\\u001c3"',
]


@pytest.mark.parametrize(("digits", "number"), WHOLE.items(), ids=lambda v: str(v)[:30])
def test_whole_numbers_in_any_spelling(digits: str, number: int) -> None:
    """As a number and as a text; a state takes the number only."""
    found = {"seq": number}
    assert decode(f'{{"seq":{digits}}}', "G5") == found
    assert decode(f'{{"seq":"{digits}"}}', "G5") == found
    assert decode(f'{{"steps":[{{"index":"{digits}"}}]}}') == {"steps": [{"index": number}]}
    assert decode(f'{{"state":{digits}}}') == {"state": number}


@pytest.mark.parametrize("value", NOT_WHOLE, ids=lambda v: v[:30])
def test_what_is_no_whole_number_is_refused(value: str) -> None:
    """A fraction, a number out of range, and a text that is not quite a number."""
    assert not reads(f'{{"seq":{value}}}', "G5")


@pytest.mark.parametrize("digits", ["1e", "1E", "0e"])
def test_a_whole_number_may_lack_the_digits_of_its_exponent(digits: str) -> None:
    """Its exponent is empty, which counts as none."""
    assert decode(f'{{"seq":{digits}}}', "G5") == {"seq": int(digits[0])}
    assert decode(f'{{"state":{digits} }}') == {"state": int(digits[0])}


@pytest.mark.parametrize("digits", ["1e+", "1e-", "0e+", "0E-"])
def test_a_sign_alone_is_no_exponent_of_a_whole_number(digits: str) -> None:
    """The tokenizer lets it pass, and the field does not."""
    assert not reads(f'{{"seq":{digits}}}', "G5")


def test_64_bits_end_where_they_end() -> None:
    """An index of 2^63 makes the conversation unreadable."""
    largest = 2**63 - 1
    assert decode(f'{{"steps":[{{"index":{largest}}}]}}') == {"steps": [{"index": largest}]}
    assert decode(f'{{"steps":[{{"index":"-{2**63}"}}]}}') == {"steps": [{"index": -(2**63)}]}
    assert not reads(f'{{"steps":[{{"index":"{2**63}"}}]}}')
    assert not reads('{"steps":[{"index":9223372036854775807.5}]}')


# --- numbers with a fraction -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("1.5", 1.5),
        ("-0", -0.0),
        ("1e-400", 0.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ('"1.5"', 1.5),
        ('"1e2"', 100.0),
        ('"Infinity"', float("inf")),
        ('"-Infinity"', float("-inf")),
    ],
)
def test_doubles(value: str, number: float) -> None:
    """Infinity is a text, never a word."""
    found = decode(result_of(f'{{"number_value":{value}}}'))
    assert found["steps"][0]["tool_result"]["function_result"]["result"] == {"number_value": number}


def test_nan_is_a_text() -> None:
    """And it is a number all the same."""
    assert reads(result_of('{"number_value":"NaN"}'))


@pytest.mark.parametrize(
    "value",
    [
        "1e309",
        "-1e400",
        "1" * 400,
        '"1e400"',
        '"nan"',
        '"inf"',
        '"+Infinity"',
        '" 1"',
        '""',
        "true",
    ],
)
def test_what_is_no_double_is_refused(value: str) -> None:
    """A number beyond a double is refused and not made infinite."""
    assert not reads(result_of(f'{{"number_value":{value}}}'))


# --- states and other names --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ('"STATE_PENDING"', 1),
        ('"STATE_COMPLETED"', 3),
        ("3", 3),
        ("3.0", 3),
        ("99", 99),
        ("-1", -1),
        ("2147483647", 2**31 - 1),
        ("null", None),
        ('"3"', None),
        ('"STATE_NEW"', None),
        ('"state_pending"', None),
        ('" STATE_PENDING"', None),
        ('""', None),
        # A name ends where its text ends, and not at a NUL in it.
        ('"STATE_PENDING\\u0000"', None),
        ('"STATE_COMPLETED\\u0000x"', None),
    ],
)
def test_states(value: str, state: int | None) -> None:
    """An unknown name is dropped; an unknown number is kept."""
    assert decode(f'{{"state":{value}}}') == ({} if state is None else {"state": state})


@pytest.mark.parametrize("value", ["true", "{}", "[]", "1.5", "2147483648", "1e400"])
def test_what_is_no_state_is_refused(value: str) -> None:
    """A state is a name or a whole number of 32 bits."""
    assert not reads(f'{{"state":{value}}}')


def test_an_unknown_name_inside_a_step_is_dropped() -> None:
    """The picture stays."""
    found = decode(
        '{"steps":[{"content":{"content":[{"image":{"mime_type":"TYPE_AVIF","uri":"x"}}]}}]}'
    )
    assert found["steps"][0]["content"]["content"] == [{"image": {"uri": "x"}}]


@pytest.mark.parametrize("value", ['"x"', "1", "{}", "[]"])
def test_truth_values_are_words(value: str) -> None:
    """Neither a number nor a text is one; null is left out."""
    template = '{{"steps":[{{"tool_result":{{"function_result":{{"is_error":{}}}}}}}]}}'
    assert reads(template.format("true"))
    assert reads(template.format("false"))
    assert reads(template.format("null"))
    assert not reads(template.format(value))


@pytest.mark.parametrize("value", ["1", "true", "{}", "[]"])
def test_texts_are_texts(value: str) -> None:
    """A number is no id."""
    assert not reads(f'{{"conversation_id":{value}}}')
    assert not reads(f'{{"steps":[{{"tool_call":{{"id":{value}}}}}]}}')


# --- bytes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("", b""),
        ("AQL/", b"\x01\x02\xff"),
        ("AQL_", b"\x01\x02\xff"),
        ("-_-_", b"\xfb\xff\xbf"),
        ("AQ==", b"\x01"),
        ("AQ", b"\x01"),
        ("AQI", b"\x01\x02"),
        # Bits that nothing needs are not looked at.
        ("AR==", b"\x01"),
        # Line ends are dropped, after the length was taken.
        ("AQL/\n\n\n\n", b"\x01\x02\xff"),
        ("AQ\r\n\r\n==", b"\x01"),
        ("AQ==\r\n\r\n", b"\x01"),
        ("A\nQ", b"\x01"),
    ],
)
def test_bytes(text: str, means: bytes) -> None:
    """Standard and URL alphabet, with and without padding."""
    found = decode(f'{{"steps":[{{"thought":{{"signature":{json.dumps(text)}}}}}]}}')
    assert found == {"steps": [{"thought": {"signature": means}}]}


@pytest.mark.parametrize(
    "text",
    [
        "***",
        "A",
        "A===",
        "====",
        "=",
        "AQ=",
        "AQ==AQ==",
        "AQL/=",
        "A Q=",
        "AQ\t=",
        "AQL/é",
        "AQL/\x00",
        "AQ==\n",
        "AQL\n",
        # One text has one alphabet.
        "-_+/",
        "AQ-/",
        "-+",
        "+_AA",
    ],
)
def test_bad_base64_is_refused(text: str) -> None:
    """One signature with a wrong letter hides the whole conversation."""
    assert not reads(f'{{"steps":[{{"thought":{{"signature":{json.dumps(text)}}}}}]}}')


@pytest.mark.parametrize("value", ["1", "{}", "[]", "true"])
def test_bytes_are_a_text(value: str) -> None:
    """An object is no configuration for G4."""
    assert not reads(f'{{"harness_config":{value}}}', "G4")
    assert reads('{"harness_config":null}', "G4")


# --- times (G3's execution_log only) -----------------------------------------------------------

TIMES = [
    "2026-05-22T10:00:00Z",
    "2026-05-22T10:00:00.1Z",
    "2026-05-22T10:00:00.123456789Z",
    "2026-05-22T10:00:00,1Z",
    "2026-05-22T10:00:00+01:00",
    "2026-05-22T10:00:00.5-24:60",
    "2024-02-29T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    # What Go's own reader of times lets pass.
    "2026-05-22T1:00:00Z",
    "2026-05-22T10:00:00,1234567891Z",
    "0000-12-31T23:59:59-00:01",
]
NO_TIMES = [
    "",
    "2026-05-22",
    "2026-05-22T10:00:00",
    "2026-05-22 10:00:00Z",
    "2026-05-22t10:00:00z",
    "2026-05-22T10:00:00Z ",
    "2026-05-22T10:00:00.Z",
    "2026-05-22T10:00:00.1234567891Z",
    "2026-05-22T10:0:00Z",
    "2026-05-22T10:00:00+0100",
    "2026-05-22T10:00:00+25:00",
    "2026-05-22T10:00:00+00:61",
    "2026-5-22T10:00:00Z",
    "2026-05-22T24:00:00Z",
    "2026-05-22T10:60:00Z",
    "2026-05-22T10:00:60Z",
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-00-22T10:00:00Z",
    "2026-05-22T10:00:00.１Z",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "10000-01-01T00:00:00Z",
]


def reads_execution(value: str) -> bool:
    """Does G3 read an execution with this time?"""
    try:
        message = schemas.message("g3", "ExecutionEvent")
        protojson.decode(parse(f'{{"timestamp":{value}}}'), message)
    except PayloadError:
        return False
    return True


@pytest.mark.parametrize("text", TIMES)
def test_times(text: str) -> None:
    """RFC 3339, as Go reads it."""
    assert reads_execution(f'"{text}"')


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_is_refused(text: str) -> None:
    """Among them times that lie outside of the years 1 to 9999 by their zone only."""
    assert not reads_execution(f'"{text}"')


def test_a_time_is_a_text_or_null() -> None:
    """A number is none."""
    assert reads_execution("null")
    assert not reads_execution("1")
    assert not reads_execution("{}")


# --- fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload",
    [
        '{"agent_id":"a","agent_id":"a"}',
        '{"agent_id":"a","agentId":"b"}',
        '{"agentId":null,"agent_id":"b"}',
        '{"state":null,"state":null}',
        '{"steps":[],"steps":[]}',
        '{"steps":[{"index":1,"index":1}]}',
        '{"steps":[{"tool_call":{"id":"a","function_call":{"name":"f","name":"f"}}}]}',
        '{"agent_config":{"a":1,"a":1}}',
        '{"agent_config":{"a":1,"\\u0061":1}}',
        '{"agent_config":{"a":[{"b":{"c":1,"c":null}}]}}',
    ],
)
def test_a_known_key_stands_there_once(payload: str) -> None:
    """Under either of its names, with whatever value; in free objects it holds for every key."""
    assert not reads(payload)


@pytest.mark.parametrize(
    "payload",
    [
        '{"x":1,"x":2}',
        '{"x":{"a":1,"a":2}}',
        '{"harness_id":"a","harness_id":"b"}',
        '{"steps":[{"x":1,"x":1}]}',
        '{"conversation_Id":1,"ConversationId":2,"[x]":3,"@type":4,"":5}',
    ],
)
def test_a_key_that_this_generation_does_not_know_may_repeat(payload: str) -> None:
    """What is dropped is not looked at; G8 knows no harness_id."""
    assert decode(payload).get("conversation_id") is None


def test_either_spelling_of_a_name() -> None:
    """The reader takes camelCase although no AX writes it."""
    assert decode('{"conversationId":"c","agentId":"a","state":3}') == {
        "conversation_id": "c",
        "agent_id": "a",
        "state": 3,
    }


@pytest.mark.parametrize("key", ["agent_id", "agent_config", "steps", "state"])
def test_null_is_as_good_as_nothing(key: str) -> None:
    """For every kind of field."""
    assert decode(f'{{"{key}":null}}') == {}


TWO_MEMBERS = [
    '{"steps":[{"content":{"role":"user"},"thought":{}}]}',
    '{"steps":[{"tool_call":{},"toolResult":{}}]}',
    '{"steps":[{"content":{"content":[{"text":{},"image":{}}]}}]}',
    '{"steps":[{"content":{"content":[{"confirmation":{"approval":{},"decline":{}}}]}}]}',
    '{"steps":[{"content":{"content":[{"image":{"uri":"x","data":"AQ=="}}]}}]}',
    result_of('{"string_value":"a","bool_value":true}'),
    result_of('{"null_value":null,"string_value":"a"}'),
    # A name that is dropped has taken the place all the same.
    result_of('{"null_value":"NEW","string_value":"a"}'),
]


@pytest.mark.parametrize("payload", TWO_MEMBERS)
def test_two_members_of_one_oneof_are_refused(payload: str) -> None:
    """Whichever comes first."""
    assert not reads(payload)


def test_a_null_member_does_not_count() -> None:
    """It does in `ax.Value` only, where null is a value."""
    assert reads('{"steps":[{"content":{"role":"user"},"thought":null,"tool_call":null}]}')
    assert reads(result_of('{"string_value":"a","number_value":null,"struct_value":null}'))


@pytest.mark.parametrize("value", ["{}", '""', "1", "true", "[null]", "[1]", "[[]]", '["a"]'])
def test_steps_are_a_list_of_objects(value: str) -> None:
    """`[{}]` is one, with an empty step in it."""
    assert not reads(f'{{"steps":{value}}}')
    assert decode('{"steps":[{},{}]}') == {"steps": [{}, {}]}
    assert decode('{"steps":[]}') == {"steps": []}


@pytest.mark.parametrize("value", ["[]", '""', "1", "true"])
def test_a_message_is_an_object(value: str) -> None:
    """At every level."""
    assert not reads(f'{{"steps":[{{"content":{value}}}]}}')
    assert not reads(f'{{"agent_config":{value}}}')
    assert not reads(f'{{"steps":[{{"tool_call":{{"function_call":{{"arguments":{value}}}}}}}]}}')


@pytest.mark.parametrize("value", ["1e400", "-1e309", "[1e400]", '{"b":[{"c":1e400}]}', "1" * 400])
def test_a_free_object_holds_doubles(value: str) -> None:
    """A number beyond one is refused; the same number under an unknown key is not."""
    assert not reads(f'{{"agent_config":{{"a":{value}}}}}')
    assert reads(f'{{"x":{{"a":{value}}}}}')


def test_a_free_object_keeps_what_it_holds() -> None:
    """Null, numbers as text and empty names as well."""
    text = '{"":null,"n":"NaN","d":1.50,"l":[null,{}],"é":{"a":-0}}'
    assert dump(decode(f'{{"agent_config":{text}}}')["agent_config"]) == text


# --- nesting -----------------------------------------------------------------------------------

LONE_SURROGATE = '"\\ud800"'
SHAPES = {"lists": ("[", "]"), "objects": ('{"a":', "}"), "both": ('[{"a":', "}]")}
LEVELS = {"[": 1, '{"a":': 1, '[{"a":': 2}


def nest(opening: str, depth: int, closing: str, core: str = "1") -> str:
    """`core` inside of `depth` brackets."""
    return opening * depth + core + closing * depth


@pytest.mark.parametrize(("opening", "closing"), SHAPES.values(), ids=SHAPES)
def test_100_000_levels_are_a_verdict(opening: str, closing: str) -> None:
    """Neither a crash nor a wait: refused, closed or not."""
    times = 100_000 // LEVELS[opening]
    assert not reads(f'{{"agent_config":{{"a":{nest(opening, times, closing)}}}}}')
    assert not reads(f'{{"x":{opening * times}')


@pytest.mark.parametrize(("opening", "closing"), SHAPES.values(), ids=SHAPES)
def test_3_000_levels_are_read(opening: str, closing: str) -> None:
    """Deeper than Python's own reader goes, and fine for AX."""
    text = nest(opening, 3_000, closing)
    assert reads(f'{{"x":{text}}}')
    assert reads(f'{{"agent_config":{{"a":{text}}}}}')
    assert not reads(f'{{"x":{text}}} x')
    assert not reads(f'{{"x":{nest(opening, 3_000, closing, "NaN")}}}')
    assert not reads(f'{{"x":{nest(opening, 3_000, closing, LONE_SURROGATE)}}}')


ARGUMENTS = '{{"steps":[{{"tool_call":{{"function_call":{{"arguments":{{"a":{}}}}}}}}}]}}'
LIMITS = {
    "unknown key": ('{{"x":{}}}', "[", "]", 9_999),
    "unknown key, objects": ('{{"x":{}}}', '{"a":', "}", 9_999),
    "unknown key in a step": ('{{"steps":[{{"content":{{"x":{}}}}}]}}', "[", "]", 9_997),
    "configuration": ('{{"agent_config":{{"a":{}}}}}', "[", "]", 9_997),
    "configuration, objects": ('{{"agent_config":{{"a":{}}}}}', '{"a":', "}", 9_997),
    "arguments": (ARGUMENTS, "[", "]", 9_994),
    "arguments, objects": (ARGUMENTS, '{"a":', "}", 9_994),
}


@pytest.mark.parametrize(("template", "opening", "closing", "limit"), LIMITS.values(), ids=LIMITS)
def test_the_limit_is_exact(template: str, opening: str, closing: str, limit: int) -> None:
    """10,000 messages may lie in each other; a free object costs one a level."""
    assert reads(template.format(nest(opening, limit, closing)))
    assert not reads(template.format(nest(opening, limit + 1, closing)))


def test_the_limit_of_values_in_values() -> None:
    """`ax.Value` takes two messages a level: itself and its list."""
    opening, closing = '{"list_value":{"values":[', "]}}"
    core = '{"string_value":"a"}'
    assert reads(result_of(nest(opening, 4_997, closing, core)))
    assert not reads(result_of(nest(opening, 4_998, closing, core)))


# --- what real servers were seen to do ---------------------------------------------------------

SEEN_TO_BE_READ = [
    '{"state":"STATE_COMPLETED"}',
    '{"state":3}',
    '{"conversationId":"x","agentId":"antigravity","state":"STATE_COMPLETED"}',
    '{"conversation_id":"someone-else","state":"STATE_COMPLETED"}',
    '{"state":"STATE_UNSPECIFIED"}',
    '{"state":"STATE_PAUSED"}',
    '{"state":"3"}',
    "{}",
    '{"agent_id":null,"steps":null,"state":null}',
    '{"harness_config":"e30="}',
]
SEEN_TO_BE_REFUSED = [
    '{"agent_id":"a","agent_id":"b"}',
    '{"steps":[{"content":{"role":"user"},"thought":{}}]}',
    '{"steps":[{"thought":{"signature":"***"}}]}',
    '{"steps":[{"description":"\\ud800"}]}',
    '{"agent_config":{"a":NaN}}',
    '{"agent_config":"e30="}',
    '{"state":"STATE_COMPLETED"} x',
    "",
    '{"steps":[{"index":"9223372036854775808"}]}',
    '{"steps":{"content":{}}}',
    '{"steps":[{"content":',
]


@pytest.mark.parametrize("payload", SEEN_TO_BE_READ)
def test_what_v0_2_3_was_seen_to_read(payload: str) -> None:
    """Rows that were put into real logs by hand, under a real server."""
    assert reads(payload)


@pytest.mark.parametrize("payload", SEEN_TO_BE_REFUSED)
def test_what_v0_2_3_was_seen_to_refuse(payload: str) -> None:
    """One such row and the server fails every request on the conversation."""
    assert not reads(payload)


def crafted_rows() -> dict[str, list[bytes]]:
    """The payloads of each conversation of the log that was made by hand, in order."""
    found: dict[str, list[bytes]] = {}
    address = f"{(CRAFTED / 'log.sqlite').resolve().as_uri()}?immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as log:
        for conversation_id, payload in log.execute(
            "select conversation_id, cast(payload as blob) from conversation_log "
            "order by conversation_id, step"
        ):
            found.setdefault(conversation_id, []).append(payload)
    return found


def seen_by(payloads: list[bytes], generation: str) -> dict[str, Any]:
    """What a server says that it decoded: nothing at all if one row fails."""
    try:
        trees = [parse(payload.decode()) for payload in payloads]
    except PayloadError:
        return {"rows": 0, "steps": 0, "stored_id": ""}
    read = [rows.reading(tree, GENERATIONS[generation]) for tree in trees]
    if not all(reading.readable for reading in read):
        return {"rows": 0, "steps": 0, "stored_id": ""}
    return {
        "rows": len(read),
        "steps": sum(reading.content_count for reading in read),
        "stored_id": next((reading.owner for reading in read if reading.owner), ""),
    }


def test_the_crafted_log_is_seen_as_real_servers_saw_it() -> None:
    """41 conversations with odd rows, and what G7 and G8 said that they decoded of each."""
    truth = json.loads((CRAFTED / "truth.json").read_text(encoding="utf-8"))
    stored = crafted_rows()
    compared = 0
    for conversation_id, record in truth["conversations"].items():
        for target, requests in record["next"].items():
            for request, answer in requests.items():
                found = seen_by(stored.get(conversation_id, []), target[:2])
                assert found == answer["seen"], (conversation_id, target, request)
                compared += 1
    assert compared > 300


# --- laws --------------------------------------------------------------------------------------

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_DIGITS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
_SCALARS = st.none() | st.booleans() | _TEXT | _DIGITS.map(Number)
_TREES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(st.tuples(_TEXT, inner), max_size=4).map(Members)
    ),
    max_leaves=25,
)


def typed(tree: Any) -> Any:
    """A tree in which `1` and `"1"`, and an object and a list, are not equal."""
    if isinstance(tree, Members):
        return "object", [(name, typed(value)) for name, value in tree]
    if isinstance(tree, list):
        return "list", [typed(value) for value in tree]
    return type(tree).__name__, tree


def by_deep_parser(text: str) -> Any:
    """What the parser for deep documents makes of a text, with the check that follows it."""
    tree = json_text._parse_deep(text)
    json_text._refuse_lone_surrogates(tree)
    return tree


def parsed(text: str, how: Callable[[str], Any]) -> Any:
    """What a parser makes of a text; None where it refuses."""
    try:
        return typed(how(text))
    except PayloadError:
        return None


@given(_TREES)
@settings(deadline=None)
def test_what_is_dumped_parses_to_the_same_tree(tree: Any) -> None:
    """Order, duplicates and the spelling of numbers included."""
    text = dump(tree)
    assert typed(parse(text)) == typed(tree)
    assert dump(parse(text)) == text


@given(_TREES)
@settings(deadline=None)
def test_the_deep_parser_makes_the_same_tree(tree: Any) -> None:
    """Which of the two parsers a document gets hangs on its depth alone."""
    text = dump(tree)
    assert typed(json_text._parse_deep(text)) == typed(json_text._decoder.decode(text))


_PIECES = st.sampled_from(
    [*'{}[]:,"\\-+.eE01t nu\n\t', "true", "null", "NaN", '"a"', '"\\u00e9"', "\ufeff", "\x00", "é"]
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A document with a few characters put in, changed or taken out."""
    text = dump(draw(_TREES))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        piece = draw(_PIECES | st.just(""))
        text = text[:at] + piece + text[at + draw(st.integers(0, 2)) :]
    return text


@given(damaged() | st.lists(_PIECES, max_size=10).map("".join))
@settings(deadline=None, max_examples=200)
@example('{"a":1}}')
@example("[1,]")
@example("trueé")
@example('{"a" "b"}')
@example("[1e]")
@example('["\\ud800"]')
def test_the_deep_parser_refuses_the_same_texts(text: str) -> None:
    """Both accept with equal trees, or both refuse."""
    assert parsed(text, by_deep_parser) == parsed(text, parse)


@given(_TREES, st.sampled_from(SCHEMA_READERS))
@settings(deadline=None)
def test_decoding_ends_in_a_verdict(tree: Any, generation: str) -> None:
    """Whatever stands there: fields or a PayloadError, and the same for the text again."""
    document = Members([("steps", tree), ("messages", tree), ("agent_config", tree)])
    verdict = reads(dump(document), generation)
    assert reads(dump(parse(dump(document))), generation) is verdict
