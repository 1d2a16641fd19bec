"""From the groups of an app to its alternatives; a fault for what cannot be read from both ends."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod

from jobs.app import App, Group, Parents
from jobs.catalogue.faults import At
from jobs.catalogue.links import Alternative, Link
from jobs.values import Values


class _UnclearError(ValueError):
    """Nothing says what one end of the relation is."""


def link_apps(
    apps: Mapping[str, App], at: Mapping[str, At], limit: int
) -> dict[str, tuple[Alternative, ...]]:
    """The alternatives of each app, in the order of its groups. Those of unknown parents are left out."""
    linked: dict[str, tuple[Alternative, ...]] = {}
    for app in apps.values():
        found: list[Alternative] = []
        for group in app.groups:
            if all(name in apps for parents in group.all_of for name in parents.apps):
                found += _alternative(
                    app, group, apps, at[app.name].inside(f"depends_on: group {group.name}"), limit
                )
        if not app.groups:
            _refuse_enumeration(app, app.autofill, at[app.name], limit)
        linked[app.name] = tuple(found)
    return linked


def _alternative(child: App, group: Group, apps: Mapping[str, App], at: At, limit: int) -> list[Alternative]:
    try:
        links = tuple(_link(child, parents, apps[name]) for parents in group.all_of for name in parents.apps)
        domains = _domains(child, group, links, apps, limit)
    except _UnclearError as error:
        at.add(str(error))
        return []
    alternative = Alternative(child=child, name=group.name, domains=domains, links=links)
    _refuse_size(alternative, at, limit)
    _refuse_enumeration(child, domains, at, limit)
    _refuse_impossible(alternative, at)
    return [alternative]


def _link(child: App, parents: Parents, parent: App) -> Link:
    if parents.keys:
        keys = frozenset(parent.write_key(parent.read_key(key)) for key in parents.keys)
        return Link(parent=parent, when=parents.when, keys=keys)
    choices: dict[str, Values] = {}
    for name in parent.template.names:
        if name in parents.values:
            choices[name] = Values(parents.values[name])
        elif name in parents.every:
            choices[name] = _all(parent, name)
        elif name in child.template.names:
            continue
        elif parent.autofill.get(name):
            choices[name] = parent.autofill[name]
        else:
            raise _UnclearError(
                f"nothing says which {name} of {parent.name} is needed;"
                f" list its values here, or give {parent.name} autofill_values for it"
            )
    bound = frozenset(parent.template.names) - choices.keys()
    return Link(parent=parent, when=parents.when, bound=bound, choices=choices)


def _all(parent: App, name: str) -> Values:
    if not parent.autofill.get(name):
        raise _UnclearError(f'{name} is "all", but {parent.name} has no autofill_values for it')
    return parent.autofill[name]


def _domains(
    child: App, group: Group, links: Sequence[Link], apps: Mapping[str, App], limit: int
) -> dict[str, Values]:
    domains: dict[str, Values] = {}
    for name in child.template.names:
        if listed := _listed(name, group, apps):
            domains[name] = _in_all(name, listed, limit)
        elif name in child.autofill:
            domains[name] = child.autofill[name]
        elif not all(name in link.bound for link in links):
            domains[name] = _in_keys(child, name, links)
    return domains


def _listed(name: str, group: Group, apps: Mapping[str, App]) -> list[Values]:
    """What each mapping of the group lists for the child's identifier."""
    listed = [Values(parents.values[name]) for parents in group.all_of if name in parents.values]
    for parents in group.all_of:
        if name in parents.every:
            having = (apps[app] for app in parents.apps if name in apps[app].template.names)
            listed += [_all(parent, name) for parent in having]
    return listed


def _in_all(name: str, listed: list[Values], limit: int) -> Values:
    smallest = min(listed, key=len)
    if all(values == smallest for values in listed):
        return smallest
    if len(smallest) > limit:
        raise _UnclearError(f"{name} has {len(smallest):,} values; the limit is {limit:,}")
    common = Values(value for value in smallest if all(value in values for values in listed))
    if not common:
        raise _UnclearError(f"no {name} is in all of its lists, so the group is for no job")
    return common


def _in_keys(child: App, name: str, links: Sequence[Link]) -> Values:
    values = [
        link.parent.read_key(key)[name]
        for link in links
        if name in link.parent.template.names
        for key in sorted(link.keys)
    ]
    if not values:
        unbound = next(link.parent.name for link in links if name not in link.bound)
        raise _UnclearError(
            f"nothing says which {name} of {child.name} a job of {unbound} is needed for;"
            f" list its values here, or give {child.name} autofill_values for it"
        )
    return Values(dict.fromkeys(values))


def _refuse_size(alternative: Alternative, at: At, limit: int) -> None:
    child = alternative.child.name
    needed = sum(link.size for link in alternative.links)
    if needed > limit:
        at.add(f"one job of {child} would need {needed:,} parents; the limit is {limit:,}")
    for link in alternative.links:
        if alternative.fan_out(link) > limit:
            at.add(
                f"one job of {link.parent.name} would have {alternative.fan_out(link):,} children of {child};"
                f" the limit is {limit:,}"
            )


def _refuse_impossible(alternative: Alternative, at: At) -> None:
    for one, other in combinations(alternative.links, 2):
        if {one.when, other.when} == {"succeeded", "failed"} and one.overlaps(other):
            at.add(f"it needs one job of {one.parent.name} both succeeded and failed, which never comes")


def _refuse_enumeration(app: App, values: Mapping[str, Values], at: At, limit: int) -> None:
    """A single range may be longer: its size is seen where it is written, that of a cross product is not."""
    crossed = [len(values[name]) for name in app.template.names if name in values and len(values[name]) > 1]
    if len(crossed) > 1 and len(crossed) == len(app.template.names) and prod(crossed) > limit:
        product = " x ".join(f"{size:,}" for size in crossed)
        at.add(f"its values come to {product} jobs; the limit is {limit:,}")
