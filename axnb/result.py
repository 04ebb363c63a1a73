"""Verdicts, findings and results: the words that every face of axnb shares, and a result folder.

`result.json` is the product; everything else is a view of it. One block, `run`, holds what differs
between two runs on the same evidence; all else is byte-identical.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from axnb.errors import AxnbError
from axnb.text import is_hidden, is_path

Verdict = Literal["ok", "failed", "inconclusive", "not-run"]

#: What a process returns for a verdict; 2 is wrong usage, 4 that axnb could not run.
EXIT_CODES: Mapping[Verdict, int] = {"ok": 0, "failed": 1, "inconclusive": 3, "not-run": 3}

#: A sign for people who see no colour, and for everybody else.
SIGNS: Mapping[Verdict, str] = {"ok": "✓", "failed": "✗", "inconclusive": "?", "not-run": "–"}


@dataclass(frozen=True)
class Witness:
    """A row that proves a finding: its step, and a keyed digest of its text."""

    step: int | None
    digest: str | None

    def as_dict(self) -> dict[str, Any]:
        """The witness as JSON."""
        return {"step": self.step, "digest": self.digest}


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or worth knowing, with the smallest rows that prove it."""

    id: str
    name: str
    severity: Literal["info", "warning", "error"]
    source: str
    conversation_id: str | None
    step: int | None
    sentence: str
    witness: tuple[Witness, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """An entry of `findings`."""
        keys = {"conversation_id": self.conversation_id, "step": self.step}
        return {
            "id": self.id,
            "name": self.name,
            "severity": self.severity,
            "source": self.source,
            "keys": {name: value for name, value in keys.items() if value is not None},
            "sentence": self.sentence,
            "witness": [witness.as_dict() for witness in self.witness],
        }


def judge(findings: Iterable[Finding], doubts: Iterable[str]) -> Verdict:
    """The verdict: failed by an error, else inconclusive by any doubt, else ok."""
    if any(finding.severity == "error" for finding in findings):
        return "failed"
    return "inconclusive" if any(doubts) else "ok"


@dataclass(frozen=True)
class Result:
    """A result in the stable form `axnb.result/1`."""

    drill: str
    verdict: Verdict
    parameters: Mapping[str, Any]
    sources: tuple[Mapping[str, Any], ...]
    findings: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    measures: Mapping[str, Any] = field(default_factory=dict)
    plan: str = ""
    #: What was not looked at, and what was assumed.
    scope: tuple[str, ...] = ()
    #: The answer of the function that made the result, in its own schema.
    answer: Mapping[str, Any] = field(default_factory=dict)
    #: Who, where, when, versions, paths, durations: all that may differ between two runs.
    run: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "schema": "axnb.result/1",
            "drill": self.drill,
            "verdict": self.verdict,
            "parameters": dict(self.parameters),
            "sources": [dict(source) for source in self.sources],
            "steps": [dict(step) for step in self.steps],
            "findings": [dict(finding) for finding in self.findings],
            "measures": dict(self.measures),
            "plan": self.plan,
            "scope": list(self.scope),
            "answer": dict(self.answer),
            "run": dict(self.run),
        }

    def text(self) -> str:
        """The result as the text of `result.json`."""
        return to_json(self.as_dict(), indent=1) + "\n"


_NOT_PLAIN = re.compile("[^\n -~]")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON with text as it is, but for what a terminal or an editor may take for a command, or
    hide: that is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _NOT_PLAIN.sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if is_hidden(character) else character


def write_file(path: Path, text: str, called: Path | None = None) -> None:
    """Write a whole file or none: aside, to the disk, then renamed into place.

    Raises AxnbError if it cannot be written, with the path, or with what it is `called`.
    """
    if not is_path(str(path)):
        raise AxnbError(f"{str(path)[:80]!r} cannot be written: no file has such a name.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as err:
        raise AxnbError(f"{called or path} cannot be written: {err.strerror}.") from err
