"""Workers that are killed at each point of a saga's flight. Another worker continues from there."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import Struct

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import fleet, wait_until

SCRIPTED = Path(__file__).parents[1] / "scripted.py"

_FAILS: Mapping[str, list[str]] = {"do 1": ["fatal"]}
_STUCK: Mapping[str, list[str]] = {"do 1": ["fatal"], "undo 1": ["fatal", "fatal"]}


class Death(Struct, frozen=True):
    """Point of a flight at which the worker dies, and the calls that are expected over all runs.

    In ``calls``, d1 stands for the ``do`` of step 1, and u1 for its ``undo``. ``answers`` are the scripted answers of
    the steps.
    """

    dies: str
    calls: str
    state: State = State.SUCCEEDED
    answers: Mapping[str, list[str]] = {}


_DEATHS = (
    Death("taken up", "d0 d1 d2"),
    Death("before do 0", "d0 d1 d2"),
    Death("in do 0", "d0 d0 d1 d2"),
    Death("in do 1", "d0 d1 d1 d2"),
    Death("behind do 1: success", "d0 d1 d1 d2"),
    Death("before do 1", "d0 d1 d2"),
    Death("while do 1 waits for its retry", "d0 d1 d1 d2", answers={"do 1": ["retry"]}),
    Death("before do 1 again", "d0 d1 d1 d1 d2", answers={"do 1": ["rerun", "rerun"]}),
    Death("behind do 1: rerun", "d0 d1 d1 d1 d2", answers={"do 1": ["rerun", "rerun"]}),
    Death("behind do 2: success", "d0 d1 d2 d2"),
    Death("landed: succeeded", "d0 d1 d2"),
    Death("behind do 1: fatal", "d0 d1 d1 u1 u0", State.FAILED, {"do 1": ["fatal", "fatal"]}),
    # The worker dies before the failure is recorded. So the step is called again, and succeeds.
    Death("behind do 1: fatal", "d0 d1 d1 d2", State.SUCCEEDED, _FAILS),
    Death("before undo 1", "d0 d1 u1 u0", State.FAILED, _FAILS),
    Death("in undo 1", "d0 d1 u1 u1 u0", State.FAILED, _FAILS),
    Death("behind undo 1: success", "d0 d1 u1 u1 u0", State.FAILED, _FAILS),
    Death("while undo 1 waits for its retry", "d0 d1 u1 u1 u0", State.FAILED, _FAILS | {"undo 1": ["retry"]}),
    Death("before undo 0", "d0 d1 u1 u0", State.FAILED, _FAILS),
    Death("in undo 0", "d0 d1 u1 u0 u0", State.FAILED, _FAILS),
    Death("landed: undone", "d0 d1 u1 u0", State.FAILED, _FAILS),
    # The failure of an undo was recorded, but not judged. The undo is tried once more.
    Death("landed: undo_failed", "d0 d1 u1 u1", State.FATAL, _STUCK),
    Death("behind undo 1: fatal", "d0 d1 u1 u1", State.FATAL, _STUCK),
)
_WAITS = Death("landed: suspended", "d0 d1 d2", answers={"do 1": ["wait"]})


@pytest.mark.timeout(300)
def test_a_flight_continues_where_its_worker_died(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    broker = connect(rabbitmq)
    client = Client(ledger, broker.publish)
    deaths = dict(enumerate((*_DEATHS, _WAITS)))
    waiting = JobName("pointed", str(len(_DEATHS)))
    with fleet(3, folder, ledger=live_ledger_url, broker=rabbitmq, apps=str(SCRIPTED), threads=1) as workers:
        client.submit_many([_submission(place, death) for place, death in deaths.items()])
        wait_until(
            lambda: _died(folder, deaths) and len(_ended(ledger)) == len(_DEATHS),
            within_s=200,
            meanwhile=workers.revive,
            explain=lambda: f"{_ended(ledger)}\n{workers.log()[-3000:]}",
        )
        wait_until(lambda: _state(ledger, waiting) is State.SUSPENDED, within_s=30, meanwhile=workers.revive)
        assert _calls(folder)[waiting.key] == "d0 d1"
        client.resume_job(waiting, "go")
        wait_until(lambda: _state(ledger, waiting) is State.SUCCEEDED, within_s=30, meanwhile=workers.revive)
        log = workers.log()
    broker.close()
    calls, ended = _calls(folder), _ended(ledger)
    came_to = {place: (death.dies, calls[str(place)], ended[str(place)]) for place, death in deaths.items()}
    assert came_to == {place: (death.dies, death.calls, death.state) for place, death in deaths.items()}
    for place, death in deaths.items():
        assert _made(folder, place) == _left(death), death.dies
    assert log.count("DISMAL FAILURE") >= sum(death.state is State.FATAL for death in deaths.values())
    assert ledger.transact(breaches) == []


def _left(death: Death) -> set[int]:
    """Return the steps with effects that are left in the end: all, none, or the ones up to the failed undo."""
    return {State.SUCCEEDED: {0, 1, 2}, State.FAILED: set(), State.FATAL: {0, 1}}[death.state]


def _submission(place: int, death: Death) -> Submission:
    kwargs = {"dies": death.dies, "answers": death.answers}
    return Submission(app="pointed", key=str(place), kwargs=kwargs, id=f"death{place}")


def _died(folder: Path, deaths: Mapping[int, Death]) -> bool:
    return all((folder / f"effects.pointed.{place}.died").exists() for place in deaths)


def _made(folder: Path, place: int) -> set[int]:
    return {int(file.suffix[1:]) for file in folder.glob(f"effects.pointed.{place}.made.*")}


def _calls(folder: Path) -> dict[str, str]:
    calls: dict[str, str] = {}
    for line in (folder / "effects").read_text().splitlines():
        _, key, call, step = line.split()
        calls[key] = f"{calls.get(key, '')} {call[0]}{step}".strip()
    return calls


def _ended(ledger: Ledger) -> dict[str, State]:
    rows = ledger.transact(lambda tx: tx.rows("SELECT key, state FROM job ORDER BY id"))
    return {key: State(state) for key, state in rows if state in {State.SUCCEEDED, State.FAILED, State.FATAL}}


def _state(ledger: Ledger, name: JobName) -> State:
    found = ledger.transact(
        lambda tx: tx.column("SELECT state FROM job WHERE app = %(app)s AND key = %(key)s", **name._asdict())
    )
    return State(found[0])
