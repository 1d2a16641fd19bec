"""Helpers that read and archive the outcomes of uncollected jobs."""

from sluice.jobs.states import State
from sluice.jobs.text.paging import Order
from sluice.ledger import managed_tasks
from sluice.ledger.managed_tasks import Finished
from sluice.ledger.reads import job_lists
from sluice.ledger.reads.job_filters import JobFilter
from tests.world import World

PAGE = 100


def finished(world: World, state: State = State.SUCCEEDED, *, app: str = "a", **words: int) -> list[Finished]:
    words.setdefault("limit", PAGE)
    return world.ledger.transact(lambda tx: managed_tasks.finished(tx, app, state, **words))


def archive(world: World, *seen: Finished, whole: bool = False) -> int:
    return len(world.ledger.transact(lambda tx: managed_tasks.archive(tx, seen, whole=whole)))


def keys(found: list[Finished]) -> list[str]:
    return [each.key for each in found]


def uncollected(world: World) -> set[str]:
    wanted = JobFilter(uncollected=True)
    return {
        each.key
        for each in world.ledger.transact(lambda tx: job_lists.jobs(tx, wanted, order=Order(), limit=100))
    }


def one_done(world: World) -> Finished:
    """Run the job a/1, which must be collected, until it has succeeded. Return its outcome."""
    world.apps("a", archive="manual")
    world.submit("a")
    world.finish("a")
    return finished(world)[0]
