"""Broken guards: the judge, and the chaos, notice each."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sluice.actors import worker
from sluice.ledger import finishing
from tests.chaos import mutants, run
from tests.chaos.checker import named
from tests.chaos.mutants import BROKEN
from tests.chaos.tales import Tale, judged
from tests.private_servers import PATH

#: For those that a run shows: so long everything goes wrong, and so long what is left has to end, which it may not.
SECONDS, SETTLE_WITHIN_S = 10.0, 30.0
TOLD = {name: broken for name, broken in BROKEN.items() if broken.tale}


@pytest.mark.parametrize("name", TOLD)
def test_a_broken_guard_is_noticed_where_its_tale_is_told(
    name: str, embedded_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = TOLD[name]
    broken.apply(monkeypatch)
    found = judged(embedded_url, tmp_path, _tale(name))
    assert named(broken.rule) in {violation.rule for violation in found}


@pytest.mark.parametrize("name", TOLD)
def test_where_the_guard_stands_the_same_tale_ends_well(name: str, embedded_url: str, tmp_path: Path) -> None:
    assert judged(embedded_url, tmp_path, _tale(name)) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name, broken in BROKEN.items() if broken.in_chaos])
def test_a_broken_guard_is_noticed_in_chaos(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("redis-server", path=PATH) is None:
        pytest.skip("install redis-server: without it there is no run that could show this")
    monkeypatch.setattr(run, "_SETTLE_WITHIN_S", SETTLE_WITHIN_S)
    worker = (sys.executable, "-m", "tests.chaos.mutants", name, "--")
    options = run.Options(seconds=SECONDS, seed=1, broker="redis", worker=worker, keep=tmp_path)
    found = {violation.partition(":")[0] for violation in run.run(options).violations}
    assert found & {named(rule) for rule in BROKEN[name].in_chaos}


def test_a_worker_is_started_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Sequence[str], bool]] = []

    def start(arguments: Sequence[str]) -> int:
        seen.append((arguments, "job.claim = given.claim" in finishing._FINISH))
        return 0

    monkeypatch.setattr(worker, "main", start)
    assert mutants.main(["a late worker's success is taken", "--", "--queues", "a"]) == 0
    assert seen == [(["--queues", "a"], False)]


def test_a_guard_that_there_is_not_cannot_be_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.main(["nobody knows", "--"]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in BROKEN)


def _tale(name: str) -> Tale:
    tale = TOLD[name].tale
    assert tale is not None
    return tale
