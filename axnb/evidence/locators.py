"""What a user types for a source: a path, a URL, a DSN, the name of a variable, an `ax.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from axnb.ax.behaviour import Harness
from axnb.ax.config import read_config
from axnb.errors import SourceError, UsageError

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEY_VALUE = re.compile(r"(^|\s)(host|hostaddr|dbname|service)\s*=")


@dataclass(frozen=True)
class SqliteLocator:
    """A SQLite file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class PostgresLocator:
    """A PostgreSQL database; `dsn` holds the password and is never printed or stored."""

    dsn: str
    schema: str | None = None

    def __str__(self) -> str:
        return public_dsn(self.dsn) + (f" schema {self.schema}" if self.schema else "")

    def __repr__(self) -> str:
        return f"PostgresLocator({self})"


@dataclass(frozen=True)
class Located:
    """A log, and the harnesses that its ax.yaml registers (None if none was given)."""

    log: SqliteLocator | PostgresLocator
    harnesses: tuple[Harness, ...] | None = None


def locate(text: str, environment: Mapping[str, str]) -> Located:
    """Find what `text` names.

    Raises UsageError for a text that names nothing, SourceError for an ax.yaml without a log.
    """
    if text.startswith(("postgres://", "postgresql://")) or _KEY_VALUE.search(text):
        return Located(_postgres(text))
    if text.startswith("sqlite:"):
        return Located(SqliteLocator(_sqlite_path(text)))
    if "://" in text:
        raise UsageError(
            f"{text.split('://', 1)[0]}:// is no event log that axnb reads; "
            "use a path, sqlite:///PATH or a PostgreSQL DSN."
        )
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return _from_config(path, environment)
    if _VARIABLE.fullmatch(text) and not path.exists():
        value = environment.get(text)
        if not value:
            raise UsageError(f"{text} is neither a file nor a variable that is set.")
        return locate(value, environment)
    return Located(SqliteLocator(path))


def _sqlite_path(url: str) -> Path:
    """The path of `sqlite:///PATH`: relative with three slashes, absolute with four.

    Three slashes before an absolute path are a common slip, so both readings are tried.
    """
    rest = unquote(url.removeprefix("sqlite:"))
    if not rest.startswith("//"):
        return Path(rest)
    path = Path(rest.removeprefix("///") if rest.startswith("///") else rest.removeprefix("//"))
    return path if path.is_absolute() or path.exists() else Path("/") / path


def _postgres(dsn: str) -> PostgresLocator:
    """Take `schema=NAME` out of a DSN's query: it is ours, and libpq would refuse it."""
    if "://" not in dsn:
        return PostgresLocator(dsn)
    try:
        parts = urlsplit(dsn)
    except ValueError:
        return PostgresLocator(dsn)
    query = parse_qsl(parts.query, keep_blank_values=True)
    schema = next((value for name, value in query if name == "schema"), None)
    rest = [(name, value) for name, value in query if name != "schema"]
    if schema is None:
        return PostgresLocator(dsn)
    return PostgresLocator(urlunsplit(parts._replace(query=urlencode(rest))), schema)


def _from_config(path: Path, environment: Mapping[str, str]) -> Located:
    config = read_config(path, environment)
    if config.postgres_dsn:
        return Located(_postgres(config.postgres_dsn), config.harnesses)
    if config.sqlite_path:
        # AX resolves a relative name against its working directory, which is not known here.
        log = config.sqlite_path
        return Located(
            SqliteLocator(log if log.is_absolute() else path.parent / log), config.harnesses
        )
    raise SourceError(f"{path} names no event log; give its path or DSN instead.")


def public_dsn(dsn: str) -> str:
    """A DSN as host, port and database: what may be shown. Nothing of the rest is kept."""
    if "://" in dsn:
        try:
            parts = urlsplit(dsn)
            port = f":{parts.port}" if parts.port else ""
            return f"postgresql://{parts.hostname or ''}{port}{parts.path}"
        except ValueError:
            return "postgresql://(malformed)"
    found = dict(re.findall(r"(host|hostaddr|port|dbname|service)\s*=\s*'?([^\s']+)'?", dsn))
    host = found.get("host") or found.get("hostaddr") or found.get("service") or ""
    port = f":{found['port']}" if "port" in found else ""
    return f"postgresql://{host}{port}/{found.get('dbname', '')}"
