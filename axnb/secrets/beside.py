"""Secrets that are known by what stands beside them: a name, an address, a header.

An engine tells where a sign ends (`NAME=`, `://…@`, `bearer …`); what stands before and behind it
is judged here. All lengths are bounded, so that hostile bytes cost no square of their length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from axnb.secrets import values
from axnb.secrets.patterns import BETWEEN, NAME_WORDS

#: Bytes before a sign that are looked at.
_BEFORE = 448

_NAME_SIGNS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_MAX_NAME = 96
_PAIRED_NAME = re.compile(
    rb"name\\{0,7}[\"']?[ \t]{0,4}:[ \t]{0,4}\\{0,7}[\"']?"
    rb"([0-9A-Za-z_.-]{1,96})" + BETWEEN + rb"value\Z",
    re.IGNORECASE,
)
_AFTER_VALUE_KEY = re.compile(rb"\\{0,7}[\"']?[ \t]{0,4}:")

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
#: What stands before `token` where that is no secret: a place in a list, a part of a text.
_OF_LISTS = re.compile(
    "page|next|continuation|continue|sync|resume|cursor|pad|eos|bos|unk|sep|cls|mask|stop|special"
    "|max|min|num|per|prompt|output|input|completion|idempotency|request|cancellation|start|end"
)
#: What stands before any of the words in a name of something else than a value.
_OF_FLAGS = re.compile("has|use|no|is|show|hide|forgot|requires?|enable|needs|public")
_ENDS_AS_SECRET = re.compile(NAME_WORDS + rb"\Z", re.IGNORECASE)
#: A PWD is a shell's folder.
_NO_SECRET = re.compile(r"(?:old)?pwd|.*(?:next|page|continuation|idempotency)token", re.DOTALL)
_ADDRESS_ONLY = {"sig", "signature", "xamzsignature", "xgoogsignature"}
_PASSWORD = re.compile(r"passw(?:or)?d|passphrase|pwd")
_COUNTED = re.compile(r"token[0-9]*\Z")
_AWS_SECRET = re.compile(r"secret(?:access)?key")

_UNIT = rb"\\{1,15}(?:/|u[0-9A-Fa-f]{4})"
_QUOTE = re.compile(rb"[=>]?[ \t]{0,4}(?P<slashes>\\{0,15})(?P<quote>[\"'`])")
_QUOTED, _QUOTED_DEEP = (
    {
        quote: re.compile(
            rb"((?:[^%s\\\x00-\x20\x7f]{1,96}+|%s|%s){1,32}+)\\{0,15}%s"
            % (quote, _UNIT, escaped, quote)
        )
        for quote in (b'"', b"'", b"`")
    }
    # In JSON inside of JSON a quote of a value is escaped more often than the one that ends it.
    for escaped in (rb"\\[\"'`\\]", rb"\\{3,15}[\"'\\]")
)
#: Of an environment: to the next blank, quote or control character.
_BARE = re.compile(rb"[=>]?[ \t]{0,4}((?:[^\"'`\\\x00-\x20\x7f]{1,96}+|%s){1,32}+)" % _UNIT)
#: Of a text or a configuration: signs of the text around it end it, too.
_LOWER = re.compile(
    rb"[=>]?[ \t]{0,4}((?:[^\"'`\\\x00-\x20\x7f,;&<>(){}\[\]|]{1,96}+|%s){1,32}+)(?![(\[])"
    % rb"\\{1,15}(?:/|u00(?!26|3[cCeE]|22|27)[0-9A-Fa-f]{2})"
)
#: Of an address' query.
_QUERY = re.compile(
    rb"((?:[^\"'`\\\x00-\x20\x7f&;<>#]{1,96}+|\\{1,15}(?:/|u00(?!26)[0-9A-Fa-f]{2})){1,32}+)"
)
_QUERY_SIGN = re.compile(rb"(?:[?&]|&amp;|\\{1,15}u0026)\Z")

_USERINFO = re.compile(
    rb"[A-Za-z][0-9A-Za-z+.-]{0,30}:\\{0,15}/\\{0,15}/"
    rb"(?P<user>(?:[^ \t\r\n\x00\"'<>@:/\\\[]|\\{1,15}u[0-9A-Fa-f]{4}){0,128})"
    rb"(?::(?P<password>[^ \t\r\n\x00\"'<>@]{1,256}))?@\Z"
)
#: An unescaped @ of the password itself: the last one ends it.
_MORE_USERINFO = re.compile(rb"(?:[^ \t\r\n\x00\"'<>@/\\]{0,128}@){1,4}")
_PORT = re.compile(rb"[0-9]{1,5}[/?#\\]")
#: With the sign behind it; as `patterns.USERINFO` says.
_MAX_USERINFO = 257
_HOST = re.compile(rb"[0-9A-Za-z_\[%.-]")

_BEARER = re.compile(rb"[0-9A-Za-z._~+/=-]{16,2048}+")
_AUTHORIZATION = re.compile(
    rb"authorization[\"'\\]{0,8}[ \t]{0,4}[:=][ \t]{0,4}[\"'\\]{0,8}\Z", re.I
)


@dataclass(frozen=True, slots=True)
class Match:
    """A secret in a piece of bytes; its value is `data[start:end]`."""

    start: int
    end: int
    kind: str
    name: str | None = None
    is_partial: bool = False


def assigned(data: bytes, end: int, covered: int = 0) -> Iterator[Match]:
    """What stands behind `NAME=` or `"name":`, which ends at `end`.

    `covered`: where a long value ends that holds the sign, which then hardly is one of its own.
    """
    near = data[max(0, end - 128) : end]
    quoted = near[:-1].rstrip(b" \t")
    named = quoted.rstrip(b"\"'\\")
    start = max(len(named.rstrip(_NAME_SIGNS)), len(named) - _MAX_NAME)
    name, before = _without_escape(named[start:], near[:start])
    known = _known(name)
    if near.endswith(b"=") and _QUERY_SIGN.search(before[-24:]):
        yield from _query(data, end, name, known)
        return
    if known in _ADDRESS_ONLY or not _is_secret(name, known):
        return
    if end <= covered and not _AWS_SECRET.search(known):
        return
    match = _quoted(data, end)
    if match is None and quoted == named:
        # Behind the quoted name of JSON, what is not quoted is no text.
        is_env = name.upper() == name and near.endswith(b"=")
        match = (_BARE if is_env else _LOWER).match(data, end)
        if match is not None and not is_env and _is_prose(match[1]):
            return
    if match is not None and _is_good(match[1], known):
        yield _match(match, known, name.decode())


def _quoted(data: bytes, end: int) -> re.Match[bytes] | None:
    """A value in quotes that begins at `end`."""
    value = _QUOTE.match(data, end)
    if value is None:
        return None
    quoted = _QUOTED_DEEP if value["slashes"] else _QUOTED
    return quoted[value["quote"]].match(data, value.end())


def _is_prose(value: bytes) -> bool:
    """Is it a word of a sentence, or a name in a program?"""
    return not values.has_digit_or_sign(value.rstrip(b".!?:")) or values.is_code(value)


def paired(data: bytes, end: int) -> Iterator[Match]:
    """What stands behind `"name": "NAME", "value"`, which ends at `end`."""
    found = _PAIRED_NAME.search(data[max(0, end - 192) : end])
    sign = _AFTER_VALUE_KEY.match(data, end)
    if found is None or sign is None:
        return
    known = _known(found[1])
    match = _quoted(data, sign.end())
    if match is None and _QUOTE.match(data, sign.end()) is None:
        match = _BARE.match(data, sign.end())
    if match is not None and _is_secret(found[1], known) and _is_good(match[1], known):
        yield _match(match, known, found[1].decode())


def _match(found: re.Match[bytes], known: str, shown: str) -> Match:
    start, end = found.span(1)
    is_partial = bool(values.is_masked(found[1]))
    is_aws = _AWS_SECRET.search(known) and re.fullmatch(
        rb"[0-9A-Za-z/+]{40}", values.spelled(found[1])
    )
    return Match(
        start, end, "aws-secret-access-key" if is_aws else "named-secret", shown, is_partial
    )


def _without_escape(name: bytes, before: bytes) -> tuple[bytes, bytes]:
    """A name without the letters of an escape before it, and what stands before it then."""
    if before.endswith(b"\\"):
        escape = re.match(rb"u[0-9A-Fa-f]{4}|[nrtbf]", name)
        if escape is not None and escape.end() < len(name):
            return name[escape.end() :], before + escape[0]
    return name, before


@lru_cache(maxsize=4096)
def _known(name: bytes) -> str:
    """A name without case and signs, and without a number or a stage at its end."""
    plain = re.sub(r"[_.-]", "", name.decode().lower())
    return re.sub(r"(?:[0-9]{1,3}|prod|dev|test|staging|old|new|primary|secondary)\Z", "", plain)


@lru_cache(maxsize=4096)
def _is_secret(name: bytes, known: str) -> bool:
    """Does a name that ends like that of a secret stand for one?"""
    words = _WORDS.findall(name.decode())
    before = words[-2].lower() if len(words) > 1 else ""
    if _COUNTED.search(known) and _OF_LISTS.fullmatch(before):
        return False
    if _ENDS_AS_SECRET.search(name) is None:
        return False
    return not _OF_FLAGS.fullmatch(before) and not _NO_SECRET.fullmatch(known)


def _is_good(value: bytes, known: str) -> bool:
    """Is it a value that somebody could use?"""
    if len(value) < 6 or not values.is_text(value) or values.is_nothing(value):
        return False
    # A number of tokens, or a word for the kind of one.
    is_counted = _COUNTED.search(known) is not None and (
        value.isdigit() or (not values.has_digit_or_sign(value) and len(value) < 16)
    )
    return not is_counted and values.is_masked(value) is not None


def _query(data: bytes, end: int, name: bytes, known: str) -> Iterator[Match]:
    match = _QUERY.match(data, end)
    if match is None or not (known in _ADDRESS_ONLY or _is_secret(name, known)):
        return
    least = 1 if _PASSWORD.search(known) else 6
    value = match[1]
    masked = values.is_masked(value)
    if len(value) < least or (values.is_nothing(value) and len(value) > 1) or masked is None:
        return
    if not values.is_text(value) or (value.isdigit() and _COUNTED.search(known)):
        return
    start, stop = match.span(1)
    yield Match(start, stop, "url-secret", name.decode(), masked)


def userinfo(data: bytes, end: int) -> Iterator[Match]:
    """The password of `scheme://user:password@`, which ends at `end`; or a long user alone."""
    near = max(0, end - _BEFORE)
    before = data[near:end]
    found = None
    if b"://" in before or b":\\" in before:
        found = _USERINFO.search(before)
    if found is None or end - near - found.start("user") > _MAX_USERINFO:
        return
    group = "user" if found["password"] is None else "password"
    start, stop = (near + place for place in found.span(group))
    if group == "password" and (more := _MORE_USERINFO.match(data, end)):
        stop = more.end() - 1
        end = more.end()
    value = data[start:stop]
    if _HOST.match(data, end) is None or not values.is_text(value) or _PORT.match(value):
        return
    if group == "user" and not (len(value) >= 20 and values.has_digit_or_sign(value)):
        return
    masked = values.is_masked(value)
    if masked is None or (values.is_nothing(value) and len(value) > 1):
        return
    yield Match(start, stop, "url-password", None, masked)


def header(data: bytes, end: int) -> Iterator[Match]:
    """What stands behind `Bearer ` or `Authorization: Basic `, of which 8 bytes end at `end`."""
    start = end - 8
    match = _BEARER.match(data, start)
    if match is None or not any(0x30 <= byte <= 0x39 for byte in match[0]):
        return
    if data[:start].endswith((b"asic ", b"ASIC ")):
        begin = start - len(b"basic ")
        if _AUTHORIZATION.search(data[max(0, begin - 64) : begin]):
            yield Match(start, match.end(), "basic-authorization")
        return
    yield Match(start, match.end(), "bearer-token")
