"""Conversion of drafts to apps: every value gets its type and is checked against the apps that it is for."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sluice.jobs.app import App, Filter, Group, Parents
from sluice.jobs.catalogue.dependencies import MENTION_WORDS
from sluice.jobs.catalogue.draft import Draft, Mention, Raw, Span
from sluice.jobs.catalogue.evaluated import refuse_evaluated
from sluice.jobs.catalogue.faults import At, nearest
from sluice.jobs.catalogue.kinds import Settled, Spot, holders
from sluice.jobs.catalogue.ranges import read_span
from sluice.jobs.catalogue.written import text_of
from sluice.jobs.errors import BadKey
from sluice.jobs.identifiers import Text, Value
from sluice.jobs.template import Template
from sluice.jobs.values import Values


class _Known(NamedTuple):
    """Everything that is needed to type the values of an app. ``bare`` apps can only read keys."""

    drafts: Mapping[str, Draft]
    kinds: Mapping[Spot, Settled]
    bare: Mapping[str, App]
    limit: int


def type_apps(drafts: Mapping[str, Draft], kinds: Mapping[Spot, Settled], limit: int) -> dict[str, App]:
    """Return the apps with a readable template, in the order of the definitions."""
    bare = {draft.name: _bare(draft, draft.template, kinds) for draft in drafts.values() if draft.template}
    known = _Known(drafts, kinds, bare, limit)
    return {name: _app(known, drafts[name]) for name in bare}


def _bare(draft: Draft, template: Template, kinds: Mapping[Spot, Settled]) -> App:
    settled = {name: kinds[Spot(draft.name, name)].kind for name in template.names}
    return App(
        name=draft.name,
        origin=draft.at.source,
        template=template,
        identifiers={name: kind for name, kind in settled.items() if not isinstance(kind, Text)},
        policy=draft.policy,
        job_type=draft.work.job_type,
        function=draft.work.function,
        function_path=draft.work.function_path,
        isolate=draft.work.isolate,
        bash_cmd=draft.work.bash_cmd,
        manager=draft.work.manager,
        unbounded=draft.work.unbounded,
        spark=draft.work.spark,
        program=draft.work.program,
        saga=draft.work.saga,
        chunking=draft.chunking,
        partitioning=draft.partitioning,
        compensate=draft.compensate,
        breaker=draft.breaker,
        retry_budget=draft.retry_budget,
    )


def _app(known: _Known, draft: Draft) -> App:
    _own(known, draft, draft.declared, draft.at.inside("identifiers"))
    refuse_evaluated(known.bare[draft.name], draft.at)
    return replace(
        known.bare[draft.name],
        autofill=_autofill(known, draft),
        groups=tuple(_groups(known, draft)),
        valid_if_or=_filter(known, draft),
    )


def _autofill(known: _Known, draft: Draft) -> dict[str, Values]:
    at = draft.at.inside("autofill_values")
    autofill: dict[str, Values] = {}
    for name in _own(known, draft, draft.autofill, at):
        written = draft.autofill[name]
        if not isinstance(written, Span):
            autofill[name] = Values(_typed(known, [Spot(draft.name, name)], written, at))
            continue
        try:
            autofill[name] = read_span(known.bare[draft.name], name, written, known.limit)
        except ValueError as error:
            at.add(f"{name}: {error}")
    return autofill


def _filter(known: _Known, draft: Draft) -> Filter | None:
    if draft.filtered is None:
        return None
    at = draft.at.inside("valid_if_or")
    values = {
        name: _typed(known, [Spot(draft.name, name)], draft.filtered[name], at)
        for name in _own(known, draft, draft.filtered, at)
    }
    return Filter(values=values, function_path=draft.filter_path, function=draft.filter_function)


def _groups(known: _Known, draft: Draft) -> Iterator[Group]:
    for name, mentions in draft.groups.items():
        at = draft.at.inside("depends_on").inside(f"group {name}")
        all_of = (parents for mention in mentions for parents in _parents(known, draft, mention, at))
        yield Group(name=name, all_of=tuple(all_of))


def _parents(known: _Known, draft: Draft, mention: Mention, at: At) -> Iterator[Parents]:
    """Yield the typed parents of a mapping.

    If ``when`` is missing, a parent must succeed, or must run if it is long-running.
    """
    endless = tuple(app for app in mention.apps if app in known.drafts and known.drafts[app].work.unbounded)
    _refuse_ends(endless, mention, at)
    parents = _typed_parents(known, draft, mention, at)
    if mention.when is not None or not endless:
        yield parents
        return
    if others := tuple(app for app in mention.apps if app not in endless):
        yield replace(parents, apps=others)
    yield replace(parents, apps=endless, when="running")


def _refuse_ends(endless: Sequence[str], mention: Mention, at: At) -> None:
    for app in endless:
        if mention.when in ("succeeded", "finished"):
            at.add(
                f"when: {mention.when}: {app} is_long_running, so that never happens;"
                " leave when out, or write running or failed"
            )
        elif mention.lag_s_max is not None:
            at.add(f"max_lag: {app} is_long_running, so it never succeeds")
    if endless and mention.function and mention.when is None and len(endless) < len(mention.apps):
        at.add(
            f"{', '.join(endless)} never ends and the other apps do; write when, or give each kind its own mapping"
        )


def _typed_parents(known: _Known, draft: Draft, mention: Mention, at: At) -> Parents:
    values: dict[str, tuple[Value, ...]] = {}
    for name in [*mention.values, *sorted(mention.every)]:
        spots = holders(draft, mention, name, known.drafts)
        if name in mention.every:
            spots = [spot for spot in spots if spot.app != draft.name]
        if not spots:
            _refuse_unused(known, draft, mention, name, at)
        elif name in mention.values:
            values[name] = _typed(known, spots, mention.values[name], at)
            if mention.keys and all(spot.app != draft.name for spot in spots):
                at.add(f"job_id already selects the parents, so {name}, which only they have, has no effect")
    return Parents(
        apps=mention.apps,
        values=values,
        every=mention.every,
        keys=_keys(known, mention, at.inside("job_id")),
        function=mention.function,
        when=mention.when or "succeeded",
        lag_s_max=mention.lag_s_max,
    )


def _refuse_unused(known: _Known, draft: Draft, mention: Mention, name: str, at: At) -> None:
    """Add a fault for an unknown identifier, unless an app of the mapping has a fault: it might have the identifier."""
    if not all(app in known.bare for app in mention.apps):
        return
    holders = mention.apps if name in mention.every else (draft.name, *mention.apps)
    names = {name for app in holders for name in known.bare[app].template.names}
    whose = "none of its parents" if name in mention.every else f"neither {draft.name} nor any parent here"
    at.add(f"{whose} has an identifier {name!r}{nearest(name, [*names, *MENTION_WORDS])}")


def _keys(known: _Known, mention: Mention, at: At) -> tuple[str, ...]:
    """Return the canonical keys, as the first of the apps writes them. Each app must be able to read them."""
    keys: list[str] = []
    for app in (known.bare[name] for name in mention.apps if name in known.bare):
        try:
            written = [app.write_key(app.read_key(key)) for key in mention.keys]
        except BadKey as error:
            at.add(f"{error.what} {error.advice}")
            continue
        _refuse_repeats(written, at)
        keys = keys or written
    return tuple(dict.fromkeys(keys))


def _own(known: _Known, draft: Draft, named: Mapping[str, object], at: At) -> list[str]:
    """Return the names that are identifiers of the app. Adds a fault for each other name."""
    names = known.bare[draft.name].template.names
    for name in named:
        if name not in names:
            at.add(f"{draft.name} has no identifier {name!r}{nearest(name, names)}")
    return [name for name in named if name in names]


def _typed(known: _Known, spots: Sequence[Spot], written: Sequence[Raw], at: At) -> tuple[Value, ...]:
    """Return the values of a list. Each of these apps must accept every value."""
    name = spots[0].name
    values: list[Value] = []
    for raw in written:
        try:
            value = known.bare[spots[0].app].read_value(name, text_of(raw))
        except ValueError as error:
            at.add(f"{error}{known.kinds[spots[0]].because}")
            continue
        values.append(value)
        for spot in spots[1:]:
            if not known.bare[spot.app].accepts(name, value):
                at.add(f"{value!r} cannot be the {name} of {spot.app} ({known.kinds[spot].kind})")
    _refuse_repeats(values, at.inside(name))
    return tuple(dict.fromkeys(values))


def _refuse_repeats(values: Sequence[Value], at: At) -> None:
    if len(set(values)) < len(values):
        repeated = sorted(str(value) for value, times in Counter(values).items() if times > 1)
        at.add(f"{', '.join(repeated)} is listed twice")
