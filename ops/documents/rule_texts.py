"""Texts about broken rules of the ledger, with advice, and about workers with different definitions."""

from collections.abc import Mapping, Sequence

from sluice.ledger.reads.fleet import Variant
from sluice.ledger.recovery.invariants import Breach
from sluice.ledger.recovery.repairs import can_be_repaired
from sluice.ops.text import command, legible

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


SAME_DEFINITIONS = (
    "Give all of them the same sources. Changed files are loaded within seconds, Python modules only by a restart."
    " During a roll-out, this resolves itself."
)


def by_app(variants: Sequence[Variant]) -> Mapping[str, Sequence[Variant]]:
    found: dict[str, list[Variant]] = {}
    for each in variants:
        found.setdefault(each.app, []).append(each)
    return found


def differ(app: str, variants: Sequence[Variant], *, here: str = "here") -> str:
    """Return a sentence about the definitions of an app that are in use. ``here`` is the name of this process."""
    groups = [_group(each, here) for each in variants]
    return f"There are {len(variants)} definitions of {app} in use: {'; '.join(groups)}."


def _group(variant: Variant, here: str) -> str:
    many = f"{variant.workers} {'worker' if variant.workers == 1 else 'workers'}"
    workers = f"{many} ({'' if variant.workers == 1 else 'one is '}{variant.one})" if variant.workers else ""
    return f"{variant.digest[:8]} " + " and ".join(filter(None, [workers, here if variant.is_own else ""]))
