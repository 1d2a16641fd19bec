"""The two readings of the relation that ``jobs.catalogue.links`` describes.

A child ``c`` needs a parent ``p`` through a link of an alternative exactly if the alternative admits every
identifier of ``c``, ``p`` has one of the link's ``choices`` wherever it is not bound (or is one of its
``keys``), and both are the same in what is bound. ``parents`` fixes ``c`` and runs through what is left of
``p``; ``children`` fixes ``p`` and runs through what is left of ``c``. Neither looks at a job that is not
part of the answer, but for values that a parent's kind refuses.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product

from jobs.app import App
from jobs.catalogue.links import Alternative, Link
from jobs.identifiers import Value


def admits(alternative: Alternative, ids: Mapping[str, Value]) -> bool:
    """Whether this child has its parents by this group."""
    return all(alternative.admits(name, value) for name, value in ids.items())


def parents(link: Link, ids: Mapping[str, Value]) -> Iterable[str]:
    """The keys of the link's parents that an admitted child needs."""
    if link.keys:
        return link.keys
    return keys(link.parent, {**link.choices, **{name: [ids[name]] for name in link.bound}})


def children(alternative: Alternative, link: Link, key: str, ids: Mapping[str, Value]) -> Iterable[str]:
    """The keys of the children that need this parent through this link."""
    if not (link.serves(key, ids) and all(alternative.admits(name, ids[name]) for name in link.bound)):
        return ()
    bound = {name: [ids[name]] for name in link.bound}
    return keys(alternative.child, _open(alternative, but=link.bound) | bound)


def everyone(alternative: Alternative) -> Iterable[str]:
    """The keys of all children the group is for, where each identifier has a domain."""
    return keys(alternative.child, _open(alternative))


def keys(app: App, columns: Mapping[str, Iterable[Value]]) -> Iterator[str]:
    """Every combination, in the order of the template, the last identifier fastest."""
    texts = ([str(value) for value in columns[name]] for name in app.template.names)
    return (app.template.join(combination) for combination in product(*texts))


def _open(alternative: Alternative, *, but: Collection[str] = ()) -> dict[str, list[Value]]:
    """Of each identifier the values that children can have."""
    return {
        name: [value for value in values if alternative.admits(name, value)]
        for name, values in alternative.domains.items()
        if name not in but
    }
