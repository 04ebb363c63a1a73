"""Made-up secrets of every kind, and scanners of each engine."""

from __future__ import annotations

from axnb.secrets.scanner import Hit, Scanner
from axnb.settings import Secrets

ENGINES = ("hyperscan", "re2")
KEY = bytes(range(32))

_LETTERS = "a1B2c3D4e5F6g7H8i9J0"


def letters(length: int) -> str:
    """Letters and digits, as random as they need to be."""
    return (_LETTERS * 20)[:length]


_HEX = "0123456789abcdef" * 8
_PEM = "MIIEowIBAAKCAQEAx0123456789abcdef+/ABCDEFGHIJKLMNOPQRSTUVWXYZ0="

#: A secret of each kind that is known by its own beginning.
TOKENS = {
    "google-api-key": "AIza" + letters(35),
    "google-oauth-token": "ya29." + letters(40),
    "anthropic-key": "sk-ant-api03-" + letters(80),
    "openai-key": "sk-proj-" + letters(48),
    "aws-access-key-id": "AKIA" + "ABCDEFGH12345678",
    "github-token": "ghp_" + letters(36),
    "gitlab-token": "glpat-" + letters(20),
    "slack-token": "xoxb-123456789012-" + letters(24),
    "slack-webhook": "hooks.slack.com/services/T01234567/B01234567/" + letters(24),
    "stripe-key": "sk_live_" + letters(24),
    "huggingface-token": "hf_" + letters(34),
    "npm-token": "npm_" + letters(36),
    "pypi-token": "pypi-AgE" + letters(60),
    "sendgrid-key": "SG." + letters(22) + "." + letters(43),
    "digitalocean-token": "dop_v1_" + _HEX[:64],
    "databricks-token": "dapi" + _HEX[:32],
    "shopify-token": "shpat_" + _HEX[:32],
    "vault-token": "hvs." + letters(30),
    "groq-key": "gsk_" + letters(52),
    "xai-key": "xai-" + letters(80),
    "perplexity-key": "pplx-" + letters(48),
    "nvidia-key": "nvapi-" + letters(64),
    "replicate-token": "r8_" + letters(37),
    "langsmith-key": "lsv2_pt_" + letters(40),
    "age-key": "AGE-SECRET-KEY-1" + letters(58).upper(),
    "private-key": f"-----BEGIN RSA PRIVATE KEY-----\n{_PEM}\n-----END RSA PRIVATE KEY-----",
    "json-web-token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + letters(43),
}

#: Texts with one secret each that is known by what stands beside it: text, kind, value.
BESIDE = [
    ("DEMO_API_KEY=not-a-real-key-0001", "named-secret", "not-a-real-key-0001"),
    ("x\0REDIS_PASSWORD=hunter22\0HOME=/root\0", "named-secret", "hunter22"),
    ("export ADMIN_SECRET='s3cr3t-one'", "named-secret", "s3cr3t-one"),
    ('{"client_secret": "abc/def+ghi=="}', "named-secret", "abc/def+ghi=="),
    (r'{"text":"{\"api_key\":\"abc123def456\"}"}', "named-secret", "abc123def456"),
    ('{"name":"MY_TOKEN","value":"abc-123-def"}', "named-secret", "abc-123-def"),
    ("- name: MY_TOKEN\n  value: abc-123-def\n", "named-secret", "abc-123-def"),
    ("db.passwd: hunter2", "named-secret", "hunter2"),
    ("GOOGLE_CREDENTIALS=abc%2Fdef%3D1", "named-secret", "abc%2Fdef%3D1"),
    ("AWS_SECRET_ACCESS_KEY=" + "aB3/" * 10, "aws-secret-access-key", "aB3/" * 10),
    ("postgres://u:p%40ss@h/db", "url-password", "p%40ss"),
    ("redis://:pa55@h:6379", "url-password", "pa55"),
    (r"https:\/\/x:abc123@host\/y.git", "url-password", "abc123"),
    ("postgres://h/db?sslpassword=x&options=1", "url-secret", "x"),
    ("https://b/k?a=1&X-Amz-Signature=" + _HEX[:64], "url-secret", _HEX[:64]),
    ("https://b/k?a=1&X-Goog-Signature=" + _HEX[:64], "url-secret", _HEX[:64]),
    ("https://b/k?sv=1&sig=ab%2Fcd%3D&x=1", "url-secret", "ab%2Fcd%3D"),
    (r"https://b/k?a=1\u0026access_token=abc123def", "url-secret", "abc123def"),
    ("Authorization: Bearer abc123def456ghi789", "bearer-token", "abc123def456ghi789"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZDE=", "basic-authorization", "dXNlcjpwYXNzd29yZDE="),
]

#: What is none, though it looks like one.
NONE = [
    '{"api_key":"**********"}',
    '{"api_key":"<redacted>","password":"REDACTED","token":"${TOKEN}","secret":"changeme"}',
    "OPENAI_API_KEY=sk-... OPENAI_API_KEY=your-key-here API_KEY=$KEY",
    "PWD=/root OLDPWD=/x GOOGLE_APPLICATION_CREDENTIALS=/var/run/secrets/key.json MAX_TOKEN=4096",
    '{"next_page_token":"abcdef123456","max_tokens":12,"password":null,"token":{"a":"bcdefgh"}}',
    "the password: please enter it; token: expired.",
    "password=user.password1 token=get_token1(x) secret=os.environ[1]",
    "http://host:8080/@scope/x https://host/a@b https://user:password@host",
    "task-abcdefghijklmnopqrst1 __Host-session sha256:" + _HEX[:64],
    "550e8400-e29b-41d4-a716-446655440000 " * 3,
    '{"signature":"AAAA/' + TOKENS["google-api-key"] + '"}',
    r"{\"thought_signature\":\"" + TOKENS["aws-access-key-id"] + r"\"}",
    '{"image":{"mime_type":"image/png","data":"iVBOR/' + TOKENS["huggingface-token"] + '"}}',
    '{"sha256":"' + TOKENS["databricks-token"] + '"}',
    "data:image/png;base64," + TOKENS["google-api-key"],
]


def scanner(engine: str | None = None, **settings: object) -> Scanner:
    """A scanner with a fixed key."""
    return Scanner(KEY, Secrets(**settings), engine)  # type: ignore[arg-type]


def hits(text: str | bytes, engine: str | None = None, **settings: object) -> list[Hit]:
    """What is found in a text."""
    data = text.encode() if isinstance(text, str) else text
    return scanner(engine, **settings).scan_bytes(data)


def value(text: str | bytes, hit: Hit) -> str:
    """What a hit points at."""
    data = text.encode() if isinstance(text, str) else text
    return data[hit.offset : hit.offset + hit.length].decode()
