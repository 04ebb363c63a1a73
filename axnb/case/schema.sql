-- The tables of a case. Names are stable: they are what people query in a notebook.

create table if not exists meta (
    name varchar primary key,
    value varchar not null
);

-- A thing that was loaded: where it came from, what was read of it, and how that can be proved.
create table if not exists sources (
    source varchar primary key,       -- short name, unique in the case
    kind varchar not null,            -- eventlog, client, server-log, ledger, bucket or records
    locator varchar not null,         -- path or address; never a password
    step_column varchar,              -- the column that numbers the rows: seq or step
    variant varchar,                  -- a known relative of AX's log, such as checkpointd
    read bigint not null,             -- rows, lines, objects or records in the source
    parsed bigint not null,           -- of them in `events`, `client_outputs`, `server_events`, `effects`
    rejected bigint not null,         -- rows in `rejects`, lines named in `notes` and `incomplete`;
                                      -- read = parsed + rejected, always
    executions_read bigint not null,  -- rows of a leftover or G3 execution_log
    executions_rejected bigint not null,
    scope varchar,                    -- the one conversation that was asked for, if only one was
    custody json not null,            -- hashes, or server, snapshot and LSN
    notes varchar[] not null,         -- what a reader must know, a sentence each
    incomplete varchar[] not null     -- why it may hold less than was there, a sentence each
);

-- A conversation's number within its source. Rows carry the number: comparing a million ids again
-- and again takes longer than reading them.
create table if not exists conversation_numbers (
    source varchar not null,
    conversation integer not null,
    conversation_id varchar not null
);

create type if not exists row_shape as enum ('exec', 'G5', 'G6', 'G7', 'G8', 'steps', 'state', '');
create type if not exists usual_kind as enum ('text', 'thought', 'tool_call', 'tool_result', 'other');

-- What the views `events` and `parts` show, in the form that takes the least room.
create table if not exists event_rows (
    source varchar not null,
    "row" bigint not null,
    conversation integer not null,
    step bigint,
    position bigint not null,
    visible boolean not null,
    state integer not null,           -- AX's number of the state
    harness_id varchar,
    config varchar,
    exec_id varchar,
    shape row_shape not null,
    fast boolean not null,
    content_count integer not null,
    -- The part of a row that took the fast path, if it has one. Of any other row only the kind and
    -- the role of its first part stand here.
    part_kind usual_kind,
    part_role varchar,
    part_call_id varchar,
    part_tool varchar,
    part_is_error boolean,
    part_signal varchar,
    part_size integer,
    payload varchar not null,
    digest blob not null
);

-- AX's word for a state; it writes the number of one that it has no word for.
create or replace macro state_name(number) as
    case number
        when 0 then 'STATE_UNSPECIFIED' when 1 then 'STATE_PENDING' when 2 then 'STATE_FAILED'
        when 3 then 'STATE_COMPLETED' when 4 then 'STATE_CANCELED' else 'STATE_' || number
    end;

-- A row that proves a finding: its step, and the sha256 of its text.
create or replace macro witness_row(step, digest) as struct_pack(step := step, digest := lower(hex(digest)));

-- A stranger's name in a sentence, cut in the middle: it may have megabytes.
create or replace macro short(name) as
    case when length(name) > 60 then left(name, 30) || '…' || right(name, 29) else name end;

-- An actor or a template as it is called: ATESPACE/NAME. In May actors lie in no atespace.
create or replace macro placed(space, name) as case when space = '' then name else space || '/' || name end;

-- A row of a conversation_log that AX of the row's own generation can decode.
create or replace view events as
select
    e.source,
    e."row",                          -- place in the source's own order
    n.conversation_id,
    e.step,                           -- the number column (seq or step)
    e.position,                       -- place in the order in which AX reads the conversation
    e.visible,                        -- false where AX's own query does not find the row
    state_name(e.state) as state,
    e.harness_id,                     -- the owner that the row names (agent_id in G8)
    e.config,                         -- configuration of the turn, JSON text
    e.exec_id,                        -- G3 and G4, and what was taken over from there
    cast(e.shape as varchar) as shape,  -- what the row's keys say of its generation; see ax/rows
    case when e.fast then 'fast' else 'careful' end as route,  -- which reader decoded it
    e.content_count,                  -- messages or steps in the row
    e.payload,                        -- the original text
    e.digest                          -- sha256 of the original text
