"""Conversion of a written range to values, without expanding it."""

from sluice.jobs.app import App
from sluice.jobs.catalogue.draft import Span
from sluice.jobs.identifiers import Checked, Day, OneOf, Text, Whole, parse_day
from sluice.jobs.values import Days, Values

_END_MAX = 10**18


def read_span(app: App, name: str, span: Span, limit: int) -> Values:
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


def _numbers(span: Span) -> range:
    first, end = int(Whole().parse(span.first)), int(Whole().parse(span.end))
    if max(abs(first), abs(end), span.step) > _END_MAX:
        raise ValueError(f"range {span.text!r} goes beyond {_END_MAX}")
    return range(first, end, span.step)


def _unrolled(span: Span, kind: OneOf | Checked, limit: int) -> Values:
    """Return all values, each parsed by the kind, because only the kind can determine them."""
    numbers = _numbers(span)
    if len(numbers) > limit:
        raise ValueError(
            f"range {span.text!r} has more than {limit:,} values, each of which {kind} has to check"
        )
    return Values(kind.parse(str(number)) for number in numbers)
