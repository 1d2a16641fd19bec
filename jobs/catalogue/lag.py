"""``max_lag``, in all places: how long ago a parent may have succeeded when a child is about to run."""

import math

from sluice.jobs.durations import parse_duration_s

#: Longest lag in seconds: a thousand years, more than the age of any result. Python has no dates much further back.
LAG_S_MAX = 1000 * 366 * 86_400.0


def read_lag_s(value: object) -> float:
    """Return a lag in seconds. A number means minutes, so a text must have a unit.

    Raises ValueError with the accepted forms.
    """
    if isinstance(value, str):
        if is_number(value):
            raise ValueError(f'{value!r} has no unit; write "6h", or a number of minutes without quotes')
        lag_s = parse_duration_s(value)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f'{value!r} is not a number of minutes from 0 on, nor a duration such as "6h"')
    else:
        lag_s = min(value, LAG_S_MAX) * 60.0  # Some whole numbers exceed the range of a float.
    if lag_s > LAG_S_MAX:
        raise ValueError(f"{value!r} is more than a thousand years")
    return lag_s


def is_number(text: str) -> bool:
    """Return whether the text is a number without a unit."""
    try:
        float(text)
    except ValueError:
        return False
    return True
