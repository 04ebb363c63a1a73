"""Progress of a cell that takes long: one line that goes away when the cell is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from axnb.lab.kernel import has_person

#: Seconds before anything is shown, and between two looks.
_PATIENCE, _PAUSE = 1.0, 0.3


@contextmanager
def shown_progress() -> Iterator[Callable[[str], None]]:
    """Shows the sentences that it is given, if a person is there and it takes long."""
    if not has_person():
        yield lambda _: None
        return
    from IPython.display import clear_output

    started = shown = monotonic()

    def show(sentence: str) -> None:
        nonlocal shown
        now = monotonic()
        if now - started > _PATIENCE and now - shown > _PAUSE:
            shown = now
            clear_output(wait=True)  # type: ignore[no-untyped-call]
            print(f"{sentence} (stop it with the kernel's interrupt button)", flush=True)

    yield show
    if shown > started:
        clear_output(wait=True)  # type: ignore[no-untyped-call]
