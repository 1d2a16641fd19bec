"""Conditions that select the jobs of an app in some states along an index.

A job is ready, running and executed for a short time, so it has no entry for these states in the index
``job_app_state``. Each entry costs about 3 µs. Other indexes have the jobs in these states alone: ``job_urgency`` has
the ready jobs of each app, ``job_running`` and ``job_dispatched`` have the running and executed jobs of all apps. A
query must spell out the states that it searches for. If they are parameters, Postgres cannot prove that an index
has all of the jobs.

Queries in the order of ``id + 0`` sort the jobs in these states. This order exists in no index except
``job_app_state``. In the order of ``id``, Postgres might search for a few jobs among all, along the primary key.
"""

from collections.abc import Collection

from sluice.jobs.states import State, sql_list

#: States in which a job has no entry in ``job_app_state``.
BRIEF = (State.READY, State.RUNNING, State.EXECUTED)
#: Condition of the index ``job_app_state``.
LASTING = f"state NOT IN ({sql_list(*BRIEF)})"


def in_states(states: Collection[State]) -> str:
    """Return SQL that is true if a job is in any of the states: one condition for each index that has them."""
    lasting = [state for state in State if state in states and state not in BRIEF]
    found = [f"job.state IN ({sql_list(*lasting)})"] if lasting else []
    found += [f"job.state = '{state}'" for state in BRIEF if state in states]
    return f"({' OR '.join(found)})" if found else "false"


def of_app(app: str, states: Collection[State]) -> list[str]:
    """Return conditions that select the jobs of an app in the states. Each job fulfils exactly one, and each
    condition is for one index. ``app`` is SQL: an app, or ANY of several.

    The collation of ``job_urgency`` keeps Postgres from reading all jobs of the app by their names.
    """
    found = [_brief_of_app(app, state) for state in BRIEF if state in states]
    lasting = [state for state in State if state in states and state not in BRIEF]
    return [*found, f"job.app = {app} AND job.state IN ({sql_list(*lasting)})"] if lasting else found


def ready_of(app: str) -> str:
    """Return the condition that selects the ready jobs of an app (see ``of_app``)."""
    return _brief_of_app(app, State.READY)


def newest(app: str, state: str, *, condition: str = "true", limit: str) -> str:
    """Return the query for the newest jobs of an app in a state. ``app`` and ``state`` are columns."""
    within = f"{condition} ORDER BY job.id + 0 DESC LIMIT {limit}"
    parts = [f"job.app = {app} AND job.state = {state} AND job.{LASTING}"]
    parts += [f"{state} = '{each}' AND {_brief_of_app(app, each)}" for each in BRIEF]
    return " UNION ALL ".join(f"(SELECT * FROM job WHERE {part} AND {within})" for part in parts)


def _brief_of_app(app: str, state: State) -> str:
    collated = ' COLLATE "C"' if state is State.READY else ""
    return f"job.app COLLATE \"C\" = {app} AND job.state{collated} = '{state}'"
