"""What was chosen and what was read; with a person, a place to choose anew."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axnb.ax.versions import GENERATIONS, resolve
from axnb.lab import fragments
from axnb.lab.desk import CaseDesk, ResultDesk
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


class ChosenView(View):
    """The parameters, and what they led to; with a person, a place to choose anew."""

    #: The words of the button, and what it does.
    _load = ("Load and triage", "Load the source and triage it")
    _stop = "Stop loading; what is shown stays"
    #: Parameters that are lists, and those whose ends may be spaces.
    _lists: tuple[str, ...] = ("beside", "harnesses")
    _exact: tuple[str, ...] = ("conversation",)

    def __init__(
        self, desk: ResultDesk, chosen: dict[str, Any], saved: str, opener: Opener
    ) -> None:
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

    @abstractmethod
    def _sources(self) -> list[str]:
        """What was read, or run."""

    def widget(self) -> DOMWidget:
        """Fields for what can be chosen, and a button that loads it."""
        from axnb.lab import controls
        from axnb.lab.task import Task

        fields = self._fields()
        shown = {name: field.value for name, field in fields.items()}
        load = controls.button(*self._load)
        stop = controls.button("Stop", self._stop)
        status = controls.html(fragments.status(self._saved))
        sources = controls.html()

        def show() -> None:
            sources.value = fragments.page(*self._sources())

        def work(progress: Callable[[str], None]) -> str:
            # A field cannot show every value, such as a comma in an entry: what nobody changed is
            # taken as it was chosen.
            changed = {n: self._value(n, f.value) for n, f in fields.items() if f.value != shown[n]}
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

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """A field for each parameter that a person can choose here."""

    def _value(self, name: str, value: Any) -> Any:
        """A field's value as the parameter takes it."""
        if not isinstance(value, str):
            return value
        if name in self._lists:
            return [part.strip() for part in value.split(",") if part.strip()]
        # An id may begin or end with a space.
        return value if name in self._exact else value.strip()


class ChoiceView(ChosenView):
    """The parameters of a triage, and the sources with their custody."""

    _desk: CaseDesk

    def _sources(self) -> list[str]:
        return read_pieces(self._desk.sources)

    def _fields(self) -> dict[str, Any]:
        """A field for each parameter that a person can choose here."""
        from axnb.lab import controls

        chosen = self._chosen
        return {
            "source": controls.text("Source", chosen["source"], "a path or a variable", "26rem"),
            "beside": controls.text("Beside it", _joined(chosen["beside"]), "server-log=FILE, …"),
            "live": controls.choice(
                "Read", [("a file", False), ("a live database", True)], chosen["live"]
            ),
            "ax_version": controls.choice("AX version", _versions(), _named(chosen["ax_version"])),
            "harnesses": controls.text("Harnesses", _joined(chosen["harnesses"]), "ID=refuses, …"),
            "conversation": controls.text("Conversation", chosen["conversation"], "all"),
        }


class MapChoiceView(ChoiceView):
    """The same of a map."""

    _load = ("Load and map", "Load what is named and map it")
    _lists = ("records", "logs")
    _exact = ()

    def _fields(self) -> dict[str, Any]:
        from axnb.lab import controls

        chosen = self._chosen
        bodies = [("names and manifests", False), ("every object to its end", True)]
        return {
            "snapshots": controls.text(
                "Bucket", chosen["snapshots"], "s3://BUCKET/PREFIX", "26rem"
            ),
            "records": controls.text("Records", _joined(chosen["records"]), "FILE or FOLDER, …"),
            "logs": controls.text("Logs", _joined(chosen["logs"]), "a path or a variable, …"),
            "verify": controls.choice("Read", bodies, chosen["verify"]),
        }


def read_pieces(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was read, each source with its `locator`, and what is to be said of it."""
    told = [
        [
            *(source["name"], Path(source["locator"]).name, source["kind"]),
            " ".join(source["generations"]),
            *(f"{source[n]:,}" for n in ("read", "parsed", "rejected")),
            _custody(source["custody"]),
        ]
        for source in sources
    ]
    remarks = [
        fragments.sentence(text, "inconclusive" if text in source["incomplete"] else "dim")
        for source in sources
        for text in (*source["incomplete"][:5], *source["notes"][:5])
    ]
    return [fragments.table("What was read, from copies", _SOURCES, told), *remarks]


def _versions() -> list[tuple[str, str]]:
    newest = [("the newest that the log shows", "")]
    return newest + [(generation.label, name) for name, generation in GENERATIONS.items()]


def _named(version: str) -> str:
    """The generation that a version names, as the list has it."""
    return resolve(version).name if version else ""


def _joined(values: Any) -> str:
    return ", ".join(map(str, values))


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return _joined(value) or "–"
    return "–" if value == "" else str(value)


def _custody(custody: Mapping[str, Any]) -> str:
    for key, word in (("sha256", "sha256"), ("listing_sha256", "listing, sha256")):
        if custody.get(key):
            return f"{word} {custody[key]}"
    for file in (custody.get("files") or {}).values():
        return f"sha256 {file['sha256']}"
    return f"system {custody.get('system_identifier')}, LSN {custody.get('lsn')}"
