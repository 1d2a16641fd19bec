"""One seed, from its first event to rest."""

import random

from jobs.catalogue import Catalogue
from jobs.plan import Wish
from jobs.ref import JobName
from jobs.states import State
from jobs.submission import SubmissionState
from ledger import planning
from ledger.connection import Tx
from ledger.reads.check import breaches
from planner.keyspaces import keyspace_of
from tests.simulation.definitions import drawn_apps
from tests.simulation.faults import Faults, drawn
from tests.simulation.world import FAULTY_S, PATIENCE_S, World
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
# Who succeeded while a submission wanted its children too.
_PUSHED = f"""
SELECT DISTINCT job.app, job.key FROM job
JOIN wants ON wants.job = job.id JOIN submission ON submission.number = wants.submission
WHERE job.state = '{State.SUCCEEDED}' AND submission.push AND submission.state <> '{SubmissionState.CANCELLED}'
  AND EXISTS (SELECT 1 FROM transition WHERE transition.job = job.id
              AND transition.target = '{State.SUCCEEDED}' AND transition.at > submission.planned_at
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
    seen = 0
    while True:
        world.step()
        moved = world.plain.transact(lambda tx: tx.column(_MOVES)[0])
        if moved != seen:
            seen = moved
            broken = world.plain.transact(breaches)
            assert not broken, broken
        if world.elapsed_s > FAULTY_S and world.plain.transact(_at_rest):
            missing = world.plain.transact(lambda tx: _not_pushed(tx, world.catalogue))
            assert not missing, f"nobody planned {missing}"
            return
        assert world.elapsed_s < FAULTY_S + PATIENCE_S, world.plain.transact(_left)


def _at_rest(tx: Tx) -> bool:
    return tx.column(_OPEN_SUBMISSIONS)[0] == 0 and not tx.column(_UNFINISHED)


def _left(tx: Tx) -> list[str]:
    return tx.column(_UNFINISHED) or ["a submission is open though no job is"]


def _not_pushed(tx: Tx, catalogue: Catalogue) -> list[JobName]:
    """Children that follow from a success and that the ledger has never heard of."""
    children = {
        child
        for app, key in tx.rows(_PUSHED)
        for child in keyspace_of(catalogue.app(app), catalogue).children(catalogue.app(app), key)
    }
    return sorted(children - set(planning.find(tx, sorted(children))))
