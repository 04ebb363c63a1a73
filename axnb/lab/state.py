"""Which snapshot belongs to what, and what a restore gives back."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from axnb.lab import fragments
from axnb.lab.desk import MapDesk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.mapping import MappedSnapshot
from axnb.report.map_words import GROUPS, endangered, whose
from axnb.text import count

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

#: Rows of a table that nobody can page through.
_MOST = 50

_ALL = "all"
_NEEDED = ("all", "current", "not current", "golden")

_COLUMNS = (
    *(Column("whose", "id"), Column("restore"), Column("why"), Column("taken")),
    *(Column("layout"), Column("findings"), Column("key", "id")),
)
_FRAME = (
    *("source", "key", "whose", "conversation_id", "actor", "template", "layout", "content"),
    *("taken_at", "current", "golden", "complete", "verified", "restorable", "because", "rule"),
    *("objects", "bytes", "findings"),
)


class StateMapView(View):
    """Snapshots by what a restore gives back, the worst first."""

    _desk: MapDesk

    def __init__(self, desk: MapDesk) -> None:
        super().__init__(desk)
        self._restorable = self._layout = self._needed = _ALL
        self._within = ""

    def _fitting(self) -> list[MappedSnapshot]:
        ranks = list(GROUPS)
        found = [s for s in self._desk.state.snapshots if self._fits(s)]
        return sorted(
            found, key=lambda s: (ranks.index(s.restorable), not s.row["is_current"], s.key)
        )

    def _fits(self, snapshot: MappedSnapshot) -> bool:
        row = snapshot.row
        needed = {
            "current": bool(row["is_current"]),
            "not current": not row["is_current"],
            "golden": bool(row["is_golden"]),
        }
        return (
            self._restorable in (_ALL, snapshot.restorable)
            and self._layout in (_ALL, row["generation"])
            and needed.get(self._needed, True)
            and (self._within in whose(snapshot) or self._within in snapshot.key)
        )

    @property
    def frame(self) -> pandas.DataFrame:
        """The snapshots that fit the filter, a row each."""
        return frame_of(map(_record, self._fitting()), _FRAME)

    def pieces(self) -> list[str]:
        """The table, cut to a size that a person reads."""
        fitting = self._fitting()
        return self._table(fitting[:_MOST], len(fitting), _MOST)

    def _table(self, shown: list[MappedSnapshot], fitting: int, limit: int = 0) -> list[str]:
        total = len(self._desk.state.snapshots)
        if not total:
            return [fragments.sentence("No snapshot was read. That is no proof of none.")]
        if not fitting:
            return [fragments.sentence("No snapshot fits.")]
        remark = f"{limit} of {fitting:,} are shown; frame has all." if 0 < limit < fitting else ""
        caption = count(total, "snapshot") if fitting == total else f"{fitting:,} of {total:,} fit"
        return [fragments.table(caption, _COLUMNS, map(_row, shown), remark)]

    def widget(self) -> DOMWidget:
        """Filters, and a page of snapshots."""
        from axnb.lab import controls

        restorable = controls.choice("Restore", self._groups())
        layout = controls.choice("Layout", self._layouts())
        needed = controls.choice("Which", [(word, word) for word in _NEEDED])
        within = controls.text("Whose or key contains")
        table = controls.html()

        def show() -> None:
            fitting = self._fitting()
            here = fitting[pager.first : pager.first + controls.PAGE]
            table.value = fragments.page(*self._table(here, len(fitting)))
            pager.show(len(here), len(fitting), "snapshots")

        def filtered(_: Any = None) -> None:
            self._restorable, self._layout = restorable.value, layout.value
            self._needed, self._within = needed.value, within.value
            pager.reset()
            show()

        def opened() -> None:
            restorable.options, layout.options = self._groups(), self._layouts()
            filtered()

        said = partial(controls.callback, self._desk.lock, table)
        pager = controls.Pager(self._desk.lock, table, show)
        self._refresh = said(show)
        for field in (restorable, layout, needed, within):
            field.observe(said(filtered), "value")
        self._desk.on_case(said(opened))
        self._refresh()
        return controls.column(controls.row(restorable, layout, needed, within), table, pager.row)

    def _groups(self) -> list[tuple[str, str]]:
        counts = Counter(s.restorable for s in self._desk.state.snapshots)
        found = [(f"{GROUPS[r]} ({counts[r]:,})", r) for r in GROUPS if counts[r]]
        return [("all", _ALL), *found]

    def _layouts(self) -> list[tuple[str, str]]:
        counts = Counter(s.row["generation"] for s in self._desk.state.snapshots)
        return [("all", _ALL), *((f"{name} ({n:,})", name) for name, n in sorted(counts.items()))]


def _row(snapshot: MappedSnapshot) -> tuple[Any, ...]:
    row = snapshot.row
    current = ", current" if row["is_current"] else ""
    return (
        f"{whose(snapshot)}{current}",
        GROUPS[snapshot.restorable].lower(),
        snapshot.judged.decision.because,
        f"{row['moment']:%Y-%m-%d %H:%M} UTC" if row["moment"] else "not known",
        row["generation"],
        " ".join(snapshot.findings),
        snapshot.key,
    )


def _record(snapshot: MappedSnapshot) -> dict[str, Any]:
    told = snapshot.as_dict()
    actor, template = told["actor"] or {}, told["template"] or {}
    return {
        **told,
        "whose": whose(snapshot),
        "actor": actor.get("name"),
        "template": template.get("name"),
        "findings": " ".join(snapshot.findings),
    }


_RELATED = (
    *(Column("conversation", "id"), Column("actor is"), Column("where it stands")),
    *(Column("restore"), Column("what to do"), Column("snapshot", "id")),
)
_RELATED_FRAME = (
    *("source", "conversation_id", "actor", "actor_uid", "actor_state", "snapshot"),
    *("restorable", "relation", "standing", "advice"),
)
_STANDS = {"fits": "its snapshot fits the log", "unknown": "no time tells which is newer"}


class RelatedView(View):
    """Conversations of the logs with the snapshot that each would go on from."""

    _desk: MapDesk

    def __init__(self, desk: MapDesk) -> None:
        super().__init__(desk)
        self._only_bad = True
        self._within = ""

    def _fitting(self) -> list[dict[str, Any]]:
        found = []
        for key, row in self._desk.conversations.items():
            standing, advice = endangered(row) or (None, None)
            if self._within in key[1] and (standing or not self._only_bad):
                found.append({**row, "standing": standing, "advice": advice})
        return sorted(found, key=lambda row: row["standing"] is None)

    @property
    def frame(self) -> pandas.DataFrame:
        """The conversations that fit the filter, those without a good snapshot first."""
        return frame_of(self._fitting(), _RELATED_FRAME)

    def pieces(self) -> list[str]:
        """The table, cut to a size that a person reads."""
        fitting = self._fitting()
        return self._table(fitting[:_MOST], len(fitting), _MOST)

    def _table(self, shown: list[dict[str, Any]], fitting: int, limit: int = 0) -> list[str]:
        total = len(self._desk.conversations)
        if not total:
            return [fragments.sentence("No log was read: nothing tells which conversations are.")]
        if not fitting:
            is_plain = self._only_bad and not self._within
            nothing = "Each conversation has a snapshot that is not known to be bad."
            return [fragments.sentence(nothing if is_plain else "No conversation fits.")]
        remark = f"{limit} of {fitting:,} are shown; frame has all." if 0 < limit < fitting else ""
        what = "have no good snapshot" if self._only_bad else "fit"
        caption = f"{fitting:,} of {total:,} conversations {what}"
        return [fragments.table(caption, _RELATED, map(self._row, shown), remark)]

    def _row(self, row: dict[str, Any]) -> tuple[Any, ...]:
        restorable = GROUPS.get(row["restorable"] or "", "–").lower()
        return (
            self._desk.label((row["source"], row["conversation_id"])),
            row["actor_state"] or "not in the records",
            row["standing"] or _STANDS.get(row["relation"], row["relation"]),
            restorable,
            row["advice"] or "nothing",
            row["snapshot"] or row["named_snapshot"] or "",
        )

    def widget(self) -> DOMWidget:
        """Filters, and a page of conversations."""
        from axnb.lab import controls

        options = [("without a good snapshot", True), ("all", False)]
        which, within = controls.choice("Which", options), controls.text("Id contains")
        table = controls.html()

        def show() -> None:
            fitting = self._fitting()
            here = fitting[pager.first : pager.first + controls.PAGE]
            table.value = fragments.page(*self._table(here, len(fitting)))
            pager.show(len(here), len(fitting), "conversations")

        def filtered(_: Any = None) -> None:
            self._only_bad, self._within = which.value, within.value
            pager.reset()
            show()

        said = partial(controls.callback, self._desk.lock, table)
        pager = controls.Pager(self._desk.lock, table, show)
        self._refresh = said(show)
        which.observe(said(filtered), "value")
        within.observe(said(filtered), "value")
        self._desk.on_case(said(filtered))
        self._refresh()
        return controls.column(controls.row(which, within), table, pager.row)


_SECRETS = (
    *(Column("digest", "id"), Column("kind"), Column("name", "id"), Column("places", "number")),
    *(Column("where"), Column("snapshots", "number"), Column("may come back", "number")),
    Column("conversations", "id"),
)
_SECRETS_FRAME = (
    *("digest", "kind", "name", "is_partial", "places", "kinds_of_place", "snapshots"),
    *("revived_by", "conversations"),
)


class SecretsView(View):
    """Secrets in clear by keyed digest: what to rotate, and which snapshots would bring it back."""

    _desk: MapDesk

    @property
    def frame(self) -> pandas.DataFrame:
        """The secrets, a row each; never a value."""
        return frame_of(self._desk.state.secrets, _SECRETS_FRAME)

    def pieces(self) -> list[str]:
        """The table, cut to a size that a person reads."""
        secrets = self._desk.state.secrets
        if not secrets:
            verified = any(s.row["verified"] for s in self._desk.state.snapshots)
            where = "in what was read" if verified else "in names, manifests and records"
            return [fragments.sentence(f"No secret was found {where}.")]
        rows = [
            (
                *(secret["digest"][:12], secret["kind"], secret["name"] or "", secret["places"]),
                ", ".join(secret["kinds_of_place"]),
                *(len(secret["snapshots"]), len(secret["revived_by"])),
                ", ".join(secret["conversations"][:3]),
            )
            for secret in secrets[:_MOST]
        ]
        remark = f"{_MOST} of {len(secrets):,} are shown; frame has all."
        caption = f"{count(len(secrets), 'secret')} in clear, by keyed digest; no value is shown"
        return [
            fragments.table(caption, _SECRETS, rows, remark if len(secrets) > _MOST else ""),
            fragments.sentence("Rotate what may come back before a snapshot is restored.", "dim"),
        ]

    def widget(self) -> DOMWidget:
        """The table, which follows what is chosen."""
        from axnb.lab import controls

        shown = controls.html()

        def show() -> None:
            shown.value = fragments.page(*self.pieces())

        self._refresh = controls.callback(self._desk.lock, shown, show)
        self._desk.on_case(self._refresh)
        self._refresh()
        return shown
