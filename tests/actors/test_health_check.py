"""``python -m sluice.actors.checkup``: the check whether a worker of this machine is at work."""

import socket
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from sluice.actors.checkup import ABSENT, main
from sluice.ledger.recovery import leases
from tests.ops.typist import NO_LEDGER
from tests.world import World


@pytest.fixture(autouse=True)
def _settings(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_LEDGER_URL", world.url)
    world.now = datetime.now(UTC)


def _hire(world: World, queues: list[str], *, host: str | None = None, lease_s: float = 3600.0) -> None:
    world.ledger.transact(
        lambda tx: leases.join(
            tx,
            uuid4(),
            host=host or socket.gethostname(),
            pid=7,
            queues=queues,
            threads=1,
            lease_s=lease_s,
        )
    )


def test_a_worker_is_at_work_while_its_lease_is_valid(world: World) -> None:
    assert main(["--queues", "a,b"]) == ABSENT
    _hire(world, ["a", "b"])
    assert main(["--queues", "a, b"]) == 0


def test_a_worker_of_another_machine_or_of_other_queues_does_not_count(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    _hire(world, ["a"], host="elsewhere")
    _hire(world, ["b"])
    assert main(["--queues", "a"]) == ABSENT
    assert "no worker of this machine" in capsys.readouterr().err
    assert main([]) == ABSENT
    _hire(world, [])
    assert main([]) == 0


def test_a_worker_with_an_ended_lease_is_not_at_work(world: World) -> None:
    _hire(world, ["a"], lease_s=-1.0)
    assert main(["--queues", "a", "--alive"]) == ABSENT


def test_an_unreachable_ledger_fails_the_check_unless_it_is_for_liveness(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sluice.ledger.database.connection.PATIENCE_S", 0.2)
    assert main(["--ledger", NO_LEDGER]) == 3
    assert main(["--ledger", NO_LEDGER, "--alive"]) == 0
    assert "does not answer" in capsys.readouterr().err


def test_the_check_does_not_start_an_embedded_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_LEDGER_URL")
    assert main([]) == 2
