"""Relations between jobs that ``depends_on`` defines, made from the groups of each app.

``link_apps`` converts an app's groups to alternatives. A relation that cannot be computed from both ends adds a fault.
Each relation is between the jobs of one app and the jobs of another app that they need.

One group of a child is an ``Alternative``. It has the jobs of the child to which it applies, and a ``Link`` for each
parent app of each mapping. The rules for each identifier:

- A mapping lists values for it, or ``"all"``, which stands for the parent's autofill values: the parents with every
  listed value are needed. If the children have the identifier, the group applies only to those with a listed value. If
  several mappings list it, a child's value must be in all of them.
- No mapping lists it: the group applies to children with the child's own autofill values, if there are any.
- This mapping does not list it, and both apps have it: it is ``bound``, which means equal in child and parent.
- This mapping does not list it, and only the parent has it: the parents with each of their autofill values.
- The mapping names parents by key (``job_id``): exactly these jobs are needed, and nothing is bound. If nothing else
  determines an identifier of the child, the values in these keys count as listed.
- A mapping with a two-way function is a ``Bridge``: it has no identifiers, because the function determines everything.

So a group applies to a child under two conditions: each identifier in ``domains`` has a value in its domain, and the
bound values are valid for the parents. For each link, the child needs the parents with every combination of ``choices``
and its own bound values. This is one relation, which is read from both ends to compute parents and children. A group
that would leave one end undefined or infinite is a fault when the definitions are loaded.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

from msgspec import Struct

from sluice.jobs.catalogue.errors import At
from sluice.jobs.keys.identifiers import Value, Values, arithmetic
from sluice.jobs.model.app import App, DependencyGroup, Parents
from sluice.jobs.model.dependency import TwoWay, When


class Link(Struct, frozen=True, kw_only=True):
    """Jobs of one parent app that a child needs.

    They are ``keys``, or every combination of ``choices`` with the child's own values of the ``bound`` identifiers. A
    ``doubtful`` identifier is bound, but the child can have values that the parent cannot have.
    """

    parent: App
    when: When
    lag_s_max: float | None = None
    bound: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    choices: Mapping[str, Values] = {}
    keys: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """Number of parents that one child needs."""
        return prod(self.factors)

    @property
    def factors(self) -> list[int]:
        """The factors of ``size``."""
        return [len(self.keys)] if self.keys else [len(values) for values in self.choices.values()]

    def serves(self, key: str, ids: Mapping[str, Value]) -> bool:
        """Return whether some child may need this job of the parent."""
        if self.keys:
            return key in self.keys
        return all(ids[name] in values for name, values in self.choices.items())

    def overlaps(self, other: "Link") -> bool:
        """Return whether both can need the same job. Bound identifiers may have any value."""
        if self.parent is not other.parent:
            return False
        if self.keys:
            return any(other.serves(key, self.parent.read_key(key)) for key in self.keys)
        if other.keys:
            return other.overlaps(self)
        shared = self.choices.keys() & other.choices.keys()
        return all(any(value in other.choices[name] for value in self.choices[name]) for name in shared)


class Bridge(Struct, frozen=True, kw_only=True):
    """Jobs that a two-way function names as parents. They can only be jobs of these apps.

    The keys of child and parents may be unrelated.
    """

    function: TwoWay
    parents: Mapping[str, App]
    when: When
    lag_s_max: float | None = None


class Alternative(Struct, frozen=True, kw_only=True):
    """One group of a child.

    An identifier that is not in ``domains`` is bound in every link. The domain of a ``doubtful`` identifier may have
    values that some of the apps cannot have.
    """

    child: App
    name: str
    domains: Mapping[str, Values]
    doubtful: frozenset[str] = frozenset()
    links: tuple[Link, ...]
    bridges: tuple[Bridge, ...] = ()

    @property
    def ways(self) -> list[Link | Bridge]:
        """All links and bridges by which it names parents."""
        return [*self.links, *self.bridges]

    def admits(self, name: str, value: Value) -> bool:
        """Return whether the group may apply to children with this value of this identifier."""
        return self.child.accepts(name, value) and self.is_for(name, value)

    def is_for(self, name: str, value: Value) -> bool:
        """Return whether the group may apply to a child with this value, if the child can have the value."""
        if name in self.domains and value not in self.domains[name]:
            return False
        return all(link.parent.accepts(name, value) for link in self.links if name in link.doubtful)

    def fan_out(self, link: Link) -> list[int]:
        """Return the number of children of one parent of this link, as its factors."""
        return [len(values) for name, values in self.domains.items() if name not in link.bound]


def link_apps(
    apps: Mapping[str, App], at: Mapping[str, At], limit: int
) -> dict[str, tuple[Alternative, ...]]:
    """Return the alternatives of each app, in the order of its groups. Groups with unknown parents are left out."""
    linked: dict[str, tuple[Alternative, ...]] = {}
    for app in apps.values():
        found: list[Alternative] = []
        for group in app.groups:
            if all(name in apps for parents in group.all_of for name in parents.apps):
                place = at[app.name].inside(f"depends_on: group {group.name}")
                found.append(_Linking(app, group, apps, place, limit).alternative())
        if not app.groups:
            _refuse_enumeration(app, app.autofill, at[app.name], limit)
        linked[app.name] = tuple(found)
    return linked


class _Linking:
    """Linking of one group. An unclear part adds a fault and is replaced by a default."""

    def __init__(
        self, child: App, group: DependencyGroup, apps: Mapping[str, App], at: At, limit: int
    ) -> None:
        self._child = child
        self._group = group
        self._apps = apps
        self._at = at
        self._limit = limit

    def alternative(self) -> Alternative:
        links = tuple(
            self._link(parents, self._apps[name])
            for parents in self._group.all_of
            if not parents.function
            for name in parents.apps
        )
        domains = self._domains(links)
        made = Alternative(
            child=self._child,
            name=self._group.name,
            domains=domains,
            doubtful=frozenset(name for name in domains if self._is_doubted(name, links)),
            links=links,
            bridges=tuple(self._bridges()),
        )
        _refuse_size(made, self._at, self._limit)
        _refuse_enumeration(self._child, domains, self._at, self._limit)
        _refuse_impossible(made, self._at)
        return made

    def _link(self, parents: Parents, parent: App) -> Link:
        if parents.keys:
            keys = frozenset(parent.write_key(parent.read_key(key)) for key in parents.keys)
            return Link(parent=parent, when=parents.when, lag_s_max=parents.lag_s_max, keys=keys)
        choices = {
            name: self._choices(name, parents, parent)
            for name in parent.template.names
            if name in parents.values or name in parents.every or name not in self._child.template.names
        }
        bound = frozenset(parent.template.names) - choices.keys()
        doubtful = frozenset(name for name in bound if self._is_doubtful(name, parent))
        return Link(
            parent=parent,
            when=parents.when,
            lag_s_max=parents.lag_s_max,
            bound=bound,
            doubtful=doubtful,
            choices=choices,
        )

    def _is_doubted(self, name: str, links: Sequence[Link]) -> bool:
        """Return whether the identifier's domain may contain values that the child or a parent cannot have.

        Values written for the child were checked when they were read. Values taken from a parent or from keys were
        not.
        """
        listed = any(name in parents.values for parents in self._group.all_of)
        taken_over = any(name in parents.every for parents in self._group.all_of)
        written = not taken_over and (listed or name in self._child.autofill)
        return not written or any(name in link.doubtful for link in links)

    def _is_doubtful(self, name: str, parent: App) -> bool:
        """Return whether the parent may reject a value of the child.

        That is so if the kinds differ, or if the parent's key would be split at a delimiter inside the child's last
        identifier.
        """
        child = self._child
        ends_the_key = name == child.template.names[-1] and name != parent.template.names[-1]
        return child.kind(name) != parent.kind(name) or ends_the_key

    def _bridges(self) -> Iterator[Bridge]:
        for parents in self._group.all_of:
            if parents.function:
                anyone = (app.name for app in self._apps.values() if app.is_keyed_by_template)
                apps = {name: self._apps[name] for name in parents.apps or anyone}
                yield Bridge(
                    function=parents.function, parents=apps, when=parents.when, lag_s_max=parents.lag_s_max
                )

    def _choices(self, name: str, parents: Parents, parent: App) -> Values:
        if name in parents.values:
            return Values(parents.values[name])
        values = parent.autofill.get(name, Values())
        if not values:
            self._at.add(
                f'{name} is "all", but {parent.name} has no autofill_values for it'
                if name in parents.every
                else f"it is undefined which {name} of {parent.name} is needed;"
                f" list its values here, or give {parent.name} autofill_values for it"
            )
        return values

    def _domains(self, links: Sequence[Link]) -> dict[str, Values]:
        domains: dict[str, Values] = {}
        for name in self._child.template.names:
            if listed := self._listed(name):
                domains[name] = self._in_all(name, listed)
            elif name in self._child.autofill:
                domains[name] = self._child.autofill[name]
            elif not all(name in link.bound for link in links):
                domains[name] = self._in_keys(name, links)
        return domains

    def _listed(self, name: str) -> list[Values]:
        """Return the values that each mapping of the group lists for the child's identifier."""
        listed = [Values(parents.values[name]) for parents in self._group.all_of if name in parents.values]
        for parents in self._group.all_of:
            if name in parents.every:
                having = (self._apps[app] for app in parents.apps if name in self._apps[app].template.names)
                listed += [self._choices(name, parents, parent) for parent in having]
        return listed

    def _in_all(self, name: str, listed: list[Values]) -> Values:
        smallest = min(listed, key=len)
        if all(values == smallest for values in listed):
            return smallest
        if len(smallest) > self._limit:
            self._at.add(f"{name} has {len(smallest):,} values; the limit is {self._limit:,}")
            return smallest
        common = Values(value for value in smallest if all(value in values for values in listed))
        if smallest and not common:
            self._at.add(f"no {name} is in all of its lists, so the group applies to no job")
        return common

    def _in_keys(self, name: str, links: Sequence[Link]) -> Values:
        values = dict.fromkeys(
            link.parent.read_key(key)[name]
            for link in links
            if name in link.parent.template.names
            for key in sorted(link.keys)
        )
        if not values:
            unbound = next(link.parent.name for link in links if name not in link.bound)
            self._at.add(
                f"it is undefined for which {name} of {self._child.name} a job of {unbound} is needed;"
                f" list its values here, or give {self._child.name} autofill_values for it"
            )
        return Values(values)


