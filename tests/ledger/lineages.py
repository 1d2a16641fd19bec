"""Short notation for lineages of tables, and for the state of their partitions in the ledger.

Steps are named without their versions: ``group_by/2024-04-01..2024-04-07``.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from sluice.actors.executor import transactions
from sluice.broker.messages import Execute, JobRound
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import read_span, without_version
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.keyspaces import partitions
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import World

_DAYS = Calendar("day")
_NEEDS = """
SELECT child.app, child.key, parent.app, parent.key
FROM need JOIN job child ON child.id = need.child JOIN job parent ON parent.id = need.parent
"""
_PARTITIONS = """
SELECT partition.partition, partition.done_at IS NOT NULL, job.app, job.key
FROM partition LEFT JOIN job ON job.id = partition.job
WHERE partition.table_name = %(place)s AND partition.version = %(version)s ORDER BY partition.partition
"""
_STALE = """
SELECT partition.partition FROM partition
WHERE table_name = %(place)s AND version = %(version)s AND done_at IS NOT NULL AND stale_since IS NOT NULL ORDER BY 1
"""
_SUCCESSES = f"""
SELECT job.key FROM transition JOIN job ON job.id = transition.job
WHERE job.app = %(app)s AND transition.target = '{State.SUCCEEDED}'
"""


def lineage(text: str, **words: Any) -> dict[str, Any]:
    """Return the apps of a text like ``"a, b*7: a-90"``. Each app fills a table with one partition per day.

    ``b*7: a-90``: ``b`` has steps of 7 days, and reads table ``a`` from 90 days back. ``words`` are options of every
    app.
    """
    apps: dict[str, Any] = {}
    for part in text.split(", "):
        name, _, reads = part.partition(": ")
        name, _, size = name.partition("*")
        tables = [table.partition("-") for table in reads.split()]
        apps[name] = {
            "bash_cmd": "true",
            "partition": "day",
            "step_size": int(size or 1),
            "table_dependencies": [
                {"table": table, "start_offset": int(back or 0)} for table, _, back in tables
            ],
        } | words
    return apps


def ask(world: World, app: str, first: str, last: str | None = None, **words: Any) -> str:
    """Submit a range and have it planned. Return the submission's id."""
    return world.submit(app, None, start=first, end=last or first, **words)


def named(world: World, step: str) -> str:
    """Return the name of a step in the ledger, which has a version."""
    version = world.catalogue[step.partition("/")[0]].version
    return f"{step}@{version}"


def states(world: World, app: str = "") -> dict[str, State]:
    return {without_version(name)[0]: state for name, state in world.states().items() if name.startswith(app)}


def ready(world: World) -> set[str]:
    return {name for name, state in states(world).items() if state is State.READY}


def needs(world: World) -> dict[str, set[str]]:
    """Return for each step the steps that it was planned to wait for."""
    found: dict[str, set[str]] = defaultdict(set)
    for child, key, parent, of in world.ledger.transact(lambda tx: tx.rows(_NEEDS)):
        found[f"{child}/{without_version(key)[0]}"].add(f"{parent}/{without_version(of)[0]}")
    return found


def there(world: World, app: str) -> list[str]:
    """Return the partitions of the app's table that are available."""
    return [text for text, is_there, _ in _partitions(world, app) if is_there]


def stale(world: World, app: str) -> list[str]:
    """Return the partitions of the app's table that are available and stale."""
    place, version = world.catalogue[app].partitioning.table, world.catalogue[app].version
    found = world.ledger.transact(lambda tx: tx.column(_STALE, place=place, version=version))
    return [*map(_calendar(world, app).write, found)]


def owners(world: World, app: str) -> dict[str, str]:
    """Return the step that owns each partition of the app's table. Landed partitions have no owner."""
    return {text: step for text, _, step in _partitions(world, app) if step}


def times_made(world: World, app: str) -> Counter[str]:
    """Return for each partition how often a step with it has succeeded."""
    calendar = _calendar(world, app)
    made: Counter[str] = Counter()
    for key in world.ledger.transact(lambda tx: tx.column(_SUCCESSES, app=app)):
        made.update(map(calendar.write, _each(read_span(calendar, without_version(key)[0]))))
    return made


def take(world: World, step: str) -> ClaimedJob:
    """Claim a step, so that it runs."""
    return world.take(named(world, step))


def acknowledge(world: World, claimed: ClaimedJob, *texts: str) -> list[bool]:
    calendar = _calendar(world, claimed.app)
    return [
        world.ledger.transact(
            lambda tx, text=text: partitions.acknowledge(tx, claimed.right, calendar.read(text))
        )
        for text in texts
    ]


def end(world: World, step: str, ending: Ending = Ending.DONE) -> None:
    world.finish(named(world, step), ending)


def work_off(world: World, *, failing: Collection[str] = (), only: str = "") -> None:
    """Run ready steps until none is ready, the ready steps of an app together. Steps in ``failing`` fail.

    Steps with names that do not begin with ``only`` are left.
    """
    while steps := sorted(name for name in world.ready() if name.startswith(only)):
        world.beat(world.worker)
        for app in sorted({step.partition("/")[0] for step in steps}):
            _run(world, app, [step for step in steps if step.partition("/")[0] == app], failing)


def days(first: str, last: str) -> list[str]:
    """Return all days of a range, with both ends."""
    return [*map(_DAYS.write, _each(read_span(_DAYS, f"{first}..{last}")))]


def _run(world: World, app: str, steps: list[str], failing: Collection[str]) -> None:
    turns = tuple(JobRound(world.known(step).id, world.round(step)) for step in steps)
    claimed, messages = transactions.claim(
        world.ledger, world.catalogue, Execute(app=app, jobs=turns), world.worker
    )
    world.queue.extend(messages)
    outcomes = {each.right: _outcome(f"{app}/{without_version(each.key)[0]}" in failing) for each in claimed}
    world.queue.extend(transactions.record(world.ledger, outcomes)[0])
    world.deliver()
    world.offered.clear()


def _outcome(fails: bool) -> Outcome:
    return Outcome(ending=Ending.ERROR, error="it broke") if fails else Outcome(ending=Ending.DONE)


def _partitions(world: World, app: str) -> list[tuple[str, bool, str]]:
    """Return each partition in the ledger: its text, whether it is available, and the step that owns it."""
    calendar = _calendar(world, app)
    place, version = world.catalogue[app].partitioning.table, world.catalogue[app].version
    rows = world.ledger.transact(lambda tx: tx.rows(_PARTITIONS, place=place, version=version))
    return [
        (calendar.write(each), is_there, f"{of}/{without_version(key)[0]}" if of else "")
        for each, is_there, of, key in rows
    ]


def _calendar(world: World, app: str) -> Calendar:
    partitioning = world.catalogue[app].partitioning
    assert partitioning is not None
    return partitioning.calendar


def _each(span: Span) -> Iterable[int]:
    return range(span.first, span.last + 1)
