"""Types of identifiers, and the conversion of drafts to apps.

An identifier means the same in a child and in the parents that it names. So the kind of its values is determined over
all apps that ``depends_on`` links through it (``settle_kinds``). Apps that are not linked may use one name for
different things.

- Declared in any of the linked apps: that kind applies to the apps without a declaration, too. Declared kinds may
  differ if they are comparable (``date`` and ``int``, ``str`` and a list of texts); otherwise it is a fault.
- Not declared: a day if a value is written as a day (``2014-06-01``, unquoted in YAML or TOML, or in a range).
  Otherwise a whole number if a value is written as a number, or a range is given. Otherwise text.

The notation has no other effect: ``"1"`` is a number if the kind is a number, and ``1`` is text if the kind is text.

``type_apps`` converts the drafts: every value gets its type and is checked against the apps that it is for.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from msgspec.structs import replace

from sluice.jobs.catalogue.errors import At, nearest
from sluice.jobs.catalogue.fields.dependency_grammar import MENTION_WORDS
from sluice.jobs.catalogue.fields.draft import Draft, Mention, Raw, WrittenRange
from sluice.jobs.catalogue.fields.literals import read_span, text_of
from sluice.jobs.catalogue.fields.work_options import refuse_evaluated
from sluice.jobs.errors import BadKey
from sluice.jobs.keys.identifiers import Day, Identifier, Text, Value, Values, Whole, parse_day
from sluice.jobs.keys.template import Template
from sluice.jobs.model.app import App, DependencyGroup, Parents, ValidIf

_PLAIN: dict[str, Identifier] = {"str": Text(), "int": Whole()}


class AppIdentifier(NamedTuple):
    """One identifier of one app."""

    app: str
    name: str


class KnownKind(NamedTuple):
    """Kind of an identifier. If it was not declared, ``because`` has the reason for this kind, for people."""

    kind: Identifier
    because: str = ""


def settle_kinds(drafts: Mapping[str, Draft]) -> dict[AppIdentifier, KnownKind]:
    """Return the kind of every identifier of every app. Adds a fault for contradictory declarations."""
    written = _written(drafts)
    kinds: dict[AppIdentifier, KnownKind] = {}
    for linked in _linked(drafts):
        declared = {spot: kind for spot in linked if (kind := drafts[spot.app].declared.get(spot.name))}
        _refuse_contradiction(drafts, declared)
        rest = _agreed(declared) if declared else _inferred(linked, written)
        kinds.update({spot: KnownKind(declared[spot]) if spot in declared else rest for spot in linked})
    return kinds


def _linked(drafts: Mapping[str, Draft]) -> Iterable[list[AppIdentifier]]:
    """Return the sets of identifiers that must have the same meaning, each in the order of the definitions."""
    leader = {
        AppIdentifier(draft.name, name): AppIdentifier(draft.name, name)
        for draft in drafts.values()
        for name in draft.names
    }

    def lead(spot: AppIdentifier) -> AppIdentifier:
        while leader[spot] != spot:
            leader[spot] = leader[leader[spot]]
            spot = leader[spot]
        return spot

    for draft in drafts.values():
        for mention in draft.mentions:
            for first, *others in _same(draft, mention, drafts):
                for other in others:
                    leader[lead(other)] = lead(first)
    sets: dict[AppIdentifier, list[AppIdentifier]] = {}
    for spot in leader:
        sets.setdefault(lead(spot), []).append(spot)
    return sets.values()


def _same(child: Draft, mention: Mention, drafts: Mapping[str, Draft]) -> Iterator[list[AppIdentifier]]:
    """Yield the identifiers that one mapping makes equal: shared by child and parent, or with listed values."""
    if mention.function is not None:
        return
    for name in dict.fromkeys([*child.names, *mention.values]):
        if spots := holders(child, mention, name, drafts):
            yield spots


def holders(child: Draft, mention: Mention, name: str, drafts: Mapping[str, Draft]) -> list[AppIdentifier]:
    """Return this identifier in the child and in all parents of the mapping that have it."""
    apps = dict.fromkeys([child.name, *mention.apps])
    return [AppIdentifier(app, name) for app in apps if app in drafts and name in drafts[app].names]


def _written(drafts: Mapping[str, Draft]) -> dict[AppIdentifier, list[tuple[Raw | WrittenRange, str]]]:
    """Return every value written for an identifier, with its place."""
    written: dict[AppIdentifier, list[tuple[Raw | WrittenRange, str]]] = {}

    def note(spot: AppIdentifier, values: Iterable[Raw | WrittenRange], place: str) -> None:
        written.setdefault(spot, []).extend((value, place) for value in values)

    for draft in drafts.values():
        for name, values in draft.autofill.items():
            listed = (values,) if isinstance(values, WrittenRange) else values
            note(AppIdentifier(draft.name, name), listed, f"autofill_values of {draft.name}")
        for name, values in (draft.filtered or {}).items():
            note(AppIdentifier(draft.name, name), values, f"valid_if_or of {draft.name}")
        for mention in draft.mentions:
            for name, values in mention.values.items():
                for spot in holders(draft, mention, name, drafts):
                    note(spot, values, f"depends_on of {draft.name}")
    return written


def _refuse_contradiction(drafts: Mapping[str, Draft], declared: Mapping[AppIdentifier, Identifier]) -> None:
    (first, kind), *others = declared.items() or [(AppIdentifier("", ""), Text())]
    for spot, other in others:
        if other.underlying != kind.underlying:
            drafts[spot.app].at.add(
                f"identifiers: {spot.name} is {other} here and {kind} in {first.app};"
                " depends_on links the two apps, so it must have the same type in both"
            )


def _agreed(declared: Mapping[AppIdentifier, Identifier]) -> KnownKind:
    first, *others = declared.values()
    if all(kind == first for kind in others):
        return KnownKind(first)
    return KnownKind(_PLAIN.get(first.underlying, first))


def _inferred(
    linked: Iterable[AppIdentifier], written: Mapping[AppIdentifier, list[tuple[Raw | WrittenRange, str]]]
) -> KnownKind:
    found = KnownKind(Text())
    for spot in linked:
        for value, place in written.get(spot, []):
            if _is_day(value):
                return KnownKind(Day(), _because(spot, "a day", value, place))
            if isinstance(found.kind, Text) and isinstance(value, int | WrittenRange):
                found = KnownKind(Whole(), _because(spot, "a whole number", value, place))
    return found


def _is_day(value: Raw | WrittenRange) -> bool:
    if not isinstance(value, WrittenRange):
        return isinstance(value, date)
    try:
        parse_day(value.first)
    except ValueError:
        return False
    return "-" in value.first


def _because(spot: AppIdentifier, what: str, value: Raw | WrittenRange, place: str) -> str:
    shown = value.text if isinstance(value, WrittenRange) else value
    return f" ({spot.name} is {what}, because {place} has {shown}; if that is wrong, declare it under identifiers)"


class _Known(NamedTuple):
    """Everything that is needed to type the values of an app. ``bare`` apps can only read keys."""

    drafts: Mapping[str, Draft]
    kinds: Mapping[AppIdentifier, KnownKind]
    bare: Mapping[str, App]
    limit: int


def type_apps(
    drafts: Mapping[str, Draft], kinds: Mapping[AppIdentifier, KnownKind], limit: int
) -> dict[str, App]:
    """Return the apps with a readable template, in the order of the definitions."""
    bare = {draft.name: _bare(draft, draft.template, kinds) for draft in drafts.values() if draft.template}
    known = _Known(drafts, kinds, bare, limit)
    return {name: _app(known, drafts[name]) for name in bare}


def _bare(draft: Draft, template: Template, kinds: Mapping[AppIdentifier, KnownKind]) -> App:
    settled = {name: kinds[AppIdentifier(draft.name, name)].kind for name in template.names}
    return App(
        name=draft.name,
        origin=draft.at.source,
        template=template,
        identifiers={name: kind for name, kind in settled.items() if not isinstance(kind, Text)},
        policy=draft.policy,
        job_type=draft.work.job_type,
        function=draft.work.function,
        function_path=draft.work.function_path,
        hooks=draft.hooks,
        isolate=draft.work.isolate,
        bash_cmd=draft.work.bash_cmd,
        manager=draft.work.manager,
        unbounded=draft.work.unbounded,
        spark=draft.work.spark,
        program=draft.work.program,
        saga=draft.work.saga,
        chunking=draft.chunking,
        partitioning=draft.partitioning,
        daily=draft.days,
        compensate=draft.compensate,
        breaker=draft.breaker,
        retry_budget=draft.retry_budget,
        rate_limit=draft.rate_limit,
        tenant=draft.tenant,
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
        if not isinstance(written, WrittenRange):
            autofill[name] = Values(_typed(known, [AppIdentifier(draft.name, name)], written, at))
            continue
        try:
            autofill[name] = read_span(known.bare[draft.name], name, written, known.limit)
        except ValueError as error:
            at.add(f"{name}: {error}")
    return autofill


def _filter(known: _Known, draft: Draft) -> ValidIf | None:
    if draft.filtered is None:
        return None
    at = draft.at.inside("valid_if_or")
    values = {
        name: _typed(known, [AppIdentifier(draft.name, name)], draft.filtered[name], at)
        for name in _own(known, draft, draft.filtered, at)
    }
    return ValidIf(values=values, function_path=draft.filter_path, function=draft.filter_function)


def _groups(known: _Known, draft: Draft) -> Iterator[DependencyGroup]:
    for name, mentions in draft.groups.items():
        at = draft.at.inside("depends_on").inside(f"group {name}")
        all_of = (parents for mention in mentions for parents in _parents(known, draft, mention, at))
        yield DependencyGroup(name=name, all_of=tuple(all_of))


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


def _typed(
    known: _Known, spots: Sequence[AppIdentifier], written: Sequence[Raw], at: At
) -> tuple[Value, ...]:
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
