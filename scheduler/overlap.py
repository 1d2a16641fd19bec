"""Effect of an open submission on the next due times of its schedule."""

from sluice.jobs.app import App
from sluice.jobs.firing import Overlapping
from sluice.jobs.schedule import Schedule


def overlap_of(schedule: Schedule, app: App) -> Overlapping:
    """Return the ``overlap`` option of a schedule. If the app does not allow multiple submissions, any open submission
    of the app counts, and the default is ``skip``."""
    if app.chunking is None or app.chunking.allow_multiple_jobs:
        return Overlapping(schedule.overlap)
    return Overlapping(schedule.overlap or "skip", of_app=True)
