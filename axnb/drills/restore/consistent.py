"""Is what was restored consistent? What the backup itself, and the restored store, show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axnb.backups import Flaw, Restored
from axnb.drills.restore.looking import Looked
from axnb.drills.restore.telling import MOST, some
from axnb.drills.steps import Check, Evidence
from axnb.result import Verdict
from axnb.text import count

#: Flaws that only the first write shows: they are told as usable or not.
WRITES = frozenset({"first-write"})

_BACKUP = "the backup is whole, and a backup of an event log"
_STORE = "tables, keys, storage classes and encodings are as AX writes them"
_WRITE = "the store takes the next row of a conversation, and the first one of another"
_BUCKET = "every snapshot of the copy has its manifest and all of its objects"


def check_backup(flaws: Sequence[Flaw], observed: str) -> Check:
    """What speaks against the backup before, and while, it is restored."""
    return _check(_BACKUP, flaws, observed)


def check_store(flaws: Sequence[Flaw], observed: str) -> Check:
    """The structure of what was restored."""
    return _check(_STORE, [flaw for flaw in flaws if flaw.kind not in WRITES], observed)


def check_first_write(flaws: Sequence[Flaw], observed: str) -> Check:
    """A restore may pass all its reads and fail its first write."""
    return _check(_WRITE, [flaw for flaw in flaws if flaw.kind in WRITES], observed)


def check_bucket(flaws: Sequence[Flaw], observed: str) -> Check:
    """The copy of the bucket by itself."""
    return _check(_BUCKET, flaws, observed)


def check_bucket_copy(flaws: Sequence[Flaw] | None, observed: str) -> Check:
    """The copy of the bucket beside the bucket."""
    expected = "the copy holds every object of the bucket, in every version, as it is there"
    if flaws is None:
        return Check(expected, "the bucket was not read", "inconclusive")
    return _check(expected, flaws, observed)


def check_decoded(looked: Looked) -> Check:
    """Every row is one that AX of its own generation can decode."""
    expected = "every row can be read, and decodes as AX of its generation writes it"
    about = looked.about
    if about.read == 0:
        return Check(expected, "the log holds no row: a backup of nothing", "failed")
    if about.rejected:
        told = f"{count(about.rejected, 'row')} of {about.read:,} cannot be read"
        return Check(expected, told, _wound(looked))
    if about.incomplete:
        return Check(
            expected, some([told.rstrip(".") for told in about.incomplete]), "inconclusive"
        )
    return Check(expected, f"{count(about.parsed, 'row')} of {' '.join(about.generations)}", "ok")


def _wound(looked: Looked) -> Verdict:
    """Rows that the source has in the same state are a wound that it had before."""
    if looked.source is None:
        return "inconclusive"
    (source,) = [s for s in looked.answer.sources if s.name == looked.source.name]
    return "ok" if source.rejected >= looked.about.rejected else "failed"


def check_apart(restored: Restored, looked: Looked) -> Check:
    """The restored runtime is another one than the source's."""
    expected = "what was restored shares no file and no server with its source"
    mine = restored.facts.get("system_identifier")
    if mine is None:
        return Check(expected, "it is a file of its own", "ok")
    if looked.source is None:
        return Check(expected, "it is a server of its own", "ok")
    (source,) = [s for s in looked.answer.sources if s.name == looked.source.name]
    theirs = source.custody.get("system_identifier")
    if theirs is None:
        if "system_identifier" in source.custody:
            return Check(expected, "the role may not read the source's identifier", "inconclusive")
        return Check(expected, "it is a server of its own", "ok")
    if str(mine) == str(theirs):
        return Check(expected, "both have one system identifier", "failed")
    return Check(expected, "its server has another system identifier", "ok")


def _check(expected: str, flaws: Iterable[Flaw], observed: str) -> Check:
    found = sorted(flaws, key=lambda flaw: flaw.severity != "error")
    if not found:
        return Check(expected, observed, "ok")
    worst = [flaw for flaw in found if flaw.severity == found[0].severity]
    told = some([flaw.sentence.rstrip(".") for flaw in worst])
    verdict: Verdict = "failed" if found[0].severity == "error" else "inconclusive"
    return Check(expected, told, verdict, tuple(map(_evidence, found[:MOST])))


def _evidence(flaw: Flaw) -> Evidence:
    return {"kind": flaw.kind, "severity": flaw.severity, "shown_by": list(flaw.evidence[:20])}
