"""Run of one seed, from its first event to rest."""

import random
from collections.abc import Collection, Sequence

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.dependency import MET
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.simulated import Faults
from sluice.jobs.states import State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.reads.quiescence import open_submissions, unfinished, untold
from sluice.ledger.recovery.invariants import breaches
from sluice.ops.simulation.describe import words_of
from sluice.ops.simulation.faults import FaultSource, InjectedFault
from sluice.planner.keyspaces.choose import keyspace_of
from tests.simulation.breakers import begun_in_spite, open_breakers
from tests.simulation.chunks import twice_at_once, unaccounted
from tests.simulation.definitions import (
    drawn_apps,
    drawn_breakers,
    drawn_chunks,
    drawn_expansions,
    drawn_notifications,
    drawn_partitions,
    drawn_removals,
    drawn_sagas,
    drawn_templates,
    drawn_trips,
)
from tests.simulation.environment import Ground
from tests.simulation.expansions import unrequested
from tests.simulation.faults import drawn
from tests.simulation.journals import misplaced, off_course
from tests.simulation.overdue_work import neglected
from tests.simulation.pauses import begun, held_back
from tests.simulation.pools import crowded, overdrawn, waiting_in_vain
from tests.simulation.removals import ClaimWatch
from tests.simulation.world import CALM_S, PATIENCE_S, RESUMED_S, STILL_S, World
from tests.world import catalogue_of

# Values that change with each transition, event, journal entry and plan. A step that changes none of them cannot have
# broken a slow rule, so the slow rules are not checked. The last three columns exist because most worlds have no pools
# and no pauses, and need no checks of them.
# The last row of the history may be two steps, the second of which has the number after its id.
_MOVES = """
SELECT CASE WHEN history.is_called THEN history.last_value + 1 ELSE 0 END,
    saga_signal.last_value, (SELECT count(*) FROM saga_journal), (SELECT count(planned_at) FROM submission),
    EXISTS (SELECT 1 FROM job WHERE pool IS NOT NULL),
    EXISTS (SELECT 1 FROM submission WHERE paused_at IS NOT NULL), EXISTS (SELECT 1 FROM app_pause)
FROM history_id_seq history, saga_signal_id_seq saga_signal
"""
_PUSHING = sql_list(*sorted(MET["succeeded"] | MET["failed"]))
# Jobs that ended while a submission requested their children too, each with the last such time.
_PUSHED = f"""
SELECT job.app, job.key, job.state, max(transition.at) FROM job
JOIN submission_job ON submission_job.job = job.id JOIN submission ON submission.number = submission_job.submission
JOIN transition ON transition.job = job.id AND transition.target = job.state
    AND transition.at > submission.planned_at
    AND (submission_job.request_reason = {RequestReason.PUSHED:d}
         OR transition.at <= coalesce(submission.ended_at, transition.at))
WHERE job.state IN ({_PUSHING}) AND submission.push AND submission.state <> '{SubmissionState.CANCELLED}'
GROUP BY job.id
"""


#: Theme of the worlds in which old jobs are removed.
REMOVALS = "removals"
#: Possible subjects of a world.
THEMES = {
    "anything": drawn_apps,
    "templates": drawn_templates,
    "chunks": drawn_chunks,
    "partitions": drawn_partitions,
    "sagas": drawn_sagas,
    "trips": drawn_trips,
    "breakers": drawn_breakers,
    "expansions": drawn_expansions,
    "notifications": drawn_notifications,
    REMOVALS: drawn_removals,
}


class Violation(AssertionError):
    """Violation of an invariant.

    The message names the seed and the command that replays it. ``happened`` has the faults before it, and ``words``
    their descriptions.
    """

    def __init__(
        self,
        what: str,
        *,
        happened: Sequence[tuple[float, InjectedFault, str]] = (),
        words: Sequence[str] = (),
    ) -> None:
        super().__init__(what)
        self.happened = tuple(fault for _, fault, _ in happened)
        self.words = tuple(words)


def simulate(
    ground: Ground,
    seed: int,
    faults: Faults | None = None,
    theme: str = "anything",
    *,
    plan: Collection[InjectedFault] | None = None,
) -> int:
    """Run one seed on this ground. Return the number of steps. Violation if an invariant does not hold.

    With a ``plan``, only the faults that it names happen.
    """
    rng = random.Random(seed)
    apps = THEMES[theme](rng)
    fate = FaultSource(seed, faults or drawn(rng), plan)
    world = World(ground, rng, apps, catalogue_of(apps), fate, removes=theme == REMOVALS)
    try:
        _run(world)
    except Exception as error:
        raise Violation(
            f"seed {seed}, step {world.steps}, {world.elapsed_s:.3f} s: {type(error).__name__}: {error}\n"
            f"replay: python -m tests.simulation --seed {seed} --theme {theme}",
            happened=fate.happened,
            words=world.plain.transact(lambda tx: words_of(tx, fate.happened)),
        ) from error
    finally:
        world.close()
    return world.steps


def at_rest(tx: Tx) -> bool:
    """Return whether nothing is left to happen. The end of a job may still plan children, also for a submission that
    has ended, and complete a day of a table."""
    return not open_submissions(tx) and not unfinished(tx) and not untold(tx)


