"""Rows as AX writes them, and what can be wrong with a row: the raw material of the fuzz tests.

A row is made from one number, so a failing list of numbers shrinks to the one row that fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from axnb.ax import rows
from axnb.ax.json_text import Members, Number, parse
from axnb.ax.rows import Part, Row
from axnb.ax.versions import GENERATIONS, Generation

Column = Literal["seq", "step"]
#: What SQLite can hold in a column.
Stored = str | bytes | int | float | None


class Raw(str):
    """A piece of text that goes into the document as it is, JSON or not."""


class Cast(bytes):
    """Bytes that are stored as a text, as SQLite lets anybody do."""


@dataclass(frozen=True)
class Written:
    """A row to be put into a log, with keys as odd as SQLite allows."""

    conversation_id: Stored
    step: Stored
    payload: Stored


# --- rows as AX writes them --------------------------------------------------------------------

_ARGUMENTS = '{"n":1,"path":"a b, c","deep":{"list":[1,{"x":null}],"ok":true},"e":"é \\" \\\\ \\n"}'
_STATES = (1, 2, 3, 4, 0)


def plain_rows(generation: Generation, conversation_id: str = "c") -> Iterator[Row]:
    """One row of each usual kind: input, thought, call, result, answer, end."""
    exec_id = "e-1" if generation.name in ("G3", "G4") else ""
    config = None if generation.config_key is None else '{"model":"m","t":0.2}'
    if generation.name == "G4":
        config = "eyJtb2RlbCI6Im0ifQ=="
    owner = "antigravity" if generation.owner_key else ""
    turn = Row(conversation_id, 1, exec_id=exec_id)
    is_message = generation.content_key == "messages"
    model, user = ("model", "user") if is_message else (None, None)
    yield replace(turn, owner=owner, config=config, parts=(Part("text", "user", value="hi, all"),))
    yield replace(turn, owner=owner, parts=(Part("text", "user", value="again"),))
    yield replace(turn, parts=(Part("thought", model, value='plan\n \\ "x" 日本語 😀'),))
    yield replace(turn, parts=(_call(model, _ARGUMENTS),))
    yield replace(turn, parts=(_call(model, None),))
    yield replace(turn, parts=(_result(user, '{"ok": true, "charge": "ch_1"}'),))
    yield replace(turn, parts=(_result(user, None),))
    if not is_message:
        yield replace(turn, parts=(_result(None, '"plain, text"'),))
        yield replace(turn, parts=(replace(_result(None, '{"e":"x"}'), is_error=True),))
    yield replace(turn, parts=(Part("text", "assistant", value="done"),))
    yield replace(turn, parts=(Part("text", "assistant", value=""),))
    yield from (replace(turn, state=state) for state in _STATES)


def _call(role: str | None, arguments: str | None) -> Part:
    return Part("tool_call", role, call_id="call_1", tool="write_file", value=arguments)


def _result(role: str | None, response: str | None) -> Part:
    return Part("tool_result", role, call_id="call_1", tool="write_file", value=response)


def spaced(payload: str) -> str:
    """The row as those builds of AX write it that put a space after each comma."""
    return _Style(comma=", ").render(parse(payload))


#: Rows that `rows.write` does not produce, and that AX accepts: signatures, questions, media,
#: several steps, odd values, one shape in another's clothes.
_BY_HAND = (
    '{"conversation_id":"c","seq":2,"messages":[{"role":"model","content":{"thought":'
    '{"signature":"AQL/","summary":[{"text":{"text":"plan"}}]}}}],"state":"STATE_PENDING"}',
    '{"conversation_id":"c","step":2,"messages":[{"content":{"thought":{"signature":"AQ=="}}}],'
    '"state":"STATE_PENDING"}',
    '{"conversation_id":"c","steps":[{"tool_call":{"id":"a","signature":"AQI=","function_call":'
    '{"name":"f","arguments":{"arguments":{"a":1},"response":{},"x_config":{}}}}}]}',
    '{"conversation_id":"c","steps":[{"tool_result":{"call_id":"a","function_result":'
    '{"name":"f","is_error":true,"result":{"string_value":"deadline exceeded"}}}}]}',
    '{"conversation_id":"c","steps":[{"tool_result":{"call_id":"a","function_result":'
    '{"name":"f","result":{"list_value":{"values":[{"number_value":"NaN"}]}}}}}]}',
    '{"conversation_id":"c","steps":[{"content":{"role":"user","content":[]}}]}',
    '{"conversation_id":"c","steps":[{"content":{"role":"user","content":[{"text":{}}]}}]}',
    '{"conversation_id":"c","steps":[{"thought":{"summary":[{"text":{}}]}}]}',
    '{"conversation_id":"c","steps":[{"content":{"content":[{"confirmation":{"id":"q",'
    '"question":"Run rm?"}}]}},{"index":"7","description":"d"}],"state":"STATE_PENDING"}',
    '{"conversation_id":"c","step":3,"messages":[{"role":"user","content":{"confirmation":'
    '{"id":"q","approval":{"approved":true}}}},{"role":"user","content":{"image":'
    '{"mime_type":"TYPE_PNG","data":"AQID"}}}],"state":"STATE_PENDING"}',
    '{"conversation_id":"c","seq":1,"exec_id":"e","harness_config":"e30=","state":"STATE_PENDING"}',
    '{"conversation_id":"c","seq":1,"exec_id":"e","harness_config":{"a":1}}',
    '{"conversation_id":"c","seq":1,"harness_config":{"a":1},"state":"STATE_PENDING"}',
    '{"conversation_id":"c","harness_config":{"a":1},"steps":[{}],"state":"STATE_PENDING"}',
    '{"conversation_id":"c","agent_config":{"a":1},"state":"STATE_PENDING"}',
    '{"conversation_id":"c","harness_id":"h","state":"STATE_PENDING"}',
    '{"conversation_id":"c","agent_id":"h","harness_config":{},"state":"STATE_PENDING"}',
    '{"conversation_id":"c","seq":1,"step":1,"exec_id":"","harness_id":"","state":3}',
    '{"conversation_id":"c","interaction_id":"i","steps":[],"state":"STATE_COMPLETED"}',
    '{"state":"STATE_COMPLETED"}',
    "{}",
)


def _templates() -> tuple[str, ...]:
    found = [
        rows.write(row, generation, 1)
        for generation in GENERATIONS.values()
        for row in plain_rows(generation)
    ]
    return tuple(dict.fromkeys([*found, *_BY_HAND]))


TEMPLATES = _templates()


# --- documents: how a tree is written ----------------------------------------------------------


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class _Style:
    """The white space and the escapes of a document."""

    comma: str = ","
    colon: str = ":"
    #: Asked at every place where white space may stand.
    space: Callable[[], str] = _nothing
    #: Asked before every closing mark.
    close: Callable[[], str] = _nothing
    #: Asked for every key: shall its first letter be spelled as an escape?
    hides: Callable[[], bool] = bool
    ascii: bool = False
    slashes: bool = False

    def render(self, node: Any) -> str:
        """The text of a tree."""
        if isinstance(node, (Raw, Number)):
            return str(node)
        if isinstance(node, Members):
            members = [f"{self._key(name)}{self.render(value)}" for name, value in node]
            return self._closed("{", members, "}")
        if isinstance(node, list):
            return self._closed("[", [self.render(value) for value in node], "]")
        return self._text(node)

    def _closed(self, opening: str, items: list[str], closing: str) -> str:
        inside = "".join(
            f"{self._spaced(self.comma) if n else ''}{item}" for n, item in enumerate(items)
        )
        close = self.close() if items else ""
        return f"{opening}{self.space()}{inside}{close}{self.space()}{closing}"

    def _spaced(self, mark: str) -> str:
        return f"{self.space()}{mark}{self.space()}"

    def _key(self, name: str) -> str:
        if name and self.hides():
            return f'"\\u{ord(name[0]):04x}{name[1:]}"{self._spaced(self.colon)}'
        return f"{self._text(name)}{self._spaced(self.colon)}"

    def _text(self, value: Any) -> str:
        text = json.dumps(value, ensure_ascii=self.ascii)
        return text.replace("/", "\\/") if self.slashes else text


_SPACES = (" ", "\t", "\n", "\r\n", "  ", "\n\t ")
#: JSON white space has four characters; none of these is one.
_NO_SPACES = ("\x0b", "\x0c", "\xa0", "\u2028", "\ufeff", "\x00")


def _style(random: Random) -> _Style:
    dice = random.random()
    if dice < 0.45:
        return _Style()
    if dice < 0.55:
        return _Style(comma=", ")
    if dice < 0.7:
        return _Style(comma=random.choice((", ", ",")), colon=": ")
    kinds = _SPACES + _NO_SPACES if random.random() < 0.1 else _SPACES
    often = random.choice((0.02, 0.1, 0.5))
    commas = random.choice((0.0, 0.0, 0.0, 0.05))
    hidden = random.choice((0.0, 0.0, 0.1))
    return _Style(
        space=lambda: random.choice(kinds) if random.random() < often else "",
        close=lambda: "," if random.random() < commas else "",
        hides=lambda: random.random() < hidden,
        ascii=random.random() < 0.3,
        slashes=random.random() < 0.2,
    )


# --- trees: what a mutation does ---------------------------------------------------------------

_KNOWN_KEYS = (
    "conversation_id", "seq", "step", "exec_id", "interaction_id", "harness_id", "agent_id",
    "harness_config", "agent_config", "messages", "steps", "state", "role", "content", "text",
    "thought", "summary", "signature", "tool_call", "id", "function_call", "name", "arguments",
    "tool_result", "call_id", "function_result", "response", "result", "is_error",
    "struct_value", "string_value", "list_value", "null_value", "number_value", "bool_value",
    "content_value", "confirmation", "question", "approval", "decline", "image", "uri", "data",
    "mime_type", "index", "description", "internal_only",
)  # fmt: skip
_UNKNOWN_KEYS = ("x", "abcd", "", "[x]", "@type", "text ", "Text", "harness-id", "é", 'a"b', "__")
#: Bad or borderline values, as they stand in a document.
_RAW_VALUES = (
    "null", "true", "false", "0", "-0", "7", "3", "12345678901", "1.0", "1e2", "-1.5e-3", "1e400",
    "-1e400", "1e309", "1" * 400, "0.1e1", "2147483648", "9007199254740993", "NaN", "Infinity",
    "-Infinity", "nan", "1e", "1.", ".5", "01", "+1", "0x1", "{}", "[]", "[null]", "[[]]", '[{}]',
    '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"a":NaN}', '{"a":[1e999]}', '{"a":1,}', "[1,]",
    '{"a":{"b":{"a":1,"a":1}}}', '""', '"\\u0000"', '"a\\u0000b"', '"\\\\u0000"', '"\\ud800"',
    '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\uD83D"', '"\\u00e9\\/\\b"', '"\\x"', '"\\u12"',
    '"\x01"', '"\x7f"', '"\t"', "'a'", '"unclosed', '"AQL/"', '"AQL_"', '"-_+/"', '"AQ=="',
    '"AQ"', '"A"', '"AQ=\\n="', '"A\\nQ=="', '"====', '"AQ==AQ=="', '"AQL\\/"', '"3"', '" 3"',
    '"1e2"', '"STATE_PENDING"', '"STATE_COMPLETED"', '"STATE_CANCELED"', '"STATE_NEW"', '"state"',
    '"NULL_VALUE"', '"\\",\\"state\\":\\"STATE_COMPLETED"', '"\\"arguments\\":{"',
    '"\\": {\\"a\\": 1"',
    '"a, b"', '"a,  b"', '"a,b"', '"{\\"a\\":NaN}"', '"\\\\"', '"a\\\\\\"b"',
)  # fmt: skip


def _values(node: list[Any]) -> list[Any]:
    return [value for _, value in node] if isinstance(node, Members) else node


def _containers(tree: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            found.append(node)
            stack.extend(_values(node))
    return found


def _value(random: Random, tree: Any) -> Any:
    """Any value: a bad one, a copy of something, or something of known names."""
    dice = random.random()
    if dice < 0.75:
        return Raw(random.choice(_RAW_VALUES))
    nodes = _containers(tree)
    if dice < 0.9 and nodes:
        return random.choice(nodes)
    return Members([(random.choice(_KNOWN_KEYS), Raw(random.choice(_RAW_VALUES)))])


def _set(node: list[Any], at: int, value: Any) -> None:
    node[at] = (node[at][0], value) if isinstance(node, Members) else value


def _get(node: list[Any], at: int) -> Any:
    return node[at][1] if isinstance(node, Members) else node[at]


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _replace_value(random: Random, tree: Any, node: list[Any]) -> None:
    if node:
        _set(node, random.randrange(len(node)), _value(random, tree))


def _digits(random: Random, tree: Any, node: list[Any]) -> None:
    """Put a number there, however short: what is taken out of it must not count for more."""
    if node:
        digits = "1" * random.choice((1, 1, 2, 2, 3, 11, 12, 13))
        _set(node, random.randrange(len(node)), Raw(digits))


def _decoy(random: Random, tree: Any, node: list[Any]) -> None:
    """Put a key of a free object first: a search may find it in place of the one it looks for."""
    if isinstance(node, Members):
        name = random.choice(("arguments", "response", "struct_value", "x_config"))
        node.insert(0, (name, Members()))


def _same_length(random: Random, tree: Any, node: list[Any]) -> None:
    """Put something else of the same length there: a count of characters must not notice."""
    if not node:
        return
    at = random.randrange(len(node))
    length = len(_Style().render(_get(node, at)))
    choices = ["1" * length]
    if length >= 2:
        choices.append(json.dumps("a" * (length - 2)))
    if length >= 6:
        choices.append('{"' + "k" * (length - 6) + '":1}')
        choices.append("[" + "1" * (length - 2) + "]")
    _set(node, at, Raw(random.choice(choices)))


def _duplicate(random: Random, tree: Any, node: list[Any]) -> None:
    """A member twice: the same, with another value, or under its other spelling."""
    if not node:
        return
    item = random.choice(node)
    if isinstance(node, Members):
        name, value = item
        name = random.choice((name, name, _camel(name)))
        item = (name, value if random.random() < 0.4 else _value(random, tree))
    node.insert(random.randint(0, len(node)), item)


def _rename(random: Random, tree: Any, node: list[Any]) -> None:
    if not isinstance(node, Members) or not node:
        return
    at = random.randrange(len(node))
    name, value = node[at]
    other = random.choice((_camel(name), "k" * len(name), random.choice(_KNOWN_KEYS)))
    node[at] = (other, value)


def _add(random: Random, tree: Any, node: list[Any]) -> None:
    value = _value(random, tree)
    at = random.randint(0, len(node))
    if isinstance(node, Members):
        names = _KNOWN_KEYS if random.random() < 0.6 else _UNKNOWN_KEYS
        node.insert(at, (random.choice(names), value))
    else:
        node.insert(at, value)


def _remove(random: Random, tree: Any, node: list[Any]) -> None:
    if node:
        del node[random.randrange(len(node))]


def _shuffle(random: Random, tree: Any, node: list[Any]) -> None:
    random.shuffle(node)


_MUTATIONS: tuple[Callable[[Random, Any, list[Any]], None], ...] = (
    _replace_value,
    _replace_value,
    _same_length,
    _digits,
    _decoy,
    _duplicate,
    _rename,
    _add,
    _add,
    _remove,
    _shuffle,
)


def _copied(node: Any) -> Any:
    if isinstance(node, Members):
        return Members([(name, _copied(value)) for name, value in node])
    return [_copied(value) for value in node] if isinstance(node, list) else node


def mutated_tree(random: Random, tree: Any, times: int) -> Any:
    """A copy of a tree after some mutations."""
    for _ in range(times):
        changed = _copied(tree)
        nodes = _containers(changed)
        if not nodes:
            break
        random.choice(_MUTATIONS)(random, _copied(changed), random.choice(nodes))
        tree = changed
    return tree


_TAILS = (" ", "\n", "\r\n\t", "x", "{}", ",", "\x00", "\xa0", "null", "}", "\ufeff")
_HEADS = (" ", "\n", "\ufeff", "\x00", "[", "\xa0", ",")
_PIECES = ('"', "\\", ",", ":", "{", "}", "[", "]", " ", "\t", "0", "e", "-", ".", "\x00", "é", "n")


def mutated_text(random: Random, text: str) -> str:
    """A text after one change that no JSON writer would make."""
    at = random.randint(0, len(text))
    return random.choice(
        (
            lambda: text[:at],
            lambda: text[at:],
            lambda: text + random.choice(_TAILS),
            lambda: random.choice(_HEADS) + text,
            lambda: text[:at] + random.choice(_PIECES) + text[at:],
            lambda: text[:at] + text[at + 1 :],
            lambda: text[:at] + random.choice(_PIECES) + text[at + 1 :],
        )
    )()


def payload(random: Random) -> str:
    """A document: as AX writes it, or as near to it as makes a difference."""
    tree = parse(random.choice(TEMPLATES))
    times = random.choice((0, 0, 1, 1, 1, 2, 3))
    tree = mutated_tree(random, tree, times)
    text = _style(random).render(tree)
    return mutated_text(random, text) if random.random() < 0.08 else text


# --- rows of a table ---------------------------------------------------------------------------

_BYTES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80")
_STEPS: tuple[Stored, ...] = (
    0, -1, 2**31, 2**62, 1.0, 2.5, 1e300, float("inf"), "one", "", "4", b"\x01", None, b"\xff",
)  # fmt: skip
_IDS: tuple[Stored, ...] = (b"blob", b"\xff\xfe", None, 7, 1.5, "a\x00b", " ", "😀:1")


def row(seed: int, conversation_id: str) -> Written:
    """The row of a number. Most have an honest key, so that the payload is what counts."""
    random = Random(seed)
    text = payload(random)
    stored: Stored = text
    dice = random.random()
    if dice < 0.02:
        at = random.randint(0, len(text))
        raw = text.encode("utf-8", "surrogatepass")
        raw = raw[:at] + random.choice(_BYTES) + raw[at:]
        stored = random.choice((raw, Cast(raw)))
    elif dice < 0.03:
        stored = random.choice((None, 5, 1.5, b"", "", text.encode("utf-8", "surrogatepass")))
    step = random.choice(_STEPS) if random.random() < 0.03 else 1
    odd = random.choice(_IDS) if random.random() < 0.02 else ""
    return Written(odd + conversation_id if isinstance(odd, str) else odd, step, stored)