from event_rows e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation;

-- A row that AX of its own generation cannot decode, or whose key cannot be read.
create table if not exists rejects (
    source varchar not null,
    "row" bigint not null,
    conversation_id varchar,
    step bigint,
    key_text varchar not null,        -- the key as found, with its storage classes
    position bigint not null,
    visible boolean not null,
    shape varchar not null,
    reason varchar not null,          -- a short class
    decodes boolean,                  -- can AX of its own generation decode it? NULL: not looked at
    state integer,                    -- AX's number of the state that it names, where it decodes
    detail varchar not null,          -- where in the row; never a piece of it
    size bigint not null,             -- bytes
    digest blob,                      -- sha256 of the raw bytes; NULL where they could not be read
    raw blob                          -- the raw bytes; NULL where too large or unreadable
);

-- What servers of each generation decode from a row that took the careful path. Rows of the fast
-- path need none: what a generation drops from them follows from their shape.
create table if not exists readings (
    source varchar not null,
    "row" bigint not null,
    generation varchar not null,      -- who reads
    readable boolean,                 -- NULL where the row is too large for axnb to judge
    state integer not null,           -- as decoded; 0 is unspecified
    owner varchar not null,
    exec_id varchar not null,
    content_count integer not null
);

-- A row of G3's execution_log, which G3 reads to find out what is pending.
create table if not exists executions (
    source varchar not null,
    "row" bigint not null,
    exec_id varchar not null,
    named varchar,                    -- the exec_id that its text names
    agent_id varchar,
    config varchar,                   -- agent_config: base64
    state integer,                    -- NULL where the row does not decode
    recorded_at varchar,              -- as found; G3 wrote it in the format of its driver
    internal integer not null,        -- outputs that are marked internal_only
    digest blob not null
);

-- A part of a row that took the careful path: few rows do.
create table if not exists careful_parts (
    source varchar not null,
    "row" bigint not null,
    conversation_id varchar not null,
    step bigint,
    position bigint not null,
    part bigint not null,             -- from 1
    kind varchar not null,
    "role" varchar,
    call_id varchar,
    tool varchar,
    is_error boolean,
    signal varchar,
    decision varchar,                 -- of a confirmation: asked, approved or declined
    "value" varchar,                  -- text, arguments or result
    size bigint not null
);

-- The content parts of a row, in order. `text`, `arguments` and `result` are cut from the payload
-- when they are asked for: storing them again would double the case. This view is the only place
-- outside landing where JSON is taken apart.
create or replace view parts as
select
    e.source, "row", n.conversation_id, step, position, 1::bigint as part,
    cast(part_kind as varchar) as kind, part_role as "role", part_call_id as call_id,
    part_tool as tool, part_is_error as is_error, part_signal as signal,
    null::varchar as decision, part_size::bigint as size,
    case
        when part_kind = 'text' and shape in ('exec', 'G5', 'G6')
            then coalesce(json_extract_string(payload, '$.messages[0].content.text.text'), '')
        when part_kind = 'text' then coalesce(json_extract_string(payload, '$.steps[0].content.content[0].text.text'), '')
        when part_kind = 'thought' and shape in ('exec', 'G5', 'G6')
            then coalesce(json_extract_string(payload, '$.messages[0].content.thought.summary[0].text.text'), '')
        when part_kind = 'thought' then coalesce(json_extract_string(payload, '$.steps[0].thought.summary[0].text.text'), '')
    end as "text",
    case
        when part_kind <> 'tool_call' then null
        when shape in ('exec', 'G5', 'G6')
            then cast(json_extract(payload, '$.messages[0].content.tool_call.function_call.arguments') as varchar)
        else cast(json_extract(payload, '$.steps[0].tool_call.function_call.arguments') as varchar)
    end as arguments,
    case
        when part_kind <> 'tool_result' then null
        when shape in ('exec', 'G5', 'G6')
            then cast(json_extract(payload, '$.messages[0].content.tool_result.function_result.response') as varchar)
        else cast(
            coalesce(
                json_extract(payload, '$.steps[0].tool_result.function_result.result.struct_value'),
                json_extract(payload, '$.steps[0].tool_result.function_result.result.string_value')
            ) as varchar
        )
    end as result
