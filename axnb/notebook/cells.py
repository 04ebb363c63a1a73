"""Where a run is: which cells have ended, in words that a person finds in the notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from axnb.text import cut_middle, safe

_INJECTED = "injected-parameters"
_LONGEST_HEADING = 80


def places(cells: Sequence[Any]) -> list[str]:
    """`cell 4 of 8, Which conversations need attention?` for each cell by its index.

    Code cells are counted, without the one that papermill adds; the heading is that above.
    """
    shown = [c.cell_type == "code" and _INJECTED not in c.metadata.get("tags", ()) for c in cells]
    found, heading = [], ""
    for index, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            heading = _heading(cell.source) or heading
        number = f"cell {sum(shown[: index + 1])} of {sum(shown)}"
        found.append(f"{number}, {heading}" if heading else number)
    return found


def _heading(text: str) -> str:
    headings = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
    return cut_middle(safe(headings[-1].strip()), _LONGEST_HEADING) if headings else ""


class Watch:
    """Follows a run from the hooks of nbclient."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.running = False
        self._ended: int | None = None
        self._raised: int | None = None

    def hooks(self) -> Mapping[str, Callable[..., None]]:
        """What nbclient calls, by the name of the hook."""
        return {
            "on_notebook_start": self._started,
            "on_cell_execute": self._begun,
            "on_cell_executed": self._executed,
        }

    def _started(self, notebook: Any) -> None:
        self.places = places(notebook.cells)

    def _begun(self, **_: Any) -> None:
        self.running = True

    def _executed(self, cell_index: int, execute_reply: Mapping[str, Any], **_: Any) -> None:
        self.running = False
        if execute_reply["content"]["status"] == "ok":
            self._ended = cell_index
        else:
            self._raised = cell_index

    @property
    def since(self) -> str:
        """`after` the cell that was the last to end."""
        if self._ended is None:
            return "before a cell had ended"
        return f"after {self.places[self._ended]}"

    @property
    def raised_in(self) -> str | None:
        """The cell that raised, if one did."""
        return None if self._raised is None else self.places[self._raised]
