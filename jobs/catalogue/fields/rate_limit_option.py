"""The option ``rate_limit``: a number of starts per duration, alone or with a key and a burst."""

import re
from collections.abc import Mapping

from sluice.jobs.catalogue.errors import At, Words, read_mapping
from sluice.jobs.catalogue.fields.policy_options import COUNT_MAX, read_key
from sluice.jobs.policy.rate_limit import RateLimit, default_burst
from sluice.jobs.text.units import read_duration_s

_RATE_FORMS = '"5/s", "100/m", "1/10s" or {"key": "{customer}", "limit": "5/s", "burst": 10}'
_RATE = re.compile(r"\s*(\d{1,9})\s*/\s*(\d.*|[a-z]+\s*)", re.ASCII)


def read_rate_limit(words: Mapping[str, object], at: At) -> RateLimit | None:
    """Return the rate limit, or None if none is defined or it is invalid, which adds a fault."""
    value = words.get("rate_limit")
    if value is None:
        return None
    try:
        return _read_rate_limit(value)
    except (ValueError, OverflowError) as error:
        at.add(f"rate_limit: {error}")
        return None


def _read_rate_limit(value: object) -> RateLimit:
    if isinstance(value, str):
        value = {"limit": value}
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is neither a rate nor a mapping; write {_RATE_FORMS}")
    fields = read_mapping(_RATE_OPTIONS, value)
    if "limit" not in fields:
        raise ValueError(f"there is no limit; write {_RATE_FORMS}")
    starts, per_s = fields.pop("limit")
    return RateLimit(starts=starts, per_s=per_s, **{"burst": default_burst(starts, per_s), **fields})


def _rate(value: object) -> tuple[int, float]:
    """Return the number of starts and the seconds in which they are allowed."""
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{value!r} is not a whole number of starts per duration; write {_RATE_FORMS}")
    starts, per = int(found[1]), found[2].strip()
    if not starts:
        raise ValueError(f"{value!r} lets no job start; pause the app instead")
    try:
        per_s = read_duration_s(per if per[0].isdigit() else f"1{per}")
    except ValueError:
        per_s = 0.0
    if not per_s or per.isdigit():
        raise ValueError(f"{value!r} has no duration after the slash, like s, m, h, d or 10s")
    return starts, per_s


def _burst(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


_RATE_OPTIONS: Words = {"key": ("key", read_key), "limit": ("limit", _rate), "burst": ("burst", _burst)}
