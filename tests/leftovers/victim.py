"""A test run that is ended in the middle. pytest collects it only by its path."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import private_servers
from tests.servers import rabbitmq_url, redis_url


@pytest.fixture(scope="session")
def redis() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[str]:
    with rabbitmq_url() as url:
        yield url


@pytest.mark.parametrize("number", range(2))
def test_a_run_waits_to_be_ended(
    number: int, embedded_url: str, rabbitmq: str, redis: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Start servers, a folder, and a child that has left its session and ignores SIGTERM; then wait."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    with private_servers.redis(), tempfile.TemporaryDirectory():
        subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
        Path(os.environ["VICTIM_TELLS"], f"{number}").write_text(f"{embedded_url}\n{rabbitmq}\n{redis}")
        time.sleep(600)
