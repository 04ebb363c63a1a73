"""The process that runs the cells: this Python, a private folder, and an end whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError

#: The longest path of a socket that every system takes.
_LONGEST_SOCKET = 100

#: Safe path: a file that lies in the working directory must not be imported in place of a library.
_COMMAND = [sys.executable, "-P", "-m", "ipykernel", "-f", "{connection_file}"]


class Kernel:
    """A kernel that another thread can end.

    `folder` is private: the sockets are there, and nobody else can reach them.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        if sys.platform != "win32" and len(os.fsencode(folder / "kernel-00")) > _LONGEST_SOCKET:
            raise AxnbError("the folder for temporary files has too long a path for a socket.")
        self._folder = folder
        self._environment = {**environment, "IPYTHONDIR": str(folder / "ipython")}
        self._process: subprocess.Popen[bytes] | None = None
        self._doomed = False

    def manager(self, is_busy: Callable[[], bool]) -> type:
        """The class that nbclient makes a kernel manager of.

        A kernel that is busy gets no time to end by itself.
        """
        from jupyter_client.kernelspec import KernelSpec
        from jupyter_client.manager import AsyncKernelManager

        kernel = self

        class PrivateKernelManager(AsyncKernelManager):
            def __init__(self, **kwargs: Any) -> None:
                super().__init__(**kwargs)
                self.connection_file = str(kernel._folder / "connection.json")
                if sys.platform != "win32":
                    # By default a kernel talks TCP in clear.
                    self.transport = "ipc"
                    self.ip = str(kernel._folder / "kernel")

            @property
            def kernel_spec(self) -> KernelSpec:
                """This Python, whatever a kernel of that name is elsewhere on the machine."""
                return KernelSpec(argv=list(_COMMAND), language="python", display_name="Python 3")

            async def start_kernel(self, **kwargs: Any) -> None:  # type: ignore[override]
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                await super().start_kernel(env=kernel._environment, **quiet, **kwargs)
                kernel._started(self.provisioner.process)  # type: ignore[union-attr]

            async def shutdown_kernel(  # type: ignore[override]
                self, now: bool = False, restart: bool = False
            ) -> None:
                now = now or kernel._doomed or is_busy()
                await super().shutdown_kernel(now=now, restart=restart)

        return PrivateKernelManager

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        if self._doomed:
            self.kill()

    @property
    def fate(self) -> str:
        """How the process ended: `SIGKILL`, `exit code 1`."""
        code = self._process.poll() if self._process is not None else None
        if code is None:
            return "it does not answer"
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """End the process and those that it has started, now or as soon as it starts."""
        self._doomed = True
        if self._process is None:
            return
        with suppress(OSError):
            if hasattr(os, "killpg"):
                # The kernel leads a group of its own.
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
