"""Values, kinds and ranges of identifiers, as written in definitions.

``read_span`` converts a written range to values. The range is expanded only if each value must be checked by its kind.
"""

from collections.abc import Mapping
from datetime import date, datetime

from sluice.jobs.catalogue.errors import At, nearest
from sluice.jobs.catalogue.fields.draft import Raw, WrittenRange
from sluice.jobs.catalogue.sources.functions import find_function
from sluice.jobs.keys.identifiers import (
    Checked,
    Day,
    Days,
    Identifier,
    OneOf,
    Text,
    Value,
    Values,
    Whole,
    number_of_day,
    parse_day,
)
from sluice.jobs.model.app import App

_KINDS: dict[str, Identifier] = {"str": Text(), "int": Whole(), "date": Day()}


def read_kinds(word: object, at: At) -> dict[str, Identifier]:
    """Return the kinds in ``identifiers``, by name."""
    kinds: dict[str, Identifier] = {}
    for name, value in _named(word, at).items():
        try:
            kinds[name] = _kind(value)
        except ValueError as error:
            at.add(f"{name}: {error}")
    return kinds


def read_autofill(word: object, at: At) -> dict[str, tuple[Raw, ...] | WrittenRange]:
    """Return the lists and ranges in ``autofill_values``, by name."""
    autofill: dict[str, tuple[Raw, ...] | WrittenRange] = {}
    for name, value in _named(word, at).items():
        try:
            autofill[name] = _span(value) if isinstance(value, str) else raws(value)
        except ValueError as error:
            at.add(f"{name}: {error}")
    return autofill


def read_values(word: object, at: At) -> dict[str, tuple[Raw, ...]]:
    """Return lists of values, by name."""
    listed: dict[str, tuple[Raw, ...]] = {}
    for name, value in _named(word, at).items():
        try:
            listed[name] = raws(value)
        except ValueError as error:
            at.add(f"{name}: {error}")
    return listed


def raws(value: object) -> tuple[Raw, ...]:
    """Return the values of a list. Raises ValueError if it is not a list, or contains a value that no key can."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of values")
    return tuple(_raw(item) for item in value)


def text_of(raw: Raw) -> str:
    """Return a value as a key contains it."""
    return raw.isoformat() if isinstance(raw, date) else str(raw)


def _named(word: object, at: At) -> Mapping[str, object]:
    if isinstance(word, Mapping):
        return {str(name): value for name, value in word.items()}
    at.add(f"it has to be a mapping of identifiers; this is {word!r}")
    return {}


def _raw(item: object) -> Raw:
    if isinstance(item, bool | datetime) or not isinstance(item, str | int | date):
        raise ValueError(f"{item!r} is not a text, a whole number or a day")
    return item


def _span(text: str) -> WrittenRange:
    parts = [part.strip() for part in text.split(":")]
    if len(parts) not in {2, 3} or not all(parts):
        raise ValueError(
            f'{text!r} is not a range; write "a:b" or "a:b:step" (b is not part of it), or a list'
        )
    step = Whole().parse(parts[2]) if len(parts) == 3 else 1
    if not isinstance(step, int) or step < 1:
        raise ValueError(f"the step of range {text!r} has to be 1 or more")
    return WrittenRange(text, parts[0], parts[1], step)


def _kind(word: object) -> Identifier:
    if isinstance(word, str):
        if word in _KINDS:
            return _KINDS[word]
        if ":" in word:
            return Checked(word, find_function(word))
    elif isinstance(word, list | tuple):
        return _one_of(raws(word))
    raise ValueError(
        f"{word!r} is no kind of identifier{nearest(word, _KINDS)};"
        " write str, int, date, a list of the allowed values, or package.module:function"
    )


def _one_of(listed: tuple[Raw, ...]) -> OneOf:
    allowed: tuple[Value, ...] = tuple(number_of_day(raw) if isinstance(raw, date) else raw for raw in listed)
    if not allowed or len(set(allowed)) < len(allowed):
        raise ValueError(f"{list(allowed)!r} is empty or repeats a value; list each allowed value once")
    if len({type(value) for value in allowed}) > 1:
        raise ValueError(
            f"{list(allowed)!r} mixes numbers and texts; write all of them as numbers or all as texts"
        )
    kind = OneOf(allowed)
    for value in allowed:
        kind.parse(str(value))
    return kind


_END_MAX = 10**18


def read_span(app: App, name: str, span: WrittenRange, limit: int) -> Values:
    """Return the values of a range for this identifier. Raises ValueError with the reason if it has none."""
    match app.kind(name):
        case Day():
            values = Values(Days.span(parse_day(span.first), parse_day(span.end), span.step))
        case Whole():
            values = Values(_numbers(span))
        case OneOf() | Checked() as kind:
            values = _unrolled(span, kind, limit)
        case Text():
            raise ValueError(f"range {span.text!r} needs numbers or days; {name} is declared as str")
    if not len(values):
        raise ValueError(f"range {span.text!r} is empty: its end is not part of it")
    if not app.template.fits(name, str(next(iter(values)))):
        raise ValueError(f"range {span.text!r} holds {app.template.delimiter!r}, which ends {name}")
    return values


def _numbers(span: WrittenRange) -> range:
    first, end = int(Whole().parse(span.first)), int(Whole().parse(span.end))
    if max(abs(first), abs(end), span.step) > _END_MAX:
        raise ValueError(f"range {span.text!r} goes beyond {_END_MAX}")
    return range(first, end, span.step)


def _unrolled(span: WrittenRange, kind: OneOf | Checked, limit: int) -> Values:
    """Return all values, each parsed by the kind, because only the kind can determine them."""
    numbers = _numbers(span)
    if len(numbers) > limit:
        raise ValueError(
            f"range {span.text!r} has more than {limit:,} values, each of which {kind} has to check"
        )
    return Values(kind.parse(str(number)) for number in numbers)
