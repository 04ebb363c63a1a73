"""Values of secrets: in one spelling, as a keyed digest, and what is none."""

from __future__ import annotations

import hmac
import re
from urllib.parse import unquote_to_bytes

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|([\"'\\/bfnrt]))")
_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}

#: A run that hides something, in a value that is in one spelling.
_HIDDEN = re.compile(rb"\*{3,}|\.{3,}|(?:\xe2\x80\xa2)+|\xe2\x80\xa6|[xX]{5,}")
#: Characters beside a mask that tell something of the value, at least.
_TELLING = 4

#: What stands where a secret will be, or was.
_PLACEHOLDER = re.compile(
    rb"<[^>]*>?|\[[a-z _-]*\]?|\{.*|\$\{.*|\$\(.*|\$\$?[a-z_][a-z0-9_]*|%[a-z_]+%|%\(?[a-z_]*\)?s"
    rb"|[-_<\[({*]*(?:redacted|masked|hidden|filtered|removed|omitted|scrubbed|confidential"
    rb"|censored)[-_>\])}*]*"
    rb"|(?:your|insert|enter|replace|put|paste|add)[-_ ].*"
    rb"|change[-_ ]?me|example|sample|dummy|placeholder|to-?do|tbd|none|null|nil|undefined|true"
    rb"|false|yes|no|on|off|string|str|text|bytes|password|passwd|pass|secret|token|key|api[-_]?key"
    rb"|n/?a|unset|unknown|empty|default|missing|required|optional|invalid|incorrect|expired"
    rb"|mismatch|provided|disabled|enabled"
    rb"|(?:process\.env|os\.environ|os\.getenv|env|secrets?|vars?|config|settings|self|this)[.\[(].*"
    # An address may hold a secret; it is none.
    rb"|[a-z][a-z0-9+.-]*://.*"
    rb"|arn:aws:.*|projects/[^/]+/secrets/.*|vault:.*|op://.*|file:.*|enc\[.*",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(rb"(?:~|\.{1,2})?(?:/[a-z0-9][a-z0-9._@-]*|/\.[a-z][a-z0-9._-]*)+/?")
_WINDOWS_PATH = re.compile(rb"[A-Za-z]:\\.*", re.DOTALL)
_DOTTED = re.compile(rb"[A-Za-z_][0-9A-Za-z_]*(?:\.[A-Za-z_][0-9A-Za-z_]*)+")
_DIGIT_OR_SIGN = re.compile(rb"[^A-Za-z_.: -]")


def spelled(value: bytes) -> bytes:
    """A value without the escapes of JSON, however often JSON was put into JSON.

    What stands raw in an environment, in JSON and in JSON inside of JSON becomes one.
    """
    for _ in range(8 if b"\\" in value else 0):
        plain = _ESCAPE.sub(_unescaped, value)
        if plain == value:
            break
        value = plain
    return value


def _unescaped(match: re.Match[bytes]) -> bytes:
    number, sign = match.groups()
    if number is not None:
        return chr(int(number, 16)).encode("utf-8", "surrogatepass")
    return _SHORT.get(sign, sign)


def digest(key: bytes, value: bytes, kind: str) -> str:
    """The keyed digest of a value as found, in hex: the same wherever and however it stands."""
    plain = spelled(value)
    if kind.startswith("url-"):
        plain = unquote_to_bytes(plain)
    if kind == "private-key":
        # Its lines may be cut in any way.
        plain = re.sub(rb"\s+", b"", plain)
    return hmac.digest(key, plain, "sha256").hex()


def is_masked(value: bytes) -> bool | None:
    """Is something of a value hidden? None where nothing of it is left to see."""
    shown, masks = _HIDDEN.subn(b"", spelled(value))
    if not masks:
        return False
    telling = sum(byte > 0x7F or chr(byte).isalnum() for byte in shown)
    return True if telling >= _TELLING else None


def is_nothing(value: bytes) -> bool:
    """Is it no value at all: a placeholder, a reference, a path, one character again and again?"""
    plain = spelled(value)
    if len(set(plain)) <= 1 or _PLACEHOLDER.fullmatch(plain):
        return True
    return bool(_PATH.fullmatch(plain) or _WINDOWS_PATH.fullmatch(plain))


def is_code(value: bytes) -> bool:
    """Does it name something, as in `password = user.password`?"""
    return _DOTTED.fullmatch(value) is not None


def has_digit_or_sign(value: bytes) -> bool:
    """Has it what words do not have?"""
    return _DIGIT_OR_SIGN.search(spelled(value)) is not None


def is_text(value: bytes) -> bool:
    """Is it text that somebody could type? Memory holds names beside anything."""
    try:
        return value.decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False
