"""Random second dimensions for tables of drawn apps, and for the external table."""

import random
from collections.abc import Mapping
from typing import Any

from tests.simulation.tables import dimension, table_of

_DIMENSIONS = ({"store": ["g", "o"]}, {"store": ["o", "g"]}, {"kind": ["a", "b"]})


def with_drawn_slices(rng: random.Random, apps: dict[str, Any], external: str) -> dict[str, Any]:
    """Return the apps. In a third of the worlds with partitions, some tables have slices, also the external one if no
    app makes it. Other worlds draw the same as without this choice."""
    drawn = random.Random(f"slices {rng.getstate()}")
    names = [name for name, words in apps.items() if "partition" in words]
    if not names or drawn.random() < 0.65:
        return apps
    changed = {name: _with_dimension(drawn, apps[name]) if name in names else apps[name] for name in apps}
    is_made = any(words.get("output_table") == external for words in apps.values())
    dimensions = {
        table_of(name, words): found[0] for name, words in changed.items() if (found := dimension(words))
    }
    by = None if is_made or drawn.random() < 0.5 else drawn.choice(_DIMENSIONS)
    if by is not None:
        dimensions[external] = next(iter(by))
    return {
        name: _with_readings(drawn, words, dimensions, {external: by} if by else {})
        for name, words in changed.items()
    }


def drawn_by(rng: random.Random, words: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the slices that a submission for an app requests: all or one."""
    found = dimension(words)
    if found is None:
        return {}
    name, values = found
    drawn = random.Random(f"by {rng.getstate()}")
    return {"by": {name: [drawn.choice(values)]}} if drawn.random() < 0.5 else {}


def _with_dimension(drawn: random.Random, words: dict[str, Any]) -> dict[str, Any]:
    if drawn.random() < 0.35:
        return words
    return words | {"partition": {"unit": "day", "by": drawn.choice(_DIMENSIONS)}}


def _with_readings(
    drawn: random.Random, words: dict[str, Any], dimensions: Mapping[str, str], external: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the app, of which some slices read every slice of a table, and which defines the external table."""
    if not words.get("table_dependencies"):
        return words
    readings = [
        each
        | ({"partition": {"by": external[each["table"]]}} if each["table"] in external else {})
        | ({"by": "all"} if each["table"] in dimensions and drawn.random() < 0.3 else {})
        for each in words["table_dependencies"]
    ]
    return words | {"table_dependencies": readings}
