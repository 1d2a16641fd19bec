"""A network that stops carrying packets, in a network namespace whose loopback is taken down under the workers."""

from pathlib import Path

import pytest

from tests.network import S_MAX, runs_alone
from tests.private_servers import SERVERS


@pytest.mark.timeout(S_MAX + 60)
@pytest.mark.parametrize("broker", SERVERS)
def test_a_network_that_leads_nowhere_for_a_while_delays_and_loses_nothing(broker: str, folder: Path) -> None:
    runs_alone("tests.live.parted", broker, str(folder))
