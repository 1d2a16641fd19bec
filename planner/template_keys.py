"""Keys by template, such as ``{date}_{client_id}``, with dependencies by identifier."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, repeat
from math import prod

from sluice.jobs.app import App
from sluice.jobs.catalogue import LIMIT, Catalogue
from sluice.jobs.catalogue.links import Alternative, Bridge, Link
from sluice.jobs.errors import BadRequest
from sluice.jobs.gate import MET, Gate, Need, When
from sluice.jobs.identifiers import Value
from sluice.jobs.ref import JobName
from sluice.jobs.states import State
from sluice.jobs.submission import Submission
from sluice.jobs.values import arithmetic
from sluice.planner import relation

#: Conditions, the strictest first. If one gate names a parent twice, the stricter condition applies, and the shorter
#: lag.
_STRICTEST: tuple[When, ...] = ("succeeded", "failed", "finished", "running")

#: ``JobName._make`` without its call into Python, which is most of the work for a hundred thousand parents.
_named = partial(tuple.__new__, JobName)

_FOREIGN = ("work_ids", "start", "end", "mode", "branch")


class TemplateKeyspace:
    """Keyspace of templates. Canonical order is by app and key, as text."""

    def __init__(self, catalogue: Catalogue, limit: int = LIMIT) -> None:
        self._catalogue = catalogue
        self._limit = limit

    def canonical(self, app: App, key: str) -> str:
        return app.write_key(app.read_key(key))

    def expand(self, app: App, submission: Submission) -> Iterator[str]:
        """Return the keys that the submission names, each once. If it names none, return every key for which the
        definition has values."""
        if foreign := submission.words_of(_FOREIGN):
            raise BadRequest(
                f"{app.name} has keys like {app.example_key}; {' and '.join(foreign)} do not name keys.",
                where=app.name,
                advice="Give key or keys, or leave both out for all keys that autofill_values enumerate.",
            )
        named = submission.named_keys
        if named is None:
            return self._enumerate(app)
        return iter(dict.fromkeys([self.canonical(app, key) for key in named]))

    def gates(self, app: App, key: str) -> tuple[Gate, ...]:
        if not (alternatives := self._catalogue.alternatives(app.name)):
            return ()
        ids = app.read_key(key)
        return tuple(_gate(each, ids) for each in alternatives if relation.admits(each, ids))

    def unmatched(self, app: App, key: str) -> bool:
        if not (alternatives := self._catalogue.alternatives(app.name)):
            return False
        ids = app.read_key(key)
        return not any(relation.admits(each, ids) for each in alternatives)

    def children(
        self, app: App, key: str, state: State | None = None, *, of: str | None = None
    ) -> Iterator[JobName]:
        ids = app.read_key(key)
        own = app.write_key(ids)
        found = [
            _names(alternative.child, relation.children(alternative, link, own, ids))
            for alternative, link in self._catalogue.served_by(app.name)
            if (state is None or state in MET[link.when]) and of in (None, alternative.child.name)
        ]
        found += [
            sorted(relation.bridged_children(alternative, bridge, JobName(app.name, own), ids))
            for alternative, bridge in self._catalogue.bridged_by(app.name)
            if (state is None or state in MET[bridge.when]) and of in (None, alternative.child.name)
        ]
        return iter(_united(found))

    def passes(self, app: App, key: str) -> bool:
        """Return whether the job passes ``valid_if_or``. The function is called first; an error in it becomes
        BadRequest."""
        if app.valid_if_or is None:
            return True
        ids = app.read_key(key)
        function, values = app.valid_if_or.function, app.valid_if_or.values
        try:
            if function is not None and function(app.name, **ids):
                return True
        except Exception as error:
            raise BadRequest(
                f"The filter {app.valid_if_or.function_path} of {app.name} raised"
                f" {type(error).__name__} for {key}: {error}",
                where=app.origin,
            ) from error
        return any(ids[name] in listed for name, listed in values.items())

    def _enumerate(self, app: App) -> Iterator[str]:
        """Return all keys of an app. If the app has dependency groups, these are the keys of its groups, because other
        keys would have no parents."""
        alternatives = self._catalogue.alternatives(app.name)
        for values in [alternative.domains for alternative in alternatives] or [app.autofill]:
            if lacking := [name for name in app.template.names if not values.get(name)]:
                raise BadRequest(
                    f"{app.name} does not define which jobs it has: no values for {', '.join(lacking)}.",
                    where=app.name,
                    advice=f"Give keys like {app.example_key}, or autofill_values in the definition.",
                )
            sizes = [len(column) for column in values.values()]
            if prod(sizes) > self._limit:
                raise BadRequest(
                    f"{app.name} has {arithmetic(sizes)} jobs; one submission may request {self._limit:,}.",
                    where=app.name,
                )
        if not alternatives:
            return iter(relation.keys(app, app.autofill))
        every = (key for alternative in alternatives for key in relation.everyone(alternative))
        return iter(dict.fromkeys(every))


def _gate(alternative: Alternative, ids: Mapping[str, Value]) -> Gate:
    """Return the gate of an alternative. Its needs are sorted by app and key, each parent once."""
    ways = alternative.ways
    if len(ways) == 1:
        named = _parents(alternative.child, ways[0], ids)
        needs = tuple(map(Need, named, repeat(ways[0].when), repeat(ways[0].lag_s_max)))
        return Gate(alternative.name, needs)
    strictest: dict[JobName, When] = {}
    lags_s: dict[JobName, float] = {}
    for way in sorted(ways, key=lambda way: _STRICTEST.index(way.when)):
        parents = _parents(alternative.child, way, ids)
        for parent in parents:
            strictest.setdefault(parent, way.when)
        if way.lag_s_max is not None:
            lags_s.update({each: min(way.lag_s_max, lags_s.get(each, way.lag_s_max)) for each in parents})
    return Gate(
        alternative.name, tuple([Need(each, strictest[each], lags_s.get(each)) for each in sorted(strictest)])
    )


def _parents(child: App, way: Link | Bridge, ids: Mapping[str, Value]) -> list[JobName]:
    if isinstance(way, Bridge):
        return sorted(set(relation.bridged_parents(way, child, ids)))
    return _names(way.parent, relation.parents(way, ids))


def _names(app: App, keys: Iterable[str]) -> list[JobName]:
    return list(map(_named, zip(repeat(app.name), keys, strict=False)))


def _united(lists: Iterable[list[JobName]]) -> list[JobName]:
    """Merge sorted lists into one, each name once. Usually only one list has names; it may be large, so it is not
    sorted again."""
    filled = [names for names in lists if names]
    return filled[0] if len(filled) == 1 else sorted({*chain.from_iterable(filled)})
