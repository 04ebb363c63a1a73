"""JSON text to a tree and back, strictly: what protobuf-go's tokenizer refuses is refused.

The tree keeps what a dict would lose: the order of members, duplicates, and the digits of numbers.
Below the C scanner everything is iterative, so a document nested 100,000 deep is a verdict and not
a crash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn


class PayloadError(ValueError):
    """AX cannot decode this document; `reason` is a short class, never a piece of the document."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class Members(list[tuple[str, Any]]):
    """The members of a JSON object, in order and with duplicates."""


class Number(str):
    """The digits of a JSON number, exactly as they stand in the document."""


def parse(text: str) -> Any:
    """Parse one JSON document into Members, lists, str, Number, bool and None.

    Raises PayloadError where protobuf-go's tokenizer does. Strings keep NUL; numbers keep their
    digits.
    """
    try:
        tree = _decoder.decode(text)
    except RecursionError:
        tree = _parse_deep(text)
    except json.JSONDecodeError:
        # Slower, and it knows why: or that protobuf-go takes the document all the same.
        tree = _parse_deep(text)
    if _SURROGATE_ESCAPE.search(text):
        _refuse_lone_surrogates(tree)
    return tree


def _refuse_constant(_: str) -> NoReturn:
    raise PayloadError("not JSON", "NaN and Infinity are not JSON numbers")


_decoder = json.JSONDecoder(
    object_pairs_hook=Members,
    parse_float=Number,
    parse_int=Number,
    parse_constant=_refuse_constant,
)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def _refuse_lone_surrogates(tree: Any) -> None:
    for text in _strings(tree):
        try:
            text.encode()
        except UnicodeEncodeError as err:
            raise PayloadError("lone surrogate", f"at character {err.start} of a string") from None


def _strings(tree: Any) -> Iterator[str]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if type(node) is str:
            yield node
        elif isinstance(node, Members):
            for name, value in node:
                yield name
                stack.append(value)
        elif isinstance(node, list):
            stack.extend(node)


_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?(?:[0-9]+|(?=[^0-9A-Za-z.+_-])))?
            (?![0-9A-Za-z.+_-]))
      | (?P<word>true|false|null)\b
      | (?P<mark>[\[\]{},:])
    )""",
    re.VERBOSE,
)


#: The beginning of a token that was cut off.
_TORN_TOKEN = re.compile(
    r"""
        "(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*(?:\\(?:u[0-9a-fA-F]{0,3})?)?
      | -?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?)?)?
      | t(?:ru?)? | f(?:a(?:ls?)?)? | n(?:ul?)?
    """,
    re.VERBOSE,
)


def is_number(text: str) -> bool:
    """Is the whole text one JSON number?"""
    token = _TOKEN.fullmatch(text)
    return token is not None and token.lastgroup == "number"


_WORDS = {"true": True, "false": False, "null": None}


def _parse_deep(text: str) -> Any:
    """Parse a document that is nested too deep for the C scanner, without recursion."""
    root: list[Any] = []
    stack: list[list[Any]] = [root]
    names: list[str | None] = [None]
    # What may come next: a value, a value or the end of an array, a name, a name or the end of
    # an object, a colon, or a comma or an end.
    expected = "value"
    position = 0
    while True:
        token = _TOKEN.match(text, position)
        if token is None:
            break
        position = token.end()
        kind, raw = token.lastgroup, token.group(token.lastgroup or 0)
        top = stack[-1]
        if kind == "mark":
            if raw in "[{" and expected in ("value", "value or ]"):
                child: list[Any] = Members() if raw == "{" else []
                _attach(top, names, child)
                stack.append(child)
                names.append(None)
                expected = "name or }" if raw == "{" else "value or ]"
            elif raw in "]}" and _may_close(top, raw, expected) and len(stack) > 1:
                stack.pop()
                names.pop()
                expected = "comma"
            elif raw == "," and expected == "comma" and len(stack) > 1:
                expected = "name" if isinstance(top, Members) else "value"
            elif raw == ":" and expected == "colon":
                expected = "value"
            else:
                raise PayloadError("not JSON", f"at character {position - 1}")
        elif kind == "string" and expected in ("name", "name or }"):
            names[-1] = json.loads(raw)
            expected = "colon"
        elif expected in ("value", "value or ]"):
            _attach(top, names, _scalar(kind, raw))
            expected = "comma"
        else:
            raise PayloadError("not JSON", f"at character {token.start()}")
        if len(stack) == 1 and root and expected == "comma":
            break
    rest = text[position:].strip(" \t\r\n")
    if len(stack) > 1 or not root:
        if not text.strip(" \t\r\n"):
            raise PayloadError("empty payload")
        torn = not rest or _TORN_TOKEN.fullmatch(rest)
        raise PayloadError("ends too early" if torn else "not JSON", f"at character {position}")
    if rest:
        raise PayloadError("text after the end", f"at character {position}")
    return root[0]


def _scalar(kind: str | None, raw: str) -> Any:
    if kind == "string":
        return json.loads(raw)
    return Number(raw) if kind == "number" else _WORDS[raw]


def _attach(parent: list[Any], names: list[str | None], value: Any) -> None:
    if isinstance(parent, Members):
        parent.append((names[-1] or "", value))
    else:
        parent.append(value)


def _may_close(top: list[Any], mark: str, expected: str) -> bool:
    if isinstance(top, Members):
        return mark == "}" and expected in ("name or }", "comma")
    return mark == "]" and expected in ("value or ]", "comma")


# --- tree -> text ------------------------------------------------------------------------------


def dump(tree: Any) -> str:
    """Write a parsed tree as compact JSON: order, duplicates and digits kept, no recursion."""
    out: list[str] = []
    stack: list[Any] = [_Node(tree)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        node = item.tree
        if isinstance(node, Number):
            out.append(node)
        elif isinstance(node, Members):
            stack.extend(reversed(_object_parts(node)))
        elif isinstance(node, list):
            stack.extend(reversed(_array_parts(node)))
        else:
            out.append(json.dumps(node, ensure_ascii=False))
    return "".join(out)


@dataclass(frozen=True)
class _Node:
    tree: Any


def _object_parts(members: Members) -> list[Any]:
    parts: list[Any] = ["{"]
    for n, (name, value) in enumerate(members):
        parts += [f"{',' if n else ''}{json.dumps(name, ensure_ascii=False)}:", _Node(value)]
    return [*parts, "}"]


def _array_parts(items: list[Any]) -> list[Any]:
    parts: list[Any] = ["["]
    for n, value in enumerate(items):
        parts += [",", _Node(value)] if n else [_Node(value)]
    return [*parts, "]"]
