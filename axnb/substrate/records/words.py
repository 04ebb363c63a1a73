"""The enums of the control plane, by name and by the numbers of `ateapi.proto`.

Numbers are those of the files of 2026-05 to 2026-08; those of October's own enums (fidelity, owner,
storage status) are not known, so of these only names are read.
"""

from __future__ import annotations

from axnb.substrate.records.fields import Words

#: June numbered six states, July seven and eight, September nine; none was numbered anew.
STATE = Words(
    ("ACTOR_STATE_", "STATUS_"),
    (
        "UNSPECIFIED",
        "RESUMING",
        "RUNNING",
        "SUSPENDING",
        "SUSPENDED",
        "PAUSING",
        "PAUSED",
        "CRASHED",
        "DELETING",
        "REVERTING",
    ),
)

_CONTENT = {"UNSPECIFIED": "", "FULL": "full", "DATA": "data"}

#: FULL and DATA (July to September); a template of Kubernetes writes Full and Data.
SCOPE = Words(
    ("SNAPSHOT_CONTENT_SCOPE_",),
    ("UNSPECIFIED", "FULL", "DATA"),
    {**_CONTENT, "Full": "full", "Data": "data"},
    "SCOPE",
)
FIDELITY = Words(
    ("SNAPSHOT_FIDELITY_",),
    words={"UNSPECIFIED": "", "MEMORY": "full", "ROOTFS": "rootfs", "VOLUMES": "data"},
    stem="FIDELITY",
)
STORAGE = Words(
    ("SNAPSHOT_STORAGE_STATUS_", "SNAPSHOT_STATUS_"),
    words={
        "UNSPECIFIED": "",
        "PENDING": "pending",
        "IN_PROGRESS": "pending",
        "COMPLETED": "completed",
    },
    stem="STATUS",
)
OWNER = Words(
    ("SNAPSHOT_OWNER_",),
    words={"UNSPECIFIED": "", "ACTOR": "actor", "TAG": "tag"},
    stem="OWNER",
)

#: In July 0 was ATESPACE and 1 PUBLISHED, since August 1 is ATESPACE and 2 PUBLISHED.
TAG_SCOPE = Words(
    ("ACTOR_SNAPSHOT_TAG_SCOPE_", "TAG_SCOPE_"),
    ("UNSPECIFIED", "UNSPECIFIED", "PUBLISHED"),
    {"UNSPECIFIED": "", "ATESPACE": "atespace", "PUBLISHED": "published"},
    "SCOPE",
)
SANDBOX_CLASS = Words(
    ("SANDBOX_CLASS_",),
    ("UNSPECIFIED", "GVISOR", "MICROVM"),
    {"UNSPECIFIED": "", "GVISOR": "gvisor", "MICROVM": "microvm", "KATA": "kata"},
    "CLASS",
)
PHASE = Words(
    ("ACTOR_TEMPLATE_PHASE_",),
    ("UNSPECIFIED", "INITIAL", "RESUME_GOLDEN_ACTOR", "WAIT_GOLDEN_ACTOR", "READY", "FAILED"),
    {
        "": "initial",
        "UNSPECIFIED": "initial",
        "INITIAL": "initial",
        "RESUME_GOLDEN_ACTOR": "resume-golden-actor",
        "ResumeGoldenActor": "resume-golden-actor",
        "WAIT_GOLDEN_ACTOR": "wait-golden-actor",
        "WaitGoldenActor": "wait-golden-actor",
        "READY": "ready",
        "Ready": "ready",
        "FAILED": "failed",
        "Failed": "failed",
    },
    "PHASE",
)
RESUME_SOURCE = Words(
    ("RESUME_SOURCE_",),
    ("UNSPECIFIED", "COLD_BOOT", "GOLDEN"),
    {
        "UNSPECIFIED": "",
        "COLD_BOOT": "cold-boot",
        "ColdBoot": "cold-boot",
        "GOLDEN": "golden",
        "Golden": "golden",
    },
    "SOURCE",
)
WORKER_STATE = Words(
    ("WORKER_STATE_", "STATE_"),
    ("UNSPECIFIED", "ACTIVE", "DRAINING"),
    {"UNSPECIFIED": ""},
)
