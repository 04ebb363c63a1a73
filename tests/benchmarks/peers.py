"""What a log would be read with otherwise: four peers, written as one who knows the tool would.

The first three end in the same typed columns, one row a part (or one row where a row of the log
has none). None of them takes a copy, a digest or a second look at anything.

normalize   pandas.read_sql, json.loads, explode, json_normalize
loop        pandas.read_sql, one loop of json.loads
adbc        the same loop, but pandas.read_sql through ADBC: few know it, so it sets no target
bare        ADBC into DuckDB, one json_transform: no payload, no digest, no guard
scan        the store's own full read: the least that any reader pays
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tests.benchmarks.build_log import step_column

if TYPE_CHECKING:
    import duckdb
    import pandas

COLUMNS = (
    "conversation_id",
    "step",
    "state",
    "harness",
    "kind",
    "role",
    "call_id",
    "tool",
    "arguments",
    "result",
    "text",
)

#: Kinds of a part, as the columns of json_normalize and the keys of a document name them.
_KINDS = ("text", "thought", "tool_call", "tool_result", "confirmation")


def is_postgres(source: str) -> bool:
    """Is a source a DSN rather than a path?"""
    return source.startswith(("postgres://", "postgresql://"))


def driver(source: str) -> str:
    """The module of the ADBC driver for a source."""
    return f"adbc_driver_{'postgresql' if is_postgres(source) else 'sqlite'}.dbapi"


def load_modules(name: str, source: str) -> None:
    """Import what a peer needs, so that its time is its own."""
    usual = "psycopg" if is_postgres(source) else "sqlite3"
    needed = {
        "normalize": ("pandas", usual),
        "loop": ("pandas", usual),
        "adbc": ("pandas",),
        "bare": ("duckdb", "pyarrow"),
        "scan": (usual,),
    }
    for module in (*needed[name], driver(source)):
        import_module(module)


def _query(generation: str) -> str:
    step = step_column(generation)
    return f"select conversation_id, {step} as step, payload from conversation_log"


def read_frame(source: str, generation: str) -> pandas.DataFrame:
    """The log as pandas reads it through the store's usual driver."""
    import pandas as pd

    if is_postgres(source):
        import psycopg

        with psycopg.connect(source) as server, warnings.catch_warnings():
            # pandas tests this with SQLAlchemy between the two, which only makes it slower.
            warnings.simplefilter("ignore", UserWarning)
            return pd.read_sql(_query(generation), server)
    import sqlite3

    with closing(sqlite3.connect(source)) as connection:
        return pd.read_sql(_query(generation), connection)


def _read_frame_through_adbc(source: str, generation: str) -> pandas.DataFrame:
    import pandas as pd

    with import_module(driver(source)).connect(source) as connection:
        return pd.read_sql(_query(generation), connection)


# --- pandas and json_normalize ---------------------------------------------------------------


def normalize(source: str, generation: str) -> pandas.DataFrame:
    """read_sql, json.loads, explode and json_normalize."""
    import pandas as pd

    log = read_frame(source, generation)
    steps = "steps" if generation == "G8" else "messages"
    events: list[dict[str, Any]] = [json.loads(payload) for payload in log.pop("payload")]
    documents = pd.json_normalize(events, max_level=0)
    owner = "agent_id" if generation == "G8" else "harness_id"
    if owner not in documents:
        documents[owner] = None
    documents = documents[["state", owner, steps]].rename(columns={owner: "harness"})
    log = log.join(documents).explode(steps, ignore_index=True)
    parts = log.pop(steps)
    present = parts.notna()
    # One level more would take the arguments apart, into a column for every key of every tool.
    level = 2 if generation == "G8" else 3
    flat = pd.json_normalize(parts[present].tolist(), max_level=level)
    flat.index = parts.index[present]
    typed = _typed_steps(flat) if generation == "G8" else _typed_messages(flat)
    return _with_dtypes(log.join(typed)[list(COLUMNS)])