from event_rows e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
where fast and part_kind is not null
union all
select
    source, "row", conversation_id, step, position, part, kind, "role", call_id, tool, is_error,
    signal, decision, size,
    case when kind not in ('tool_call', 'tool_result') then "value" end,
    case when kind = 'tool_call' then "value" end,
    case when kind = 'tool_result' then "value" end
from careful_parts;

-- What is odd about a row that AX decodes, by kind and place; see ax/oddities. The text of the row is
-- not there: a place names keys, never values.
create table if not exists oddities (
    source varchar not null,
    "row" bigint not null,
    conversation_id varchar,
    step bigint,
    kind varchar not null,
    path varchar not null,
    digest blob not null              -- sha256 of the row's text
);

-- What had to be compared by what it says, and nothing else.
create table if not exists compared (
    source varchar not null,
    -- What it shares with other rows: `number`; `call`, its id within the turn; `id`, the same, looked at
    -- for what is asked for; `arguments`, the tool of calls of which one is unresolved.
    why varchar not null,
    "row" bigint not null,
    part bigint not null,             -- 0: the whole row, but for its number; else its arguments
    conversation_id varchar not null,
    step bigint,
    position bigint not null,
    turn bigint not null,
    kind varchar,
    call_id varchar,
    tool varchar,
    row_digest blob,                  -- sha256 of the row's text
    content blob                      -- canonical digest (docs/canonical-json.md); NULL if it has none
);

-- A turn: from an input to its end.
create table if not exists turns (
    source varchar not null,
    conversation_id varchar not null,
    turn bigint not null,             -- from 1
    first_step bigint,
    last_step bigint,
    input_step bigint,                -- NULL where the turn does not begin with an input row
    first_position bigint not null,
    last_position bigint not null,
    ended varchar not null,           -- the terminal state, `interrupted`, or `unspecified`
    generation varchar not null,      -- who wrote it
    harness_id varchar,               -- the owner that its input row names
    first_row bigint not null,
    last_row bigint not null
);

-- What the settings said of a tool when the source was loaded.
create table if not exists tool_rules (
    source varchar not null,
    tool varchar not null,
    path varchar,                     -- where a call's arguments hold its operation id
    consequential boolean not null
);

-- A call of a tool, with what became of it.
create table if not exists tool_calls (
    source varchar not null,
    conversation_id varchar not null,
    turn bigint not null,
    call_step bigint,
    call_position bigint not null,
    part bigint not null,
    call_id varchar not null,         -- as logged; may be empty, may be used again
    tool varchar not null,
    operation_id varchar,             -- NULL where the log has none
    operation_id_from varchar not null,  -- rule, call-id or none
    observations bigint not null,     -- how often the same call was logged (streaming)
    result_step bigint,
    result_position bigint,
    pairing varchar,                  -- id, order or inferred; NULL without a result
    outcome varchar not null,         -- completed, failed, placeholder, unknown, …
    consequential boolean not null,
    -- Several rows can stand at one position where a table has no key: these tell them apart.
    call_row bigint not null,
    result_row bigint
);

-- A result that no call claims.
create table if not exists orphan_results (
    source varchar not null,
    conversation_id varchar not null,
    turn bigint not null,
    step bigint,
    position bigint not null,
    part bigint not null,
    call_id varchar not null,
    tool varchar not null,
    "row" bigint not null
);

-- A question that a harness put to a person.
create table if not exists questions (
    source varchar not null,
    conversation_id varchar not null,
    turn bigint not null,
    step bigint,
    position bigint not null,
    question_id varchar not null,
    outcome varchar not null,         -- awaiting-decision, approved or declined
    answer_turn bigint,               -- where the last word on it stands; NULL without one
    answer_row bigint
);

-- A conversation, and what it looks like without asking any server.
create table if not exists conversations (
    source varchar not null,
    conversation_id varchar not null,
    state varchar not null,           -- finished, interrupted or unreadable
    rows_read bigint not null,
    last_step bigint,
    turns bigint not null,
    open_questions bigint not null,
    harness_id varchar,               -- the owner that the rows name, in any generation's words
    generations varchar[] not null,
    content_count bigint not null
);

