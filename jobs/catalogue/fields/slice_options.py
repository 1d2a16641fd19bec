"""The option ``by`` of a partition: the second dimension of a table.

by = {name: [value, …]}, in the mapping of ``partition``: one name, and at most ``VALUES_MAX`` values
"""

import re
from collections.abc import Mapping
from keyword import iskeyword

from sluice.jobs.catalogue.errors import At
from sluice.jobs.keys.partitions import Dimension

#: Values of one dimension, at most: each has steps of its own in every plan.
VALUES_MAX = 500
#: Characters of a value, at most. It is a part of keys.
_LENGTH_MAX = 100
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
#: Names of other arguments and placeholders of a job.
_TAKEN = (
    *(
        "app_name",
        "job_id",
        "job",
        "kwargs",
        "span",
        "start",
        "end",
        "partitions",
        "inputs",
        "table",
        "version",
    ),
    *("work_ids", "by"),
)


def read_dimension(partition: object, at: At) -> Dimension | None:
    """Return the second dimension that a ``partition`` sets, or None. An invalid one adds a fault and is left out."""
    if not isinstance(partition, Mapping) or partition.get("by") is None:
        return None
    written, within = partition["by"], at.inside("by")
    try:
        return _dimension(written)
    except ValueError as error:
        within.add(str(error))
        return None


def _dimension(written: object) -> Dimension:
    if not isinstance(written, Mapping) or not written:
        raise ValueError(
            f"{written!r} is not a mapping of a name to its values, like {{store: [graz, oslo]}}"
        )
    if len(written) > 1:
        raise ValueError(
            f"{', '.join(map(str, written))}: a table has at most one second dimension; leave out the others"
        )
    ((name, values),) = written.items()
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name) or not name.isascii():
        raise ValueError(f"{name!r} is no name of an argument; write letters, digits and '_'")
    if name in _TAKEN:
        raise ValueError(f"{name} is the name of another argument of the job; use another name")
    if not isinstance(values, list | tuple) or not values:
        raise ValueError(f"{name}: {values!r} is not a list of values, like [graz, oslo]")
    if len(values) > VALUES_MAX:
        raise ValueError(f"{name}: it has {len(values):,} values, and at most {VALUES_MAX} are possible")
    return Dimension(name, tuple(_value(name, value, values) for value in values))


def _value(name: str, value: object, values: list[object] | tuple[object, ...]) -> str:
    if not isinstance(value, str) or not _VALUE.fullmatch(value) or len(value) > _LENGTH_MAX:
        raise ValueError(
            f"{name}: {value!r} cannot be a part of a key; write a text of at most {_LENGTH_MAX} letters, digits,"
            " '_', '.' and '-' that begins with a letter or a digit"
        )
    if values.count(value) > 1:
        raise ValueError(f"{name}: {value} is listed twice")
    return value
