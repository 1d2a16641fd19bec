"""Submissions that kill their planners: such a submission is refused, and other submissions are still planned."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from sluice.actors.handlers import handle
from sluice.actors.plan_attempts import NOT_ITS_TURN, RETRY_S, UNDECIDED, PlanAttempts
from sluice.broker.messages import Message, Plan
from sluice.jobs.identifiers import Value
from sluice.jobs.submission import Submission, SubmissionState
from sluice.ledger import plan_attempts, submissions, unplanned, workers
from sluice.ledger.connection import Ledger, Tx
from tests.jobs.runners.runner_bench import eventually
from tests.ledger.races import Act, Acts, meet
from tests.world import LEASE_S, World

#: Functions that are called while a submission for ``long`` or ``chunks`` is planned.
DURING: list[Callable[[], object]] = []
#: Upper bound for the statements of any planner in these tests.
STATEMENTS_MAX = 40
_APP = {"job_id": "{x}", "bash_cmd": "true"}
APPS = {
    "short": _APP,
    "long": {**_APP, "depends_on": {"_func": f"{__name__}:Long", "app_name": ["short"]}},
    "chunks": {"chunk_size": 2, "bash_cmd": "true", "select_work": f"{__name__}:choose"},
}
_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"


class Long:
    """Two-way function that takes as long as the test needs."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[tuple[str, object]]:
        _reach()
        return []

    def children(self, app: str, ids: Mapping[str, Value]) -> list[tuple[str, object]]:
        return []


def choose(**_: object) -> list[int]:
    _reach()
    return [1, 2]


def _reach() -> None:
    for act in [*DURING]:
        act()


class Killed(BaseException):
    """Raised when a planner's process is killed."""


