"""Two installations that are configured with one broker: the second does not start unless it takes the broker over."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from sluice.actors.settings.settings import read_settings
from sluice.actors.worker.startup import wait_for_servers
from sluice.jobs.errors import ForeignBroker
from tests.ops.typist import Typist
from tests.servers import redis_url

APPS = {"a": {"job_id": "{x}", "bash_cmd": "true"}}


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Typist, Typist]]:
    """Yield two folders with a ledger each and one Redis. The second ledger is marked as a copy, so it has its own
    identity.
    """
    with redis_url() as url:
        made = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            typist = Typist(tmp_path / name, SLUICE_BROKER_URL=url)
            typist.apps("apps.json", APPS)
            typist.environment["SLUICE_APPS"] = "apps.json"
            made.append(typist)
            typist.asks("db", "upgrade")
        alone = Typist(tmp_path / "two")
        assert alone.types("db", "restored", "--copy").code == 0
        yield made[0], made[1]


def test_the_second_installation_does_not_start(two: tuple[Typist, Typist]) -> None:
    first, second = two
    assert first.types("up", "--drain").code == 0
    for words in (("up", "--drain"), ("console", "--listen", "127.0.0.1:0")):
        said = second.types(*words)
        assert said.code == 2
        assert "belongs to another installation" in said.err
    settings = read_settings(second.environment, folder=second.folder)
    with pytest.raises(ForeignBroker):
        wait_for_servers(replace(settings, home=second.folder / ".sluice"), "planner")


def test_a_submission_stays_in_the_ledger_of_its_installation(two: tuple[Typist, Typist]) -> None:
    first, second = two
    assert first.types("up", "--drain").code == 0
    assert second.types("submit", "a", "1", "--id", "mine").code == 0
    assert second.asks("submissions", "mine")["state"] == "received"
    assert first.asks("submissions") == []


def test_an_installation_can_take_over_the_broker(two: tuple[Typist, Typist]) -> None:
    first, second = two
    assert first.asks("broker", "take")["before"] is None
    taken = second.asks("broker", "take")
    assert taken["before"]["id"] != taken["owner"]["id"]
    assert second.types("up", "--drain").code == 0
    assert first.types("up", "--drain").code == 2
