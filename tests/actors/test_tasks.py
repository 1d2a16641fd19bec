"""Managing one app: tasks are opened, results handed over at least once and then archived, round by round."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from actors import groomer
from actors.tasks import OUTCOMES, PAGE, NewTask, Tasks
from broker.messages import Plan, Tick
from jobs.errors import BadKey, BadRequest, UnknownApp
from jobs.outcome import Ending
from jobs.states import TERMINAL, State
from jobs.submission import SubmissionState
from ledger.collecting import Finished
from tests.actors.ledgers import Counting, Dying
from tests.ops.typist import ROOT
from tests.simulation.crashing import Crash
from tests.world import World

NUMBERED = {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true", "archive": "manual"}


class Crew:
    """A world with an app ``a`` whose tasks have numbers, and its manager."""

    def __init__(self, world: World, **words: Any) -> None:
        self.world = world
        world.define({"a": NUMBERED | words, "b": NUMBERED | {"job_id": "{x}", "identifiers": {}}})
        self.tasks = self.manager()

    def manager(self, app: str = "a", ledger: Any = None) -> Tasks:
        return Tasks(ledger or self.world.ledger, self.plan, app, self.world.catalogue)

    def plan(self, ids: Any) -> None:
        self.world.queue.append(Plan(submissions=tuple(ids)))
        self.world.deliver()

    def ends(self, key: str, ending: Ending = Ending.DONE, **words: Any) -> None:
        self.world.beat(self.world.worker)
        claimed = self.world.claim(f"a/{key}")
        assert claimed is not None
        self.world.record(claimed, ending, **words)

    def uncollected(self) -> list[str]:
        return [task.key for task in self.tasks.finished()]


@pytest.fixture
def crew(world: World) -> Crew:
    return Crew(world)


def once(_: int) -> bool:
    return True


def test_outcomes_are_all_that_a_task_may_end_as() -> None:
    assert set(OUTCOMES) == TERMINAL - {State.SPLIT}


def test_tasks_get_the_whole_numbers_from_1_on(crew: Crew) -> None:
    assert crew.tasks.open(kwargs={"input": "1 2"}) == "1"
    assert crew.tasks.open_many([NewTask(), NewTask(), NewTask(key=9)]) == ["2", "3", "9"]
    assert crew.manager().open() == "4"
    assert crew.world.ready() == {"a", "a/2", "a/3", "a/9", "a/4"}
    assert crew.world.field("a/1", "kwargs") == {"input": "1 2"}


def test_a_number_that_somebody_has_used_is_passed_over_and_none_is_used_twice(crew: Crew) -> None:
    crew.world.submit("a", "002")
    assert crew.tasks.open_many([NewTask(), NewTask()]) == ["1", "3"]
    crew.world.ledger.transact(
        lambda tx: [tx.write(f"DELETE FROM {table}") for table in ("job", "wants", "transition")]
    )
    crew.world.ledger.transact(lambda tx: tx.write("DELETE FROM submission"))
    assert crew.tasks.open() == "4"


def test_numbers_need_an_app_that_is_keyed_by_one(crew: Crew) -> None:
    with pytest.raises(BadRequest, match="no plain numbers") as raised:
        crew.manager("b").open()
    assert '"int"' in raised.value.advice
    blind = Tasks(crew.world.ledger, crew.plan, "a", None)
    with pytest.raises(BadRequest, match="without its definition"):
        blind.open()
    assert blind.open(7) == "7"
    with pytest.raises(BadKey):
        crew.tasks.open("seven")
    assert crew.tasks.open("008") == "8"
    with pytest.raises(UnknownApp):
        crew.manager("c")


def test_all_tasks_are_opened_or_none(crew: Crew) -> None:
    for wrong in (
        NewTask(policy={"max_fials": 1}),
        NewTask(policy={"archive": "never"}),
        NewTask(key="x"),
        NewTask(kwargs={"input": "\0"}),
        NewTask(id="twice"),
    ):
        with pytest.raises(BadRequest):
            crew.tasks.open_many([NewTask(id="twice"), NewTask(), wrong])
    assert crew.world.states() == {}
    assert crew.tasks.open() == "1"


def test_a_zero_that_is_given_is_kept(world: World) -> None:
    crew = Crew(world, max_fails=2, max_timeouts=4)
    crew.tasks.open(max_fails=3)
    crew.tasks.open(max_fails=0, timeout=None)
    crew.tasks.open()
    told = [(world.field(f"a/{n}", "max_fails"), world.field(f"a/{n}", "max_timeouts")) for n in (1, 2, 3)]
    assert told == [(3, 4), (0, 4), (2, 4)]


def test_whoever_opens_a_task_collects_it_unless_he_says_otherwise(world: World) -> None:
    crew = Crew(world, archive="auto")
    crew.tasks.open()
    crew.tasks.open(archive="auto")
    for key in "12":
        crew.ends(key)
    assert crew.uncollected() == ["1"]


def test_one_id_opened_twice_is_one_task(crew: Crew) -> None:
    assert crew.tasks.open(id="first", kwargs={"input": "1"}) == "1"
    assert crew.tasks.open(id="first", kwargs={"input": "1"}) == "1"
    assert crew.tasks.open() == "2"
    crew.world.submit("b", "x", id="others")
    with pytest.raises(BadRequest, match="asks for something else"):
        crew.tasks.open(id="others")


@pytest.mark.parametrize("lost", [False, True], ids=["before its commit", "after it"])
def test_a_manager_that_dies_while_it_opens_has_opened_all_or_nothing(crew: Crew, lost: bool) -> None:
    dying = Dying(crew.world, 0, lost=lost)
    wanted = [NewTask(id=f"part {n}", kwargs={"input": str(n)}) for n in range(3)]
    with pytest.raises(Crash):
        crew.manager(ledger=dying).open_many(wanted)
    dying.close()
    assert crew.tasks.open_many(wanted) == ["1", "2", "3"]
    assert crew.tasks.open() == "4"


def test_results_are_handed_over_by_outcome_and_then_archived(crew: Crew) -> None:
    """In the order that the definition of a round has, whatever ended first."""
    crew.tasks.open_many([NewTask() for _ in range(4)])
    crew.tasks.open(end_before=crew.world.now.replace(second=1).isoformat())
    crew.world.now = crew.world.now.replace(second=2)
    crew.world.tick()
    crew.ends("4", Ending.TIMED_OUT)
    crew.ends("1", Ending.ERROR, error="it broke", exit_code=3)
    crew.ends("3", output="3\n")
    crew.ends("2", output="2\n")
    heard: list[tuple[str, str, str | None]] = []

    def hear(name: str) -> Any:
        return lambda task: heard.append((name, task.key, task.output or task.error))

    rounds = crew.tasks.run(
        expired=hear("expired"),
        failed=hear("failed"),
        succeeded=hear("succeeded"),
        timed_out=hear("timed_out"),
        stop=once,
    )
    assert [each[:2] for each in heard] == [
        ("succeeded", "2"),
        ("succeeded", "3"),
        ("failed", "1"),
        ("timed_out", "4"),
        ("expired", "5"),
    ]
    assert [each[2] for each in heard[:3]] == ["2\n", "3\n", "it broke"]
    assert (rounds, crew.uncollected(), crew.tasks.counts().left) == (1, [], 0)
    assert crew.world.state("a/1") is State.FAILED


def test_the_asked_outcomes_come_as_they_were_asked_for(crew: Crew) -> None:
    crew.tasks.open_many([NewTask() for _ in range(3)])
    crew.ends("1")
    crew.ends("2", Ending.ERROR)
    crew.ends("3")
    assert [task.key for task in crew.tasks.finished("failed", State.SUCCEEDED)] == ["2", "1", "3"]
    assert [task.key for task in crew.tasks.finished("succeeded")] == ["1", "3"]
    for word in ("done", State.SPLIT, State.RUNNING):
        with pytest.raises(BadRequest, match="nothing that a task ends as"):
            next(crew.tasks.finished(word))


def test_what_a_callback_raises_leaves_its_task_uncollected(crew: Crew) -> None:
    crew.tasks.open_many([NewTask() for _ in range(3)])
    for key in "123":
        crew.ends(key)
    heard: list[str] = []

    def stumble(task: Finished) -> None:
        heard.append(task.key)
        if heard == ["1", "2"]:
            raise ArithmeticError(task.key)

    with pytest.raises(ArithmeticError):
        crew.tasks.run(succeeded=stumble, stop=once)
    assert crew.uncollected() == ["2", "3"]
    crew.tasks.run(succeeded=stumble, stop=once)
    assert heard == ["1", "2", "2", "3"]
    assert crew.uncollected() == []


def test_without_callbacks_everything_is_archived_quietly(crew: Crew) -> None:
    crew.tasks.open_many([NewTask() for _ in range(2)])
    crew.ends("1")
    crew.world.cancel(crew.world.submit("a", "3", policy={"archive": "manual"}))
    assert crew.tasks.counts().states == {State.READY: 1, State.SUCCEEDED: 1, State.CANCELLED: 1}
    assert crew.tasks.run(stop=once) == 1
    assert crew.tasks.counts().states == {State.READY: 1}


def test_rounds_go_on_until_somebody_says_stop(crew: Crew) -> None:
    """A callback may open tasks; what these come to is for the next round."""
    crew.tasks.open()
    crew.ends("1")
    heard: list[object] = []

    def follow(task: Finished) -> None:
        heard.append(task.key)
        if task.key != "3":
            crew.ends(crew.tasks.open())

    rounds = crew.tasks.run(
        succeeded=follow,
        end_round=lambda n: heard.append(f"round {n}"),
        stop=lambda n: heard.append(f"{n} done") or not crew.tasks.counts().left,
        every_s=0.01,
    )
    assert heard == [
        *("1", "round 0", "1 done"),
        *("2", "round 1", "2 done"),
        *("3", "round 2", "3 done"),
    ]
    assert rounds == 3
    crew.ends(crew.tasks.open())
    seen: list[int] = []
    assert crew.tasks.run(stop=lambda n: seen.append(n) or n == 3, every_s=0.01) == 3
    assert seen == [1, 2, 3]


def test_a_run_that_waits_ends_at_once_when_it_is_interrupted(crew: Crew) -> None:
    interrupt, ended = threading.Event(), threading.Event()
    rounds: list[int] = []

    def manage() -> None:
        crew.tasks.run(end_round=rounds.append, every_s=3600, interrupt=interrupt)
        ended.set()

    thread = threading.Thread(target=manage, daemon=True)
    thread.start()
    for _ in range(2000):
        if rounds:
            break
        ended.wait(0.01)
    assert (rounds, ended.is_set()) == ([0], False)
    interrupt.set()
    assert ended.wait(30)
    thread.join()


def test_an_interrupted_run_hands_over_no_more(crew: Crew) -> None:
    crew.tasks.open_many([NewTask(), NewTask()])
    for key in "12":
        crew.ends(key)
    interrupt = threading.Event()
    heard: list[str] = []
    ended: list[int] = []
    rounds = crew.tasks.run(
        succeeded=lambda task: heard.append(task.key) or interrupt.set(),
        end_round=ended.append,
        interrupt=interrupt,
    )
    assert (heard, ended, rounds, crew.uncollected()) == (["1"], [], 0, ["2"])


def test_no_pause_is_refused(crew: Crew) -> None:
    for every_s in (0, -1, float("nan")):
        with pytest.raises(BadRequest):
            crew.tasks.run(stop=once, every_s=every_s)


def test_more_than_a_page_is_handed_over_in_one_round(crew: Crew) -> None:
    count = 2 * PAGE + 1
    crew.tasks.open_many([NewTask() for _ in range(count)])
    crew.world.ledger.transact(lambda tx: tx.write("UPDATE job SET state = %(state)s", state=State.SUCCEEDED))
    heard: list[int] = []
    crew.tasks.run(succeeded=lambda task: heard.append(int(task.key)), stop=once)
    assert heard == list(range(1, count + 1))
    crew.world.ledger.transact(
        lambda tx: tx.write("UPDATE job SET archived_at = NULL, state = %(state)s", state=State.EXPIRED)
    )
    crew.tasks.run(stop=once)
    assert crew.tasks.counts().left == 0
    crew.world.ledger.transact(lambda tx: tx.write("TRUNCATE job, transition, wants, submission"))


def test_two_managers_hand_each_result_over_and_archive_it_once(crew: Crew) -> None:
    crew.tasks.open_many([NewTask() for _ in range(30)])
    for key in range(1, 31):
        crew.ends(str(key))
    meet = threading.Barrier(2)
    heard: list[str] = []
    archived: list[int] = []

    def manage() -> None:
        tasks = crew.manager()
        meet.wait()
        for task in tasks.finished("succeeded"):
            heard.append(task.key)
            archived.append(tasks.archive(task))

    threads = [threading.Thread(target=manage) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(heard) == {str(key) for key in range(1, 31)}
    assert (sum(archived), crew.uncollected()) == (30, [])


def test_results_are_taken_and_followed_up_in_one_step(crew: Crew) -> None:
    crew.tasks.open_many([NewTask(), NewTask()])
    for key in "12":
        crew.ends(key, output=key)
    done = list(crew.tasks.finished())
    made_of_them = NewTask(kwargs={"input": "1 2"})
    assert crew.tasks.follow_up(done, [made_of_them]) == ["3"]
    assert crew.manager().follow_up(done, [made_of_them]) is None
    assert crew.uncollected() == []
    assert set(crew.world.states()) == {"a", "a/2", "a/3"}


def test_a_result_that_is_gone_is_followed_up_by_nobody(crew: Crew) -> None:
    crew.tasks.open_many([NewTask(), NewTask()])
    for key in "12":
        crew.ends(key)
    done = list(crew.tasks.finished())
    crew.world.submit("a", "2", rerun="job")
    assert crew.tasks.follow_up(done, [NewTask()]) is None
    assert crew.uncollected() == ["1"]
    assert set(crew.world.states()) == {"a", "a/2"}
    crew.ends("2")


@pytest.mark.parametrize("lost", [False, True], ids=["before its commit", "after it"])
def test_a_follow_up_that_is_cut_off_is_done_once(crew: Crew, lost: bool) -> None:
    crew.tasks.open()
    crew.ends("1")
    done = list(crew.tasks.finished())
    wanted = [NewTask(id="made of 1", kwargs={"input": "1"})]
    dying = Dying(crew.world, 0, lost=lost)
    with pytest.raises(Crash):
        crew.manager(ledger=dying).follow_up(done, wanted)
    dying.close()
    assert crew.tasks.follow_up(done, wanted) == ["2"]
    assert crew.tasks.open() == "3"


_OPENER = """
import sys
from actors.connect import connect
from actors.tasks import NewTask
with connect(apps=(sys.argv[1],), ledger_url=sys.argv[2]) as client:
    tasks = client.tasks("a")
    print("here", flush=True)
    sys.stdin.readline()
    for _ in range(20):
        for key in tasks.open_many([NewTask(kwargs={"input": n}) for n in range(10)]):
            print(key)
