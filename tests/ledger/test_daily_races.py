"""Races of the ends of jobs that make days of a table, with each other and with operations on the same tables.

Each act is stopped at every statement. A day of which all jobs have succeeded is recorded once with their contents.
Partitions that read it are stale exactly if their job began before the last of these successes.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest

from sluice.actors.executor import transactions
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Ended, Executed, Message
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.keyspaces import daily_tables, partitions
from sluice.ledger.keyspaces.daily_tables import CompleteDay
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.ledger.lineages import ask, named, ready, stale, take, there, work_off
from tests.ledger.partition_races import land, plan
from tests.ledger.races import Act, Acts, meet_and_finish
from tests.ledger.test_table_readers import stale_days
from tests.world import World

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 90
_DAY = "2024-04-01"
_KEYS = ("20240401_g", "20240401_o")
_STEP = f"roll/{_DAY}"
_CALENDAR = Calendar("day")
_KEYED = {
    "bash_cmd": "true",
    "job_id": "{date}_{shop}",
    "identifiers": {"date": "date"},
    "autofill_values": {"shop": ["g", "o"]},
}
#: The jobs of ``clean`` make the days of ``sales``, which ``roll`` reads.
APPS: dict[str, Any] = {
    "clean": {**_KEYED, "output_table": "sales"},
    "roll": {"bash_cmd": "true", "partition": "day", "table_dependencies": [{"table": "sales"}]},
}
#: The same jobs, which read a table that is landed.
READING = APPS | {"clean": APPS["clean"] | {"table_dependencies": [{"table": "rates"}]}}
_BEGUN = "SELECT max(running_at) FROM round JOIN job ON job.id = round.job WHERE app = %(app)s"
_ENDED = f"SELECT max(changed_at) FROM job WHERE app = 'clean' AND state = '{State.SUCCEEDED}'"
_SUCCESSES = f"""
SELECT DISTINCT job.key FROM transition JOIN job ON job.id = transition.job
WHERE job.app = 'clean' AND transition.target = '{State.SUCCEEDED}' ORDER BY 1
"""


class Meeting(Acts):
    """World with the jobs of one day. ``apps`` are its definitions."""

    apps = APPS

    def __init__(self, url: str) -> None:
        super().__init__(url)
        # A claim takes its time after it has locked its job, so a time for each transaction would not do.
        self.world.now = None  # type: ignore[assignment] - the database's clock decides
        self.world.worker = self.world.hire()
        self.world.define(self.apps)
        self.world.submit("clean", None, start=_DAY, end=_DAY)

    def take(self, key: str) -> ClaimedJob:
        return self.world.take(f"clean/{key}")

    def succeed(self, claimed: ClaimedJob) -> Act:
        """Record the success of a run, and report it."""
        succeed = self.succeed_unreported(claimed)
        return lambda ledger: self._report(ledger, succeed(ledger))

    def succeed_unreported(self, claimed: ClaimedJob) -> Act:
        outcome = {claimed.right: Outcome(ending=Ending.DONE)}
        return lambda ledger: transactions.settle(ledger, self.world.catalogue, outcome).messages

    def run_again(self, key: str) -> Act:
        """Run a job again, from the request to the report of its success."""
        rerun = self.plan("clean", key, rerun="job")
        claim = self.claim(f"clean/{key}")

        def act(ledger: Ledger) -> list[Message]:
            sent = [*rerun(ledger), *claim(ledger)]
            return [*sent, *(each for claimed in self.taken for each in self.succeed(claimed)(ledger))]

        return act

    def _report(self, ledger: Ledger, sent: Sequence[Message]) -> list[Message]:
        reports = [each for each in sent if isinstance(each, Ended | Executed)]
        answers = [each for report in reports for each in handle(ledger, self.world.catalogue, report)]
        return [*(each for each in sent if each not in reports), *answers]

    def made(self) -> None:
        """Make the day."""
        for key in _KEYS:
            self.succeed(self.take(key))(self.world.ledger)


Pair = Callable[[Meeting], tuple[Act, Act]]


def the_last_two_ends(m: Meeting) -> tuple[Act, Act]:
    one, other = (m.take(key) for key in _KEYS)
    return m.succeed(one), m.succeed(other)


def the_last_two_reports(m: Meeting) -> tuple[Act, Act]:
    """Both jobs have ended, and no end is reported yet."""
    one, other = (m.succeed_unreported(m.take(key))(m.world.ledger) for key in _KEYS)
    return m.handle(*one), m.handle(*other)


def the_last_two_ends_under_a_waiting_step(m: Meeting) -> tuple[Act, Act]:
    ask(m.world, "roll", _DAY)
    return the_last_two_ends(m)


def the_last_end_and_a_plan_that_reads_the_day(m: Meeting) -> tuple[Act, Act]:
    one, other = (m.take(key) for key in _KEYS)
    m.succeed(one)(m.world.ledger)
    return m.succeed(other), plan(m.world, "roll", _DAY, _DAY)


def a_late_report_and_another_run(m: Meeting) -> tuple[Act, Act]:
    """The first success of the last job is reported while the other job runs again."""
    one, other = (m.take(key) for key in _KEYS)
    m.succeed(one)(m.world.ledger)
    late = m.succeed_unreported(other)(m.world.ledger)
    return m.handle(*late), m.run_again(_KEYS[0])


def another_end_and_the_end_of_a_step(m: Meeting) -> tuple[Act, Act]:
    m.made()
    ask(m.world, "roll", _DAY)
    step = take(m.world, _STEP)
    m.world.submit("clean", _KEYS[0], rerun="job")
    return m.succeed(m.take(_KEYS[0])), m.succeed(step)


def another_end_and_the_claim_of_a_step(m: Meeting) -> tuple[Act, Act]:
    """A job of the day has run again, when a step begins that reads the day."""
    m.made()
    m.world.submit("clean", _KEYS[0], rerun="job")
    claimed = m.take(_KEYS[0])
    ask(m.world, "roll", _DAY)
    return m.succeed(claimed), m.claim(named(m.world, _STEP))


MEETINGS: list[Pair] = [
    the_last_two_ends,
    the_last_two_reports,
    the_last_two_ends_under_a_waiting_step,
    the_last_end_and_a_plan_that_reads_the_day,
    a_late_report_and_another_run,
    another_end_and_the_end_of_a_step,
    another_end_and_the_claim_of_a_step,
]


@pytest.mark.parametrize("arrange", MEETINGS, ids=lambda arrange: arrange.__name__)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_day_is_recorded_once_and_its_readers_are_stale_if_they_began_before(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch, arrange: Pair, swapped: bool
) -> None:
    recorded: list[CompleteDay] = []
    record = daily_tables.record

    def recording(tx: Tx, table: str, version: str, days: Sequence[CompleteDay], stale: Any = ()) -> None:
        recorded.extend(days)
        record(tx, table, version, days, stale)

    monkeypatch.setattr(daily_tables, "record", recording)

    def make() -> Meeting:
        recorded.clear()
        return Meeting(embedded_url)

    def finish(m: Meeting) -> None:
        _finish(m)
        contents = [day.contents for day in recorded]
        assert len(contents) == len({*contents}), "the same contents are recorded twice"

    meet_and_finish(make, arrange, finish, swapped=swapped, most=STATEMENTS_MAX)


def _finish(m: Meeting) -> None:
    """Make the partition that reads the day, and check both."""
    world = m.world
    if _STEP in ready(world):
        assert world.ledger.transact(lambda tx: tx.column(_SUCCESSES)) == [*_KEYS]
    for claimed in m.taken:
        if claimed.app == "roll":
            m.succeed(claimed)(world.ledger)
    work_off(world)
    jobs = {_CALENDAR.read(_DAY): [JobName("clean", key) for key in _KEYS]}
    changed = world.ledger.transact(lambda tx: daily_tables.changed(tx, "sales", _CALENDAR.unit, jobs))
    assert changed == [], "the recorded contents are not the present ones"
    if there(world, "roll"):
        begun, ended = (_time(world, sql, app="roll") for sql in (_BEGUN, _ENDED))
        assert stale(world, "roll") == ([_DAY] if begun < ended else [])
    assert {*world.states().values()} == {State.SUCCEEDED}


def _time(world: World, sql: str, **words: str) -> datetime:
    moment: datetime = world.ledger.transact(lambda tx: tx.column(sql, **words))[0]
    return moment


class Reading(Meeting):
    """World in which the jobs of the day read a partition that has landed."""

    apps = READING

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.land("rates", _DAY)


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_day_is_stale_if_an_input_of_its_jobs_lands_again_while_the_last_one_ends(
    embedded_url: str, swapped: bool
) -> None:
    def arrange(m: Reading) -> tuple[Act, Act]:
        one, other = (m.take(key) for key in _KEYS)
        m.succeed(one)(m.world.ledger)
        return m.succeed(other), land(m.world, "rates", _DAY, again=True)

    def finish(m: Reading) -> None:
        assert stale_days(m.world, "sales") == [_DAY]

    meet_and_finish(lambda: Reading(embedded_url), arrange, finish, swapped=swapped, most=STATEMENTS_MAX)


_TWICE = "the same contents are recorded twice"


def _without_table_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "lock_tables", lambda tx, tables: None)


@pytest.mark.parametrize(
    ("arrange", "broken"),
    [
        (the_last_two_reports, _TWICE),
        # Which of the two happens depends on the order of the commits.
        (a_late_report_and_another_run, f"{_TWICE}|the recorded contents are not the present ones"),
    ],
)
def test_without_the_lock_of_the_table_the_ends_of_a_day_disturb_each_other(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch, arrange: Pair, broken: str
) -> None:
    """Show that the races can fail."""
    _without_table_locks(monkeypatch)
    with pytest.raises(AssertionError, match=broken):
        test_a_day_is_recorded_once_and_its_readers_are_stale_if_they_began_before(
            embedded_url, monkeypatch, arrange, False
        )


def test_without_the_lock_of_the_table_a_landing_overlooks_a_day_that_becomes_complete(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_table_locks(monkeypatch)
    with pytest.raises(AssertionError, match=r"assert \[\] == \['2024-04-01'\]"):
        test_a_day_is_stale_if_an_input_of_its_jobs_lands_again_while_the_last_one_ends(embedded_url, False)


def test_without_the_lock_of_its_makers_a_change_of_a_day_overlooks_a_step_that_begins(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daily_tables, "hold_makers", lambda *_: None)
    with pytest.raises(AssertionError, match=r"assert \[\] == \['2024-04-01'\]"):
        test_a_day_is_recorded_once_and_its_readers_are_stale_if_they_began_before(
            embedded_url, monkeypatch, another_end_and_the_claim_of_a_step, True
        )
