"""Events of jobs, entered by the statement that moves a job to a terminal state.

So an event exists exactly if the transition does. The event of a job without a rule is not entered: its column
``notify_on`` is null, and the statement inserts no row.
"""

from sluice.jobs.notifications.rules import EVENT_OF_STATE, JobEvent
from sluice.jobs.states import State

_COLUMNS = "job, event, state, round, claim, alerts, at"


def alerts(target: State) -> str:
    """Return the assignment to the events from which a job that moves to this state has not recovered. Empty if the
    state has no event."""
    event = EVENT_OF_STATE.get(target)
    if event is None:
        return ""
    if event is JobEvent.SUCCEEDED:
        return "alerts = NULL"
    return f"alerts = {with_alert(event)}"


def with_alert(event: JobEvent) -> str:
    """Return SQL for the alerts of a job with one more, if a rule sends it."""
    return (
        f"CASE WHEN '{event}' = ANY(job.notify_on)"
        f" THEN array_append(array_remove(job.alerts, '{event}'), '{event}') ELSE job.alerts END"
    )


def notified(target: State) -> str:
    """Return the common table expression that enters the events of moved jobs. It reads ``moved``.

    Empty if the state has no event. A job that is split has its halves in its place, so its own failure, which is in
    the same transaction, is no event.
    """
    if target is State.SPLIT:
        return """unsent AS (
        DELETE FROM notification USING moved WHERE notification.job = moved.id AND NOT notification.routed
    )"""
    event = EVENT_OF_STATE.get(target)
    if event is None:
        return ""
    if event is JobEvent.SUCCEEDED:
        source = f"""SELECT id, each.event, state, round, claim, its_alerts, changed_at
        FROM moved CROSS JOIN LATERAL unnest(moved.notify_on) AS each (event)
        WHERE each.event = '{event}' OR each.event = '{JobEvent.RECOVERED}' AND its_alerts IS NOT NULL"""
    else:
        source = f"""SELECT id, '{event}', state, round, claim, NULL, changed_at
        FROM moved WHERE '{event}' = ANY(notify_on)"""
    return f"""notified AS (
        INSERT INTO notification ({_COLUMNS})
        {source}
    )"""
