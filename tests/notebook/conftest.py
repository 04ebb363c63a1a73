"""Kernels find this axnb, and nothing is written beside the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebook.runs import REPOSITORY, scratch


@pytest.fixture(scope="module", autouse=True)
def _kernels_find_axnb() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(REPOSITORY))
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        patch.delenv("AX_EVENTLOG_DSN", raising=False)
        patch.chdir(scratch())
        yield
