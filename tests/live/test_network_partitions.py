"""A network that stops carrying packets: a network namespace with a loopback that is taken down under the workers."""

from pathlib import Path

import pytest

from tests.network import S_MAX, runs_alone
from tests.private_servers import SERVERS


@pytest.mark.timeout(S_MAX + 60)
@pytest.mark.parametrize("broker", SERVERS)
def test_a_network_outage_delays_jobs_and_loses_none(broker: str, folder: Path) -> None:
    runs_alone("tests.live.parted", broker, str(folder))
