"""Guards that are broken on purpose. The checker and the chaos run must notice each."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sluice.actors.worker import command
from sluice.ledger.lifecycle import plain_successes
from tests.chaos import mutants, run
from tests.chaos.checker import named
from tests.chaos.mutants import BROKEN
from tests.chaos.scenarios import Tale, judged
from tests.private_servers import PATH

#: Seconds of faults, and seconds in which the rest has to become terminal, for guards that are broken in a run. The
#: rest may never become terminal.
SECONDS, SETTLE_WITHIN_S = 10.0, 30.0
TOLD = {name: broken for name, broken in BROKEN.items() if broken.tale}


@pytest.mark.parametrize("name", TOLD)
def test_a_broken_guard_is_noticed_in_its_scenario(
    name: str, embedded_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = TOLD[name]
    broken.apply(monkeypatch)
    found = judged(embedded_url, tmp_path, _tale(name))
    assert named(broken.rule) in {violation.rule for violation in found}


@pytest.mark.parametrize("name", TOLD)
def test_the_same_scenario_passes_with_the_guard_intact(name: str, embedded_url: str, tmp_path: Path) -> None:
    assert judged(embedded_url, tmp_path, _tale(name)) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name, broken in BROKEN.items() if broken.in_chaos])
def test_a_broken_guard_is_noticed_in_a_chaos_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("redis-server", path=PATH) is None:
        pytest.skip("install redis-server: without it there is no run that could show this")
    monkeypatch.setattr(run, "_SETTLE_WITHIN_S", SETTLE_WITHIN_S)
    worker = (sys.executable, "-m", "tests.chaos.mutants", name, "--")
    options = run.Options(seconds=SECONDS, seed=1, broker="redis", worker=worker, keep=tmp_path)
    found = {violation.partition(":")[0] for violation in run.run(options).violations}
    assert found & {named(rule) for rule in BROKEN[name].in_chaos}


def test_a_worker_process_is_started_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Sequence[str], bool]] = []

    def start(arguments: Sequence[str]) -> int:
        seen.append((arguments, "job.claim = given.claim" in plain_successes._FINISH))
        return 0

    monkeypatch.setattr(command, "main", start)
    assert mutants.main(["a late worker's success is taken", "--", "--queues", "a"]) == 0
    assert seen == [(["--queues", "a"], False)]


def test_an_unknown_guard_name_is_refused_with_the_known_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.main(["nobody knows", "--"]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in BROKEN)


def _tale(name: str) -> Tale:
    tale = TOLD[name].tale
    assert tale is not None
    return tale
