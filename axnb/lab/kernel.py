"""Is there a person at the other end of the kernel?"""

from __future__ import annotations

import sys
from importlib.util import find_spec


def has_person() -> bool:
    """Does the frontend that asked for this cell answer questions, as only one with a person does?

    Papermill, nbclient and schedulers say in each request that they do not (`allow_stdin` of the
    Jupyter messaging protocol).
    """
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return False
    request = kernel.get_parent("shell") or {}
    return bool(request.get("content", {}).get("allow_stdin"))


def has_widgets() -> bool:
    """Is ipywidgets installed? It comes with the extra `lab`."""
    return find_spec("ipywidgets") is not None