"""


def test_two_processes_that_number_tasks_at_once_give_no_number_twice(crew: Crew, tmp_path: Any) -> None:
    source = tmp_path / "apps.toml"
    source.write_text(
        '[a]\njob_id = "{n}"\nidentifiers = {n = "int"}\nbash_cmd = "true"\narchive = "manual"\n'
    )
    command = [sys.executable, "-c", _OPENER, str(source), crew.world.url]
    openers = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for opener in openers:
            assert opener.stdout is not None
            assert opener.stdout.readline() == "here\n"
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.write("\n")
            opener.stdin.flush()
        numbers = [int(key) for opener in openers for key in opener.communicate(timeout=60)[0].split()]
    finally:
        for opener in openers:
            opener.kill()
            opener.wait()
    assert sorted(numbers) == list(range(1, 401))
    assert crew.tasks.counts().unplanned == 400


@pytest.fixture
def counting(world: World) -> Iterator[Counting]:
    made = Counting(world)
    yield made
    made.close()


def test_ten_thousand_tasks_are_opened_at_once_and_cost_nothing_while_they_wait(
    crew: Crew, counting: Counting
) -> None:
    """By statements: of the opening, of the planning, and of a tick while they wait for their time or a worker."""

    def spent(act: Any) -> int:
        counting.statements = 0
        act()
        return counting.statements

    later = crew.world.now.replace(year=2027).isoformat()
    tasks = crew.manager(ledger=counting)
    few = spent(lambda: tasks.open_many([NewTask(), NewTask()]))
    waiting = [NewTask(kwargs={"input": "1 2"}, policy={"start_after": later}) for _ in range(10_000)]
    assert spent(lambda: tasks.open_many(waiting)) == few
    idle = spent(lambda: groomer.tick(counting, crew.world.catalogue, Tick()))
    assert crew.tasks.counts().states == {State.READY: 2, State.WAITING: 10_000}
    assert idle == 1
    assert spent(lambda: list(tasks.finished("succeeded"))) == 1
    assert spent(tasks.counts) == 1
    assert spent(lambda: tasks.run(stop=once)) == len(OUTCOMES)
    assert crew.world.submission(_submission_of(crew, "a/10002")) is SubmissionState.ACTIVE


def _submission_of(crew: Crew, job: str) -> str:
    known = crew.world.known(job)
    found = crew.world.ledger.transact(
        lambda tx: tx.column(
            "SELECT submission.id FROM wants JOIN submission ON number = submission WHERE job = %(job)s",
            job=known.id,
        )
    )
    return str(found[0])
