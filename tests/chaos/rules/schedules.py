"""Rules about due times: each has one outcome, and at most one submission, whatever leads or dies."""

from collections.abc import Iterator
from datetime import UTC, datetime

from sluice.jobs.schedules.schedule import Every, FiringOutcome, read_rule, submission_id
from tests.chaos.history import History
from tests.chaos.rows import Firing


def due_times_have_one_submission_at_most(history: History) -> Iterator[str]:
    """Check that a due time was fired exactly if the submission with its id exists.

    No other submission has the id of a due time.
    """
    firings = {_id(firing): firing for firing in history.rows.firings}
    submitted = {each.id for each in history.rows.submissions}
    for id, firing in firings.items():
        is_fired = firing.outcome == FiringOutcome.FIRED
        if (firing.submission == id) != is_fired or (id in submitted) != is_fired:
            yield f"{id} is {firing.outcome}, and its submission is {firing.submission}"
    for id in sorted(submitted - firings.keys()):
        if id.startswith("schedule:") and ":by hand:" not in id:
            yield f"{id} is for a due time that was not fired"


def no_due_time_is_passed_over(history: History) -> Iterator[str]:
    """Check that each multiple of an ``every`` rule has an outcome, from the first due time to the next one."""
    for schedule in history.rows.schedules:
        found = read_rule(schedule.rule, schedule.timezone)
        dues = {firing.due for firing in history.rows.firings if firing.schedule == schedule.id}
        if not dues or found is None or not isinstance(found[0], Every):
            continue
        every_s = found[0].seconds
        over = schedule.next_due if schedule.next_due is not None else max(dues) + every_s
        times = {min(dues) + place * every_s for place in range(round((over - min(dues)) / every_s))}
        for due in sorted(times - dues):
            yield f"{schedule.id}: {_instant(due)} has no outcome"
        for due in sorted(dues - times):
            yield f"{schedule.id}: {_instant(due)} is no due time so far"


def _id(firing: Firing) -> str:
    return submission_id(firing.schedule, _instant(firing.due))


def _instant(due: float) -> datetime:
    return datetime.fromtimestamp(due, UTC)
