"""The text format of Prometheus, version 0.0.4: families, each with its help, its type and its samples."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct

from sluice.ops.observe.metrics.families import FAMILIES, Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram(Struct, frozen=True):
    """Value of a histogram. ``within`` counts the observations up to each of ``bounds``, and finally all observations.
    ``total`` is their sum.
    """

    bounds: Sequence[float]
    within: Sequence[int]
    total: float


#: Values of a family, by the values of its labels in their order.
Values = Mapping[tuple[str, ...], float | Histogram]


def text(numbers: Mapping[Family, Values]) -> str:
    """Return the families as text. A family without a value is left out: nothing is known about it."""
    return "".join(f"{line}\n" for family in FAMILIES for line in _lines(family, numbers.get(family, {})))


def documents(numbers: Mapping[Family, Values]) -> dict[str, list[dict[str, object]]]:
    """Return the families as data for JSON. A family without a value is left out."""
    return {
        family.name: [
            {"labels": dict(zip(family.labels, values, strict=True)), "value": number}
            for values, number in numbers[family].items()
        ]
        for family in FAMILIES
        if numbers.get(family)
    }


def _lines(family: Family, values: Values) -> Iterator[str]:
    if not values:
        return
    yield f"# HELP {family.name} {_escaped(family.says)}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, number in values.items():
        given = list(zip(family.labels, labels, strict=True))
        if isinstance(number, Histogram):
            yield from _histogram(family.name, given, number)
        else:
            yield _sample(family.name, given, number)


def _histogram(name: str, labels: list[tuple[str, str]], spread: Histogram) -> Iterator[str]:
    for bound, many in zip((*spread.bounds, inf), spread.within, strict=True):
        yield _sample(f"{name}_bucket", [*labels, ("le", _number(bound))], many)
    yield _sample(f"{name}_sum", labels, spread.total)
    yield _sample(f"{name}_count", labels, spread.within[-1])


def _sample(name: str, labels: list[tuple[str, str]], number: float) -> str:
    inner = ",".join(f'{label}="{_quoted(value)}"' for label, value in labels)
    return f"{name}{{{inner}}} {_number(number)}" if inner else f"{name} {_number(number)}"


def _number(number: float) -> str:
    if number == inf:
        return "+Inf"
    return str(int(number)) if number == int(number) else repr(float(number))


def _escaped(help_text: str) -> str:
    return help_text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(value: str) -> str:
    return _escaped(value).replace('"', '\\"')
