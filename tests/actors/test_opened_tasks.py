"""Opening of tasks, one by one or by the thousand. Each is opened once, whatever crashes, and gets its own number."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sluice.actors.groomer import ticks
from sluice.actors.tasks import OUTCOMES, NewTask, Tasks
from sluice.broker.messages import Tick
from sluice.jobs.errors import BadKey, BadRequest, UnknownApp
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ops.simulation.mortal_ledger import SimulatedDeath
from tests.actors.ledgers import Counting, Dying
from tests.actors.managed_app import Crew, once
from tests.ops.typist import ROOT
from tests.world import World


def test_tasks_are_numbered_from_1_on(crew: Crew) -> None:
    assert crew.tasks.open(kwargs={"input": "1 2"}) == "1"
    assert crew.tasks.open_many([NewTask(), NewTask(), NewTask(key=9)]) == ["2", "3", "9"]
    assert crew.hires().open() == "4"
    assert crew.world.ready() == {"a", "a/2", "a/3", "a/9", "a/4"}
    assert crew.world.field("a/1", "kwargs") == {"input": "1 2"}


def test_used_numbers_are_skipped_and_never_given_again(crew: Crew) -> None:
    crew.world.submit("a", "002")
    assert crew.tasks.open_many([NewTask(), NewTask()]) == ["1", "3"]
    crew.world.ledger.transact(
        lambda tx: [tx.write(f"DELETE FROM {table}") for table in ("job", "submission_job", "history")]
    )
    crew.world.ledger.transact(lambda tx: tx.write("DELETE FROM submission"))
    assert crew.tasks.open() == "4"


def test_numbers_that_the_same_call_names_are_skipped(crew: Crew) -> None:
    wanted = [NewTask(kwargs={"input": "x"}), NewTask(key="002"), NewTask(key=1), NewTask()]
    assert crew.tasks.open_many(wanted) == ["3", "2", "1", "4"]
    assert crew.world.field("a/3", "kwargs") == {"input": "x"}


def test_numbering_needs_an_app_with_one_integer_as_its_key(crew: Crew) -> None:
    with pytest.raises(BadRequest, match="not plain numbers") as raised:
        crew.hires("b").open()
    assert '"int"' in raised.value.advice
    blind = Tasks(crew.world.ledger, crew.plan, "a", None)
    with pytest.raises(BadRequest, match="without its definition"):
        blind.open()
    assert blind.open(7) == "7"
    with pytest.raises(BadKey):
        crew.tasks.open("seven")
    assert crew.tasks.open("008") == "8"
    with pytest.raises(UnknownApp):
        crew.hires("c")


def test_if_one_task_is_invalid_none_is_opened(crew: Crew) -> None:
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


def test_an_option_of_zero_overrides_the_apps_option(world: World) -> None:
    crew = Crew(world, max_fails=2, max_timeouts=4)
    crew.tasks.open(max_fails=3)
    crew.tasks.open(max_fails=0, timeout=None)
    crew.tasks.open()
    told = [(world.field(f"a/{n}", "max_fails"), world.field(f"a/{n}", "max_timeouts")) for n in (1, 2, 3)]
    assert told == [(3, 4), (0, 4), (2, 4)]


def test_an_opened_task_must_be_collected_unless_its_archive_option_is_auto(world: World) -> None:
    crew = Crew(world, archive="auto")
    crew.tasks.open()
    crew.tasks.open(archive="auto")
    for key in "12":
        crew.ends(key)
    assert crew.uncollected() == ["1"]


def test_opening_one_id_twice_opens_one_task(crew: Crew) -> None:
    assert crew.tasks.open(id="first", kwargs={"input": "1"}) == "1"
    assert crew.tasks.open(id="first", kwargs={"input": "1"}) == "1"
    assert crew.tasks.open() == "2"
    crew.world.submit("b", "x", id="others")
    with pytest.raises(BadRequest, match="with other content"):
        crew.tasks.open(id="others")


@pytest.mark.parametrize("lost", [False, True], ids=["before its commit", "after it"])
def test_a_manager_that_dies_while_opening_has_opened_all_or_nothing(crew: Crew, lost: bool) -> None:
    dying = Dying(crew.world, 0, lost=lost)
    wanted = [NewTask(id=f"part {n}", kwargs={"input": str(n)}) for n in range(3)]
    with pytest.raises(SimulatedDeath):
        crew.hires(ledger=dying).open_many(wanted)
    dying.close()
    assert crew.tasks.open_many(wanted) == ["1", "2", "3"]
    assert crew.tasks.open() == "4"


_OPENER = """
import sys
from sluice.actors.connect import connect
from sluice.actors.tasks import NewTask
with connect(apps=(sys.argv[1],), ledger_url=sys.argv[2]) as client:
    tasks = client.tasks("a")
    print("here", flush=True)
    sys.stdin.readline()
    for _ in range(20):
        for key in tasks.open_many([NewTask(kwargs={"input": n}) for n in range(10)]):
            print(key)
"""


def test_two_concurrent_processes_give_no_number_twice(crew: Crew, tmp_path: Any) -> None:
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


def test_ten_thousand_tasks_need_as_few_statements_as_two(crew: Crew, counting: Counting) -> None:
    """Count the statements of opening, of a tick, and of the manager's queries while the tasks wait for their time or
    for a worker."""

    def spent(act: Any) -> int:
        counting.statements = 0
        act()
        return counting.statements

    later = crew.world.now.replace(year=2027).isoformat()
    tasks = crew.hires(ledger=counting)
    few = spent(lambda: tasks.open_many([NewTask(), NewTask()]))
    waiting = [NewTask(kwargs={"input": "1 2"}, policy={"start_after": later}) for _ in range(10_000)]
    assert spent(lambda: tasks.open_many(waiting)) == few
    idle = spent(lambda: ticks.tick(counting, crew.world.catalogue, Tick()))
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
            "SELECT submission.id FROM submission_job JOIN submission ON number = submission WHERE job = %(job)s",
            job=known.id,
        )
    )
    return str(found[0])
