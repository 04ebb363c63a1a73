"""Verdicts, findings and results: the words that every face of axnb shares, and a result folder.

`result.json` is the product; everything else is a view of it. One block, `run`, holds what differs
between two runs on the same evidence; all else is byte-identical.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from axnb.errors import AxnbError, SourceError
from axnb.text import cut_middle, is_hidden, is_path, safe

_SCHEMA = "axnb.result/1"

Verdict = Literal["ok", "failed", "inconclusive", "not-run"]

#: What a process returns for a verdict; 2 is wrong usage, 4 that axnb could not run.
EXIT_CODES: Mapping[Verdict, int] = {"ok": 0, "failed": 1, "inconclusive": 3, "not-run": 3}

#: A sign for people who see no colour, and for everybody else.
SIGNS: Mapping[Verdict, str] = {"ok": "✓", "failed": "✗", "inconclusive": "?", "not-run": "–"}

#: From the worst to the best.
WORST: tuple[Verdict, ...] = ("failed", "inconclusive", "not-run", "ok")


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
    #: Of a bucket: the prefix of a snapshot's keys, the key of an object.
    snapshot: str | None = None
    object: str | None = None
    #: ATESPACE/NAME
    actor: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """An entry of `findings`."""
        keys = {
            "conversation_id": self.conversation_id,
            "step": self.step,
            "snapshot": self.snapshot,
            "object": self.object,
            "actor": self.actor,
        }
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
    #: What was looked at and how it was asked, and why the verdict is what it is: a sentence each.
    examined: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    measures: Mapping[str, Any] = field(default_factory=dict)
    #: What to do and what not to touch: groups of conversations, the most urgent first.
    actions: tuple[Mapping[str, Any], ...] = ()
    #: Calls to read back from their tools: `{count, calls}`.
    unresolved: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Mapping[str, Any], ...] = ()
    #: Calls and effects with what became of them; of a drill that holds logs against ledgers.
    effects: tuple[Mapping[str, Any], ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    #: Every check that ran, with its version, and the query of those that found something.
    checks: tuple[Mapping[str, Any], ...] = ()
    #: Conversations as lines of steps, for a picture.
    lanes: tuple[Mapping[str, Any], ...] = ()
    plan: str = ""
    #: What was not looked at, and what was assumed.
    scope: tuple[str, ...] = ()
    #: The answer of the function that made the result, in its own schema.
    answer: Mapping[str, Any] = field(default_factory=dict)
    #: Who, where, when, versions, paths, durations: all that may differ between two runs.
    run: Mapping[str, Any] = field(default_factory=dict)
    _digest_as_read: str = field(default="", init=False, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "schema": _SCHEMA,
            "drill": self.drill,
            "verdict": self.verdict,
            "examined": list(self.examined),
            "why": list(self.why),
            "measures": dict(self.measures),
            "parameters": dict(self.parameters),
            "sources": [dict(source) for source in self.sources],
            "actions": [dict(action) for action in self.actions],
            "unresolved": dict(self.unresolved),
            "steps": [dict(step) for step in self.steps],
            "effects": [dict(effect) for effect in self.effects],
            "findings": [dict(finding) for finding in self.findings],
            "checks": [dict(check) for check in self.checks],
            "lanes": [dict(lane) for lane in self.lanes],
            "plan": self.plan,
            "scope": list(self.scope),
            "answer": dict(self.answer),
            "run": dict(self.run),
        }

    @classmethod
    def read(cls, folder: Path) -> Result:
        """Read `result.json` of a folder; keys that this version does not know are passed over.

        Raises SourceError if there is none, or it is no result: `result.schema.json` says what is.
        """
        path = folder / "result.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
            digest = _digest(found)
        except OSError as err:
            raise SourceError(f"{path} cannot be read: {err.strerror}.") from err
        except (ValueError, RecursionError) as err:
            raise SourceError(f"{path} is no JSON: it was cut or changed.") from err
        if not isinstance(found, dict) or found.get("schema") != _SCHEMA:
            raise SourceError(f"{path} is no result of the form {_SCHEMA}.")
        if (place := _misfit(found)) is not None:
            raise SourceError(
                f"{path} is no whole result of the form {_SCHEMA}: {place} is not as it should be."
            )
        values: dict[str, Any] = {
            f.name: tuple(found[f.name]) if isinstance(found[f.name], list) else found[f.name]
            for f in fields(cls)
            if f.init and f.name in found
        }
        result = cls(**values)
        # What this version does not know has no place in a Result, but in the file's digest.
        object.__setattr__(result, "_digest_as_read", digest)
        return result

    def text(self) -> str:
        """The result as the text of `result.json`."""
        return to_json(self.as_dict(), indent=1) + "\n"

    def write(self, folder: Path, called: Path | None = None) -> Path:
        """Write `result.json` into a folder, which is made where it is missing.

        Raises AxnbError with the path, or with what the folder is `called`.
        """
        path = folder / "result.json"
        write_file(path, self.text(), called=(called or folder) / path.name)
        return path

    def digest(self) -> str:
        """The sha256 of all but the block `run`: the same for the same evidence.

        It is that of `json.dumps` with sorted keys, so that anybody can compute it.
        """
        return self._digest_as_read or _digest(self.as_dict())


def _digest(found: Any) -> str:
    told = found
    if isinstance(found, dict):
        told = {name: value for name, value in found.items() if name != "run"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


@cache
def _validate() -> Callable[[Any], Any]:
    import fastjsonschema

    schema = files("axnb").joinpath("result.schema.json").read_text(encoding="utf-8")
    compiled: Callable[[Any], Any] = fastjsonschema.compile(json.loads(schema))
    return compiled


def _misfit(found: Any) -> str | None:
    """The first place where a result has not the shape that its views rely on."""
    import fastjsonschema

    try:
        _validate()(found)
    except fastjsonschema.JsonSchemaValueException as err:
        # The rule that was broken may quote the value; its place is enough.
        place = str(err.name).removeprefix("data").removeprefix(".")
        return cut_middle(safe(place), 80) or "a part"
    return None


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
