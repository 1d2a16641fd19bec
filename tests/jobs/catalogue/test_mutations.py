"""Valid definitions with one to three random changes. They either load or have faults that name source and app."""

import json
import random
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st

from sluice.jobs.catalogue import load
from sluice.jobs.errors import DefinitionError
from tests.jobs.catalogue.test_nonsense import NEAR, VALUES
from tests.planner.drawn_definitions import Words, drawn_apps

#: Position in a document: the mapping or list that contains the value, and its key or index there.
Spot = tuple[Any, Any]


@given(drawn_apps(), st.randoms(use_true_random=False), VALUES, st.integers(1, 3))
def test_every_fault_of_a_changed_definition_names_its_source_and_an_app(
    drawn: dict[str, Words], dice: random.Random, value: Any, times: int
) -> None:
    for _ in range(times):
        change(drawn, dice, value)
    note(str(drawn))
    for fault in faults(drawn):
        assert fault.source.endswith("apps.json")
        assert fault.app in map(spelled_out, drawn)
        assert fault.what


def spelled_out(name: str) -> str:
    """Return the name as a fault shows it, with unprintable characters escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in name)


def change(document: dict[str, Any], dice: random.Random, value: Any) -> None:
    """Replace, drop, rename or repeat a random value, at any depth."""
    holder, place = dice.choice([*spots(document)])
    match dice.choice(["replace", "drop", "rename", "repeat"]):
        case "replace":
            holder[place] = deepcopy(value)
        case "drop":
            del holder[place]
        case "rename" if isinstance(holder, dict):
            holder[dice.choice(NEAR)] = holder.pop(place)
        case _ if isinstance(holder, list):
            holder.append(deepcopy(holder[place]))
    if not document:
        document["app0"] = deepcopy(value)


def spots(document: Any) -> Iterator[Spot]:
    """Yield every position in the document that can be changed."""
    if isinstance(document, dict | list):
        places = document if isinstance(document, dict) else range(len(document))
        for place in places:
            yield document, place
            yield from spots(document[place])


def faults(apps: dict[str, Any]) -> tuple[Any, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "apps.json"
        path.write_text(json.dumps(apps))
        try:
            load([str(path)])
        except DefinitionError as error:
            return error.faults
    return ()
