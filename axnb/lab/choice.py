"""What was chosen and what was read; with a person, a place to choose anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axnb.ax.versions import GENERATIONS, resolve
from axnb.lab import fragments
from axnb.lab.desk import Desk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.view import View

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

#: Chooses anew: takes parameters and a progress function, and says where the result is.
Opener = Callable[[Mapping[str, Any], Callable[[str], None]], str]

_PARAMETERS = (Column("parameter"), Column("value", "id"))
_SOURCES = (
    *(Column("source"), Column("file", "id"), Column("kind"), Column("generations")),
    *(Column("read", "number"), Column("parsed", "number"), Column("rejected", "number")),
    Column("custody", "id"),
)


class ChoiceView(View):
    """The parameters, and the sources with their custody."""

    def __init__(self, desk: Desk, chosen: dict[str, Any], saved: str, opener: Opener) -> None:
        super().__init__(desk)
        self._chosen, self._saved, self._opener = chosen, saved, opener

    @property
    def frame(self) -> pandas.DataFrame:
        """What was chosen, a row a parameter."""
        return frame_of(self._parameters(), ("parameter", "value"))

    def _parameters(self) -> list[dict[str, str]]:
        return [{"parameter": n, "value": _shown(value)} for n, value in self._chosen.items()]

    def pieces(self) -> list[str]:
        """Where the result is, the parameters and the sources."""
        chosen = [(row["parameter"], row["value"]) for row in self._parameters()]
        return [
            fragments.sentence(self._saved),
            fragments.table("What was chosen", _PARAMETERS, chosen),
            *self._sources(),
        ]

    def _sources(self) -> list[str]:
        told = [
            [
                *(source.name, Path(source.locator).name, source.kind),
                " ".join(source.generations),
                *(f"{source.read:,}", f"{source.parsed:,}", f"{source.rejected:,}"),
                _custody(source.custody),
            ]
            for source in self._desk.triage.sources
        ]
        remarks = [
            fragments.sentence(text, "inconclusive" if text in source.incomplete else "dim")
            for source in self._desk.triage.sources
            for text in (*source.incomplete[:5], *source.notes[:5])
        ]
        return [fragments.table("What was read, from copies", _SOURCES, told), *remarks]

    def widget(self) -> DOMWidget:
        """Fields for what can be chosen, and a button that loads it."""
        from axnb.lab import controls
        from axnb.lab.task import Task

        chosen = self._chosen
        fields = {
            "source": controls.text("Source", chosen["source"], "a path or a variable", "26rem"),
            "beside": controls.text("Beside it", _joined(chosen["beside"]), "server-log=FILE, …"),
            "live": controls.choice(
                "Read", [("a file", False), ("a live database", True)], chosen["live"]
            ),
            "ax_version": controls.choice("AX version", _versions(), _named(chosen["ax_version"])),
            "harnesses": controls.text("Harnesses", _joined(chosen["harnesses"]), "ID=refuses, …"),
            "conversation": controls.text("Conversation", chosen["conversation"], "all"),
        }
        shown = {name: field.value for name, field in fields.items()}
        load = controls.button("Load and triage", "Load the source and triage it")
        stop = controls.button("Stop", "Stop loading; what is shown stays")
        status = controls.html(fragments.status(self._saved))
        sources = controls.html()

        def show() -> None:
            sources.value = fragments.page(*self._sources())

        def work(progress: Callable[[str], None]) -> str:
            # A field cannot show every value, such as a comma in an entry: what nobody changed is
            # taken as it was chosen.
            changed = {n: _value(n, f.value) for n, f in fields.items() if f.value != shown[n]}
            self._saved = self._opener(changed, progress)
            shown.update({name: fields[name].value for name in changed})
            return self._saved

        self.task = Task(load, stop, status, work)
        self._refresh = controls.callback(self._desk.lock, sources, show)
        self._desk.on_case(self._refresh)
        self._refresh()
        return controls.column(
            controls.row(*fields.values()), controls.row(load, stop, status), sources
        )


def _versions() -> list[tuple[str, str]]:
    newest = [("the newest that the log shows", "")]
    return newest + [(generation.label, name) for name, generation in GENERATIONS.items()]


def _named(version: str) -> str:
    """The generation that a version names, as the list has it."""
    return resolve(version).name if version else ""


def _joined(values: Any) -> str:
    return ", ".join(map(str, values))


def _value(name: str, value: Any) -> Any:
    """A field's value as the parameter takes it."""
    if not isinstance(value, str):
        return value
    if name not in ("beside", "harnesses"):
        # An id may begin or end with a space.
        return value if name == "conversation" else value.strip()
    return [part.strip() for part in value.split(",") if part.strip()]


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return _joined(value) or "–"
    return "–" if value == "" else str(value)


def _custody(custody: Mapping[str, Any]) -> str:
    if custody.get("sha256"):
        return f"sha256 {custody['sha256']}"
    return f"system {custody.get('system_identifier')}, LSN {custody.get('lsn')}"
