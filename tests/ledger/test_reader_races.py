"""Races of a plan for a job with a key that reads tables, with operations on these tables and on their jobs.

Each act is stopped at every statement. The job never waits indefinitely, and starts only when all partitions that it
reads exist.
"""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.actors.executor import transactions
from sluice.actors.planner import table_plans
from sluice.broker.messages import Message
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.job_graph import dependencies
from sluice.ledger.keyspaces import partitions
from sluice.ledger.lifecycle import plans
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.ledger.lineages import ask, ready, states, take, work_off
from tests.ledger.partition_races import land, record
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 110
_READER = "price/20240402"
_DAYS = ("2024-04-01", "2024-04-02")
_KEYED = {"bash_cmd": "true", "identifiers": {"date": "date"}}
_PRICE = {
    **_KEYED,
    "job_id": "{date}",
    "table_dependencies": [{"table": "rates", "start_offset": 1}],
}
#: Three makers of the table that ``price`` reads for two days: another system, steps, and jobs with keys.
EXTERNAL: dict[str, Any] = {"price": _PRICE}
STEPS: dict[str, Any] = {"price": _PRICE, "rates": {"bash_cmd": "true", "partition": "day"}}
KEYED: dict[str, Any] = {
    "price": _PRICE,
    "rate": {
        **_KEYED,
        "job_id": "{date}_{bank}",
        "autofill_values": {"bank": ["a", "b"]},
        "output_table": "rates",
    },
}
_EXISTING = """
SELECT partition FROM partition WHERE table_name = 'rates' AND done_at IS NOT NULL AND stale_since IS NULL ORDER BY 1
"""


class Meeting(Acts):
    def reader(self, **words: Any) -> Act:
        """Submit the reader and plan it."""
        return self.plan("price", "20240402", id="reader", **words)

    def define(self, apps: dict[str, Any], **words: Any) -> None:
        self.world.define({name: {**app, **words} for name, app in apps.items()})

    def settle(self, claimed: ClaimedJob, ending: Ending = Ending.DONE) -> Act:
        """Record the outcome of a run of a job with a key."""
        outcome = {claimed.right: Outcome(ending=ending, error=None if ending is Ending.DONE else "broke")}

        def act(ledger: Ledger) -> list[Message]:
            sent = transactions.settle(ledger, self.world.catalogue, outcome).messages
            return [*sent, *self._judged(ledger, claimed, ending)]

        return act

    def _judged(self, ledger: Ledger, claimed: ClaimedJob, ending: Ending) -> list[Message]:
        return [] if ending is Ending.DONE else self.judge(claimed.id)(ledger)


Pair = Callable[[Meeting], tuple[Act, Act]]


def a_landing(m: Meeting) -> tuple[Act, Act]:
    m.define(EXTERNAL)
    m.world.land("rates", _DAYS[0])
    return m.reader(), land(m.world, "rates", _DAYS[1])


def a_landing_again(m: Meeting) -> tuple[Act, Act]:
    m.define(EXTERNAL)
    m.world.land("rates", *_DAYS)
    return m.reader(), land(m.world, "rates", _DAYS[1], again=True)


def a_landing_of_a_partition_that_an_app_fills(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS)
    return m.reader(), land(m.world, "rates", _DAYS[1])


def the_success_of_a_step(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS)
    ask(m.world, "rates", *_DAYS)
    return m.reader(), record(m.world, take(m.world, f"rates/{_DAYS[1]}"))


def the_failure_of_a_step(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS)
    ask(m.world, "rates", *_DAYS)
    return m.reader(), record(m.world, take(m.world, f"rates/{_DAYS[1]}"), Ending.ERROR)


def another_round_of_a_step(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS, max_fails=1)
    ask(m.world, "rates", *_DAYS)
    return m.reader(), record(m.world, take(m.world, f"rates/{_DAYS[1]}"), Ending.ERROR)


def a_cancellation_of_ready_steps(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS)
    return m.reader(), m.cancel(ask(m.world, "rates", *_DAYS))


def a_cancellation_of_a_running_step(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS)
    id_ = ask(m.world, "rates", *_DAYS)
    take(m.world, f"rates/{_DAYS[1]}")
    return m.reader(), m.cancel(id_)


def a_cancellation_of_another_submission_of_the_reader(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS)
    return m.reader(), m.cancel(m.world.submit("price", "20240402"))


def the_last_success_of_a_day(m: Meeting) -> tuple[Act, Act]:
    m.define(KEYED)
    m.world.submit("rate", None, start=_DAYS[0], end=_DAYS[1])
    work_off(m.world, only="rate/20240401")
    work_off(m.world, only="rate/20240402_a")
    return m.reader(), m.settle(m.world.take("rate/20240402_b"))


def the_failure_of_a_job_of_a_day(m: Meeting) -> tuple[Act, Act]:
    m.define(KEYED)
    m.world.submit("rate", None, start=_DAYS[0], end=_DAYS[1])
    return m.reader(), m.settle(m.world.take("rate/20240402_b"), Ending.ERROR)