def _typed_steps(flat: pandas.DataFrame) -> pandas.DataFrame:
    """The typed columns of G8: texts and questions are content, one list deeper."""
    import pandas as pd

    def column(name: str) -> pandas.Series[Any]:
        return flat[name] if name in flat else pd.Series(None, flat.index, dtype=object)

    content: pandas.Series[Any] = column("content.content").str.get(0).astype(object)
    contents: list[Any] = content.dropna().tolist()
    inner = pd.json_normalize(contents, max_level=1)
    inner.index = content.dropna().index
    inner = inner.reindex(flat.index)
    for name in ("text.text", "confirmation.id", "confirmation.question"):
        if name not in inner:
            inner[name] = None
    thought = column("thought.summary").str.get(0).str.get("text").str.get("text")
    answer = column("tool_result.function_result.result").str.get("struct_value")
    typed = pd.DataFrame(index=flat.index)
    typed["kind"] = _kind(
        flat.index,
        {
            "text": inner["text.text"].notna(),
            "thought": thought.notna(),
            "tool_call": column("tool_call.function_call.name").notna(),
            "tool_result": column("tool_result.function_result.name").notna(),
            "confirmation": inner["confirmation.id"].notna(),
        },
    )
    typed["role"] = column("content.role")
    typed["call_id"] = (
        column("tool_call.id")
        .combine_first(column("tool_result.call_id"))
        .combine_first(inner["confirmation.id"])
    )
    typed["tool"] = column("tool_call.function_call.name").combine_first(
        column("tool_result.function_result.name")
    )
    typed["arguments"] = _as_json(column("tool_call.function_call.arguments"))
    typed["result"] = _as_json(answer)
    typed["text"] = (
        inner["text.text"].combine_first(thought).combine_first(inner["confirmation.question"])
    )
    return typed


def _typed_messages(flat: pandas.DataFrame) -> pandas.DataFrame:
    """The typed columns of G5 and G6."""
    import pandas as pd

    def column(name: str) -> pandas.Series[Any]:
        full = f"content.{name}"
        return flat[full] if full in flat else pd.Series(None, flat.index, dtype=object)

    thought = column("thought.summary").str.get(0).str.get("text").str.get("text")
    typed = pd.DataFrame(index=flat.index)
    typed["kind"] = _kind(
        flat.index,
        {
            "text": column("text.text").notna(),
            "thought": thought.notna(),
            "tool_call": column("tool_call.function_call.name").notna(),
            "tool_result": column("tool_result.function_result.name").notna(),
            "confirmation": column("confirmation.id").notna(),
        },
    )
    typed["role"] = flat["role"]
    typed["call_id"] = (
        column("tool_call.id")
        .combine_first(column("tool_result.call_id"))
        .combine_first(column("confirmation.id"))
    )
    typed["tool"] = column("tool_call.function_call.name").combine_first(
        column("tool_result.function_result.name")
    )
    typed["arguments"] = _as_json(column("tool_call.function_call.arguments"))
    typed["result"] = _as_json(column("tool_result.function_result.response"))
    typed["text"] = (
        column("text.text").combine_first(thought).combine_first(column("confirmation.question"))
    )
    return typed


def _kind(index: pandas.Index, masks: dict[str, pandas.Series[bool]]) -> pandas.Series[Any]:
    import pandas as pd

    kind = pd.Series(None, index, dtype=object)
    for name, mask in masks.items():
        kind[mask.to_numpy()] = name
    return kind


