"""The example that sums numbers, run as its text describes: workers here, and the manager's program beside them."""

import re
import signal
import subprocess
import sys
import time

import pytest

from sluice.actors.tasks import Tasks
from sluice.jobs.examples.sum.__main__ import _add_up
from sluice.jobs.states import State
from sluice.ledger import managed_tasks
from sluice.ledger.recovery.invariants import breaches
from tests.ops.typist import ROOT, Typist
from tests.world import World

MANAGER = "sluice.jobs.examples.sum"
APPS = str(ROOT / "jobs/examples/sum/apps.yaml")


def _started(desk: Typist, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", MANAGER, *words],
        cwd=desk.folder,
        env=desk.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _keys(desk: Typist) -> list[int]:
    return sorted(map(int, desk.ledger.transact(lambda tx: tx.column("SELECT key FROM job"))))


@pytest.mark.timeout(240)
def test_the_sum_of_the_numbers_from_10_to_100_is_5005(desk_apart: Typist) -> None:
    with desk_apart.starts("--apps", APPS, "up"):
        out, err = _started(desk_apart, "10", "100", "3").communicate(timeout=200)
    assert (out, err) == ("The sum is 5005\n", "")
    keys = _keys(desk_apart)
    # Each task replaces two or three numbers by one, so 31 numbers need 15 to 30 tasks.
    assert keys == list(range(1, len(keys) + 1))
    assert 31 + 15 <= len(keys) <= 31 + 30
    inputs = desk_apart.ledger.transact(
        lambda tx: tx.column("SELECT kwargs ->> 'input' FROM job ORDER BY id")
    )
    assert (inputs[0], inputs[1], inputs[29], inputs[30]) == ("10 11 12", "13 14 15", "97 98 99", "100")
    assert all(1 < len(numbers.split()) <= 3 for numbers in inputs[31:])
    assert desk_apart.ledger.transact(lambda tx: managed_tasks.counts(tx, "add")).left == 0
    assert desk_apart.ledger.transact(breaches) == []


@pytest.mark.timeout(240)
def test_a_manager_that_is_killed_repeatedly_finds_the_same_sum(desk_apart: Typist) -> None:
    out = ""
    with desk_apart.starts("--apps", APPS, "up"):
        for opened in (5, 7, None):
            program = _started(desk_apart, "1", "10", "2")
            deadline = time.monotonic() + 60
            while opened is not None and len(_keys(desk_apart)) < opened:
                assert time.monotonic() < deadline, "the manager opens no task"
                time.sleep(0.02)
            if opened is not None:
                program.send_signal(signal.SIGKILL)
            out, _ = program.communicate(timeout=100)
    assert out == "The sum is 55\n"
    assert set(desk_apart.ledger.transact(lambda tx: tx.column("SELECT state FROM job"))) == {State.SUCCEEDED}


@pytest.mark.timeout(60)
def test_a_manager_ends_if_another_has_archived_its_tasks(world: World) -> None:
    world.define({"add": {"job_id": "{number}", "identifiers": {"number": "int"}, "bash_cmd": "true"}})
    tasks = Tasks(world.ledger, lambda ids: None, "add", world.catalogue)
    with pytest.raises(SystemExit, match="Another program has the sum"):
        _add_up(tasks, 3)


def test_arguments_that_have_no_result_are_refused(desk_apart: Typist) -> None:
    for words, why in ((("10", "100", "1"), "never ends"), (("3", "2", "2"), "no numbers from 3 to 2")):
        program = _started(desk_apart, *words)
        _, err = program.communicate(timeout=60)
        assert program.returncode == 1
        assert re.search(why, err)


@pytest.mark.parametrize("words", [(), ("10", "100"), ("ten", "100", "3"), ("1", "2", "3", "4")])
def test_wrong_arguments_are_answered_with_the_usage(desk: Typist, words: tuple[str, ...]) -> None:
    out, err = (sum_ := _started(desk, *words)).communicate(timeout=30)
    assert (sum_.returncode, out) == (1, "")
    assert err == "Give three whole numbers, m, n and p, like: python -m sluice.jobs.examples.sum 10 100 3\n"
