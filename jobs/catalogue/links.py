"""Relation that ``depends_on`` defines: the jobs of one app that need jobs of another app.

One group of a child is an ``Alternative``. It has the jobs of the child to which it applies, and a ``Link`` for each
parent app of each mapping. The rules for each identifier:

- A mapping lists values for it, or ``"all"``, which stands for the parent's autofill values: the parents with every
  listed value are needed. If the children have the identifier, the group applies only to those with a listed value.
  If several mappings list it, a child's value must be in all of them.
- No mapping lists it: the group applies to children with the child's own autofill values, if there are any.
- This mapping does not list it, and both apps have it: it is ``bound``, which means equal in child and parent.
- This mapping does not list it, and only the parent has it: the parents with each of their autofill values.
- The mapping names parents by key (``job_id``): exactly these jobs are needed, and nothing is bound. If nothing else
  determines an identifier of the child, the values in these keys count as listed.
- A mapping with a two-way function is a ``Bridge``: it has no identifiers, because the function determines
  everything.

So a group applies to a child if each identifier with a ``domain`` has a value in it, and the bound values are valid
for the parents. For each link, the child needs the parents with every combination of ``choices`` and its own bound
values. This is one relation, which is read from both ends to compute parents and children. A group that would leave
one end undefined or infinite is a fault when the definitions are loaded.
"""

from collections.abc import Mapping
from math import prod

from msgspec import Struct

from sluice.jobs.app import App
from sluice.jobs.gate import When
from sluice.jobs.identifiers import Value
from sluice.jobs.two_way import TwoWay
from sluice.jobs.values import Values


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

    An identifier without a ``domain`` is bound in every link. The domain of a ``doubtful`` identifier may have values
    that some of the apps cannot have.
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
