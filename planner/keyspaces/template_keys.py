"""Keys by template, and the relation between parents and children, read from both ends.

A template is a text like ``{date}_{client_id}``. Dependencies are by identifier (``TemplateKeyspace``). ``parents`` and
``children`` are two readings of the relation that ``jobs.catalogue.resolve.dependency_links`` describes.

A child ``c`` needs a parent ``p`` through a link of an alternative exactly if these conditions hold:

- The alternative admits every identifier of ``c``.
- ``p`` is in the link's ``keys``; or, in each identifier that is not bound, its value is in the link's ``choices``.
- Both have the same values in the bound identifiers.

``parents`` fixes ``c`` and enumerates the remaining values of ``p``. ``children`` fixes ``p`` and enumerates the
remaining values of ``c``. Neither visits a job that is not part of the answer, except values that a parent's kind
refuses.

Through a bridge, the user's function determines the parents of ``c``. ``bridged_children`` verifies that its two
directions agree. Work IDs among these parents are left to ``chunks.chunk_readers``, because only a plan determines
which chunks have them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, product, repeat
from math import prod
from shlex import quote

from sluice.jobs.catalogue import LIMIT, Catalogue
from sluice.jobs.catalogue.resolve.dependency_links import Alternative, Bridge, Link
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.keys.identifiers import Days, Value, Values, arithmetic, parse_day
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import MET, Gate, Need, Neighbour, When
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State

#: Conditions, the strictest first. If one gate names a parent twice, the stricter condition applies, and the shorter
#: lag.
_STRICTEST: tuple[When, ...] = ("succeeded", "failed", "finished", "running")

#: ``JobName._make`` without its call into Python, which is most of the work for a hundred thousand parents.
_named = partial(tuple.__new__, JobName)

_FOREIGN = ("work_ids", "by", "mode", "branch")


class TemplateKeyspace:
    """Keyspace of templates. Canonical order is by app and key, as text."""

    def __init__(self, catalogue: Catalogue, limit: int = LIMIT) -> None:
        self._catalogue = catalogue
        self._limit = limit

    def canonical(self, app: App, key: str) -> str:
        return app.write_key(app.read_key(key))

    def expand(self, app: App, submission: Submission) -> Iterator[str]:
        """Return the keys that the submission names, each once. If it names none, return every key for which the
        definition has values; with a start and an end, the keys of these days."""
        if foreign := submission.words_of(_FOREIGN):
            raise BadRequest(
                f"{app.name} has keys like {app.example_key}; {' and '.join(foreign)} do not name keys.",
                where=app.name,
                advice="Give key or keys, or leave both out for all keys that autofill_values enumerate.",
            )
        named = submission.named_keys
        if named is None:
            return self._enumerate(app, _days(app, submission) if submission.has_span else {})
        return iter(dict.fromkeys([self.canonical(app, key) for key in named]))

    def gates(self, app: App, key: str) -> tuple[Gate, ...]:
        if not (alternatives := self._catalogue.alternatives(app.name)):
            return ()
        ids = app.read_key(key)
        return tuple(_gate(each, ids) for each in alternatives if admits(each, ids))

    def unmatched(self, app: App, key: str) -> bool:
        if not (alternatives := self._catalogue.alternatives(app.name)):
            return False
        ids = app.read_key(key)
        return not any(admits(each, ids) for each in alternatives)

    def children(
        self, app: App, key: str, state: State | None = None, *, of: str | None = None
    ) -> Iterator[JobName]:
        ids = app.read_key(key)
        own = app.write_key(ids)
        found = [
            _names(alternative.child, children(alternative, link, own, ids))
            for alternative, link in self._catalogue.served_by(app.name)
            if (state is None or state in MET[link.when]) and of in (None, alternative.child.name)
        ]
        found += [
            sorted(bridged_children(alternative, bridge, JobName(app.name, own), ids))
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

    def _enumerate(self, app: App, days: Mapping[str, Values]) -> Iterator[str]:
        """Return all keys of an app. If the app has dependency groups, these are the keys of its groups, because other
        keys would have no parents.

        ``days`` limits an identifier to these days, and to the days that the definition lists.
        """
        alternatives = self._catalogue.alternatives(app.name)
        for domains in [alternative.domains for alternative in alternatives] or [app.autofill]:
            self._require_countable(app, {**domains, **days})
        if not alternatives:
            listed = {name: _listed(app, name, values) for name, values in days.items()}
            found: Collection[str] = keys(app, {**app.autofill, **listed})
        else:
            found = dict.fromkeys(key for each in alternatives for key in everyone(each, days))
        if days and not found:
            raise BadRequest(
                f"{app.name} has no job on any of these days.",
                where=app.name,
                advice="Its definition lists other days, or its dependency groups are for others.",
            )
        return iter(found)

    def _require_countable(self, app: App, values: Mapping[str, Values]) -> None:
        """Raise BadRequest if an identifier has no values, or if all combinations are too many jobs."""
        if lacking := [name for name in app.template.names if not values.get(name)]:
            raise BadRequest(
                f"No key is given, and {app.name} has no values for {', '.join(lacking)}.",
                where=app.name,
                advice=f"Give a key, for example `sluice plan {app.name} {quote(app.example_key)}`, or set"
                " autofill_values in the definition.",
            )
        sizes = [len(column) for column in values.values()]
        if prod(sizes) > self._limit:
            raise BadRequest(
                f"{app.name} has {arithmetic(sizes)} jobs; one submission may request {self._limit:,}.",
                where=app.name,
            )


def _gate(alternative: Alternative, ids: Mapping[str, Value]) -> Gate:
    """Return the gate of an alternative. Its needs are sorted by app and key, each parent once."""
    ways = alternative.ways
    if len(ways) == 1:
        named = _parents(alternative.child, ways[0], ids)
        needs = tuple(map(Need, named, repeat(ways[0].when), repeat(ways[0].lag_s_max)))
        return Gate(alternative.name, needs)
    return Gate(alternative.name, united_needs((way, _parents(alternative.child, way, ids)) for way in ways))


def united_needs(named: Iterable[tuple[Link | Bridge, Iterable[JobName]]]) -> tuple[Need, ...]:
    """Return the needs for the parents that several links and bridges name, each parent once, in canonical order."""
    strictest: dict[JobName, When] = {}
    lags_s: dict[JobName, float] = {}
    for way, parents in sorted(named, key=lambda each: _STRICTEST.index(each[0].when)):
        for parent in parents:
            strictest.setdefault(parent, way.when)
        if way.lag_s_max is not None:
            lags_s.update({each: min(way.lag_s_max, lags_s.get(each, way.lag_s_max)) for each in parents})
    return tuple([Need(each, strictest[each], lags_s.get(each)) for each in sorted(strictest)])


def _parents(child: App, way: Link | Bridge, ids: Mapping[str, Value]) -> list[JobName]:
    if isinstance(way, Bridge):
        return sorted(set(bridged_parents(way, child, ids)))
    return _names(way.parent, parents(way, ids))


def _names(app: App, keys: Iterable[str]) -> list[JobName]:
    return list(map(_named, zip(repeat(app.name), keys, strict=False)))


def _united(lists: Iterable[list[JobName]]) -> list[JobName]:
    """Merge sorted lists into one, each name once. Usually only one list has names; it may be large, so it is not
    sorted again."""
    filled = [names for names in lists if names]
    return filled[0] if len(filled) == 1 else sorted({*chain.from_iterable(filled)})


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
    """Yield the jobs with keys that a two-way function names as this child's parents; BadRequest for an answer that is
    wrong."""
    for parent, neighbour in bridged_neighbours(bridge, child, ids):
        if parent.chunking is None:
            yield neighbour_name(bridge, parent, neighbour, child.name, ids)


def bridged_neighbours(
    bridge: Bridge, child: App, ids: Mapping[str, Value]
) -> Iterator[tuple[App, Neighbour]]:
    """Yield the parents that a two-way function names for a child, each with its app; BadRequest if another app is
    named."""
    for neighbour in bridge.function.parents_of(child.name, ids):
        parent = bridge.parents.get(neighbour.app)
        if parent is None:
            known = ", ".join(bridge.parents)
            raise bridge.function.refusal(
                f"named a parent of app {neighbour.app!r}, which is none of {known}", child.name, ids
            )
        yield parent, neighbour


def bridged_children(
    alternative: Alternative, bridge: Bridge, name: JobName, ids: Mapping[str, Value]
) -> Iterator[JobName]:
    """Yield the jobs of the child app that a two-way function names for this parent; BadRequest if one does not name it
    back."""
    child = alternative.child
    for neighbour in bridge.function.children_of(name.app, ids):
        if neighbour.app != child.name:
            continue
        found = neighbour_name(bridge, child, neighbour, name.app, ids)
        own = child.read_key(found.key)
        if not admits(alternative, own):
            continue
        if name not in bridged_parents(bridge, child, own):
            raise bridge.function.refusal(
                f"named the child {found}, but does not name this job as a parent of it", name.app, ids
            )
        yield found


def neighbour_name(
    bridge: Bridge, app: App, neighbour: Neighbour, asked: str, ids: Mapping[str, Value]
) -> JobName:
    """Return the job that the function named, in canonical spelling."""
    written = neighbour.ids
    try:
        if not isinstance(written, str):
            written = app.template.join(str(written[name]) for name in app.template.names)
        return JobName(app.name, app.write_key(app.read_key(written)))
    except (BadKey, KeyError) as error:
        what = error.what if isinstance(error, BadKey) else f"{app.name} needs {error}"
        raise bridge.function.refusal(f"named {app.name} {neighbour.ids!r}: {what}", asked, ids) from error


def everyone(alternative: Alternative, days: Mapping[str, Values] = {}) -> list[str]:
    """Return the keys of all children of the group, in which each identifier has a domain or is limited to days."""
    limited = {
        name: [day for day in values if alternative.admits(name, day)] for name, values in days.items()
    }
    return keys(alternative.child, _open(alternative, but=days) | limited)


def _days(app: App, submission: Submission) -> dict[str, Values]:
    """Return the days from the start to the end of a submission, by the one identifier that is a date. BadRequest if
    the app has another number of dates, or if the texts are no days."""
    if len(app.days) != 1:
        has = (
            f"it has several dates ({', '.join(app.days)})"
            if app.days
            else "none of its identifiers is a date"
        )
        raise BadRequest(
            f"{app.name} has keys like {app.example_key}; start and end select days, and {has}.",
            where=app.name,
            advice="Give key or keys instead.",
        )
    try:
        first, last = (parse_day(str(text)) for text in (submission.start, submission.end))
    except ValueError as error:
        raise BadRequest(f"start and end: {error}.", where=app.name) from None
    if last < first:
        raise BadRequest(
            f"The submission ends, on {submission.end}, before it starts, on {submission.start}.",
            where=app.name,
        )
    return {app.days[0]: Values(Days(range(first.toordinal(), last.toordinal() + 1)))}


def _listed(app: App, name: str, days: Values) -> Iterable[Value]:
    """Return the days among these that the definition lists; all of these days if it has no list."""
    known = app.autofill.get(name)
    return [day for day in days if day in known] if known else days


def keys(app: App, columns: Mapping[str, Iterable[Value]]) -> list[str]:
    """Return every combination of values as keys, in canonical order, which is that of the keys as text.

    No part of a key but the last contains the delimiter. So keys are in the order of their parts, if each part is
    compared together with the delimiter that ends it. Sorting the parts costs nothing; sorting a hundred thousand keys
    costs more than making them.
    """
    if not app.template.names:
        return [""]
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
