"""Measures of the code that are too high today, with the value that each may have at most.

``budgets.json`` has them. A change may lower a value, or remove it, and never raise one or add one. A budget above the
value of today fails the test as well, so that the value cannot rise again unnoticed.

    python -m tests.style            # figures by room
    python -m tests.style --lower    # lower the budgets to today's values
    python -m tests.style --matches ledger/lifecycle/claims.py    # the discouraged patterns in these files
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.style import complexity, layout, prose
from tests.style.sources import ROOMS, Source

FILE = Path(__file__).with_name("budgets.json")

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

    def complaints(self, budgets: Mapping[str, Values]) -> list[str]:
        """Return the values above their budget, and the budgets that must be lowered."""
        return [
            each
            for name in MEASURES
            for each in _complaints(name, self.too_high(name), budgets.get(name, {}))
        ]

    def lowered(self, budgets: Mapping[str, Values]) -> dict[str, dict[str, int]]:
        """Return the budgets, each lowered to the value of today."""
        return {
            name: {place: min(most, now[place]) for place, most in sorted(budget.items()) if place in now}
            for name, budget in budgets.items()
            for now in [self.too_high(name)]
        }


def _complaints(name: str, values: Values, budget: Values) -> list[str]:
    above = [
        f"{name}: {place}: {value}, and the budget is {budget.get(place, 'none')}"
        for place, value in values.items()
        if value > budget.get(place, 0)
    ]
    below = [
        f"{name}: {place}: {values.get(place, 0)}; lower its budget of {most}: python -m tests.style --lower"
        for place, most in budget.items()
        if values.get(place, 0) < most
    ]
    return above + below


def read() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads(FILE.read_text())
    return found
