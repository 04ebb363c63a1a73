"""From what an engine points at to what is a secret: the same for every engine."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from axnb.secrets.beside import Match, assigned, header, paired, userinfo
from axnb.secrets.exclusions import is_excluded
from axnb.secrets.patterns import JWT, MASK, MASKABLE, MASKED, MAX_MATCH, TOKENS, Token, any_of

#: What an engine points at: where a token begins, or where a sign of the other groups ends.
Group = Literal["token", "masked", "jwt", "assigned", "paired", "userinfo", "header"]
Candidate = tuple[int, Group]

#: Of several that overlap, the first of these is kept: what says most of its kind.
_VAGUE = ("basic-authorization", "bearer-token", "url-password", "url-secret", "named-secret")

#: Bytes around the beginning of a mask that belong to a token.
_BEFORE_MASK = 96
_BEHIND_MASK = 256
_HEAD_OF_JWT = 1100
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

#: Bytes of a value that is no usual one; inside of it signs cost little.
_LONG = 512

#: Characters that a masked token shows, at least; where dots hide, which also end a word, more.
_SHOWN = 2
_SHOWN_BY_DOTS = 8

_TOKENS: dict[bytes, tuple[Token, ...]] = {
    prefix: tuple(
        token
        for token in TOKENS
        if any(p.startswith(prefix) or prefix.startswith(p) for p in token.prefixes)
    )
    for token in TOKENS
    for prefix in token.prefixes
}
_LITERAL = re.compile(any_of(_TOKENS))
_MASKABLE = re.compile(any_of(MASKABLE))
_MASK_END = re.compile(MASK + rb"\Z")


def matches(
    data: bytes,
    candidates: Iterable[Candidate],
    operators: Mapping[str, re.Pattern[bytes]],
    *,
    include_excluded: bool,
) -> list[Match]:
    """The secrets at the candidates and of operators' patterns, in order, none over another."""
    found = set()
    covered = 0
    for place, group in candidates:
        rule = _RULES[group]
        told = assigned(data, place, covered) if group == "assigned" else rule(data, place)
        for match in told:
            if match.end - match.start >= _LONG:
                covered = max(covered, match.end)
            is_own = group in ("token", "masked", "jwt")
            if include_excluded or not is_own or not is_excluded(data, match.start):
                found.add(match)
    for name, pattern in operators.items():
        found.update(
            Match(start, min(end, start + MAX_MATCH), name)
            for start, end in (match.span() for match in pattern.finditer(data))
            if end > start
        )
    return _apart(found, set(operators))


def _apart(found: set[Match], operators: set[str]) -> list[Match]:
    """Of those that overlap the one that says most; it takes the name of one that it replaces."""

    def order(match: Match) -> tuple[int, int, int, str, str]:
        rank = 0 if match.kind in operators else 1
        if match.kind in _VAGUE:
            rank = 2 + _VAGUE.index(match.kind)
        return rank, match.start, -match.end, match.kind, match.name or ""

    # What is kept lies apart, so only neighbours can overlap.
    starts: list[int] = []
    kept: dict[int, Match] = {}
    for match in sorted(found, key=order):
        n = bisect_left(starts, match.end)
        is_free = True
        while n and kept[starts[n - 1]].end > match.start:
            n -= 1
            is_free = False
            one = kept[starts[n]]
            if one.name is None and match.name is not None:
                kept[one.start] = replace(one, name=match.name)
        if is_free:
            insort(starts, match.start)
            kept[match.start] = match
    return [kept[start] for start in starts]


# --- rules ---------------------------------------------------------------------------------------


def _token(data: bytes, start: int) -> Iterator[Match]:
    """A token that begins at `start`."""
    literal = _LITERAL.match(data, start)
    for token in _TOKENS[literal[0]] if literal else ():
        match = token.pattern.match(data, start)
        if match is not None:
            if len(set(match[0])) > len(set(literal[0] if literal else b"")) + 3:
                yield Match(start, match.end(), token.name)
            return


def _masked(data: bytes, end: int) -> Iterator[Match]:
    """A token of which the middle is hidden; the first signs of the mask end at `end`."""
    near = max(0, end - _BEFORE_MASK)
    mask = _MASK_END.search(data[max(near, end - 24) : end])
    head = data[near : end - len(mask[0])] if mask else b""
    begin = near + len(head.rstrip(_WORD))
    for prefix in _MASKABLE.finditer(data, begin, near + len(head)):
        match = MASKED.match(data, prefix.start(), end + _BEHIND_MASK)
        if match is not None and match.end() >= end:
            break
    else:
        return
    shown = len(match["head"]) + len(match["tail"])
    by_dots = b"." in match[0][len(match["prefix"]) :]
    if shown < (_SHOWN_BY_DOTS if by_dots else _SHOWN) or (by_dots and not match["tail"]):
        return
    name = next(t.name for t in TOKENS if match["prefix"] in t.prefixes)
    yield Match(match.start(), match.end(), name, is_partial=True)


def _jwt(data: bytes, end: int) -> Iterator[Match]:
    """A JSON web token; the first characters of its second part end at `end`."""
    dot = data.rindex(b".", 0, end)
    head = data[max(0, dot - _HEAD_OF_JWT) : dot]
    run = head[len(head.rstrip(_WORD)) :]
    begin = run.find(b"eyJ")
    match = JWT.match(data, dot - len(run) + begin) if begin >= 0 else None
    if match is not None:
        yield Match(match.start(), match.end(), "json-web-token")


_RULES = {
    "token": _token,
    "masked": _masked,
    "jwt": _jwt,
    "assigned": assigned,
    "paired": paired,
    "userinfo": userinfo,
    "header": header,
}
