"""What looks like a secret: named kinds, each a regular expression over bytes.

One source for all engines. A kind of token begins with a literal (`prefixes`) that is followed by
`sure`, so many characters of one class; `body` says the rest. An engine looks for literal and
`sure`, and what it finds is judged by `pattern`, so that every engine finds the same. Secrets that
are known by what stands beside them (a name, an address, a header) are in `beside.py`.

Shapes of tokens: what their makers document; of keys of AX itself there are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

#: Bytes that the longest secret may take, as it stands; a longer one is found by its beginning.
MAX_MATCH = 8 << 10

#: What stands before a token: no letter or digit of a longer word, unless an escape or a colour of
#: a terminal ends there (`\\n`, `\\u000a`, `%20`, `[31m`).
LEFT = (
    rb"(?:(?<![0-9A-Za-z_+])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9A-Fa-f]{2})"
    rb"|(?<=\[[0-9]m)|(?<=\[[0-9]{2}m))"
)
_WORD = rb"[0-9A-Za-z_-]"
_ALNUM = rb"[0-9A-Za-z]"
_END = rb"(?![0-9A-Za-z_-])"
#: A slash, as JSON may write it, also inside of JSON inside of JSON.
_SLASH = rb"\\{0,15}/"


@dataclass(frozen=True)
class Kind:
    """A kind of secret, as `axnb secrets` lists it."""

    name: str
    about: str
    #: What its search begins at: one of these literals.
    anchors: tuple[str, ...]
    #: The regular expression that a token must match; None where several rules judge together.
    expression: str | None = None
    #: Is it also found when it is masked in the middle?
    may_be_partial: bool = False


@dataclass(frozen=True)
class Token:
    """A kind of secret that is known by its own beginning."""

    name: str
    about: str
    prefixes: tuple[bytes, ...]
    #: A class, and how many characters of it follow the prefix at least.
    sure: tuple[bytes, int]
    body: bytes
    may_be_partial: bool = True

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """The whole of it, from its prefix on."""
        return re.compile(self.expression, re.DOTALL)

    @property
    def expression(self) -> bytes:
        """The source of `pattern`."""
        literals = b"|".join(re.escape(prefix) for prefix in self.prefixes)
        left = b"" if self.name == "private-key" else LEFT
        return left + b"(?:" + literals + b")" + self.body


def _word(least: int, most: int = 255) -> tuple[tuple[bytes, int], bytes]:
    return (_WORD, min(least, 16)), _WORD + b"{%d,%d}+" % (least, most)


def _alnum(least: int, most: int = 255) -> tuple[tuple[bytes, int], bytes]:
    return (_ALNUM, min(least, 16)), _ALNUM + b"{%d,%d}+" % (least, most) + _END


def _exactly(length: int, of: bytes = _ALNUM) -> tuple[tuple[bytes, int], bytes]:
    return (of, min(length, 16)), of + b"{%d}" % length + _END


_PEM = (
    rb"(?:[0-9A-Z]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    # A header of an old one, or of PGP; then base64, with any escapes of an end of line. Its end
    # may be missing: a log cuts long texts.
    rb"(?:[0-9A-Za-z+/=:,. \t\r\n]|-(?!-)|\\{1,15}(?:[nrt/]|u00[0-9a-fA-F]{2})){40,%d}+"
    rb"(?:-----END [0-9A-Z ]{0,64}PRIVATE KEY(?: BLOCK)?-----)?"
) % (MAX_MATCH - 200)

#: Those of one prefix stand in the order in which they are tried.
TOKENS: tuple[Token, ...] = (
    Token("google-api-key", "Google, Gemini", (b"AIza",), *_exactly(35, _WORD)),
    Token("google-api-key", "Google, Gemini: newer keys", (b"AQ.Ab",), *_word(36)),
    Token("google-oauth-token", "Google OAuth", (b"ya29.", b"GOCSPX-"), *_word(20, 2048)),
    Token("anthropic-key", "Anthropic", (b"sk-ant-",), *_word(20)),
    Token(
        "openai-key",
        "OpenAI, and who names keys like it",
        (b"sk-",),
        (_WORD, 16),
        rb"(?:(?:proj|svcacct|admin|None|or-v1)-[0-9A-Za-z_-]{16,255}+"
        rb"|(?=[A-Za-z]{0,255}[0-9])[0-9A-Za-z]{20,255}+" + _END + rb"|"
        rb"(?=[A-Za-z_-]{0,255}[0-9])(?=[0-9a-z_-]{0,255}[A-Z])[0-9A-Za-z_-]{20,255}+)",
    ),
    Token(
        "aws-access-key-id",
        "AWS: names a key, which may be near",
        (b"AKIA", b"ASIA", b"ABIA", b"ACCA"),
        *_exactly(16, b"[0-9A-Z]"),
    ),
    Token(
        "github-token",
        "GitHub",
        (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"),
        *_alnum(30),
    ),
    Token("github-token", "GitHub, fine-grained", (b"github_pat_",), *_word(22)),
    Token(
        "gitlab-token",
        "GitLab",
        (b"glpat-", b"gldt-", b"glrt-", b"glptt-", b"glcbt-", b"glsoat-", b"glagent-"),
        *_word(20),
    ),
    Token(
        "slack-token",
        "Slack",
        (b"xoxa-", b"xoxb-", b"xoxc-", b"xoxe-", b"xoxo-", b"xoxp-", b"xoxr-", b"xoxs-", b"xapp-"),
        (_WORD, 10),
        rb"(?=[A-Za-z-]{0,64}[0-9])[0-9A-Za-z-]{10,255}+",
    ),
    Token(
        "slack-webhook",
        "Slack: an address that takes messages",
        (b"hooks.slack.com",),
        (rb"[/\\]", 1),
        _SLASH + rb"services(?:" + _SLASH + rb"[0-9A-Za-z]{6,40}){3}",
        may_be_partial=False,
    ),
    Token("stripe-key", "Stripe, live", (b"sk_live_", b"rk_live_", b"whsec_"), *_alnum(16)),
    Token("huggingface-token", "Hugging Face", (b"hf_",), *_alnum(30, 64)),
    Token("npm-token", "npm", (b"npm_",), *_alnum(36, 64)),
    Token("pypi-token", "PyPI", (b"pypi-AgE",), *_word(50)),
    Token(
        "sendgrid-key",
        "SendGrid",
        (b"SG.",),
        (_WORD, 16),
        rb"[0-9A-Za-z_-]{16,64}\.[0-9A-Za-z_-]{16,128}+",
    ),
    Token("digitalocean-token", "DigitalOcean", (b"dop_v1_", b"doo_v1_"), *_exactly(64)),
    Token("databricks-token", "Databricks", (b"dapi",), *_exactly(32, b"[0-9a-f]")),
    Token("shopify-token", "Shopify", (b"shpat_", b"shpss_", b"shpca_"), *_exactly(32)),
    Token("vault-token", "HashiCorp Vault", (b"hvs.", b"hvb."), *_word(24)),
    Token("groq-key", "Groq", (b"gsk_",), *_alnum(40)),
    Token("xai-key", "xAI", (b"xai-",), *_alnum(60)),
    Token("perplexity-key", "Perplexity", (b"pplx-",), *_alnum(40)),
    Token("nvidia-key", "NVIDIA", (b"nvapi-",), *_word(40)),
    Token("replicate-token", "Replicate", (b"r8_",), *_exactly(37)),
    Token("langsmith-key", "LangSmith", (b"lsv2_pt_", b"lsv2_sk_"), *_word(32)),
    Token("age-key", "age", (b"AGE-SECRET-KEY-1",), *_exactly(58)),
    Token(
        "private-key",
        "A private key in PEM",
        (b"-----BEGIN ",),
        (b"[0-9A-Z ]", 3),
        _PEM,
        may_be_partial=False,
    ),
)

#: A JSON web token: three parts, of which the first two are JSON in base64.
JWT = re.compile(
    LEFT + rb"eyJ[0-9A-Za-z_-]{6,1024}+\.eyJ[0-9A-Za-z_-]{6,4096}+\.[0-9A-Za-z_-]{8,1024}+"
)

#: How somebody masks a token: stars, dots, an ellipsis.
MASK = rb"(?:\*{3}|\.{3}|\xe2\x80[\xa2\xa6]|\\{1,15}u202[26])"
_MASKED = (
    rb"(?P<head>[0-9A-Za-z_-]{0,48})(?:\*{3,64}|\.{3,8}|(?:\xe2\x80[\xa2\xa6]){1,64}"
    rb"|(?:\\{1,15}u202[26]){1,64})(?P<tail>[0-9A-Za-z_-]{0,48})"
)


def any_of(literals: Iterable[bytes]) -> bytes:
    """An expression for one of the literals, the longest that fits."""
    return b"|".join(map(re.escape, sorted(set(literals), key=lambda one: (-len(one), one))))


MASKABLE = tuple(prefix for token in TOKENS if token.may_be_partial for prefix in token.prefixes)
_PREFIXES = any_of(MASKABLE)

MASKED = re.compile(LEFT + rb"(?P<prefix>" + _PREFIXES + rb")" + _MASKED)
#: What an engine looks for; it ends with the first characters of the mask.
MASKED_TRIGGER = rb"(?:" + _PREFIXES + rb")[0-9A-Za-z_-]{0,48}" + MASK

#: The names under which secrets stand, as the end of a name.
_KEYS = rb"(?:api|access|secret|private|signing|encryption|account|auth|master|service|shared)"
_STAGE = rb"(?:[_-]?(?:[0-9]{1,3}|prod|dev|test|staging|old|new|primary|secondary))?"
_OTHERS = rb"token|secret|passw(?:or)?d|passphrase|pwd|credentials?"
NAME_WORDS = rb"(?:" + _KEYS + rb"[_.-]?key|" + _OTHERS + rb")" + _STAGE
#: How the words begin that are in `NAME_WORDS`, in small letters, and the expression from there on.
NAME_STARTS = (b"key", b"token", b"secret", b"passw", b"passphrase", b"pwd", b"credential")
_FROM_START = rb"(?:key|" + _OTHERS + rb")" + _STAGE
#: A name and the sign behind it: `NAME=`, `"name" :`, `\"name\":`.
_SIGN = rb"[\"'\\]{0,8}[ \t]{0,4}[:=]"
ASSIGNED = NAME_WORDS + _SIGN
ASSIGNED_FROM_START = _FROM_START + _SIGN
#: A name whose value stands beside it: `"name": "NAME", "value": …`, also in YAML.
BETWEEN = rb"(?:[\"', \t\r\n]|\\n|\\){1,24}"
PAIRED = NAME_WORDS + BETWEEN + rb"value"
PAIRED_FROM_START = _FROM_START + BETWEEN + rb"value"
#: What only an address has in its query.
SIGNED = rb"(?:x-(?:amz|goog)-signature|[?&;]sig|[?&;]signature|0026sig|0026signature)="
#: User and password of an address, up to the sign behind them.
USERINFO = rb":\\{0,15}/\\{0,15}/[^ \t\r\n\x00\"'<>@]{1,256}@"
HEADER = rb"(?:bearer|basic) [0-9A-Za-z._~+/=-]{8}"
JWT_MIDDLE = rb"[0-9A-Za-z_-]\.eyJ[0-9A-Za-z_-]{6}"

_BESIDE = (
    Kind(
        "named-secret",
        "A value whose name says that it is one: …API_KEY, …TOKEN, …SECRET, …PASSWORD, PASSWD, "
        "PWD, …CREDENTIALS, …PRIVATE_KEY; in an environment, in JSON, in YAML, in a text",
        ("key", "token", "secret", "password", "passwd", "passphrase", "pwd", "credential"),
        may_be_partial=True,
    ),
    Kind(
        "aws-secret-access-key",
        "AWS: 40 characters under a name of AWS's",
        ("secret_access_key", "secretaccesskey", "secret_key"),
    ),
    Kind("url-password", "Password or token before the host of an address", ("://",), None, True),
    Kind(
        "url-secret",
        "Signature, token or password in the query of an address",
        ("X-Amz-Signature=", "X-Goog-Signature=", "sig=", "token=", "password=", "key="),
        may_be_partial=True,
    ),
    Kind("bearer-token", "Authorization: Bearer", ("bearer ",)),
    Kind("basic-authorization", "Authorization: Basic", ("basic ",)),
    Kind(
        "json-web-token",
        "A JSON web token: whoever holds it is somebody",
        (".eyJ",),
        JWT.pattern.decode(),
    ),
)


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds that are looked for, those of operators aside."""
    found = [
        Kind(
            token.name,
            token.about,
            tuple(prefix.decode() for prefix in token.prefixes),
            token.expression.decode(),
            token.may_be_partial,
        )
        for token in TOKENS
    ]
    return (*found, *_BESIDE)
