"""Feed a stranger's script to psql: its statements run, as a role that may little; nothing else.

A plain dump is a script for psql, and psql has commands that run programs and open files. psql's
own lexer tells them from data, so psql is told first to restrict itself (since the releases of
August 2025): then it refuses every command of its own. An older psql does not know the word and
stops at once. What the server itself could do outside of the database needs a right that the role
has not.
"""

from __future__ import annotations

import re
import secrets
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from axnb.backups.model import BadBackupError, Flaw
from axnb.backups.programs import piped

COMPLETE = b"-- PostgreSQL database dump complete"

_RESTRICT = re.compile(rb"\\restrict ([A-Za-z0-9]{1,128})\r?\n")
_ENCODING = re.compile(rb"SET client_encoding = '([A-Za-z0-9_-]+)';")
_VERSION = re.compile(rb"-- Dumped from database version ([0-9][0-9A-Za-z.]*)")

#: SQLSTATE, or its class -> kind, severity, words. What a server says further may hold a payload.
_STATES: dict[str, tuple[str, str, str]] = {
    "22021": ("not-utf8", "error", "it holds bytes that are no text in its encoding"),
    "22P05": ("not-utf8", "error", "it holds characters that UTF-8 does not have"),
    "23505": ("number-repeated", "error", "a key that must be unique is there twice"),
    "23": ("damaged", "error", "its rows break its own constraints"),
    "42501": ("needs-rights", "doubt", "it needs more rights than its tables' owner has"),
    "0A000": ("needs-server", "doubt", "it needs what this server does not have"),
    "58P01": ("needs-server", "doubt", "it needs a library that this server does not have"),
    "42704": ("needs-server", "doubt", "it names a role, a type or a collation that is not here"),
    "22023": ("needs-server", "doubt", "it needs a setting that this server does not take"),
    "42P01": ("incomplete", "error", "it names a table that it does not create"),
    "42883": ("incomplete", "error", "it names a function that it does not create"),
    "42601": ("damaged", "error", "it holds what is no statement"),
    "22": ("damaged", "error", "it holds a value that does not fit its column"),
}


@dataclass
class Script:
    """What is learnt of a script while it runs."""

    encoding: str | None = None
    version: str | None = None
    is_complete: bool = False
    _key: bytes | None = field(default=None, repr=False)

    def lines(self, source: Iterable[bytes]) -> Iterator[bytes]:
        """The lines for psql: behind a restriction of ours, and without the script's own.

        Only its first restriction, before any statement, and the exact end of it are left out.
        """
        ours = secrets.token_hex(32).encode()
        yield b"\\restrict " + ours + b"\n"
        in_head = True
        for line in source:
            if in_head and (found := _RESTRICT.fullmatch(line)):
                self._key = found[1]
                continue
            if self._key and line.rstrip(b"\r\n") == b"\\unrestrict " + self._key:
                continue
            if in_head or not self.encoding:
                self._learn(line)
            in_head = in_head and (line.startswith(b"--") or not line.strip())
            if line.startswith(COMPLETE):
                self.is_complete = True
            yield line

    def _learn(self, line: bytes) -> None:
        if found := _ENCODING.match(line):
            self.encoding = found[1].decode()
        elif self.version is None and (found := _VERSION.match(line)):
            self.version = found[1].decode()


def run_script(
    source: Iterable[bytes],
    psql: list[str],
    connection: str,
    environment: Mapping[str, str],
    seconds: float,
    place: str,
) -> Script:
    """Run a script to its end, or raise BadBackupError with what it met."""
    command = [
        *psql,
        "--no-psqlrc",
        "--quiet",
        "--no-password",
        "--set=ON_ERROR_STOP=1",
        # A server's message can hold a payload; its SQLSTATE cannot.
        "--set=VERBOSITY=sqlstate",
        f"--dbname={connection}",
        "--file=-",
    ]
    script = Script()
    with piped(
        command,
        environment=environment,
        seconds=seconds,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as pipe:
        try:
            pipe.input.writelines(script.lines(source))
            pipe.input.close()
        except BrokenPipeError:
            pass  # it has stopped at an error, and says so
        code, said = pipe.end()
    if code:
        raise BadBackupError(_flaw(place, code, said))
    return script


def _flaw(place: str, code: int, said: str) -> Flaw:
    if code < 0:
        return too_slow(place)
    if "backslash commands are restricted" in said or "restrict:" in said:
        return Flaw(
            "psql-command",
            "error",
            f"{place} holds a command of psql (as \\connect or \\!), which axnb does not run: dump "
            "one database, without --create.",
        )
    found = re.search(r"(?:ERROR|FATAL):\s+([0-9A-Z]{5})\b", said)
    state = found[1] if found else ""
    kind, severity, words = _STATES.get(
        state, _STATES.get(state[:2], ("refused", "error", "the server refuses a statement of it"))
    )
    told = f" (SQLSTATE {state})" if state else ""
    return Flaw(
        kind,
        "doubt" if severity == "doubt" else "error",
        f"{place} cannot be restored: {words}{told}.",
    )


def too_slow(place: str) -> Flaw:
    """The flaw of a restore that was stopped."""
    return Flaw("too-slow", "doubt", f"{place} was not restored in time, and was stopped.")
