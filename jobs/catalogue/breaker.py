"""The option ``breaker`` of an app. A submission cannot set it, because it affects all submissions that request the
app's jobs.
"""

from collections.abc import Mapping

from sluice.jobs.breaker import PAUSE_S, PAUSE_S_MAX, Breaker
from sluice.jobs.catalogue.faults import At, Words, read_mapping
from sluice.jobs.catalogue.policy import COUNT_MAX
from sluice.jobs.durations import read_duration_s

_FORM = '{"fails": 20, "pause": "30s", "pause_max": "10m"}'


def read_breaker(words: Mapping[str, object], at: At, *, unbounded: bool) -> Breaker | None:
    """Return the breaker, or None if none is defined or it is invalid, which adds a fault."""
    value = words.get("breaker")
    if value is None:
        return None
    if unbounded:
        at.add(
            "breaker: the app is_long_running, so each of its jobs has its own delay before a restart;"
            " use retry"
        )
        return None
    try:
        return _read(value)
    except (ValueError, OverflowError) as error:
        at.add(f"breaker: {error}")
        return None


def _read(value: object) -> Breaker:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_FORM}")
    fields = read_mapping(_WORDS, value)
    if "fails" not in fields:
        raise ValueError(f"fails, the number of fails in a row, is missing; write {_FORM}")
    fields.setdefault("pause_s_max", max(fields.get("pause_s", PAUSE_S), PAUSE_S_MAX))
    breaker = Breaker(**fields)
    if breaker.pause_s_max < breaker.pause_s:
        raise ValueError(f"pause_max: {value['pause_max']!r} is shorter than the first pause")
    return breaker


def _fails(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


def _pause_s(value: object) -> float:
    pause_s = read_duration_s(value)
    if pause_s < 1:
        raise ValueError(f"{value!r} is less than a second, which is no pause")
    return pause_s


_WORDS: Words = {
    "fails": ("fails", _fails),
    "pause": ("pause_s", _pause_s),
    "pause_max": ("pause_s_max", _pause_s),
}
