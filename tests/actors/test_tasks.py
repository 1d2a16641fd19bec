"""Management of one app: tasks are opened, results are handed over at least once and then archived, round by round."""

import threading
from typing import Any

import pytest

from sluice.actors.tasks import OUTCOMES, PAGE, NewTask
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Ending
from sluice.jobs.states import TERMINAL, State
from sluice.ledger.managed_tasks import Finished
from sluice.ops.simulation.mortal_ledger import SimulatedDeath
from tests.actors.ledgers import Dying
from tests.actors.managed_app import Crew, once


def test_outcomes_are_all_terminal_states_except_split() -> None:
    assert set(OUTCOMES) == TERMINAL - {State.SPLIT}


def test_results_are_handed_over_by_outcome_and_then_archived(crew: Crew) -> None:
    """The order is that of ``OUTCOMES``, and does not depend on the order in which the tasks ended."""
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


def test_requested_outcomes_come_in_the_requested_order(crew: Crew) -> None:
    crew.tasks.open_many([NewTask() for _ in range(3)])
    crew.ends("1")
    crew.ends("2", Ending.ERROR)
    crew.ends("3")
    assert [task.key for task in crew.tasks.finished("failed", State.SUCCEEDED)] == ["2", "1", "3"]
    assert [task.key for task in crew.tasks.finished("succeeded")] == ["1", "3"]
    for word in ("done", State.SPLIT, State.RUNNING):
        with pytest.raises(BadRequest, match="not an outcome of a task"):
            next(crew.tasks.finished(word))


def test_a_task_stays_uncollected_if_its_callback_raises(crew: Crew) -> None:
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


def test_a_manager_gets_only_the_results_of_its_own_app(crew: Crew) -> None:
    others = crew.hires("b")
    crew.tasks.open()
    others.open(key="x")
    crew.ends("1")
    crew.world.finish("b/x")
    heard: list[str] = []
    others.run(succeeded=lambda task: heard.append(f"{task.app}/{task.key}"), stop=once)
    assert (heard, crew.uncollected()) == (["b/x"], ["1"])


def test_without_callbacks_finished_tasks_are_archived_silently(crew: Crew) -> None:
    crew.tasks.open_many([NewTask() for _ in range(2)])
    crew.ends("1")
    crew.world.cancel(crew.world.submit("a", "3", policy={"archive": "manual"}))
    assert crew.tasks.counts().states == {State.READY: 1, State.SUCCEEDED: 1, State.CANCELLED: 1}
    assert crew.tasks.run(stop=once) == 1
    assert crew.tasks.counts().states == {State.READY: 1}


def test_rounds_continue_until_stop_returns_true(crew: Crew) -> None:
    """A callback may open tasks. Their results belong to the next round."""
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


def test_an_interrupt_ends_a_waiting_run_at_once(crew: Crew) -> None:
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


def test_a_pause_between_rounds_must_be_positive(crew: Crew) -> None:
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
    crew.world.ledger.transact(lambda tx: tx.write("TRUNCATE job, history, submission_job, submission"))


def test_two_managers_hand_every_result_over_and_archive_it_once(crew: Crew) -> None:
    crew.tasks.open_many([NewTask() for _ in range(30)])
    for key in range(1, 31):
        crew.ends(str(key))
    meet = threading.Barrier(2)
    heard: list[str] = []
    archived: list[int] = []

    def manage() -> None:
        tasks = crew.hires()
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


def test_follow_up_archives_results_and_opens_tasks_in_one_step(crew: Crew) -> None:
    crew.tasks.open_many([NewTask(), NewTask()])
    for key in "12":
        crew.ends(key, output=key)
    done = list(crew.tasks.finished())
    made_of_them = NewTask(kwargs={"input": "1 2"})
    assert crew.tasks.follow_up(done, [made_of_them]) == ["3"]
    assert crew.hires().follow_up(done, [made_of_them]) is None
    assert crew.uncollected() == []
    assert set(crew.world.states()) == {"a", "a/2", "a/3"}


def test_follow_up_does_nothing_if_a_result_was_run_again(crew: Crew) -> None:
    crew.tasks.open_many([NewTask(), NewTask()])
    for key in "12":
        crew.ends(key)
    done = list(crew.tasks.finished())
    crew.world.submit("a", "2", rerun="job")
    assert crew.tasks.follow_up(done, [NewTask()]) is None
    assert crew.uncollected() == ["1"]
    assert set(crew.world.states()) == {"a", "a/2"}
    crew.ends("2")


def test_a_result_is_archived_although_its_follow_up_was_opened_before(crew: Crew) -> None:
    """The task was run again meanwhile. Its follow-up has the same id as before."""
    follow = NewTask(id="made of 1")
    crew.tasks.open()
    for _ in range(2):
        crew.ends("1")
        assert crew.tasks.follow_up(list(crew.tasks.finished()), [follow]) == ["2"]
        assert crew.uncollected() == []
        crew.world.submit("a", "1", rerun="job")
    crew.ends("1")


@pytest.mark.parametrize("lost", [False, True], ids=["before its commit", "after it"])
def test_a_follow_up_that_was_interrupted_by_a_crash_is_done_once(crew: Crew, lost: bool) -> None:
    crew.tasks.open()
    crew.ends("1")
    done = list(crew.tasks.finished())
    wanted = [NewTask(id="made of 1", kwargs={"input": "1"})]
    dying = Dying(crew.world, 0, lost=lost)
    with pytest.raises(SimulatedDeath):
        crew.hires(ledger=dying).follow_up(done, wanted)
    dying.close()
    assert crew.tasks.follow_up(done, wanted) == ["2"]
    assert crew.tasks.open() == "3"
