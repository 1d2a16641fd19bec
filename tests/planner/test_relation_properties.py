"""Properties of dependencies in any catalogue: parents and children are inverse relations, and neither raises."""

from collections.abc import Iterable
from functools import cache
from itertools import chain

from hypothesis import given

from sluice.jobs.catalogue.resolve.dependency_links import Alternative, Link
from sluice.planner.keyspaces import template_keys
from sluice.planner.keyspaces.template_keys import TemplateKeyspace
from tests.planner.definitions import children, parents
from tests.planner.drawn_definitions import Words, drawn_apps, loaded, tried_jobs, tried_keys


@given(drawn_apps())
def test_gates_and_children_are_inverse_canonical_and_never_raise(drawn: dict[str, Words]) -> None:
    catalogue = loaded(drawn)
    keyspace = TemplateKeyspace(catalogue)
    above = cache(lambda name: parents(catalogue, name))
    below = cache(lambda name: children(catalogue, name))
    for name in tried_jobs(catalogue):
        app = catalogue.app(name.app)
        needed = [parent for group in above(name).values() for parent in group]
        assert all(name in below(parent) for parent in needed)
        assert all(name in chain(*above(child).values()) for child in below(name))
        assert all(group == sorted(set(group)) for group in [below(name), *above(name).values()])
        for other in [*needed, *below(name)]:
            assert keyspace.canonical(catalogue.app(other.app), other.key) == other.key
        assert keyspace.unmatched(app, name.key) == (bool(app.groups) and not needed)


@given(drawn_apps())
def test_each_alternative_by_itself_is_the_same_relation_from_both_ends(drawn: dict[str, Words]) -> None:
    catalogue = loaded(drawn)
    for child in catalogue.values():
        for alternative in catalogue.alternatives(child.name):
            needing = {
                key: child.read_key(key)
                for key in tried_keys(child)
                if template_keys.admits(alternative, child.read_key(key))
            }
            for link in alternative.links:
                above = {(p, c) for c, ids in needing.items() for p in template_keys.parents(link, ids)}
                below = {(p, c) for p in tried_keys(link.parent) for c in _children(alternative, link, p)}
                assert above == below


def _children(alternative: Alternative, link: Link, key: str) -> Iterable[str]:
    return template_keys.children(alternative, link, key, link.parent.read_key(key))
