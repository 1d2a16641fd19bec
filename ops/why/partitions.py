"""Texts about external partitions that have to land. An unrequested parent of a partition job is such a partition."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from shlex import quote

from sluice.jobs.keys.partitions import OR_LATER
from sluice.jobs.model.names import JobName
from sluice.ledger.reads.obstacles import UnmetDependency
from sluice.ops.why.answer import Remedy, WaitsFor


def counted(count: int) -> str:
    return f"{count} partitions that have not landed" if count > 1 else "1 partition that has not landed"


def awaited(parent: UnmetDependency) -> WaitsFor:
    return WaitsFor(
        kind="landing",
        what=f"{in_words(parent.name)} to land",
        since=parent.since,
        app=parent.app,
        key=parent.key,
        state=parent.state,
    )


def remedies(parents: Sequence[UnmetDependency]) -> Iterator[Remedy]:
    """Yield the command that lands the partitions, for each table."""
    names = sorted(parent.name for parent in parents)
    for table, names_of in groupby(names, key=lambda name: name.app):
        yield land(table, [name.key for name in names_of])


def land(table: str, keys: Sequence[str]) -> Remedy:
    named = " ".join(quote(key.removesuffix(OR_LATER)) for key in keys)
    said = "marks it as landed" if len(keys) == 1 else "marks them as landed"
    return Remedy(f"sluice partitions land {quote(table)} {named}", said)


def in_words(name: JobName) -> str:
    """Return a partition as text, like ``events/2024-04-07, or a later one,``."""
    is_any = name.key.endswith(OR_LATER)
    return f"{name.app}/{name.key.removesuffix(OR_LATER)}{', or a later one,' if is_any else ''}"
