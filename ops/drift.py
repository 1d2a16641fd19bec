"""Texts about workers with different definitions."""

from collections.abc import Mapping, Sequence

from sluice.ledger.reads.fleet import Variant

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
