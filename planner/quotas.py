"""Quotas of tenants: which of the waiting submissions may be planned now."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

S = TypeVar("S")


def divided(
    waiting: Iterable[S], tenant_of: Callable[[S], str], left: Mapping[str, int]
) -> tuple[list[S], list[S]]:
    """Divide submissions: the first of each tenant up to what is ``left`` of its quota, and the others.

    A tenant that is missing in ``left`` has no quota.
    """
    within: list[S] = []
    above: list[S] = []
    used: Counter[str] = Counter()
    for each in waiting:
        tenant = tenant_of(each)
        if tenant in left and used[tenant] >= left[tenant]:
            above.append(each)
        else:
            used[tenant] += 1
            within.append(each)
    return within, above
