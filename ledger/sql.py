"""The shape that every transition shares, and the clock that every statement reads."""

from collections.abc import Iterable
from typing import NamedTuple

from sluice.jobs.states import DISPATCHED, TERMINAL, By, State, Verb, sql_list

#: The database's own clock, unless a simulation or a test passes an instant.
NOW = "coalesce(%(now)s::timestamptz, clock_timestamp())"

#: Since when a job could have begun, as far as time goes. A round that is tried again has its place by when it is due
#: again: it is before whoever comes after that, and behind whoever has waited meanwhile.
DUE = "coalesce(not_before, created_at)"
#: The order in which jobs that may run are run: that of ``jobs.urgency.Urgency``, then that in which they were due.
IN_TURN = f"-priority, coalesce(urgent_by, 'infinity'), {DUE}, id"

#: What a verb is told about its jobs where their ids are all there is to tell.
IDS = "unnest(%(jobs)s::bigint[]) AS given (id)"

#: A longer time than this has no end that a timestamp could tell.
LONGEST_S = 3e9

_GIVEN_UP = f"CASE WHEN source IN ({sql_list(*sorted(DISPATCHED))}) THEN pool END AS pool"

#: Where a job ends whose worker is about to hear of it, the worker has so long to end its work elsewhere by itself.
ENDS_ITSELF_S = 10.0


class Step(NamedTuple):
    """A verb, and who carries it out."""

    verb: Verb
    by: By


def one_of(value: str, words: Iterable[str]) -> str:
    """As ``value IN (…)``. Postgres makes a CHECK ready again for each statement, and a list takes it longer the longer
    that is: of 50 pairs 130 µs, where an insertion takes 40; one text takes it 7."""
    return f"strpos('|{'|'.join(words)}|', '|' || {value} || '|') > 0"


def interval(seconds: str) -> str:
    """So many seconds, of which there may be more than a timestamp can tell, or null."""
    return f"CASE WHEN {seconds} IS NOT NULL THEN make_interval(secs => least({seconds}, {LONGEST_S})) END"


def move(
    verb: Verb,
    by: By,
    *,
    given: str = IDS,
    condition: str = "true",
    sets: str = "",
    note: str = "NULL",
    returning: str = "",
    forgets_work: bool = False,
    in_line: str = "",
    then: Step | None = None,
    also: str = "",
) -> str:
    """The one statement by which jobs change state: hold, guard, write, log.

    ``held`` locks the jobs in id order, so that two transactions never wait for each other in a circle, and reads
    each again after the wait. The guard stands once more in the UPDATE. The history row is written in the same
    statement, so no state changes without one. ``condition`` and ``sets`` may read ``job`` and ``given``; ``note`` and
    ``returning`` read the row as moved: its id, and the pool whose slot it gives up (``slots.move_out``).
    ``forgets_work``: what the job had started elsewhere is over, or is to be found by its token alone.
    ``in_line``: a job of a pool stays as it is and is set like that instead; each row says last which pool that is of.
    ``then``: at the same moment they go one step on. ``also``: one more common table expression, which reads ``moved``.
    """
    _check(verb, by, then)
    work = "handle = NULL, watch_at = NULL, misses = 0" if forgets_work else _work(verb)
    state = (then or Step(verb, by)).verb.target
    parts = [f"state = '{state}'", f"changed_at = {NOW}", _leaving(verb), work, sets]
    returning = returning or _returned(verb)
    return f"""
    WITH held AS MATERIALIZED (
        SELECT job.state AS source, job.pool AS its_pool, job.claim AS its_claim, given.*
        FROM job JOIN {given} USING (id)
        WHERE {guard(verb)} AND ({condition}) ORDER BY job.id FOR UPDATE OF job
    ), moved AS (
        UPDATE job SET {", ".join(filter(None, parts))}
        FROM held AS given
        WHERE job.id = given.id AND {guard(verb)}{" AND given.its_pool IS NULL" if in_line else ""}
        RETURNING job.*, given.source, given.its_claim
    ), logged AS (
        INSERT INTO transition (job, at, source, target, verb, by, round, claim, note)
        {_history(verb, by, note, then)}
    ){_lined_up(in_line)}{f", {also}" if also else ""}
    SELECT {_answer(returning) if in_line else f"{returning} FROM moved"} ORDER BY id
    """


def _returned(verb: Verb) -> str:
    return f"id, {_GIVEN_UP}" if gives_up_a_slot(verb) else "id"


def _check(verb: Verb, by: By, then: Step | None) -> None:
    if by not in verb.by:
        raise ValueError(f"{by} does not {verb.name}")
    if then and (then.by not in then.verb.by or verb.target not in then.verb.sources):
        raise ValueError(f"{then.by} does not {then.verb.name} after {verb.name}")


def guard(verb: Verb) -> str:
    """The verb's guard for a job that is found by its id, written so that no partial index can answer it.

    While the statistics still say that hardly any job is ready, the index of the ready ones looks cheaper
    than the primary key, and each claim would read all of a hundred thousand (measured: 180 ms instead of 1).
    """
    return f"CASE WHEN job.{verb.guard} THEN true END"


def gives_up_a_slot(verb: Verb) -> bool:
    """Whether a job that it moves may have been dispatched, and is not after that."""
    return verb.target not in DISPATCHED and not DISPATCHED.isdisjoint(verb.sources)


def _history(verb: Verb, by: By, note: str, then: Step | None) -> str:
    """The rows for the log: one of each job, or two that follow each other."""
    if then is None:
        return f"""SELECT id, changed_at, source, state, '{verb.name}', '{by}', round, claim, {note}
        FROM moved ORDER BY id"""
    return f"""SELECT id, changed_at, CASE step.nth WHEN 1 THEN moved.source ELSE '{verb.target}' END,
               step.target, step.verb, step.by, round, CASE step.nth WHEN 1 THEN its_claim ELSE claim END, {note}
        FROM moved CROSS JOIN (VALUES (1, '{verb.target}', '{verb.name}', '{by}'),
                                      (2, '{then.verb.target}', '{then.verb.name}', '{then.by}'))
             AS step (nth, target, verb, by)
        ORDER BY id, nth"""


def _leaving(verb: Verb) -> str:
    """A job that stops running belongs to no worker, one that stops waiting is in no line; CHECKs hold the ledger to
    it."""
    left = {State.RUNNING: "worker = NULL, deadline = NULL", State.WAITING: "queued = false"}
    return ", ".join(words for source, words in left.items() if source in verb.sources)


def _lined_up(sets: str) -> str:
    """Those of a pool, who take no slot before ``pools.admit`` says so."""
    if not sets:
        return ""
    return f""", lined_up AS (
        UPDATE job SET {sets} FROM held
        WHERE job.id = held.id AND held.its_pool IS NOT NULL AND NOT job.queued RETURNING job.*
    )"""


def _answer(returning: str) -> str:
    return f"{returning}, NULL AS pool FROM moved UNION ALL SELECT {returning}, pool FROM lined_up"


def _work(verb: Verb) -> str:
    """What becomes of work elsewhere: a job that is over has it ended (``watching``), any other finds it again."""
    if verb.target in TERMINAL:
        grace = f"CASE WHEN job.worker IS NULL THEN 0 ELSE {ENDS_ITSELF_S} END"
        when = f"CASE WHEN job.handle IS NOT NULL THEN {NOW} + make_interval(secs => {grace}) END"
        return f"watch_at = {when}, misses = 0, said = NULL, announcements = 0"
    return "watch_at = NULL" if State.RUNNING in verb.sources else ""