-- The shapes of a source's rows, and which fields they have: what a generation drops of them.
create table if not exists row_shapes (
    source varchar not null,
    shape row_shape not null,
    has_owner boolean not null,
    has_config boolean not null,
    has_exec boolean not null,
    has_content boolean not null,
    rows bigint not null,
    lowest integer not null,          -- conversation, by number
    highest integer not null,
    first struct(c integer, s bigint, d blob) not null  -- conversation, step and digest of the first row
);

-- A harness that rows of a source name as an owner.
create table if not exists owners (
    source varchar not null,
    harness_id varchar not null,
    first_row bigint not null         -- the row that names it first
);

-- An output that a client was sent, as its transcript tells.
create table if not exists client_outputs (
    source varchar not null,
    line bigint not null,             -- in the file, from 1
    conversation_id varchar not null,
    number bigint not null,           -- the step; 0 where AX told the client but could not log it
    kind varchar not null,            -- text, thought, tool_call, tool_result, confirmation, …
    digest varchar                    -- sha256 of the text, in hex
);

-- A line of a server's log. No text of it is kept: requests and errors may hold payload.
create table if not exists server_events (
    source varchar not null,
    line bigint not null,             -- in the file, from 1
    "at" timestamp,                   -- UTC; NULL where the line does not tell the time and its zone
    level varchar not null,
    event varchar not null,           -- request, append-failed, end-not-logged, failed, started or other
    conversation_id varchar,
    reason varchar                    -- a short class, such as 23505 or SQLITE_BUSY
);

-- What an operator says of a ledger, as of its load.
create table if not exists ledgers (
    source varchar not null,
    tools varchar[] not null,         -- whose effects it holds
    covers_from timestamp,            -- UTC; it has every effect from then …
    covers_to timestamp,              -- … until then; NULL where nobody said so
    lag interval not null,            -- how late an effect may come to stand in it
    has_conversation boolean not null,
    has_time boolean not null,
    compared varchar[] not null,      -- columns that the arguments of a call hold too, and …
    paths varchar[] not null,         -- … where these hold them
    has_business_key boolean not null
);

-- What a tool system says that it did.
create table if not exists effects (
    source varchar not null,
    "row" bigint not null,            -- line or row in the ledger, from 1
    tool varchar,                     -- NULL where nothing tells
    operation_id varchar,             -- NULL where it has none
    conversation_id varchar,
    status varchar,                   -- in the ledger's own word
    state varchar not null,           -- committed, failed, pending, reversed or unclear
    happened_at timestamp,            -- UTC; NULL where it tells no time that can be read
    reverses varchar,                 -- the operation id of what it takes back
    business varchar,                 -- what tells one business from another; NULL if not all of it is there
    compared varchar[] not null,      -- texts of the columns that a ledger's `compared` names
    digest blob not null              -- sha256 of all of these texts
);

