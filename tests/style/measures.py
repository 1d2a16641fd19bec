"""Measures of the code, each with a limit that no file, function, folder or room may exceed.

    python -m tests.style            # figures by room
    python -m tests.style --matches ledger/lifecycle/claims.py    # the discouraged patterns in these files

Some functions have a higher limit of their own (``complexity.EXCEPTIONS``).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tests.style import complexity, layout, prose
from tests.style.sources import ROOMS, Source

Values = Mapping[str, int]


def _all(values: Values) -> dict[str, int]:
    return dict(values)


def _above(most: int) -> Callable[[Values], dict[str, int]]:
    return lambda values: {place: value for place, value in values.items() if value > most}


class Measure(NamedTuple):
    """Function that returns the values of one file by place, and function that selects the sums above a limit."""

    of: Callable[[Source], Values]
    too_high: Callable[[Values], dict[str, int]] = _all
    product_only: bool = True


MEASURES = {
    "lines of a function": Measure(complexity.lines),
    "branches of a function": Measure(complexity.branches),
    "parameters of a function": Measure(complexity.parameters),
    "modules of a folder": Measure(layout.folder, _above(layout.MODULES_MAX)),
    "modules named after an activity": Measure(layout.activity),
    "classes with the same name": Measure(layout.class_names, _above(1)),
    "prose": Measure(prose.counted, prose.over_the_limit, product_only=False),
}


class Measured:
    """The sums of all measures over files that are added one by one."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._sums: dict[str, Counter[str]] = {name: Counter() for name in MEASURES}
        for source in sources:
            self.add(source)

    def add(self, source: Source) -> None:
        is_product = source.room in ROOMS and "/migrations/" not in source.path
        for name, measure in MEASURES.items():
            if is_product or not measure.product_only:
                self._sums[name].update(measure.of(source))

    def too_high(self, name: str) -> dict[str, int]:
        return MEASURES[name].too_high(self._sums[name])

    def complaints(self) -> list[str]:
        """Return the values that are above their limits."""
        return [
            f"{name}: {place}: {value}" for name in MEASURES for place, value in self.too_high(name).items()
        ]
