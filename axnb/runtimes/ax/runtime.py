"""The runtime: which binary there is, and the rehearsals with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from axnb.errors import UsageError
from axnb.runtimes import NotRunError, Policy, Program, Rehearsal, Task
from axnb.runtimes.ax.binary import Binary, find
from axnb.runtimes.ax.probing import probe
from axnb.runtimes.ax.rehearsal import AxRehearsal
from axnb.runtimes.embedded.node import NodeSetup
from axnb.runtimes.rehearsing import World

if TYPE_CHECKING:
    from axnb.runtimes.postgres import ScratchPostgres

_NONE = "there is no ax binary: give --ax-bin, or put one on PATH."


class AxRuntime:
    """Rehearsals with real servers. Without a binary every point is not-run."""

    def __init__(
        self,
        binaries: Sequence[Path],
        scratch: Path,
        *,
        idempotent: bool = False,
        store: Literal["sqlite", "postgres"] = "sqlite",
        alertmanager: str = "",
        keep: bool = False,
    ) -> None:
        """`binaries` are one, or the older and the newer one of point 8; each is started once.

        Raises AxnbError for a binary that does not serve, UsageError for two of one generation.
        """
        self._binaries: tuple[Binary, ...] = ()
        self._stack = ExitStack()
        if not binaries:
            return
        with ExitStack() as stack:
            self._world = World(
                scratch, idempotent=idempotent, alertmanager=alertmanager, keep=keep
            )
            stack.callback(self._world.close)
            self._binaries = tuple(
                probe(path, self._world, scratch / f"binary-{n}")
                for n, path in enumerate(binaries, 1)
            )
            _check(self._binaries)
            self._postgres: ScratchPostgres | None = None
            if store == "postgres":
                from axnb.runtimes.postgres import ScratchPostgres

                self._postgres = stack.enter_context(ScratchPostgres())
            self._stack = stack.pop_all()

    @classmethod
    def open_with(cls, ax_bin: Sequence[Path], scratch: Path, **options: Any) -> AxRuntime:
        """With the binaries that are given, or the `ax` of PATH."""
        return cls(find(ax_bin), scratch, **options)

    @property
    def program(self) -> Program:
        """The binary, of two the newer one; its kind is `embedded` if it says that it is ours."""
        if not self._binaries:
            raise NotRunError(_NONE)
        newest = self._binaries[-1]
        return Program(newest.kind, newest.generation.name, newest.sha256, newest.path.name)

    def task_for(self, task: Task, point: int, policy: Policy) -> Task:
        """The task as it is: nobody else is here."""
        return task

    def open(
        self, point: int, task: Task, policy: Policy, scratch: Path, chance: Random | None = None
    ) -> Rehearsal:
        """A rehearsal; NotRunError where a real server has none of it."""
        if not self._binaries:
            raise NotRunError(_NONE)
        if policy != "ax":
            raise NotRunError(f"a released AX has no policy {policy}.")
        if point == 7:
            raise NotRunError("there is no bucket: AX keeps no snapshots of a built-in harness.")
        old, new = self._binaries[0], self._binaries[-1]
        if point != 8:
            old = new
        elif old is new:
            raise NotRunError(
                "an upgrade needs two binaries: give --ax-bin twice, the older one first."
            )
        log = str(scratch / "log.sqlite")
        if self._postgres is not None:
            log = self._postgres.create_database()
        setup = NodeSetup(self._world, scratch, log, None, policy, task)
        return AxRehearsal(setup, point, (old, new), chance)

    def stop(self) -> None:
        """End every process: what they did is in scratch, and goes with it."""
        self.close()

    def close(self) -> None:
        """End every process of every rehearsal."""
        self._stack.close()


def _check(binaries: Sequence[Binary]) -> None:
    if len({binary.generation for binary in binaries}) < len(binaries):
        raise UsageError(
            f"both ax binaries are of {binaries[0].generation.label}: there is no upgrade."
        )
