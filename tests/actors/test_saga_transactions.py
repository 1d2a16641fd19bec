"""``flight.transaction`` on the ledger: the writes of a step and its entry in the journal are one transaction."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sluice.actors.executor.job_services import RunJournal
from sluice.jobs.catalogue import load
from sluice.jobs.errors import Unreachable
from sluice.jobs.states import State
from sluice.ops.simulation.pipeline import with_contexts
from tests.actors.bench import Bench

SOURCE = """
from sluice import Step, saga


class Book(Step):
    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        return self._name

    def do(self, flight):
        if flight.context is not None:
            flight.context(self._name)
        with flight.transaction() as connection:
            connection.execute("INSERT INTO effect VALUES (%s)", (self._name,))
            flight.working[self._name] = flight.claim
            assert not flight.cancelled

    def undo(self, flight):
        with flight.transaction() as connection:
            connection.execute("DELETE FROM effect WHERE key = %s", (self._name,))


class Refuse(Step):
    def do(self, flight):
        if "refuses" in flight.inputs:
            raise RuntimeError("refused")


@saga(job_id="{x}")
def trip(flight):
    return [Book("hotel"), Book("train"), Refuse()]
"""


@pytest.fixture
def agency(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "agency.py").write_text(SOURCE)
    bench.world.catalogue = load([str(tmp_path / "agency.py")])
    return bench


def fly(agency: Bench, **kwargs: Any) -> None:
    agency.world.submit("trip", kwargs=kwargs)
    agency.hint("trip")


def test_the_writes_of_the_steps_and_their_entries_are_committed(agency: Bench) -> None:
    fly(agency)
    agency.judge()
    assert agency.world.state("trip") is State.SUCCEEDED
    assert agency.effects() == 2
    (seq, working), *_ = agency.world.ledger.transact(
        lambda tx: tx.rows("SELECT seq, working FROM saga_journal ORDER BY seq DESC")
    )
    assert (seq, working) == (3, {"hotel": 1, "train": 1})


def test_an_undo_commits_its_writes(agency: Bench) -> None:
    fly(agency, refuses=True)
    agency.judge()
    assert agency.world.state("trip") is State.FAILED
    assert agency.effects() == 0


def test_a_run_that_lost_its_claim_leaves_no_writes_of_the_step(agency: Bench) -> None:
    world = agency.world

    def lose_the_claim(step: str) -> None:
        if step == "train":
            world.tick(after_s=60)
            world.beat(agency.worker)

    world.catalogue, unharmed = (
        with_contexts(world.catalogue, {"trip": lose_the_claim}),
        world.catalogue,
    )
    fly(agency)
    assert (agency.effects(), world.state("trip")) == (1, State.READY)
    world.catalogue = unharmed
    agency.hint("trip")
    agency.judge()
    assert (agency.effects(), world.state("trip")) == (2, State.SUCCEEDED)


def test_a_lost_answer_to_the_commit_is_found_out(agency: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker asks the journal, and neither repeats the step nor undoes it."""
    opened = RunJournal.transaction

    def breaks(self: RunJournal) -> Iterator[Any]:
        with opened(self) as transaction:
            yield transaction
        raise Unreachable("The connection is gone.")

    monkeypatch.setattr(RunJournal, "transaction", contextmanager(breaks))
    fly(agency)
    agency.judge()
    assert agency.world.state("trip") is State.SUCCEEDED
    assert agency.effects() == 2
