"""How the map looks on a terminal: what cannot be restored first, one line a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from axnb.mapping import MappedSnapshot, StateMap
from axnb.report.classes import class_lines, notes
from axnb.report.commands import explain, next_lines
from axnb.report.map_words import GROUPS, WHY, sentences, target_words, whose
from axnb.report.terminal import WIDTH, beside, verdict_word
from axnb.report.words import SEVERITIES, SOURCE_KINDS
from axnb.text import columns, count, cut, cut_middle, pad, safe, wrap

_ID_WIDTH = 24
_KEY_WIDTH = 13
_FEW = 20


def render_map(found: StateMap, *, everything: bool = False, colour: bool = False) -> str:
    """The whole map as text, without a line end."""
    lines = [*_heads(found), "", *_verdict(found, colour)]
    for restorable in GROUPS:
        chosen = [s for s in found.snapshots if s.restorable == restorable]
        if chosen:
            lines += ["", *_group(restorable, chosen, everything)]
    if found.conversations and everything:
        lines += ["", "CONVERSATIONS", *_conversations(found.conversations)]
    if told := class_lines(found.findings, WIDTH, everything=everything):
        lines += ["", "FOUND", *told]
    if found.secrets:
        lines += ["", *_secrets(found.secrets, everything)]
    told = [*found.scope, *([] if everything else notes(found.findings))]
    lines += ["", *wrap(safe(" ".join(told)), WIDTH)]
    worst = min(found.findings, key=lambda f: SEVERITIES.index(f.severity), default=None)
    offered = next_lines([explain(worst.id)] if worst else [], WIDTH)
    return "\n".join([*lines, *(["", *offered] if offered else [])])


def _heads(found: StateMap) -> list[str]:
    width = max([len("target"), *(columns(s["name"]) for s in found.sources)]) + 2
    lines = []
    for source in found.sources:
        counts = "read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(**source)
        told = [f"{SOURCE_KINDS.get(source['kind'], source['kind'])}   {counts}", *source["notes"]]
        lines += beside(source["name"], told, width)
    return [*lines, *beside("target", [target_words(found.target)], width)]


def _verdict(found: StateMap, colour: bool) -> list[str]:
    shown, word = verdict_word(found.verdict, colour)
    lines = [line for s in sentences(found) for line in wrap(safe(s), WIDTH - 16)]
    first = f"{shown}{' ' * (16 - len(word))}{lines[0]}"
    return [first, *(f"{'':16}{line}" for line in lines[1:])]


def _group(restorable: str, chosen: Sequence[MappedSnapshot], everything: bool) -> list[str]:
    title = f"{GROUPS[restorable].upper()}  {len(chosen):,}"
    lines = [f"{title:<24}{WHY[restorable]}"]
    if restorable == "full" and not everything:
        return lines
    # Those that something starts from come first.
    ordered = sorted(chosen, key=lambda s: (not s.row["is_current"], s.key))
    shown = ordered if everything else ordered[:_FEW]
    names = [cut_middle(safe(whose(s)), _ID_WIDTH) for s in shown]
    width = max(map(columns, names)) + 2
    for snapshot, name in zip(shown, names, strict=True):
        layout = pad(cut_middle(snapshot.row["generation"], 8), 8)
        key = pad(cut_middle(safe(snapshot.row["name"]), _KEY_WIDTH), _KEY_WIDTH)
        mark = "•" if snapshot.row["is_current"] else " "
        line = f"{mark} {pad(name, width)}{layout} {key} {safe(snapshot.judged.decision.because)}"
        lines.append(line if columns(line) <= WIDTH else f"{cut(line, WIDTH - 1)}…")
    if len(ordered) > len(shown):
        lines.append(f"  … {len(ordered) - len(shown):,} more (--all)")
    return lines


def _conversations(rows: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for row in rows:
        name = pad(cut_middle(safe(row["conversation_id"]), _ID_WIDTH), _ID_WIDTH)
        snapshot = cut_middle(safe(row["snapshot"] or "no snapshot"), 40)
        line = f"  {name} {pad(snapshot, 40)} {row['relation']}"
        yield line if columns(line) <= WIDTH else f"{cut(line, WIDTH - 1)}…"


def _secrets(secrets: Sequence[Mapping[str, Any]], everything: bool) -> list[str]:
    """Which secrets lie in what, so that it is known what to rotate."""
    lines = [f"SECRETS  {len(secrets):,}{'':<12}in clear, by kind and keyed digest; never a value"]
    for secret in secrets if everything else secrets[:5]:
        held = count(len(secret["snapshots"]), "snapshot")
        revived = (
            f", {len(secret['revived_by']):,} may bring it back" if secret["snapshots"] else ""
        )
        name = f" {safe(secret['name'])}" if secret["name"] else ""
        line = (
            f"  {secret['digest'][:12]}  {secret['kind']}{name}: "
            f"{count(secret['places'], 'place')}, {held}{revived}"
        )
        lines.append(line if columns(line) <= WIDTH else f"{cut(line, WIDTH - 1)}…")
    if not everything and len(secrets) > 5:
        lines.append(f"  … {len(secrets) - 5:,} more (--all)")
    return lines