def _run(world: World) -> None:
    watched = _Watched(world)

    def observe() -> None:
        has_written = world.has_written()
        wrong = world.air.wrong or (world.plain.transact(watched.look) if has_written else [])
        assert not wrong, wrong

    world.observe = observe
    while True:
        world.step()
        observe()
        is_quiet = world.elapsed_s > RESUMED_S and world.mail.is_quiet
        if is_quiet and world.plain.transact(at_rest):
            world.mail.settle()
            left = world.plain.transact(watched.left)
            assert not left, left
            if not world.request_again():
                stuck = world.removals.settle() if world.removals else []
                assert not stuck, stuck
                observe()
                return
        is_hopeless = world.elapsed_s > min(RESUMED_S + PATIENCE_S, watched.moved_s + STILL_S)
        assert not is_hopeless, world.plain.transact(_left)


class _Watched:
    """Checks after each step that has written anything, and the state of the world after the last one."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.moved_s = RESUMED_S
        self._transition = 0
        self._moves: list[int] = []
        self._held: set[int] = set()
        self._open: dict[str, tuple[int, int]] = {}
        self._claims = ClaimWatch(world.dependent)

    def look(self, tx: Tx) -> list[str]:
        """Return the violations."""
        wrong = [] if self._world.watch.is_idle else self._world.watch.look(tx, self._transition)
        *moved, has_pools, has_pauses, has_breakers = tx.rows(_MOVES)[0]
        wrong += self._removed(tx)
        if moved != self._moves:
            wrong += self._look_at_moves(tx, has_steps=moved[2] > 0, has_pools=has_pools)
            self.moved_s = max(self.moved_s, self._world.elapsed_s)
            self._moves, self._transition = moved, moved[0]
        wrong += [] if self._world.mail.is_idle else self._world.mail.look(tx)
        wrong += self._world.air.unheard(tx)
        wrong += neglected(tx) if self._world.elapsed_s > CALM_S else []
        wrong += [f"in line for a free slot: {job}" for job in (waiting_in_vain(tx) if has_pools else ())]
        self._held = held_back(tx) if has_pauses else set()
        self._open = open_breakers(tx) if has_breakers else {}
        return wrong

    def left(self, tx: Tx) -> list[str]:
        """Return the violations of a world at rest."""
        world = self._world
        return [
            *(f"nobody planned {name}" for name in _not_pushed(tx, world)),
            *(f"not accounted for: {each}" for each in unaccounted(tx, world.removals)),
            *(f"requested, and missing: {each}" for each in world.watch.left_out(tx)),
            *world.watch.left_of_days(tx),
            *(f"not as drawn: {each}" for each in world.unplanned(tx)),
            *world.air.unended(),
            *world.trips.left(tx),
            *world.mail.left(tx),
            *off_course(tx),
        ]

    def _removed(self, tx: Tx) -> list[str]:
        """Return the violations of removals since the last call."""
        removals = self._world.removals
        if removals is None:
            return []
        wrong, removals.wrong = [*removals.wrong, *self._claims.look(tx)], []
        if removals.has_removed:
            removals.has_removed = False
            self.moved_s, self._moves = max(self.moved_s, self._world.elapsed_s), []
        return wrong

    def _look_at_moves(self, tx: Tx, *, has_steps: bool, has_pools: bool) -> list[str]:
        since = self._transition
        # A step that plans a submission may also begin a job that only paused submissions requested before.
        began = self._held & begun(tx, since) & held_back(tx) if self._held else ()
        return [
            *(f"begun although only paused submissions request it: {job}" for job in began),
            *begun_in_spite(tx, since, self._open),
            *map(str, breaches(tx)),
            *(f"not requested: {job}" for job in unrequested(tx)),
            *(f"at once: {pair}" for pair in twice_at_once(tx)),
            *(f"more than may be at once: {pool}" for pool in (crowded(tx) if has_pools else ())),
            *(f"more than may start: {bucket}" for bucket in (overdrawn(tx) if has_pools else ())),
            *(misplaced(tx) if has_steps else ()),
            *self._world.air.landed(tx, since),
            *self._world.trips.look(tx),
        ]


def _left(tx: Tx) -> list[str]:
    return unfinished(tx) or untold(tx) or ["a submission is open though no job is"]


def _not_pushed(tx: Tx, world: World) -> list[JobName]:
    """Return children that must follow from the end of a job and that the ledger does not have.

    If the definitions changed on the way, only children by both the old and the new definitions count. Jobs that read
    tables need not follow. A child that was removed later has followed.
    """
    ended = [(JobName(app, key), State(state), at) for app, key, state, at in tx.rows(_PUSHED)]
    children = {
        child
        for name, state, at in ended
        for child in set.intersection(*(_children(catalogue, name, state) for catalogue in world.catalogues))
        if not world.was_removed(child, at)
    }
    return sorted(children - set(known_jobs.find(tx, sorted(children))))


def _children(catalogue: Catalogue, name: JobName, state: State) -> set[JobName]:
    app = catalogue.app(name.app)
    children = keyspace_of(app, catalogue).children(app, name.key, state)
    return {child for child in children if not catalogue[child.app].reads_tables}
