"""AX's own messages: one descriptor pool a generation, from the schemas in `proto/`.

The generations reuse the same full names (`ax.Content`, `ax.State`) with other fields, so each
has a pool of its own. `make protos` compiles the schemas; a test compares the compiled sets.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from threading import Lock

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor

from axnb.ax.versions import Generation

#: Two pools of one schema would have classes that do not take each other's messages.
_making = Lock()


def pool(schema: str) -> descriptor_pool.DescriptorPool:
    """The descriptor pool of one schema file (`g3` … `g8`), the same for every thread."""
    with _making:
        return _pool(schema)


@cache
def _pool(schema: str) -> descriptor_pool.DescriptorPool:
    descriptors = descriptor_pb2.FileDescriptorSet.FromString(
        files("axnb.ax").joinpath("proto", f"{schema}.pb").read_bytes()
    )
    result = descriptor_pool.DescriptorPool()
    for file in descriptors.file:
        result.Add(file)
    return result


@cache
def message(schema: str, name: str) -> Descriptor:
    """The descriptor of `ax.NAME` in one schema; KeyError if that generation has none."""
    return pool(schema).FindMessageTypeByName(f"ax.{name}")


def event(generation: Generation) -> Descriptor:
    """The message that a payload of this generation holds."""
    return message(generation.schema, generation.event)
