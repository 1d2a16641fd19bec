"""Figures of the code by room, for people: sizes, branches, names and prose."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import quantiles

from tests.style import complexity, layout, measures, prose
from tests.style.sources import PACKAGE, ROOMS, Source

_SHORT = {
    "headless clause": "headless",
    "missing noun": "no noun",
    "speaking software": "speaking",
    "reason with for": "for",
    "obligation with to be": "to be",
}
_WIDE = 13


def report(sources: list[Source]) -> Iterator[str]:
    """Yield the lines of the report."""
    rooms = {
        room: [source for source in sources if source.room == room] for room in (*ROOMS, PACKAGE, "tests")
    }
    rooms = {
        room: [each for each in found if "/migrations/" not in each.path] for room, found in rooms.items()
    }
    yield from _table(
        ("room", "modules", "lines", "median", "p90", "longest", "widest folder", "activities"),
        [(room, *_of_files(found)) for room, found in rooms.items()],
    )
    yield ""
    yield from _table(
        ("room", "functions", "p90 lines", "longest", "p90 branches", "most", "most parameters"),
        [(room, *_of_functions(found)) for room, found in rooms.items()],
    )
    yield ""
    product = [each for room in ROOMS for each in rooms[room]]
    measured = measures.Measured(product)
    yield f"{len(measured.too_high('classes with the same name'))} names belong to several public classes."
    yield ""
    found = {room: sum(map(prose.counted, files), Counter[str]()) for room, files in rooms.items()}
    yield "Matches per 1,000 words of prose:"
    yield from _table(
        ("room", "words", *(_SHORT.get(name, name) for name in prose.PATTERNS)),
        [
            (
                room,
                by[f"{room}: words"],
                *(f"{1000 * by[f'{room}: {name}'] / by[f'{room}: words']:.1f}" for name in prose.PATTERNS),
            )
            for room, by in found.items()
        ],
    )


def _of_files(sources: list[Source]) -> tuple[int | str, ...]:
    modules = [source for source in sources if not source.is_package]
    lengths = [source.text.count("\n") for source in modules]
    folders = Counter(source.path.rpartition("/")[0] for source in modules)
    return (
        len(modules),
        sum(lengths),
        *_middle_and_high(lengths),
        max(lengths),
        max(folders.values()),
        sum(len(layout.activity(each)) for each in modules),
    )


def _of_functions(sources: list[Source]) -> tuple[int | str, ...]:
    found = [node for source in sources for node in source.nodes if isinstance(node, complexity.Function)]
    lengths = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in found]
    branches = [complexity.branches_of(node) for node in found]
    parameters = [complexity.parameters_of(node) for node in found]
    return (
        len(found),
        _middle_and_high(lengths)[1],
        max(lengths, default=0),
        _middle_and_high(branches)[1],
        max(branches, default=0),
        max(parameters, default=0),
    )


def _middle_and_high(values: Sequence[int]) -> tuple[int, int]:
    """Return the median and the value that nine of ten do not exceed."""
    if len(values) < 2:
        return (values[0], values[0]) if values else (0, 0)
    tenths = quantiles(values, n=10, method="inclusive")
    return round(tenths[4]), round(tenths[8])


def _table(heads: tuple[str, ...], rows: Sequence[tuple[int | str, ...]]) -> Iterator[str]:
    for row in (heads, *rows):
        yield str(row[0]).ljust(_WIDE) + "".join(str(each).rjust(_WIDE) for each in row[1:])
