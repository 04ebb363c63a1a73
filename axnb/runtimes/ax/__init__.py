"""The runtime `ax`: released binaries of `ax serve`, with a harness of ours.

Nothing of the system is touched: HOME, the log, the configuration and the logs of the server lie in
the scratch folder of a run, and all listens on the loopback address. A binary has no failpoints, so
it is the harness that is held, or the log that is locked, while the server is killed.
"""

from axnb.runtimes.ax.runtime import AxRuntime

__all__ = ["AxRuntime"]
