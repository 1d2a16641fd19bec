"""The option ``retry_budget`` of an app. A submission cannot set it, because it affects all submissions that request
the app's jobs.
"""

from collections.abc import Mapping

from sluice.jobs.catalogue.faults import At, Words, read_mapping
from sluice.jobs.catalogue.policy import COUNT_MAX
from sluice.jobs.durations import read_duration_s
from sluice.jobs.retry_budget import RetryBudget

_FORM = '{"retries": 100, "per": "1m"}'


def read_retry_budget(words: Mapping[str, object], at: At, *, unbounded: bool) -> RetryBudget | None:
    """Return the retry budget, or None if none is defined or it is invalid, which adds a fault."""
    value = words.get("retry_budget")
    if value is None:
        return None
    if unbounded:
        at.add(
            "retry_budget: the app is_long_running, so each of its jobs has its own delay before a restart;"
            " use retry"
        )
        return None
    try:
        return _read(value)
    except (ValueError, OverflowError) as error:
        at.add(f"retry_budget: {error}")
        return None


def _read(value: object) -> RetryBudget:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_FORM}")
    fields = read_mapping(_WORDS, value)
    if fields.keys() != {"retries", "per_s"}:
        raise ValueError(f"the number of retries or the time per which they count is missing; write {_FORM}")
    return RetryBudget(**fields)


def _retries(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


def _per_s(value: object) -> float:
    per_s = read_duration_s(value)
    if per_s < 1:
        raise ValueError(f"{value!r} is less than a second; write the number of retries per second")
    return per_s


_WORDS: Words = {"retries": ("retries", _retries), "per": ("per_s", _per_s)}
