"""Two readings of the relation that ``jobs.catalogue.links`` describes.

A child ``c`` needs a parent ``p`` through a link of an alternative exactly if these conditions hold:

- The alternative admits every identifier of ``c``.
- ``p`` is in the link's ``keys``; or, in each identifier that is not bound, its value is in the link's ``choices``.
- Both have the same values in the bound identifiers.

``parents`` fixes ``c`` and enumerates the remaining values of ``p``. ``children`` fixes ``p`` and enumerates the
remaining values of ``c``. Neither visits a job that is not part of the answer, except values that a parent's kind
refuses.

Through a bridge, the user's function determines what ``c`` needs. ``bridged_children`` verifies that its two directions
agree.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product

from sluice.jobs.app import App
from sluice.jobs.catalogue.links import Alternative, Bridge, Link
from sluice.jobs.errors import BadKey
from sluice.jobs.identifiers import Value
from sluice.jobs.ref import JobName
from sluice.jobs.two_way import Neighbour


def admits(alternative: Alternative, ids: Mapping[str, Value]) -> bool:
    """Return whether this child has its parents by this group."""
    return all(alternative.is_for(name, value) for name, value in ids.items())


def parents(link: Link, ids: Mapping[str, Value]) -> list[str]:
    """Return the keys of the link's parents that an admitted child needs, in canonical order."""
    if link.keys:
        return sorted(link.keys)
    if not link.choices:
        return [link.parent.write_key(ids)]
    return keys(link.parent, {**link.choices, **{name: [ids[name]] for name in link.bound}})


def children(alternative: Alternative, link: Link, key: str, ids: Mapping[str, Value]) -> list[str]:
    """Return the keys of the children that need this parent through this link, in canonical order."""
    if not (link.serves(key, ids) and all(alternative.admits(name, ids[name]) for name in link.bound)):
        return []
    bound = {name: [ids[name]] for name in link.bound}
    return keys(alternative.child, _open(alternative, but=link.bound) | bound)


def bridged_parents(bridge: Bridge, child: App, ids: Mapping[str, Value]) -> Iterator[JobName]:
    """Yield the jobs that a two-way function names as this child's parents; BadRequest for any other answer."""
    for neighbour in bridge.function.parents_of(child.name, ids):
        parent = bridge.parents.get(neighbour.app)
        if parent is None:
            known = ", ".join(bridge.parents)
            raise bridge.function.refusal(
                f"named a parent of app {neighbour.app!r}, which is none of {known}", child.name, ids
            )
        yield _named(bridge, parent, neighbour, child.name, ids)


def bridged_children(
    alternative: Alternative, bridge: Bridge, name: JobName, ids: Mapping[str, Value]
) -> Iterator[JobName]:
    """Yield the jobs of the child app that a two-way function names for this parent; BadRequest if one does not name it
    back."""
    child = alternative.child
    for neighbour in bridge.function.children_of(name.app, ids):
        if neighbour.app != child.name:
            continue
        found = _named(bridge, child, neighbour, name.app, ids)
        own = child.read_key(found.key)
        if not admits(alternative, own):
            continue
        if name not in bridged_parents(bridge, child, own):
            raise bridge.function.refusal(
                f"named the child {found}, but does not name this job as a parent of it", name.app, ids
            )
        yield found


def _named(bridge: Bridge, app: App, neighbour: Neighbour, asked: str, ids: Mapping[str, Value]) -> JobName:
    """Return the job that the function named, in canonical spelling."""
    written = neighbour.ids
    try:
        if not isinstance(written, str):
            written = app.template.join(str(written[name]) for name in app.template.names)
        return JobName(app.name, app.write_key(app.read_key(written)))
    except (BadKey, KeyError) as error:
        what = error.what if isinstance(error, BadKey) else f"{app.name} needs {error}"
        raise bridge.function.refusal(f"named {app.name} {neighbour.ids!r}: {what}", asked, ids) from error


def everyone(alternative: Alternative) -> list[str]:
    """Return the keys of all children of the group, in which each identifier has a domain."""
    return keys(alternative.child, _open(alternative))


def keys(app: App, columns: Mapping[str, Iterable[Value]]) -> list[str]:
    """Return every combination of values as keys, in canonical order, which is that of the keys as text.

    No part of a key but the last contains the delimiter. So keys are in the order of their parts, if each part is
    compared together with the delimiter that ends it. Sorting the parts costs nothing; sorting a hundred thousand keys
    costs more than making them.
    """
    *firsts, last = ([str(value) for value in columns[name]] for name in app.template.names)
    delimiter = app.template.delimiter
    beginnings = product(*(sorted(text + delimiter for text in texts) for texts in firsts))
    ends = sorted(last)
    return [start + end for start in map("".join, beginnings) for end in ends]


def _open(alternative: Alternative, *, but: Collection[str] = ()) -> dict[str, Iterable[Value]]:
    """Return, for each identifier, the values that children can have."""
    return {
        name: [value for value in values if alternative.admits(name, value)]
        if name in alternative.doubtful
        else values
        for name, values in alternative.domains.items()
        if name not in but
    }
