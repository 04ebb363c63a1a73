"""What `axnb notebook run` adds to `axnb triage`: whole processes, in turn, on the sample log.

python -m tests.benchmarks.notebook --runs 7
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

_ROOT = Path(__file__).parents[2]
_LOG = _ROOT / "sample_data" / "log.sqlite"

#: Seconds that a run may take longer than a triage.
LIMIT = 3.0


def seconds(*arguments: str | Path) -> float:
    """How long axnb takes as a process of its own; its verdict on the sample log is failed."""
    command = [sys.executable, "-m", "axnb.cli", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    started = time.perf_counter()
    run = subprocess.run(command, env=environment, capture_output=True)
    taken = time.perf_counter() - started
    if run.returncode != 1:
        raise SystemExit(run.stderr.decode())
    return taken


def main() -> int:
    """Print both medians and their difference; 1 if it is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    triages, notebooks = [], []
    with tempfile.TemporaryDirectory() as out:
        for _ in range(runs + 1):
            triages.append(seconds("triage", _LOG))
            notebooks.append(
                seconds("notebook", "run", "triage", "-p", "source", _LOG, "--out", out)
            )
    # The first of each warms the machine up.
    triage, notebook = median(triages[1:]), median(notebooks[1:])
    print(f"axnb triage          {triage:.2f} s")
    print(f"axnb notebook run    {notebook:.2f} s")
    print(f"the notebook adds    {notebook - triage:.2f} s   (at most {LIMIT:.1f} s)")
    return int(notebook - triage > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
