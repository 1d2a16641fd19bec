"""The health file of a worker, and the probes of docs/observe.md that read it."""

import os
import re
import subprocess
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from sluice.actors.settings.settings import read_settings
from sluice.actors.worker.health_file import WorkerHealth
from sluice.jobs.errors import BadSetting, Unreachable
from tests.actors.ledgers import Refusing, Silent
from tests.actors.test_heartbeat import LEASE_S, Life
from tests.jobs.runners.runner_bench import eventually
from tests.ops.typist import ROOT
from tests.world import World

_PROBES = re.findall(r"^(find .*?) +# (\w+)$", (ROOT / "docs" / "observe.md").read_text(), re.MULTILINE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "health"


def probe(file: Path, kind: str) -> bool:
    """Return whether a probe of the documentation passes."""
    command = {kind: command for command, kind in _PROBES}[kind].replace("/tmp/sluice-health", str(file))
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert not done.stderr or not file.exists(), done.stderr
    return done.returncode == 0


def age(file: Path, seconds: float) -> None:
    """Make the file this old, as if no heartbeat had written it since."""
    then = file.stat().st_mtime - seconds
    os.utime(file, (then, then))


def written(file: Path) -> WorkerHealth:
    return msgspec.json.decode(file.read_bytes(), type=WorkerHealth)


def is_written_again(file: Path) -> bool:
    """Return whether a heartbeat replaces the file."""
    age(file, 3600)
    eventually(lambda: probe(file, "liveness"))
    return True


def test_a_worker_at_work_passes_both_probes_until_it_ends(world: World, file: Path) -> None:
    file.write_text("left by a worker that was killed")
    with closing(Refusing(world)) as ledger:
        life = Life(world, ledger, health_file=file)
        life.line.start()
        found = written(file)
        assert (found.pid, found.worker, found.ready) == (os.getpid(), life.id, True)
        assert found.renewed_at is not None
        assert found.lease_s == LEASE_S
        assert probe(file, "liveness")
        assert probe(file, "readiness")
        assert is_written_again(file)
        life.line.end()
    assert [*file.parent.iterdir()] == []
    assert not probe(file, "liveness")
    assert not probe(file, "readiness")


def test_an_unreachable_ledger_makes_a_worker_unready_and_does_not_restart_it(
    world: World, file: Path
) -> None:
    with closing(Refusing(world)) as ledger:
        life = Life(world, ledger, health_file=file)
        life.line.start()
        ledger.refuse(Unreachable("It is away."))
        eventually(lambda: not written(file).ready)
        assert is_written_again(file)
        assert not probe(file, "readiness")
        ledger.relent()
        eventually(lambda: written(file).ready)
        life.line.end()


def test_a_heartbeat_that_hangs_or_is_refused_lets_the_file_age(world: World, file: Path) -> None:
    with closing(Silent(world)) as silent:
        life = Life(world, silent, health_file=file)
        life.line.start()
        silent.hang()
        assert silent.is_waited_for()
        age(file, 60)
        assert (probe(file, "liveness"), probe(file, "readiness")) == (True, False)
        age(file, 300)
        assert not probe(file, "liveness")
        silent.answer()
        life.line.end()
    with closing(Refusing(world)) as refusing:
        life = Life(world, refusing, health_file=file)
        life.line.start()
        refusing.refuse(BadSetting("This role may not do it."))
        assert refusing.has_refused(1)
        age(file, 3600)
        assert refusing.has_refused(2)
        assert not probe(file, "liveness")
        life.line.end()


def test_a_file_that_cannot_be_written_is_logged_once_and_stops_nothing(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Refusing(world)) as ledger:
        life = Life(world, ledger, health_file=tmp_path / "missing" / "health")
        life.line.start()
        life.line.beat()
        life.line.beat()
        assert life.lease_left_s() > 0
        life.line.end()
    assert [each.levelname for each in caplog.records if "health file" in each.message] == ["ERROR"]


def test_without_the_setting_no_file_is_written(tmp_path: Path) -> None:
    assert read_settings({}, folder=tmp_path).health_path is None
    assert read_settings({"SLUICE_HEALTH_PATH": "/run/h"}, folder=tmp_path).health_path == Path("/run/h")
