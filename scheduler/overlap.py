"""What a schedule does while an earlier submission of its is still open."""

from sluice.jobs.app import App
from sluice.jobs.firing import Overlapping
from sluice.jobs.schedule import Schedule


def overlap_of(schedule: Schedule, app: App) -> Overlapping:
    """Its own word; where its app may not be asked for twice at once, that decides when and, without a word, skips."""
    if app.chunking is None or app.chunking.allow_multiple_jobs:
        return Overlapping(schedule.overlap)
    return Overlapping(schedule.overlap or "skip", of_app=True)
