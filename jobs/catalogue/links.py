"""What ``depends_on`` comes to: which jobs of one app need which jobs of another.

One group of a child is an ``Alternative``: the jobs of the child that it is for, and a ``Link`` for each
parent app of each mapping in it. The rules, identifier by identifier:

- A mapping lists values of it, or says ``"all"``, which lists the parent's autofill values: the parents at
  every listed value are needed, and the group is for children that have a listed value, if they have the
  identifier. Listed in several mappings, a child's value has to be in all of them.
- No mapping lists it: the child's own autofill values say which children the group is for, if there are any.
- This mapping does not list it, and both apps have it: it is ``bound``, the same in child and parent.
- This mapping does not list it, and only the parent has it: the parents at each of their autofill values.
- The mapping names parents by key (``job_id``): these very jobs are needed, and nothing is bound. What
  nothing else says of an identifier of the child, such keys say: their values count as listed.

- A mapping with a two-way function is a ``Bridge``: it says nothing of identifiers, the function says all.

So a group is for a child if each of its identifiers is in its ``domain``, where there is one, and what is
bound fits the parents. It needs, for each link, the parents at every combination of ``choices`` with its own
bound values. This is one relation; parents and children are its two readings. Whatever would leave one of
them without an end is a fault when the definitions are loaded.
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
    """The jobs of one parent app that a child needs: these ``keys``, or every combination of ``choices``
    with the child's own values of what is ``bound``. Of a ``doubtful`` one among these, not every value that the
    child can have is one that the parent can have."""

    parent: App
    when: When
    lag_s_max: float | None = None
    bound: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    choices: Mapping[str, Values] = {}
    keys: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """How many parents one child needs."""
        return prod(self.factors)

    @property
    def factors(self) -> list[int]:
        """What that number is the product of."""
        return [len(self.keys)] if self.keys else [len(values) for values in self.choices.values()]

    def serves(self, key: str, ids: Mapping[str, Value]) -> bool:
        """Whether this job of the parent is one that some child may need."""
        if self.keys:
            return key in self.keys
        return all(ids[name] in values for name, values in self.choices.items())

    def overlaps(self, other: "Link") -> bool:
        """Whether both can need the same job; what is bound may be anything."""
        if self.parent is not other.parent:
            return False
        if self.keys:
            return any(other.serves(key, self.parent.read_key(key)) for key in self.keys)
        if other.keys:
            return other.overlaps(self)
        shared = self.choices.keys() & other.choices.keys()
        return all(any(value in other.choices[name] for value in self.choices[name]) for name in shared)


class Bridge(Struct, frozen=True, kw_only=True):
    """The jobs that a two-way function names as parents, of these apps and no others. Child and parents may be
    keyed in ways that have nothing to do with each other."""

    function: TwoWay
    parents: Mapping[str, App]
    when: When
    lag_s_max: float | None = None


class Alternative(Struct, frozen=True, kw_only=True):
    """One group of the child's. An identifier without a ``domain`` is bound in every link. The domain of a
    ``doubtful`` one has values that not every app concerned may be able to have."""

    child: App
    name: str
    domains: Mapping[str, Values]
    doubtful: frozenset[str] = frozenset()
    links: tuple[Link, ...]
    bridges: tuple[Bridge, ...] = ()

    @property
    def ways(self) -> list[Link | Bridge]:
        """All by which it names parents."""
        return [*self.links, *self.bridges]

    def admits(self, name: str, value: Value) -> bool:
        """Whether the group is for children with this value, as far as this identifier goes."""
        return self.child.accepts(name, value) and self.is_for(name, value)

    def is_for(self, name: str, value: Value) -> bool:
        """The same of a value that some child has."""
        if name in self.domains and value not in self.domains[name]:
            return False
        return all(link.parent.accepts(name, value) for link in self.links if name in link.doubtful)

    def fan_out(self, link: Link) -> list[int]:
        """How many children one parent of this link has, as the factors of that number."""
        return [len(values) for name, values in self.domains.items() if name not in link.bound]