def _as_json(objects: pandas.Series[Any]) -> pandas.Series[Any]:
    return objects.dropna().map(_dumps).reindex(objects.index)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _with_dtypes(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Texts as pandas' own text type, the few-valued ones as categories."""
    few = dict.fromkeys(("state", "harness", "kind", "role", "tool"), "category")
    texts = dict.fromkeys(("conversation_id", "call_id", "arguments", "result", "text"), "str")
    return frame.astype({**few, **texts, "step": "int64"})


# --- pandas and a loop -----------------------------------------------------------------------


def loop(source: str, generation: str) -> pandas.DataFrame:
    """read_sql and one loop of json.loads."""
    return _looped(read_frame(source, generation), generation)


def loop_through_adbc(source: str, generation: str) -> pandas.DataFrame:
    """The same, where pandas reads through ADBC."""
    return _looped(_read_frame_through_adbc(source, generation), generation)


def _looped(log: pandas.DataFrame, generation: str) -> pandas.DataFrame:
    import pandas as pd

    take_apart = _take_step_apart if generation == "G8" else _take_message_apart
    steps, owner = ("steps", "agent_id") if generation == "G8" else ("messages", "harness_id")
    rows: list[tuple[Any, ...]] = []
    for conversation_id, step, payload in log.itertuples(index=False, name=None):
        event = json.loads(payload)
        head = (conversation_id, step, event.get("state"), event.get(owner))
        for part in event.get(steps) or (None,):
            rows.append(head + (_NOTHING if part is None else take_apart(part)))
    return _with_dtypes(pd.DataFrame(rows, columns=list(COLUMNS)))


_NOTHING = (None,) * 7


def _take_step_apart(step: dict[str, Any]) -> tuple[Any, ...]:
    if (content := step.get("content")) is not None:
        inner = content["content"][0]
        return _take_apart(content.get("role"), inner, "response")
    return _take_apart(None, step, "result")


def _take_message_apart(message: dict[str, Any]) -> tuple[Any, ...]:
    return _take_apart(message.get("role"), message["content"], "response")


def _take_apart(role: str | None, content: dict[str, Any], answer: str) -> tuple[Any, ...]:
    """kind, role, call_id, tool, arguments, result, text of one part."""
    if (text := content.get("text")) is not None:
        return "text", role, None, None, None, None, text.get("text")
    if (thought := content.get("thought")) is not None:
        return "thought", role, None, None, None, None, thought["summary"][0]["text"]["text"]
    if (call := content.get("tool_call")) is not None:
        function = call["function_call"]
        arguments = _dumps(function.get("arguments"))
        return "tool_call", role, call.get("id"), function["name"], arguments, None, None
    if (result := content.get("tool_result")) is not None:
        function = result["function_result"]
        value = function.get(answer)
        if answer == "result" and value is not None:
            value = value.get("struct_value")
        call_id, tool = result.get("call_id"), function["name"]
        return "tool_result", role, call_id, tool, None, _dumps(value), None
    if (asked := content.get("confirmation")) is not None:
        return "confirmation", role, asked.get("id"), None, None, None, asked.get("question")
    return _NOTHING


# --- bare ADBC and DuckDB --------------------------------------------------------------------


_STEPS = (
    '{"agent_id":"VARCHAR","steps":[{"content":{"role":"VARCHAR","content":[{"text":'
    '{"text":"VARCHAR"},"confirmation":{"id":"VARCHAR","question":"VARCHAR"}}]},'
    '"thought":{"summary":[{"text":{"text":"VARCHAR"}}]},"tool_call":{"id":"VARCHAR",'
    '"function_call":{"name":"VARCHAR","arguments":"JSON"}},"tool_result":{"call_id":"VARCHAR",'
    '"function_result":{"name":"VARCHAR","result":{"struct_value":"JSON"}}}}],"state":"VARCHAR"}'
)
_MESSAGES = (
    '{"harness_id":"VARCHAR","messages":[{"role":"VARCHAR","content":{"text":{"text":"VARCHAR"},'
    '"confirmation":{"id":"VARCHAR","question":"VARCHAR"},'
    '"thought":{"summary":[{"text":{"text":"VARCHAR"}}]},"tool_call":{"id":"VARCHAR",'
    '"function_call":{"name":"VARCHAR","arguments":"JSON"}},"tool_result":{"call_id":"VARCHAR",'
    '"function_result":{"name":"VARCHAR","response":"JSON"}}}}],"state":"VARCHAR"}'
)

_BARE_STEPS = f"""
create table typed as
select
    conversation_id,
    step,
    s.state,
    s.agent_id as harness,
    case
        when part.content.content[1].text is not null then 'text'
        when part.content.content[1].confirmation is not null then 'confirmation'
        when part.thought is not null then 'thought'
        when part.tool_call is not null then 'tool_call'
        when part.tool_result is not null then 'tool_result'
    end as kind,
    part.content.role as role,
    coalesce(part.tool_call.id, part.tool_result.call_id, part.content.content[1].confirmation.id)
        as call_id,
    coalesce(part.tool_call.function_call.name, part.tool_result.function_result.name) as tool,
    part.tool_call.function_call.arguments as arguments,
    part.tool_result.function_result.result.struct_value as result,
    coalesce(part.content.content[1].text.text, part.thought.summary[1].text.text,
        part.content.content[1].confirmation.question) as text
from (
    select conversation_id, step, s, unnest(case when len(s.steps) > 0 then s.steps else [null] end)
        as part
    from (select conversation_id, step, json_transform(payload, '{_STEPS}') as s from incoming)
)
"""

_BARE_MESSAGES = f"""
create table typed as
select
    conversation_id,
    step,
    s.state,
    s.harness_id as harness,
    case
        when part.content.text is not null then 'text'
        when part.content.confirmation is not null then 'confirmation'
        when part.content.thought is not null then 'thought'
        when part.content.tool_call is not null then 'tool_call'
        when part.content.tool_result is not null then 'tool_result'
    end as kind,
    part.role as role,
    coalesce(part.content.tool_call.id, part.content.tool_result.call_id,
        part.content.confirmation.id) as call_id,
    coalesce(part.content.tool_call.function_call.name,
        part.content.tool_result.function_result.name) as tool,
    part.content.tool_call.function_call.arguments as arguments,
    part.content.tool_result.function_result.response as result,
    coalesce(part.content.text.text, part.content.thought.summary[1].text.text,
        part.content.confirmation.question) as text
from (
    select conversation_id, step, s,
        unnest(case when len(s.messages) > 0 then s.messages else [null] end) as part
    from (select conversation_id, step, json_transform(payload, '{_MESSAGES}') as s from incoming)
)
"""


@contextmanager
def _batches(source: str, generation: str) -> Iterator[Any]:
    """The log as a reader of Arrow batches, with the batch sizes that measured best."""
    if is_postgres(source):
        import adbc_driver_postgresql.dbapi as postgres

        options = {"adbc.postgresql.batch_size_hint_bytes": str(2 << 20)}
        connection = postgres.connect(source)
    else:
        import adbc_driver_sqlite.dbapi as sqlite

        options = {"adbc.sqlite.query.batch_rows": "8192"}
        connection = sqlite.connect(source)
    with connection, connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**options)
        cursor.execute(_query(generation))
        yield cursor.fetch_record_batch()


