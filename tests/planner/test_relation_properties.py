"""Whatever a catalogue holds, its two readings of who needs whom are inverse, and neither raises."""

from functools import cache
from itertools import chain, product
from typing import Any

from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from jobs.app import App
from jobs.catalogue import Catalogue
from jobs.errors import BadKey, DefinitionError
from jobs.ref import JobName
from planner.template_keys import TemplateKeyspace
from tests.planner.definitions import catalogue_of, children, parents

#: Identifier → the values that definitions may list for it. Some contain the delimiter.
POOL: dict[str, list[Any]] = {"x": [0, 1, 2, 3], "y": ["u", "v", "w"], "z": ["u", "u_v", "20140601"]}
#: Identifier → the values that keys are tried with.
TRIED: dict[str, list[str]] = {name: [*map(str, values), "9"] for name, values in POOL.items()}


def subset(values: list[Any], *, least: int = 1) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=len(values), unique=True)


@st.composite
def drawn_mapping(draw: st.DrawFn, child: list[str], earlier: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One mapping of ``depends_on``; it lists what would otherwise be unclear, most of the time."""
    apps = draw(subset([*earlier], least=1))[:2]
    mapping: dict[str, Any] = {"app_name": apps}
    names = {name for app in apps for name in earlier[app]["names"]} | set(child)
    for name in sorted(names):
        shared = name in child and all(name in earlier[app]["names"] for app in apps)
        choice = draw(st.integers(0, 9))
        if choice < (2 if shared else 6):
            mapping[name] = draw(subset(POOL[name]))
        elif choice == 9 and any(earlier[app]["autofill_values"].get(name) for app in apps):
            mapping[name] = "all"
    if draw(st.integers(0, 9)) == 0 and len(apps) == 1:
        values = [draw(st.sampled_from(POOL[name])) for name in earlier[apps[0]]["names"]]
        mapping["job_id"] = ["_".join(map(str, values))]
    return mapping


@st.composite
def drawn_apps(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    drawn: dict[str, dict[str, Any]] = {}
    for place in range(draw(st.integers(2, 4))):
        names = draw(subset([*POOL]))
        autofill: dict[str, Any] = {
            name: draw(subset(POOL[name])) for name in names if draw(st.integers(0, 2)) > 0
        }
        if "x" in autofill and draw(st.booleans()):
            autofill["x"] = "0:4:2"
        kinds: dict[str, Any] = {"x": "int"} if "x" in names else {}
        if "z" in names and "z" not in autofill and draw(st.integers(0, 3)) == 0:
            kinds["z"] = draw(subset(POOL["z"]))
        app: dict[str, Any] = {
            "names": names,
            "identifiers": kinds,
            "autofill_values": autofill,
            "depends_on": {},
        }
        if drawn:
            for group in range(draw(st.integers(0, 2))):
                mappings = draw(st.lists(drawn_mapping(names, drawn), min_size=1, max_size=2))
                app["depends_on"][f"g{group}"] = mappings
        drawn[f"app{place}"] = app
    return drawn


def loaded(drawn: dict[str, dict[str, Any]]) -> Catalogue:
    """Only what loads is of interest here; what does not is refused with reasons, and by nothing else."""
    apps = {
        name: {
            "job_id": "_".join(f"{{{each}}}" for each in app["names"]),
            **{word: app[word] for word in ("identifiers", "autofill_values", "depends_on")},
        }
        for name, app in drawn.items()
    }
    note(str(apps))
    try:
        return catalogue_of(apps)
    except DefinitionError:
        assume(False)
        raise


def keys(app: App) -> list[str]:
    """Every key that the tried values make, as the app writes it."""
    found = set()
    for values in product(*(TRIED[name] for name in app.template.names)):
        try:
            found.add(app.write_key(app.read_key("_".join(values))))
        except BadKey:
            continue
    return sorted(found)


@settings(max_examples=200, deadline=None)
@given(drawn_apps())
def test_gates_and_children_are_inverse_canonical_and_never_raise(drawn: dict[str, dict[str, Any]]) -> None:
    catalogue = loaded(drawn)
    keyspace = TemplateKeyspace(catalogue)
    above = cache(lambda name: parents(catalogue, name))
    below = cache(lambda name: children(catalogue, name))
    for name in (JobName(app.name, key) for app in catalogue.values() for key in keys(app)):
        app = catalogue.app(name.app)
        needed = [parent for group in above(name).values() for parent in group]
        assert all(name in below(parent) for parent in needed)
        assert all(name in chain(*above(child).values()) for child in below(name))
        assert all(group == sorted(set(group)) for group in [below(name), *above(name).values()])
        for other in [*needed, *below(name)]:
            assert keyspace.canonical(catalogue.app(other.app), other.key) == other.key
        assert keyspace.unmatched(app, name.key) == (bool(app.groups) and not needed)
