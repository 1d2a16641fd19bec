"""Rule about rows that jobs write into the ledger's own database together with their success."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from sluice.jobs.states import SUCCEED
from tests.chaos.history import History


def writes_of_a_success_are_there_once(history: History) -> Iterator[str]:
    """Check that each claim by which such a job succeeded has its row once, and that no other claim has one."""
    found: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for stamp in history.rows.stamps:
        found[stamp.app, stamp.key][stamp.claim] += 1
    apps = {stamp.app for stamp in history.rows.stamps}
    won: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for job in history.rows.jobs:
        if job.app in apps and not job.is_pruned:
            steps = history.steps_of.get(job.id, [])
            won[job.app, job.key].update(step.claim for step in steps if step.verb == SUCCEED.name)
    for app, key in sorted(found.keys() | won.keys()):
        written, due = found[app, key], won[app, key]
        if written != due:
            told = f"{app}/{key} has succeeded by claims {sorted(due.elements())}"
            yield f"{told}, and has written by {sorted(written.elements())}"
