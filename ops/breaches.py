"""Texts about broken rules of the ledger, with advice."""

from sluice.ledger.reads.invariants import Breach
from sluice.ledger.recovery.repairs import can_be_repaired
from sluice.ops.words import command, legible

REPAIRABLE = "`sluice db repair` computes this again from other rows of the ledger. Workers may keep running."
_NOT_REPAIRABLE = "The ledger does not contain the correct value. Take a dump first (`pg_dump`)"


def advice(breach: Breach) -> str:
    """Return the advice for a broken rule."""
    if can_be_repaired(breach):
        return REPAIRABLE
    if breach.job is None:
        return f"{_NOT_REPAIRABLE}, then correct it by hand, or restore a backup."
    return (
        f"{_NOT_REPAIRABLE}. Look at the history, for example with `{command('show', breach.job)}`, and run these jobs "
        "again or cancel them, or restore a backup."
    )


def examples(breach: Breach, *, most: int) -> str:
    """Return the names of the first objects that break a rule, as text."""
    named = ", ".join(legible(each) for each in breach.examples[:most])
    return f"{named} …" if breach.count > min(most, len(breach.examples)) else named