def _refuse_size(alternative: Alternative, at: At, limit: int) -> None:
    child = alternative.child.name
    if sum(link.size for link in alternative.links) > limit:
        told = arithmetic(*(link.factors for link in alternative.links))
        at.add(f"one job of {child} would need {told} parents; the limit is {limit:,}")
    for link in alternative.links:
        factors = alternative.fan_out(link)
        if prod(factors) > limit:
            parent, told = link.parent.name, arithmetic(factors)
            at.add(f"one job of {parent} would have {told} children of {child}; the limit is {limit:,}")


def _refuse_impossible(alternative: Alternative, at: At) -> None:
    for one, other in combinations(alternative.links, 2):
        if {one.when, other.when} == {"succeeded", "failed"} and one.overlaps(other):
            at.add(f"it needs one job of {one.parent.name} both succeeded and failed, which is impossible")


def _refuse_enumeration(app: App, values: Mapping[str, Values], at: At, limit: int) -> None:
    """Add a fault if the values give too many jobs.

    A single range may be longer: its size is visible where it is written. The size of a cross product is not.
    """
    crossed = [len(values[name]) for name in app.template.names if name in values and len(values[name]) > 1]
    if len(crossed) > 1 and len(crossed) == len(app.template.names) and prod(crossed) > limit:
        at.add(f"its values result in {arithmetic(crossed)} jobs; the limit is {limit:,}")