def bare(source: str, generation: str) -> duckdb.DuckDBPyConnection:
    """ADBC into DuckDB and one json_transform; a database with the table `typed`."""
    import duckdb

    connection = duckdb.connect()
    with _batches(source, generation) as reader:
        connection.execute("set preserve_insertion_order = false")
        connection.register("incoming", reader)
        connection.execute(_BARE_STEPS if generation == "G8" else _BARE_MESSAGES)
    return connection


# --- the least -------------------------------------------------------------------------------


def scan(source: str, generation: str) -> int:
    """SQLite's own full scan, or PostgreSQL's COPY drained; the number of rows."""
    if not is_postgres(source):
        import sqlite3

        with closing(sqlite3.connect(source)) as connection:
            sql = "select sum(length(payload)), count(*) from conversation_log"
            ((_, count),) = connection.execute(sql).fetchall()
            return int(count)
    import psycopg

    with psycopg.connect(source) as server, server.cursor() as cursor:
        with cursor.copy(f"COPY ({_query(generation)}) TO STDOUT (FORMAT BINARY)".encode()) as copy:
            for _ in copy:
                pass
        return cursor.rowcount


#: What a peer returns is kept until its time is taken, as a user would keep it.
PEERS: dict[str, Callable[[str, str], object]] = {
    "normalize": normalize,
    "loop": loop,
    "adbc": loop_through_adbc,
    "bare": bare,
    "scan": scan,
}


def rows_of(found: object) -> int:
    """How many rows a peer found."""
    import pandas as pd

    if isinstance(found, int):
        return found
    if isinstance(found, pd.DataFrame):
        return len(found)
    ((count,),) = found.execute("select count(*) from typed").fetchall()  # type: ignore[attr-defined]
    return int(count)
