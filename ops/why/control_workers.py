"""Remedies if no worker serves the planner, the groomer or the scheduler."""

from collections.abc import Sequence

from sluice.broker.messages import CONTROL, GROOMER, SCHEDULER
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ops.why.answer import Remedy

#: Queues that must be served for time to pass: the groomer, and the scheduler, which sends the ticks.
TIME = (GROOMER, SCHEDULER)


def absent(facts: Obstacles, *queues: str) -> Sequence[Remedy]:
    """Return the remedies if any of these queues has no worker. Empty if all of them have one."""
    missing = [queue for queue in queues if queue in facts.unserved]
    if not missing:
        return ()
    named = "" if len(facts.unserved) == len(CONTROL) else f" --queues {','.join(facts.unserved)}"
    nobody = f"no worker serves {' and '.join(missing)}"
    return (
        Remedy("sluice up", f"starts planner, groomer, scheduler and worker: {nobody}"),
        Remedy(f"sluice worker{named}", "starts a worker that serves them"),
    )
