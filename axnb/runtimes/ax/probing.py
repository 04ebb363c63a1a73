"""What a binary is, found by starting it once on an empty log.

The column of its table tells G5 and before from G6 and later (§1.8 of the facts of the log), the
method that answers an empty request tells G6 from G7 and later, and the first row of a turn tells
G5 from G5b and G7 from G8: by whether it names an owner, and how.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from axnb.ax.versions import GENERATIONS, Generation
from axnb.errors import AxnbError
from axnb.runtimes import Kind, Task
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.ax.node import AxNode
from axnb.runtimes.embedded.node import NodeSetup
from axnb.runtimes.holding import Holds
from axnb.runtimes.rehearsing import World

_TASK = Task("axnb-probe", "axnb-probe")

#: Generations of a column whose methods differ, and those that write other rows by the same one.
_BY_COLUMN = {"seq": ("G5",), "step": ("G6", "G8")}
_BY_OWNER = {
    "G5": {"": "G5", "harness_id": "G5b"},
    "G6": {"harness_id": "G6"},
    "G8": {"harness_id": "G7", "agent_id": "G8"},
}

KIND_METHOD = "/axnb.Program/Kind"


def probe(path: Path, world: World, folder: Path) -> Binary:
    """Start a binary, run one turn, and end it. Raises AxnbError if it is none of G5 to G8.

    Where a server does not bear that its harness runs already, it starts it itself.
    """
    try:
        return _probe(path, world, folder / "1", starts_harness=False)
    except AxnbError as err:
        try:
            return _probe(path, world, folder / "2", starts_harness=True)
        except AxnbError:
            raise err from None


def _probe(path: Path, world: World, folder: Path, *, starts_harness: bool) -> Binary:
    folder.mkdir(parents=True)
    log = folder / "log.sqlite"
    holds = Holds()
    first = Binary(path, GENERATIONS["G8"], "ax", starts_harness)
    node = AxNode(NodeSetup(world, folder, str(log), None, "ax", _TASK), holds, first)
    try:
        node.start()
        kind = _kind(node.port)
        for name in _BY_COLUMN.get(_column(log), ()):
            node.use(replace(first, generation=GENERATIONS[name], kind=kind))
            if node.is_understood():
                return replace(first, generation=_by_row(node, log, name), kind=kind)
    finally:
        holds.close()
        node.crash()
    raise AxnbError(f"{path.name} serves no gRPC of G5 to G8: this drill cannot speak with it.")


def _by_row(node: AxNode, log: Path, name: str) -> Generation:
    answer = node.ask(_TASK.first_text)
    if answer.error is not None:
        raise AxnbError("the first turn with this ax binary failed.")
    with closing(_opened(log)) as connection:
        rows = connection.execute("SELECT payload FROM conversation_log ORDER BY rowid")
        found = rows.fetchone()
    row = json.loads(found[0]) if found else {}
    owner = next((key for key in ("harness_id", "agent_id") if key in row), "")
    if owner not in _BY_OWNER[name]:
        raise AxnbError("the rows that this ax binary writes are of no generation that is known.")
    return GENERATIONS[_BY_OWNER[name][owner]]


def _column(log: Path) -> str:
    """How the table numbers its rows; empty if there is no such table."""
    with closing(_opened(log)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(conversation_log)")]
    return next((name for name in ("seq", "step") if name in columns), "")


def _opened(log: Path) -> sqlite3.Connection:
    if not log.exists():
        raise AxnbError("the ax binary made no log where its configuration says.")
    return sqlite3.connect(f"{log.as_uri()}?mode=ro", uri=True)


def _kind(port: int) -> Kind:
    """`embedded` if the server says that it is our own program; a real one knows no such method."""
    import grpc

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            told = channel.unary_unary(KIND_METHOD)(b"", timeout=20.0)
        except grpc.RpcError as err:
            if err.code() is grpc.StatusCode.UNIMPLEMENTED:
                return "ax"
            raise AxnbError(f"the ax binary answers no gRPC: {err.code().name}.") from err
    return "embedded" if told == b"embedded" else "ax"