-- A snapshot in a bucket: what its keys and its manifest say. Texts are strangers'.
create table if not exists snapshots (
    source varchar not null,
    snapshot varchar not null,        -- the prefix of its keys, without a slash at its end
    layout varchar not null,          -- shape of the keys: B0|B1, B2, B3 or B4|B5
    generation varchar not null,      -- who wrote it, inferred; several with | where nothing tells
    generation_why varchar not null,
    doubts varchar[] not null,        -- what speaks against that, by short classes
    name varchar not null,
    location varchar not null,        -- what lies before the pattern of the layout
    key_atespace varchar,             -- what the keys say of its owner …
    key_actor varchar,                -- (an actor's id, up to B1)
    key_actor_uid varchar,
    key_tag_uid varchar,
    manifest varchar not null,        -- read, missing or unreadable
    manifest_reason varchar,          -- a short class, where it cannot be read
    manifest_atespace varchar,        -- … and what the manifest says
    manifest_actor varchar,
    manifest_actor_uid varchar,
    manifest_template varchar,        -- ATESPACE-OR-NAMESPACE/NAME
    is_golden boolean,                -- NULL where neither tells
    is_usual boolean not null,        -- has it a name that Substrate makes?
    sandbox_class varchar,
    content varchar not null,         -- full, data or unknown, as the manifest says
    pause_image varchar,
    files varchar[],                  -- names that the manifest lists; NULL without a list
    data_files varchar[],
    expected varchar[] not null,      -- files that it must have, and who says so:
    expected_from varchar not null,   -- listed, rule or unknown
    named_at timestamp,               -- UTC; the time in its name, where that holds one
    newest timestamp,                 -- UTC; when its newest object was written, by the store's clock
    objects bigint not null,
    bytes bigint not null,            -- as stored
    has_sparse boolean,               -- is an object in the sparse form? NULL where nobody looked
    -- What its bodies say; NULL until they were read.
    verified boolean not null,        -- were all of its objects read to their end?
    taken_at timestamp,               -- UTC; from the head of checkpoint.img
    runsc_version varchar
);

-- What of a bucket was read.
create table if not exists bucket_scopes (
    source varchar not null,
    bucket varchar,                   -- its name; NULL of a folder, which may hold what any held
    prefix varchar not null,          -- that was listed; empty for all
    has_times boolean not null        -- are the times of objects the store's own?
);

-- A runtime file that a manifest pins.
create table if not exists snapshot_assets (
    source varchar not null,
    snapshot varchar not null,
    name varchar not null,
    url varchar not null,             -- without user, password, query and fragment
    sha256 varchar,                   -- NULL where it is none
    arch varchar
);

-- What is odd about a snapshot: in its manifest, or in its files' members.
create table if not exists snapshot_remarks (
    source varchar not null,
    snapshot varchar not null,
    object varchar not null,          -- the key of the object that it is about
    kind varchar not null,            -- a short class, such as refused-name or setuid
    detail varchar not null           -- a name in it, or nothing; never a value
);

-- An object of a bucket, a version of one, a delete marker, or an upload that was not ended.
create table if not exists snapshot_objects (
    source varchar not null,
    key varchar not null,
    version_id varchar,
    snapshot varchar,                 -- NULL where it belongs to none
    file varchar,                     -- the file that it restores to, as manifests write it
    "role" varchar not null,          -- file, manifest, part, odd, upload; of no snapshot: asset,
                                      -- unplaced, folder-mark, stranger
    size bigint,
    etag varchar,
    modified timestamp,               -- UTC, by the store's clock
    is_latest boolean not null,
    is_delete_marker boolean not null,
    storage_class varchar,
    -- What its body says.
    state varchar not null,           -- listed (not read), sound, damaged, unreadable or gone
    reason varchar,                   -- a short class, where it is damaged or unreadable
    sha256 varchar,                   -- our own, of the bytes as stored
    encoding varchar,                 -- plain or sparse
    frames bigint,
    restored_size bigint,
    restored_sha256 varchar,
    remarks varchar[] not null        -- no-checksum, skippable-frame, ends-in-a-hole, raised-size, odd-content
);

-- An actor, as the control plane's export says.
create table if not exists actors (
    source varchar not null,
    atespace varchar not null,
    name varchar not null,            -- AX gives it the conversation's id
    uid varchar,
    version bigint,
    shape varchar not null,           -- month of the generation whose fields the record uses
    state varchar not null,
    template varchar,                 -- ATESPACE-OR-NAMESPACE/NAME
    template_uid varchar,
    worker varchar,
    node varchar,
    crash varchar,
    source_tag varchar,               -- ATESPACE/NAME of the tag that it was cloned from
    created timestamp,
    updated timestamp,
    change varchar not null           -- between two exports: stable, changed, came, went, replaced, seen-once
);

create table if not exists templates (
    source varchar not null,
    space varchar not null,           -- its atespace or namespace
    name varchar not null,
    uid varchar,
    shape varchar not null,
    sandbox_class varchar,
    sandbox_config varchar,
    pause_image varchar,
    location varchar,
    on_pause varchar,
    on_commit varchar,
    from_data varchar,
    phase varchar,
    golden_actor varchar,
    created timestamp,
    change varchar not null
);

create table if not exists template_containers (
    source varchar not null,
    space varchar not null,
    template varchar not null,
    uid varchar,
    container varchar not null,
    image varchar not null,
    digest varchar,                   -- sha256:… of the image: the version of the code
    env_names varchar[] not null
);

create table if not exists tags (
    source varchar not null,
    atespace varchar not null,
    name varchar not null,
    uid varchar,
    scope varchar,
    change varchar not null
);

-- A runtime file that a template froze, or that a SandboxConfig stands for.
create table if not exists record_assets (
    source varchar not null,
    kind varchar not null,            -- template or sandbox-config
    owner varchar not null,           -- SPACE/NAME, or the name
    sandbox_class varchar,
    arch varchar,
    name varchar not null,
    url varchar not null,             -- without user, password and query
    sha256 varchar
);

-- A snapshot that a record names.
create table if not exists record_snapshots (
    source varchar not null,
    kind varchar not null,            -- of the record: actor, snapshot, tag or template
    space varchar not null,           -- its atespace or namespace, its name and uid
    name varchar not null,
    uid varchar,
    "role" varchar not null,          -- latest, in-progress, listed, local, golden, tagged, source or itself
    bucket varchar,
    snapshot varchar,                 -- the prefix, from its URI; NULL where only a name is known
    snapshot_name varchar,
    uri_reason varchar,               -- why its URI names no place, where it has one that does not
    content varchar,
    template varchar,
    template_uid varchar,
    generation bigint,
    status varchar,                   -- pending or completed, where records say it
    actor varchar,                    -- whose it is: ATESPACE/NAME, and the uid
    actor_uid varchar,
    actor_version bigint,             -- the actor's when it was begun
    created timestamp,
    change varchar not null
);

-- What is suspicious about an actor's record alone.
create table if not exists record_remarks (
    source varchar not null,
    actor varchar not null,           -- ATESPACE/NAME
    uid varchar,
    kind varchar not null,            -- a short class
    sentence varchar not null
);

-- Which kinds of records were exported, and how wholly.
create table if not exists record_coverage (
    source varchar not null,
    kind varchar not null,
    exports bigint not null,          -- that hold a whole list of this kind: 0, 1 or 2
    spaces varchar[] not null,        -- atespaces or namespaces that all of them show
    everywhere boolean not null       -- were they taken of all of these?
);

-- Records that an export holds twice: lists are paged, and may repeat one.
create table if not exists record_duplicates (
    source varchar not null,
    kind varchar not null,
    what varchar not null,            -- equal, different or namesake
    space varchar not null,
    name varchar not null
);

-- What a turn ran with, and what would run it now: a part of a context, by fingerprint. Parts: model,
-- instructions, tools and skills (the lists that a configuration names), config (all of it), harness, and
-- tool: one that the present list names, or that the turn called.
create table if not exists contexts (
    source varchar not null,
    conversation_id varchar not null, -- empty for what would run now
    turn bigint,                      -- NULL for what would run now
    step bigint,
    part varchar not null,
    fingerprint varchar not null,     -- sha256 of its canonical JSON (docs/canonical-json.md)
    shown varchar,                    -- a model's or a harness's name, names of tools; NULL of what may be
                                      -- private
    how varchar not null,             -- where that is known from: row (the input), rows (calls) or ax.yaml
    harness_id varchar                -- the owner of the turn, or the harness that would run it; NULL
                                      -- where nothing names it
);

-- The other members of configurations: how they are set.
create table if not exists config_settings (
    source varchar not null,
    config varchar not null,          -- fingerprint of the whole configuration
    setting varchar not null,
    fingerprint varchar not null      -- of its value
);

-- Where the context of a turn differs from what would run it now, or from that of a turn before it.
create table if not exists drifts (
    source varchar not null,
    conversation_id varchar not null,
    turn bigint not null,
    step bigint,                      -- of the row that names the context
    digest blob,                      -- sha256 of its text
    against varchar not null,         -- now or turn
    part varchar not null,            -- model, instructions, tools, skills, called or settings
    before varchar,                   -- as `contexts` shows it; of settings and called the names that
    after varchar                     -- differ or are missing
);

-- A secret that was found. Its value is nowhere in a case.
create table if not exists secrets (
    source varchar not null,
    place varchar not null,           -- oci-env, tar-member, memory, file, asset-url, manifest,
                                      -- harness-config or payload
    snapshot varchar,
    object varchar,                   -- key of the object
    file varchar,
    member varchar,                   -- of a tar; or the container of an environment
    conversation_id varchar,
    step bigint,
    "row" bigint,
    name varchar,                     -- of a variable, or the key that it stands under
    kind varchar not null,            -- what it is, such as google-api-key
    is_partial boolean not null,      -- masked in the middle: some of it is there
    at_offset bigint,                 -- in the restored file, the row's text, or its configuration
    length bigint not null,
    digest varchar not null           -- keyed: tells equal ones apart from others, and no value
);

-- What was found to be wrong, with the smallest rows that prove it.
create table if not exists findings (
    id varchar not null,              -- AX110
    name varchar not null,            -- interrupted-turn
    severity varchar not null,        -- info, warning or error
    source varchar not null,
    conversation_id varchar,
    step bigint,
    sentence varchar not null,
    witness struct(step bigint, digest varchar)[] not null,
    snapshot varchar,                 -- prefix of a snapshot's keys
    object varchar,                   -- key of an object
    actor varchar                     -- ATESPACE/NAME
);

-- When somebody had payloads shown. Loading a source again leaves these rows alone.
create table if not exists reveals (
    "at" timestamp not null,          -- UTC
    who varchar not null,             -- the operating system's name of the user
    source varchar not null,
    conversation_id varchar not null,
    parts bigint not null             -- payloads that were shown
);

-- Harnesses that log calls and, anywhere in the source, no result. Calls that a person has not
-- allowed need none, and where only one conversation was read nothing is said of a harness.
create or replace view silent_harnesses as
select k.source, coalesce(c.harness_id, '') as harness_id, count(*) filter (outcome = 'unknown') as calls
from tool_calls k
join conversations c on c.source = k.source and c.conversation_id = k.conversation_id
join sources s on s.source = k.source and s.scope is null
where k.source || chr(0) || coalesce(c.harness_id, '') not in (
    select o.source || chr(0) || coalesce(d.harness_id, '')
    from orphan_results o
    join conversations d on d.source = o.source and d.conversation_id = o.conversation_id
)
group by k.source, coalesce(c.harness_id, '')
having count(k.result_position) = 0 and calls > 0;

-- --- what checks share ---------------------------------------------------------------------------

-- Every row of a log, decoded or not.
create or replace view log_rows as
select source, "row", conversation, step, position, digest from event_rows
union all
select j.source, j."row", n.conversation, j.step, j.position, j.digest
from rejects j
join conversation_numbers n on n.source = j.source and n.conversation_id = j.conversation_id;

-- Rows that AX does not decode, and what is odd about those that it does, each with its witness.
create or replace view rejected_rows as
select
    source, "row", conversation_id, step, reason,
    format('row {} cannot be read: {}{}.', "row", reason, case when detail <> '' then ' (' || detail || ')' else '' end) as sentence,
    [witness_row(step, digest)] as witness
from rejects;
create or replace view odd_rows as
select source, conversation_id, step, kind, path, [witness_row(step, digest)] as witness from oddities;

-- Turns that go on under whatever runs now: the last one of a conversation, if it was interrupted or
-- waits for a person's answer.
create or replace view open_turns as
with
last_turns as (
    select source, conversation_id, max(turn) as turn
    from turns
    where ended <> 'unspecified' and (source, conversation_id) in (
        select (source, conversation_id) from conversations where state <> 'finished' or open_questions > 0
    )
    group by source, conversation_id
),
asking as (select distinct source, conversation_id, turn from questions where outcome = 'awaiting-decision')
select t.source, t.conversation_id, t.turn, t.input_step, t.first_row, c.harness_id
from turns t
join last_turns using (source, conversation_id, turn)
join conversations c using (source, conversation_id)
left join asking a using (source, conversation_id, turn)
where (t.ended = 'interrupted' and c.state <> 'finished') or a.turn is not null;

-- The same words as `contexts` for what records say of open turns: the template under whose uid the
-- actor's snapshot was taken, and the template of that name now, each with the digests of its images.
-- AX gives an actor the id of its conversation. A row an image; `actor` is ATESPACE/NAME.
create or replace view record_contexts as
with
taken as (
    select
        a.source as records, a.atespace, a.name, a.template,
        coalesce(max(struct_pack(
            generation := coalesce(s.generation, s.actor_version, 0), created := s.created,
            uid := s.template_uid, snapshot := s.snapshot
        )), struct_pack(generation := 0, created := a.updated, uid := a.template_uid, snapshot := null)) as last
    from actors a
    left join record_snapshots s on s.source = a.source and s.template_uid is not null
        and (s.actor = a.atespace || '/' || a.name or (s.kind = 'actor' and s.space = a.atespace and s.name = a.name))
        and s."role" in ('latest', 'listed', 'local', 'itself')
        and coalesce(s.status, '') <> 'pending'
        and (s.actor_uid is null or a.uid is null or s.actor_uid = a.uid)
    where a.change <> 'went'
    group by a.source, a.atespace, a.name, a.template, a.template_uid, a.updated
),
present as (
    select source, space || '/' || name as template, max(struct_pack(created := created, uid := uid)).uid as uid
    from templates
    where change <> 'went' and uid is not null
    group by source, space, name
),
both_sides as (
    select records, atespace, name, template, last.snapshot as snapshot, last.uid as uid, 'record' as how
    from taken where last.uid is not null
    union all
    select t.records, t.atespace, t.name, t.template, last.snapshot, p.uid, 'template'
    from taken t
    join present p on p.source = t.records and p.template = t.template
    where last.uid is not null
)
select
    o.source, o.conversation_id, case when b.how = 'record' then o.turn end as turn,
    case when b.how = 'record' then o.input_step end as step,
    b.how, b.atespace || '/' || b.name as actor, b.snapshot, b.template, b.uid as template_uid,
    c.container, c.image, c.digest
from open_turns o
join both_sides b on b.name = o.conversation_id
left join template_containers c on c.source = b.records and c.uid = b.uid and c.digest is not null;

-- Rows that may begin a turn: they name an owner or a configuration, which nothing else does, or are a
-- person's and answer no question.
create or replace view input_rows as
select source, "row", conversation, step, position, digest,
    harness_id is not null or config is not null as names_owner
from event_rows e
where harness_id is not null or config is not null
    or (
        part_role = 'user' and part_kind in ('text', 'other')
        and (fast or not exists (
            select 1 from careful_parts p
            where p.source = e.source and p."row" = e."row" and p.decision in ('approved', 'declined')
        ))
    );

-- Numbers that several rows of a conversation share, with two of the first rows, and two that differ.
-- A row without a canonical form is known by its text, and one without a text by itself alone.
create or replace view duplicates as
with
contents as (
    select
        source, conversation_id, step,
        count(*) as rows,
        bool_or(content is null and row_digest is null) as is_unread,
        min("row") as first_row,
        arg_min(witness_row(step, row_digest), "row", 2) as first_two
    from compared
    where why = 'number'
    group by source, conversation_id, step, coalesce(content, row_digest, encode(cast("row" as varchar)))
)
select
    source,
    conversation_id,
    step,
    sum(rows)::bigint as rows,
    count(*) as contents,
    bool_or(is_unread) as has_unread,
    arg_min(first_two, first_row) as first_two,
    arg_min(first_two[1], first_row, 2) as differing
from contents
group by source, conversation_id, step;

-- Rows that end before their JSON does, and that nothing follows.
create or replace view torn_rows as
with
cut_off as (
    select j.source, n.conversation, j."row"
    from rejects j
    join conversation_numbers n on n.source = j.source and n.conversation_id = j.conversation_id
    where j.reason = 'ends too early'
),
last_rows as (
    select source, conversation, max(struct_pack(p := position, r := "row")).r as "row"
    from log_rows
    where (source, conversation) in (select (source, conversation) from cut_off)
    group by source, conversation
)
select source, "row" from cut_off join last_rows using (source, conversation, "row");

-- Secrets of a log's rows, one row a secret, a conversation and a kind of place, with the first of them.
create or replace view log_secrets as
select s.source, s.conversation_id, s.place, s.digest, count(*) as places, min(s.kind) as kind,
    arg_min((s.step, s.at_offset, coalesce(e.digest, r.digest)), (s."row", s.at_offset)) as first
from secrets s
left join event_rows e on e.source = s.source and e."row" = s."row"
left join rejects r on r.source = s.source and r."row" = s."row"
where s.place in ('harness-config', 'payload') and not s.is_partial
group by s.source, s.conversation_id, s.place, s.digest;
