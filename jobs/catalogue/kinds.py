"""Kind of each identifier's values.

An identifier means the same in a child and in the parents that it names. So its kind is determined over all apps that
``depends_on`` links through it. Apps that are not linked may use one name for different things.

- Declared in any of the linked apps: that kind applies to the apps without a declaration, too. Declared kinds may
  differ if they are comparable (``date`` and ``int``, ``str`` and a list of texts); otherwise it is a fault.
- Not declared: a day if a value is written as a day (``2014-06-01``, unquoted in YAML or TOML, or in a range).
  Otherwise a whole number if a value is written as a number, or a range is given. Otherwise text.

The notation has no other effect: ``"1"`` is a number if the kind is a number, and ``1`` is text if the kind is text.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import NamedTuple

from sluice.jobs.catalogue.draft import Draft, Mention, Raw, Span
from sluice.jobs.identifiers import Day, Identifier, Text, Whole, parse_day

_PLAIN: dict[str, Identifier] = {"str": Text(), "int": Whole()}


class Spot(NamedTuple):
    """One identifier of one app."""

    app: str
    name: str


class Settled(NamedTuple):
    """Kind of an identifier. If it was not declared, ``because`` has the reason for this kind, for people."""

    kind: Identifier
    because: str = ""


def settle_kinds(drafts: Mapping[str, Draft]) -> dict[Spot, Settled]:
    """Return the kind of every identifier of every app. Adds a fault for contradictory declarations."""
    written = _written(drafts)
    kinds: dict[Spot, Settled] = {}
    for linked in _linked(drafts):
        declared = {spot: kind for spot in linked if (kind := drafts[spot.app].declared.get(spot.name))}
        _refuse_contradiction(drafts, declared)
        rest = _agreed(declared) if declared else _inferred(linked, written)
        kinds.update({spot: Settled(declared[spot]) if spot in declared else rest for spot in linked})
    return kinds


def _linked(drafts: Mapping[str, Draft]) -> Iterable[list[Spot]]:
    """Return the sets of identifiers that must have the same meaning, each in the order of the definitions."""
    leader = {
        Spot(draft.name, name): Spot(draft.name, name) for draft in drafts.values() for name in draft.names
    }

    def lead(spot: Spot) -> Spot:
        while leader[spot] != spot:
            leader[spot] = leader[leader[spot]]
            spot = leader[spot]
        return spot

    for draft in drafts.values():
        for mention in draft.mentions:
            for first, *others in _same(draft, mention, drafts):
                for other in others:
                    leader[lead(other)] = lead(first)
    sets: dict[Spot, list[Spot]] = {}
    for spot in leader:
        sets.setdefault(lead(spot), []).append(spot)
    return sets.values()


def _same(child: Draft, mention: Mention, drafts: Mapping[str, Draft]) -> Iterator[list[Spot]]:
    """Yield the identifiers that one mapping makes equal: shared by child and parent, or with listed values."""
    if mention.function is not None:
        return
    for name in dict.fromkeys([*child.names, *mention.values]):
        if spots := holders(child, mention, name, drafts):
            yield spots


def holders(child: Draft, mention: Mention, name: str, drafts: Mapping[str, Draft]) -> list[Spot]:
    """Return this identifier in the child and in all parents of the mapping that have it."""
    apps = dict.fromkeys([child.name, *mention.apps])
    return [Spot(app, name) for app in apps if app in drafts and name in drafts[app].names]


def _written(drafts: Mapping[str, Draft]) -> dict[Spot, list[tuple[Raw | Span, str]]]:
    """Return every value written for an identifier, with its place."""
    written: dict[Spot, list[tuple[Raw | Span, str]]] = {}

    def note(spot: Spot, values: Iterable[Raw | Span], place: str) -> None:
        written.setdefault(spot, []).extend((value, place) for value in values)

    for draft in drafts.values():
        for name, values in draft.autofill.items():
            listed = (values,) if isinstance(values, Span) else values
            note(Spot(draft.name, name), listed, f"autofill_values of {draft.name}")
        for name, values in (draft.filtered or {}).items():
            note(Spot(draft.name, name), values, f"valid_if_or of {draft.name}")
        for mention in draft.mentions:
            for name, values in mention.values.items():
                for spot in holders(draft, mention, name, drafts):
                    note(spot, values, f"depends_on of {draft.name}")
    return written


def _refuse_contradiction(drafts: Mapping[str, Draft], declared: Mapping[Spot, Identifier]) -> None:
    (first, kind), *others = declared.items() or [(Spot("", ""), Text())]
    for spot, other in others:
        if other.underlying != kind.underlying:
            drafts[spot.app].at.add(
                f"identifiers: {spot.name} is {other} here and {kind} in {first.app};"
                " depends_on links the two apps, so it must have the same type in both"
            )


def _agreed(declared: Mapping[Spot, Identifier]) -> Settled:
    first, *others = declared.values()
    if all(kind == first for kind in others):
        return Settled(first)
    return Settled(_PLAIN.get(first.underlying, first))


def _inferred(linked: Iterable[Spot], written: Mapping[Spot, list[tuple[Raw | Span, str]]]) -> Settled:
    found = Settled(Text())
    for spot in linked:
        for value, place in written.get(spot, []):
            if _is_day(value):
                return Settled(Day(), _because(spot, "a day", value, place))
            if isinstance(found.kind, Text) and isinstance(value, int | Span):
                found = Settled(Whole(), _because(spot, "a whole number", value, place))
    return found


def _is_day(value: Raw | Span) -> bool:
    if not isinstance(value, Span):
        return isinstance(value, date)
    try:
        parse_day(value.first)
    except ValueError:
        return False
    return "-" in value.first


def _because(spot: Spot, what: str, value: Raw | Span, place: str) -> str:
    shown = value.text if isinstance(value, Span) else value
    return f" ({spot.name} is {what}, because {place} has {shown}; if that is wrong, declare it under identifiers)"
