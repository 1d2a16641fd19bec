"""``max_lag``, wherever it stands: how long ago a parent may have succeeded for a child that is to run now."""

import math

from sluice.jobs.durations import parse_duration_s

#: Nobody has results that are older: longer ago there were no days to count.
LAG_S_MAX = 1000 * 366 * 86_400.0


def read_lag_s(value: object) -> float:
    """A number is minutes, so a text has to name its unit. ValueError says what fits."""
    if isinstance(value, str):
        if is_number(value):
            raise ValueError(f'{value!r} has no unit; write "6h", or a number of minutes without quotes')
        lag_s = parse_duration_s(value)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f'{value!r} is not a number of minutes from 0 on, nor a duration such as "6h"')
    else:
        lag_s = min(value, LAG_S_MAX) * 60.0  # There are whole numbers that no float can hold.
    if lag_s > LAG_S_MAX:
        raise ValueError(f"{value!r} is more than a thousand years")
    return lag_s


def is_number(text: str) -> bool:
    """Whether it names no unit."""
    try:
        float(text)
    except ValueError:
        return False
    return True
