"""One seed, from its first event to rest."""

import random

from jobs.catalogue import Catalogue
from jobs.gate import MET
from jobs.plan import Wish
from jobs.ref import JobName
from jobs.states import State, sql_list
from jobs.submission import SubmissionState
from ledger import planning
from ledger.connection import Tx
from ledger.reads.check import breaches
from planner.keyspaces import keyspace_of
from tests.simulation.chunks import twice_at_once, unaccounted
from tests.simulation.definitions import drawn_apps
from tests.simulation.faults import Faults, drawn
from tests.simulation.pauses import begun, held_back
from tests.simulation.pools import crowded, waiting_in_vain
from tests.simulation.world import PATIENCE_S, RESUMED_S, World
from tests.world import catalogue_of

_OPEN_SUBMISSIONS = f"""
SELECT count(*) FROM submission
WHERE state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}')
"""
# A step that moved no job broke no rule.
_MOVES = "SELECT last_value FROM transition_id_seq"
# I5 and I4: what is wanted ends, and nothing that could run is left waiting. A pushed job may wait for ever
# for a parent that nobody asked for, and so may those behind it.
_UNFINISHED = f"""
WITH RECURSIVE excused (id) AS (
    SELECT id FROM job WHERE state = '{State.EXPECTED}'
    UNION
    SELECT need.child FROM excused JOIN need ON need.parent = excused.id JOIN job ON job.id = need.child
    WHERE need.settled IS NULL AND job.state = '{State.WAITING}'
)
SELECT job.app || '/' || job.key || ' ' || job.state FROM job
WHERE state IN ('{State.WAITING}', '{State.READY}', '{State.RUNNING}', '{State.EXECUTED}', '{State.SUSPENDED}')
  AND NOT EXISTS (SELECT 1 FROM excused WHERE excused.id = job.id)
"""
_PUSHING = sql_list(*sorted(MET["succeeded"] | MET["failed"]))
# Who ended, well or badly, while a submission wanted its children too.
_PUSHED = f"""
SELECT DISTINCT job.app, job.key, job.state FROM job
JOIN wants ON wants.job = job.id JOIN submission ON submission.number = wants.submission
WHERE job.state IN ({_PUSHING}) AND submission.push AND submission.state <> '{SubmissionState.CANCELLED}'
  AND EXISTS (SELECT 1 FROM transition WHERE transition.job = job.id
              AND transition.target = job.state AND transition.at > submission.planned_at
              AND (wants.wish = {Wish.PUSHED:d} OR transition.at <= coalesce(submission.ended_at, transition.at)))
"""


class Violation(AssertionError):
    """An invariant does not hold. The message names the seed and the command that replays it."""


def simulate(url: str, seed: int, faults: Faults | None = None) -> int:
    """Run one seed on an empty ledger; how many steps it took. Violation where an invariant breaks."""
    rng = random.Random(seed)
    apps = drawn_apps(rng)
    world = World(url, rng, apps, catalogue_of(apps), faults or drawn(rng))
    try:
        _run(world)
    except Exception as error:
        raise Violation(
            f"seed {seed}, step {world.steps}, {world.elapsed_s:.3f} s: {type(error).__name__}: {error}\n"
            f"replay: python -m tests.simulation --seed {seed}"
        ) from error
    finally:
        world.close()
    return world.steps


def _run(world: World) -> None:
    seen, held = 0, set[int]()
    while True:
        world.step()
        moved = world.plain.transact(lambda tx: tx.column(_MOVES)[0])
        if not world.watch.is_idle:
            wrong = world.plain.transact(lambda tx, since=seen: world.watch.look(tx, since))
            assert not wrong, wrong
        if moved != seen:
            began = held and held & world.plain.transact(lambda tx, since=seen: begun(tx, since))
            assert not began, f"begun though only paused submissions want them: {began}"
            seen = moved
            broken = world.plain.transact(breaches)
            assert not broken, broken
            twice = world.plain.transact(twice_at_once)
            assert not twice, f"at once: {twice}"
            full = world.plain.transact(crowded)
            assert not full, f"more than may be at once: {full}"
        in_vain = world.plain.transact(waiting_in_vain)
        assert not in_vain, f"in line for a free slot: {in_vain}"
        held = world.plain.transact(held_back)
        if world.elapsed_s > RESUMED_S and world.plain.transact(_at_rest):
            missing = world.plain.transact(lambda tx: _not_pushed(tx, world.catalogues))
            assert not missing, f"nobody planned {missing}"
            left_out = world.plain.transact(unaccounted)
            assert not left_out, f"not accounted for: {left_out}"
            absent = world.plain.transact(world.watch.left_out)
            assert not absent, f"asked for, and not there: {absent}"
            return
        assert world.elapsed_s < RESUMED_S + PATIENCE_S, world.plain.transact(_left)


def _at_rest(tx: Tx) -> bool:
    return tx.column(_OPEN_SUBMISSIONS)[0] == 0 and not tx.column(_UNFINISHED)


def _left(tx: Tx) -> list[str]:
    return tx.column(_UNFINISHED) or ["a submission is open though no job is"]


def _not_pushed(tx: Tx, catalogues: list[Catalogue]) -> list[JobName]:
    """Children that follow from how a job ended and that the ledger has never heard of.

    Where the definitions changed on the way, those that follow both before and after.
    """
    ended = [(JobName(app, key), State(state)) for app, key, state in tx.rows(_PUSHED)]
    children = {
        child
        for name, state in ended
        for child in set.intersection(*(_children(catalogue, name, state) for catalogue in catalogues))
    }
    return sorted(children - set(planning.find(tx, sorted(children))))


def _children(catalogue: Catalogue, name: JobName, state: State) -> set[JobName]:
    app = catalogue.app(name.app)
    return set(keyspace_of(app, catalogue).children(app, name.key, state))