def a_cancellation_of_the_jobs_of_a_day(m: Meeting) -> tuple[Act, Act]:
    m.define(KEYED)
    id_ = m.world.submit("rate", None, start=_DAYS[0], end=_DAYS[1])
    m.world.take("rate/20240402_b")
    return m.reader(), m.cancel(id_)


def a_landing_of_a_day_that_jobs_make(m: Meeting) -> tuple[Act, Act]:
    m.define(KEYED)
    return m.reader(), land(m.world, "rates", _DAYS[1])


def another_plan_of_the_reader(m: Meeting) -> tuple[Act, Act]:
    m.define(STEPS)
    return m.reader(), m.plan("price", "20240403", id="other")


MEETINGS: list[Pair] = [
    a_landing,
    a_landing_again,
    a_landing_of_a_partition_that_an_app_fills,
    the_success_of_a_step,
    the_failure_of_a_step,
    another_round_of_a_step,
    a_cancellation_of_ready_steps,
    a_cancellation_of_a_running_step,
    a_cancellation_of_another_submission_of_the_reader,
    the_last_success_of_a_day,
    the_failure_of_a_job_of_a_day,
    a_cancellation_of_the_jobs_of_a_day,
    a_landing_of_a_day_that_jobs_make,
    another_plan_of_the_reader,
]
#: Pairs in which the reader may end as ``upstream_failed``, because its plan may come before the failure.
FAIL = {the_failure_of_a_step, the_failure_of_a_job_of_a_day}


@pytest.mark.parametrize("arrange", MEETINGS, ids=lambda arrange: arrange.__name__)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_reader_starts_when_its_partitions_exist_and_always_ends(
    embedded_url: str, arrange: Pair, swapped: bool
) -> None:
    def finish(m: Meeting) -> None:
        finish_all_jobs(m.world, before_each=lambda: _check_start(m))
        # A submission that has missed the end of a job is settled by the groomer.
        m.world.tick(after_s=1)
        failed = {State.UPSTREAM_FAILED} if arrange in FAIL else set()
        assert states(m.world)[_READER] in {State.SUCCEEDED} | failed
        assert m.world.submission("reader") in {"succeeded", *({"failed"} if failed else ())}

    meet_and_finish(lambda: Meeting(embedded_url), arrange, finish, swapped=swapped, most=STATEMENTS_MAX)


def _check_start(m: Meeting) -> None:
    """Check that both partitions exist if the reader may start."""
    if _READER in ready(m.world):
        found = m.world.ledger.transact(lambda tx: tx.column(_EXISTING))
        assert {*_DAYS} <= {Calendar("day").write(each) for each in found}, "it starts too early"


def _in_both_orders(url: str, arrange: Pair) -> None:
    for swapped in (False, True):
        test_a_reader_starts_when_its_partitions_exist_and_always_ends(url, arrange, swapped)


def test_without_the_locks_of_the_tables_a_reader_waits_for_a_partition_that_has_landed(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the races can fail."""
    monkeypatch.setattr(partitions, "lock_tables", lambda tx, tables: None)
    with pytest.raises(AssertionError, match="WAITING"):
        _in_both_orders(embedded_url, a_landing)


def _without_locks_on_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "_HOLD", partitions._HOLD.replace(" FOR SHARE", ""))
    monkeypatch.setattr(plans, "_HOLD", plans._HOLD.replace(" FOR SHARE", ""))
    monkeypatch.setattr(dependencies, "_HOLD_PARENTS", "SELECT 1 WHERE %(jobs)s::bigint[] IS NOT NULL")


@pytest.mark.parametrize(
    "arrange",
    [
        a_cancellation_of_ready_steps,
        a_cancellation_of_a_running_step,
        a_cancellation_of_the_jobs_of_a_day,
    ],
)
def test_without_the_locks_on_its_parents_a_reader_fails_with_a_cancelled_one(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch, arrange: Pair
) -> None:
    _without_locks_on_parents(monkeypatch)
    with pytest.raises(AssertionError, match="UPSTREAM_FAILED"):
        _in_both_orders(embedded_url, arrange)


@pytest.mark.parametrize(
    "arrange", [the_success_of_a_step, the_failure_of_a_step, the_failure_of_a_job_of_a_day]
)
def test_without_the_locks_on_its_parents_a_reader_waits_for_one_that_has_ended(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch, arrange: Pair
) -> None:
    _without_locks_on_parents(monkeypatch)
    with pytest.raises(AssertionError, match="a job that waits for ended parents"):
        _in_both_orders(embedded_url, arrange)


def test_without_the_needs_of_its_plan_a_reader_starts_too_early(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_plans, "with_tables", lambda catalogue, keyed, layout: keyed)
    with pytest.raises(AssertionError, match="it starts too early"):
        _in_both_orders(embedded_url, the_success_of_a_step)
