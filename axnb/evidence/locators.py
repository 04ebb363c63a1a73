"""What a user types for a source: a path, a URL, a DSN, the name of a variable, an `ax.yaml`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from axnb.ax.behaviour import Harness
from axnb.ax.config import HarnessConfig, read_config
from axnb.errors import SourceError, UsageError
from axnb.text import is_path

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_URL = re.compile(r"postgres(ql)?://")
_LIKE_A_DSN = re.compile(
    r"\s*(jdbc:)?postgres(ql)?(\+\w+)?:|[^/\\]*:[^/\\]*@|\w+:[^@]*@", re.IGNORECASE
)
_KEY_VALUE = re.compile(r"(^|\s)(host|hostaddr|dbname|service|user|password|port|sslmode)\s*=")
_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)\s*")
_PLAIN = re.compile(r"[\w.,-]*")

_HIDDEN = "postgresql://(address not shown)"


@dataclass(frozen=True)
class SqliteLocator:
    """A SQLite file."""

    path: Path

    def __post_init__(self) -> None:
        if not is_path(str(self.path)):
            raise UsageError("the source is no path: no file has such a name.")

    def __str__(self) -> str:
        return os.fsencode(self.path).decode(errors="backslashreplace")

    def is_at(self, locator: str) -> bool:
        """Is this what the case calls `locator`?"""
        return str(SqliteLocator(self.path.resolve())) == locator


@dataclass(frozen=True)
class PostgresLocator:
    """A PostgreSQL database; `dsn` holds the password and is never printed or stored."""

    dsn: str
    schema: str | None = None

    def __str__(self) -> str:
        return public_dsn(self.dsn) + (f" schema {self.schema}" if self.schema else "")

    def __repr__(self) -> str:
        return f"PostgresLocator({self})"

    def is_at(self, locator: str) -> bool:
        """Is this what the case calls `locator`, in the schema that was found if none is named?"""
        place, _, schema = locator.rpartition("?schema=")
        if place != public_dsn(self.dsn) or place == _HIDDEN:
            return False
        return self.schema is None or quote(self.schema) == schema


@dataclass(frozen=True)
class Located:
    """A log, and the harnesses that its ax.yaml registers (None if none was given)."""

    log: SqliteLocator | PostgresLocator
    harnesses: tuple[Harness, ...] | None = None
    #: What the ax.yaml says of what they run with.
    configs: tuple[HarnessConfig, ...] = ()


def is_ax_yaml(text: str) -> bool:
    """Is a source an ax.yaml, by its name?"""
    return Path(text).suffix in (".yaml", ".yml")


def locate(text: str, environment: Mapping[str, str]) -> Located:
    """Find what `text` names.

    Raises UsageError for a text that names nothing, SourceError for an ax.yaml without a log.
    """
    if _URL.match(text):
        return Located(_postgres(text))
    if not is_path(text):
        raise UsageError("the source is no path: no file has such a name.")
    if text.startswith("sqlite:"):
        return Located(SqliteLocator(_sqlite_path(text)))
    path = Path(text)
    if is_ax_yaml(text):
        return _from_config(path, environment)
    if not _exists(path):
        return _locate_other(text, environment)
    return Located(SqliteLocator(path))


def _locate_other(text: str, environment: Mapping[str, str]) -> Located:
    """A text that is no file: a variable, a DSN of keys and values, or a mistake.

    What may be a mistyped DSN is not repeated in a message: it may hold a password.
    """
    if _VARIABLE.fullmatch(text):
        value = environment.get(text)
        if not value:
            raise UsageError(f"{text} is neither a file nor a variable that is set.")
        # A variable may name another one, but not itself.
        return locate(value, {name: v for name, v in environment.items() if name != text})
    if _KEY_VALUE.search(text):
        return Located(PostgresLocator(text))
    if _LIKE_A_DSN.match(text):
        raise UsageError(
            "the source looks like a PostgreSQL address, and is none that axnb takes: write "
            "postgresql://USER@HOST:PORT/DATABASE, or key=value pairs such as host and dbname."
        )
    if "://" in text:
        raise UsageError(
            "the source is no event log that axnb reads: use a path, sqlite:///PATH or "
            "a PostgreSQL DSN."
        )
    return Located(SqliteLocator(Path(text)))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _sqlite_path(url: str) -> Path:
    """The path of `sqlite:///PATH`: relative with three slashes, absolute with four.

    Three slashes before an absolute path are a common slip, so both readings are tried.
    """
    rest = unquote(url.removeprefix("sqlite:"))
    if not rest.startswith("//"):
        return Path(rest)
    path = Path(rest.removeprefix("///") if rest.startswith("///") else rest.removeprefix("//"))
    return path if path.is_absolute() or _exists(path) else Path("/") / path


def _postgres(dsn: str) -> PostgresLocator:
    """Take `schema=NAME` out of a DSN's query: it is ours, and libpq would refuse it."""
    try:
        parts = urlsplit(dsn)
    except ValueError:
        return PostgresLocator(dsn)
    query = parse_qsl(parts.query, keep_blank_values=True)
    schema = next((value for name, value in query if name == "schema"), None)
    rest = [(name, value) for name, value in query if name != "schema"]
    if schema is None:
        return PostgresLocator(dsn)
    return PostgresLocator(
        urlunsplit(parts._replace(query=urlencode(rest, quote_via=quote))), schema
    )


def _from_config(path: Path, environment: Mapping[str, str]) -> Located:
    config = read_config(path, environment)
    if config.postgres_dsn:
        return Located(_postgres(config.postgres_dsn), config.harnesses, config.configs)
    if config.sqlite_path:
        # AX resolves a relative name against its working directory, which is not known here.
        log = config.sqlite_path
        place = log if log.is_absolute() else path.parent / log
        return Located(SqliteLocator(place), config.harnesses, config.configs)
    raise SourceError(f"{path} names no event log; give its path or DSN instead.")


def public_dsn(dsn: str) -> str:
    """A DSN as host, port and database: what may be shown, if it is sure what is what."""
    found = _url_parts(dsn) if _URL.match(dsn) else _pairs(dsn)
    if found is None or not all(_PLAIN.fullmatch(value) for value in found.values()):
        return _HIDDEN
    host = found.get("host") or found.get("hostaddr") or found.get("service") or ""
    port = f":{found['port']}" if found.get("port") else ""
    return f"postgresql://{host}{port}/{found.get('dbname', '')}"


def _url_parts(dsn: str) -> dict[str, str] | None:
    try:
        parts = urlsplit(dsn)
        port = str(parts.port or "")
    except ValueError:
        return None
    if parts.fragment or parts.netloc.count("@") > 1:
        return None
    host = parts.netloc.rpartition("@")[2].partition(":")[0]
    return {"host": host, "port": port, "dbname": unquote(parts.path.removeprefix("/"))}


def _pairs(dsn: str) -> dict[str, str] | None:
    """Host, port and database of `key=value …` as libpq reads it; None if it is malformed."""
    found: dict[str, str] = {}
    at = 0
    while at < len(dsn):
        match = _PAIR.match(dsn, at)
        if match is None or match.end() == at:
            return None
        at = match.end()
        if match[1] in ("host", "hostaddr", "port", "dbname", "service"):
            found[match[1]] = re.sub(r"\\(.)", r"\1", match[2].removeprefix("'").removesuffix("'"))
    return found
