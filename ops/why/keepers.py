"""Whether somebody plans, judges, and keeps the time."""

from collections.abc import Sequence

from sluice.broker.messages import CONTROL, GROOMER, SCHEDULER
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ops.why.answer import Remedy

#: Who has to be there for time to pass: the groomer, and whoever sends it the ticks.
TIME = (GROOMER, SCHEDULER)


def absent(facts: Obstacles, *queues: str) -> Sequence[Remedy]:
    """What to do where nobody serves one of these; nothing where somebody does."""
    missing = [queue for queue in queues if queue in facts.unserved]
    if not missing:
        return ()
    named = "" if len(facts.unserved) == len(CONTROL) else f" --queues {','.join(facts.unserved)}"
    nobody = f"nobody serves {' and '.join(missing)}"
    return (
        Remedy("sluice up", f"starts who plans, judges and runs: {nobody}"),
        Remedy(f"sluice worker{named}", "the same, as a worker"),
    )