class Planner:
    """Planner process. After ``die_of`` its attempts stay in the ledger until it records again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.worker = world.hire()
        self.attempts = PlanAttempts(world.ledger, self.worker)

    def plan(self, *ids: str, ledger: Ledger | None = None) -> list[Message]:
        message = Plan(submissions=ids)
        return [*handle(ledger or self.world.ledger, self.world.catalogue, message, self.attempts)]

    def plan_all(self, *ids: str) -> None:
        """Plan these submissions, and the submissions of the messages that result."""
        for message in self.plan(*ids):
            if isinstance(message, Plan):
                self.plan_all(*message.submissions)

    def look_twice(self) -> None:
        """Record the attempts twice, as the process does within one second."""
        self.attempts.record()
        self.attempts.record()

    def die_of(self, *ids: str) -> None:
        """Kill the planner after it has planned for a second."""
        DURING[:] = [self.look_twice, _kill]
        with pytest.raises(Killed):
            self.plan_all(*ids)
        DURING.clear()


def _kill() -> None:
    raise Killed


@pytest.fixture(autouse=True)
def nothing_during() -> Iterator[None]:
    DURING.clear()
    yield
    DURING.clear()


@pytest.fixture
def asked(world: World) -> World:
    """Return a world in which ``short`` and ``long`` were submitted and nothing was planned."""
    world.define(APPS)
    receive(world, "short", "short")
    receive(world, "long", "long")
    return world


def receive(world: World, id: str, app: str, **words: Any) -> None:
    wanted = Submission(app=app, id=id, **({"key": "1"} if app != "chunks" else {}), **words)
    world.ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
    world.now += timedelta(milliseconds=1)


def let_leases_end(world: World) -> None:
    world.now += timedelta(seconds=LEASE_S + 1)


def kill_planners(world: World, *ids: str, times: int) -> None:
    for _ in range(times):
        Planner(world).die_of(*ids)
        let_leases_end(world)


def attempts(world: World) -> list[tuple[str, str]]:
    """Return the recorded attempts: the id of each submission, and its worker."""
    sql = "SELECT id, worker FROM plan_attempt JOIN submission ON number = plan_attempt.submission ORDER BY 1, since"
    return [(id, str(worker)) for id, worker in world.ledger.transact(lambda tx: tx.rows(sql))]


def test_a_submission_that_killed_three_planners_is_refused_and_others_are_planned(asked: World) -> None:
    kill_planners(asked, "long", times=3)
    assert asked.submission("long") is SubmissionState.RECEIVED
    Planner(asked).plan_all("long", "short")
    assert asked.submission("long") is SubmissionState.REFUSED
    assert asked.reason("long").startswith(
        "Planning it ended 3 planners, which were killed or crashed (processes 1 on test, 1 on test, 1 on test)."
    )
    assert asked.submission("short") is SubmissionState.ACTIVE
    assert "long" not in dict(attempts(asked))


@pytest.mark.parametrize("id", ["long", "chunks"])
def test_immediate_deaths_count_once_the_submission_has_waited_long(asked: World, id: str) -> None:
    receive(asked, "chunks", "chunks")
    for recorded in range(4):
        DURING[:] = [_kill]
        with pytest.raises(Killed):
            Planner(asked).plan_all(id)
        assert [of for of, _ in attempts(asked)] == [id] * recorded
        asked.now += timedelta(minutes=2)
    Planner(asked).plan_all(id)
    assert asked.submission(id) is SubmissionState.REFUSED


def test_a_submission_that_killed_only_two_planners_is_planned(asked: World) -> None:
    kill_planners(asked, "long", times=2)
    Planner(asked).plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE
    asked.tick()
    assert attempts(asked) == []


def test_submissions_attempted_with_a_planner_killing_one_are_then_planned_apart(asked: World) -> None:
    kill_planners(asked, "long", "short", times=1)
    assert [id for id, _ in attempts(asked)] == ["long", "short"]
    planner = Planner(asked)
    assert planner.plan("long", "short") == [Plan(submissions=("short",)), Plan(submissions=("long",))]
    receive(asked, "later", "short")
    planner.die_of("long")
    assert asked.submission("later") is SubmissionState.RECEIVED
    assert [id for id, _ in attempts(asked)] == ["long", "long", "short"]
    Planner(asked).plan_all("short")
    assert asked.submission("short") is SubmissionState.ACTIVE


def test_later_submissions_are_planned_without_the_one_that_kills_planners(asked: World) -> None:
    kill_planners(asked, "long", times=1)
    receive(asked, "later", "short")
    planner = Planner(asked)
    planner.plan_all("short")
    assert asked.submission("later") is SubmissionState.ACTIVE
    assert asked.submission("long") is SubmissionState.RECEIVED


def test_a_submission_about_work_ids_that_killed_three_planners_is_refused(asked: World) -> None:
    receive(asked, "chunks", "chunks")
    for _ in range(3):
        Planner(asked).die_of("chunks")
        asked.now += timedelta(minutes=2)
    Planner(asked).plan_all("chunks")
    assert asked.submission("chunks") is SubmissionState.REFUSED


def test_an_attempt_of_a_living_worker_does_not_count_as_a_death(asked: World) -> None:
    planners = [Planner(asked) for _ in range(3)]
    for planner in planners:
        planner.die_of("long")
        let_leases_end(asked)
    for planner in planners:
        asked.beat(planner.worker)
    other = Planner(asked)
    other.plan_all("long")
    assert asked.submission("long") is SubmissionState.RECEIVED
    assert asked.reason("long") == UNDECIDED
    assert len(attempts(asked)) == 3
    for planner in planners:
        planner.look_twice()
    asked.now += timedelta(seconds=RETRY_S)
    other.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE


def test_a_planner_does_not_wait_for_its_own_attempt(asked: World) -> None:
    planner = Planner(asked)
    planner.die_of("long")
    planner.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE


def test_an_error_during_planning_does_not_count_as_a_death(
    asked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    planner = Planner(asked)

    def fail(tx: Tx, numbers: object) -> None:
        raise MemoryError

    DURING[:] = [planner.look_twice]
    monkeypatch.setattr("sluice.ledger.submissions.activate", fail)
    with pytest.raises(MemoryError):
        planner.plan_all("long")
    assert [id for id, _ in attempts(asked)] == ["long"]
    planner.attempts.record()
    assert attempts(asked) == []


def test_a_lost_connection_does_not_count_as_a_death(asked: World) -> None:
    planner = Planner(asked)

    def lose_the_connection() -> None:
        DURING.clear()
        planner.look_twice()
        with psycopg.connect(asked.url, autocommit=True) as connection:
            assert connection.execute(_CUT).fetchall() == [(True,)]

    DURING[:] = [lose_the_connection]
    planner.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE
    planner.attempts.record()
    assert attempts(asked) == []


def test_the_attempts_of_a_worker_that_leaves_are_removed(asked: World) -> None:
    planner = Planner(asked)
    planner.die_of("long")
    asked.ledger.transact(lambda tx: workers.leave(tx, planner.worker))
    assert attempts(asked) == []


def test_planning_that_ends_before_the_second_check_is_not_recorded(asked: World) -> None:
    planner = Planner(asked)
    DURING[:] = [planner.attempts.record]
    planner.plan_all("long")
    planner.attempts.record()
    assert attempts(asked) == []


def test_a_thread_records_planning_that_takes_long_and_removes_it_afterwards(
    asked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.actors.plan_attempts.LOOK_S", 0.01)
    planner = Planner(asked)
    planner.attempts.start()
    DURING[:] = [lambda: eventually(lambda: [id for id, _ in attempts(asked)] == ["long"])]
    planner.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE
    eventually(lambda: attempts(asked) == [])
    planner.attempts.close()


def test_attempts_at_a_cancelled_submission_are_removed(asked: World) -> None:
    kill_planners(asked, "long", times=1)
    asked.cancel("long")
    asked.tick()
    assert attempts(asked) == []


def test_a_refused_submission_may_be_submitted_again_under_its_id(asked: World) -> None:
    kill_planners(asked, "long", times=3)
    Planner(asked).plan_all("long")
    receive(asked, "long", "long")
    Planner(asked).plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE


@pytest.mark.parametrize("app", ["long", "chunks"])
def test_submissions_that_killed_a_planner_are_planned_one_at_a_time(asked: World, app: str) -> None:
    receive(asked, "chunks", "chunks")
    Planner(asked).die_of("long")
    Planner(asked).die_of("chunks")
    asked.now += timedelta(minutes=2)
    one, other = Planner(asked), Planner(asked)
    with asked.ledger.begin() as tx:
        assert plan_attempts.take_turn(tx)
        with asked.ledger.begin() as another:
            assert unplanned.take(another, app) is None
        one.plan_all(app)
    assert asked.submission(app) is SubmissionState.RECEIVED
    assert asked.reason(app) == NOT_ITS_TURN
    asked.now += timedelta(seconds=RETRY_S)
    other.plan_all(app)
    assert asked.submission(app) is SubmissionState.ACTIVE


class Meeting(Acts):
    """World with a submission that has killed this number of planners."""

    def __init__(self, url: str, deaths: int) -> None:
        super().__init__(url)
        self.world.define(APPS)
        receive(self.world, "long", "long")
        kill_planners(self.world, "long", times=deaths)

    def plan_it(self) -> Act:
        return self.handle(Plan(submissions=("long",)))


@pytest.mark.parametrize(("deaths", "state"), [(3, SubmissionState.REFUSED), (2, SubmissionState.ACTIVE)])
def test_two_concurrent_planners_refuse_or_plan_a_submission_once(
    ledger_url: str, deaths: int, state: SubmissionState
) -> None:
    def check(meeting: Meeting, one: list[Message], two: list[Message]) -> None:
        assert meeting.world.submission("long") is state
        assert bool(one) + bool(two) == (state is SubmissionState.ACTIVE)

    meet(
        lambda: Meeting(ledger_url, deaths),
        lambda meeting: [meeting.plan_it(), meeting.plan_it()],
        check,
        swapped=False,
        most=STATEMENTS_MAX,
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_of_a_concurrent_refusal_and_cancellation_the_first_counts(ledger_url: str, swapped: bool) -> None:
    seen = set[SubmissionState]()

    def check(meeting: Meeting, planned: list[Message], cancelled: list[Message]) -> None:
        seen.add(meeting.world.submission("long"))
        meeting.world.tick()
        assert attempts(meeting.world) == []

    meet(
        lambda: Meeting(ledger_url, 3),
        lambda meeting: [meeting.plan_it(), meeting.cancel("long")],
        check,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )
    assert seen == {SubmissionState.REFUSED, SubmissionState.CANCELLED}
