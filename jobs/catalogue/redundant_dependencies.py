"""Dependencies of apps that add nothing to the order of jobs.

If ``report`` needs ``clean`` and ``fetch``, and ``clean`` needs ``fetch`` with the same key, then ``report`` waits for
``fetch`` in any case. Only apps that are keyed by template are compared. In other apps, a dependency may have an age
limit of its own, or names a table that the app reads.
"""

from collections.abc import Iterator

from msgspec import Struct

from sluice.jobs.catalogue.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.dependency_links import Alternative, Link
from sluice.jobs.model.app import App


class RedundantDependency(Struct, frozen=True, kw_only=True):
    """Dependency of ``app`` on ``parent``. ``path`` leads from the app to the parent without it."""

    app: str
    parent: str
    path: tuple[str, ...]


def redundant_dependencies(catalogue: Catalogue) -> list[RedundantDependency]:
    """Return the redundant dependencies, in the order of the definitions. A doubtful one is left out."""
    edges = [
        (child.name, parent.name)
        for child in catalogue.values()
        for parent in _bound_parents(catalogue, child)
    ]
    if len(edges) == len({child for child, _ in edges}):
        return []
    import networkx  # noqa: PLC0415 - importing it takes longer than loading most definitions

    needed = networkx.transitive_reduction(networkx.DiGraph(edges))
    return [
        RedundantDependency(app=app, parent=parent, path=tuple(networkx.shortest_path(needed, app, parent)))
        for app, parent in edges
        if not needed.has_edge(app, parent)
    ]


def _bound_parents(catalogue: Catalogue, child: App) -> Iterator[App]:
    """Yield the parents of which each job of the child needs the one job with its own identifiers, and no other."""
    alternatives = catalogue.alternatives(child.name)
    if len(alternatives) != 1:
        return
    [alternative] = alternatives
    for link in alternative.links:
        times = sum(other.parent is link.parent for other in alternative.links)
        if times == 1 and _is_bound(link) and _has_same_parents(catalogue, alternative, link.parent):
            yield link.parent


def _is_bound(link: Link) -> bool:
    is_plain = link.when == "succeeded" and link.lag_s_max is None
    return is_plain and not (link.keys or link.choices or link.doubtful)


def _has_same_parents(catalogue: Catalogue, alternative: Alternative, parent: App) -> bool:
    """Return whether the dependencies of the parent apply to every job that the children need. A group applies only to
    the values in its domains, and a skipped job needs nothing.
    """
    return (
        parent.valid_if_or is None
        and all(
            alternative.domains.get(name) == values
            for group in catalogue.alternatives(parent.name)
            for name, values in group.domains.items()
        )
        and not any(link.doubtful for group in catalogue.alternatives(parent.name) for link in group.links)
    )
