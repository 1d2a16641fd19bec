"""Definitions and jobs drawn by Hypothesis: any apps, in any order of dependence, with any kind of group."""

from itertools import product
from typing import Any

from hypothesis import assume, note
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadKey, DefinitionError
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from tests.planner.definitions import catalogue_of

#: Options of an app, ready to be written to a file.
Words = dict[str, Any]

#: Identifier → the values that definitions may list for it. Some contain the delimiter.
POOL: dict[str, list[Any]] = {"x": [0, 1, 2, 3], "y": ["u", "v", "w"], "z": ["u", "u_v", "20140601"]}
#: Identifier → the values that keys are tried with.
TRIED: dict[str, list[str]] = {name: [*map(str, values), "9"] for name, values in POOL.items()}
WHENS = ["succeeded", "failed", "finished", "running"]


def subset(values: list[Any], *, least: int = 1) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=len(values), unique=True)


@st.composite
def drawn_apps(draw: st.DrawFn, *, groups_max: int = 2) -> dict[str, Words]:
    """Draw apps that depend only on earlier apps. The last one has parents. Not all of these definitions load."""
    drawn: dict[str, Words] = {}
    names: dict[str, list[str]] = {}
    last = draw(st.integers(1, 3))
    for place in range(last + 1):
        own = draw(subset([*POOL]))
        if draw(st.integers(0, 3)) > 0:
            # In any other position most of its values do not fit.
            own.sort(key=lambda name: name == "z")
        app = draw(_root(own))
        if drawn:
            app["depends_on"] = {
                f"g{group}": draw(st.lists(_mapping(own, names, drawn), min_size=1, max_size=2))
                for group in range(draw(st.integers(int(place == last), groups_max)))
            }
        names[f"app{place}"] = own
        drawn[f"app{place}"] = app
    return drawn


@st.composite
def _root(draw: st.DrawFn, names: list[str]) -> Words:
    """Draw an app with these identifiers and without parents."""
    autofill: Words = {name: draw(subset(POOL[name])) for name in names if draw(st.integers(0, 2)) > 0}
    if "x" in autofill and draw(st.booleans()):
        autofill["x"] = "0:4:2"
    kinds: Words = {"x": "int"} if "x" in names else {}
    if "z" in names and "z" not in autofill and draw(st.integers(0, 3)) == 0:
        kinds["z"] = draw(subset(POOL["z"]))
    template = "_".join(f"{{{name}}}" for name in names)
    return {"job_id": template, "identifiers": kinds, "autofill_values": autofill, "depends_on": {}}


@st.composite
def _mapping(
    draw: st.DrawFn, child: list[str], names: dict[str, list[str]], earlier: dict[str, Words]
) -> Words:
    """Draw one mapping of ``depends_on``. Most of the time it lists identifiers that would otherwise be ambiguous."""
    apps = draw(subset([*earlier]))[:2]
    mapping: Words = {"app_name": apps}
    for name in sorted({name for app in apps for name in names[app]} | set(child)):
        shared = name in child and all(name in names[app] for app in apps)
        choice = draw(st.integers(0, 9))
        if choice < (2 if shared else 6):
            mapping[name] = draw(subset(POOL[name]))
        elif choice == 9 and any(earlier[app]["autofill_values"].get(name) for app in apps):
            mapping[name] = "all"
    if draw(st.integers(0, 9)) == 0 and len(apps) == 1:
        mapping["job_id"] = ["_".join(str(draw(st.sampled_from(POOL[name]))) for name in names[apps[0]])]
        for name in set(names[apps[0]]) - set(child):
            mapping.pop(name, None)
    if draw(st.integers(0, 9)) == 0:
        mapping["when"] = draw(st.sampled_from(WHENS))
    return mapping


def loaded(apps: dict[str, Words]) -> Catalogue:
    """Load the apps. Discard the example if they are refused; no other error is accepted."""
    note(str(apps))
    try:
        return catalogue_of(apps)
    except DefinitionError:
        assume(False)
        raise


def tried_keys(app: App) -> list[str]:
    """Return every key that the tried values make, in its canonical form."""
    found = set()
    for values in product(*(TRIED[name] for name in app.template.names)):
        try:
            found.add(app.write_key(app.read_key("_".join(values))))
        except BadKey:
            continue
    return sorted(found)


def tried_jobs(catalogue: Catalogue) -> list[JobName]:
    return [JobName(app.name, key) for app in catalogue.values() for key in tried_keys(app)]
