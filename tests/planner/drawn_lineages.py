"""Lineages of tables drawn by Hypothesis, with existing partitions, partitions under way, and a submission."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Calendar, Span, Unit
from sluice.jobs.model.partition_state import HeldRange, KnownExtent
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from tests.planner.definitions import catalogue_of

#: Partitions around one day in March that may have a fate, by unit.
WINDOWS: Mapping[Unit, range] = {
    "hour": range(19_790 * 24 - 8, 19_790 * 24 + 30),
    "day": range(19_784, 19_795),
    "week": range(2825, 2830),
    "month": range(648, 652),
}
_FORMATS: Mapping[Unit, Sequence[str]] = {"hour": ("",), "day": ("", "%Y%m%d"), "week": ("",), "month": ("",)}
#: Second dimension of some tables.
BY = {"store": ["a", "b"]}
EXTERNALS: Mapping[str, Calendar] = {"landed_days": Calendar("day"), "landed_hours": Calendar("hour")}
#: Fate of a partition: it is missing (None), it exists (``there``), or a job makes it (``one`` or ``two``).
_FATES = st.sampled_from([None, None, None, "there", "one", "two"])
_FEW = st.sampled_from([False, False, False, True])
_MANY = st.booleans()


class Drawn(NamedTuple):
    """Drawn lineage.

    Each of the ``apps`` may read tables of earlier apps. ``fates`` is by table, then by partition.
    """

    apps: dict[str, dict[str, Any]]
    fates: dict[str, dict[int, str]]
    submission: Submission


class Lore(NamedTuple):
    """Drawn fates, as a plan reads them."""

    fates: Mapping[str, Mapping[int, str]]

    def held(self, table: str, version: str, within: Span) -> list[HeldRange]:
        """Return runs of partitions with one fate each."""
        runs: list[tuple[str, int, int]] = []
        for each, fate in sorted(self.fates[table].items()):
            if within.first <= each <= within.last:
                if runs and runs[-1][0] == fate and runs[-1][2] == each - 1:
                    runs[-1] = (fate, runs[-1][1], each)
                else:
                    runs.append((fate, each, each))
        return [HeldRange(Span(first, last), maker(table, fate)) for fate, first, last in runs]

    existing = held

    def extent(self, table: str, version: str) -> KnownExtent:
        fates = self.fates[table]
        there = [each for each, fate in fates.items() if fate == "there"]
        return KnownExtent(min(fates, default=None), max(there, default=None))


def maker(table: str, fate: str) -> KnownJob | None:
    """Return the job under way that makes partitions with this fate."""
    number = ("one", "two").index(fate) + 1 if fate != "there" else 0
    return KnownJob(number, f"fills_{table}", fate, State.WAITING) if number else None


@st.composite
def drawn_lineages(draw: st.DrawFn) -> Drawn:
    calendars = dict(EXTERNALS)
    firsts = {table: _first(calendar, draw) for table, calendar in EXTERNALS.items()}
    apps: dict[str, dict[str, Any]] = {}
    sliced = {table for table in EXTERNALS if draw(_FEW)}
    for place in range(draw(st.sampled_from([3, 2, 4, 1]))):
        unit: Unit = draw(st.sampled_from(["day", "day", "hour", "week", "month"]))
        own = Calendar(unit, draw(st.sampled_from(_FORMATS[unit])))
        reads = draw(st.lists(st.sampled_from([*calendars]), unique=True, max_size=3))
        # An app may read two parts of one table.
        reads += [table for table in reads if draw(_FEW)]
        readings = [draw(_readings(table, calendars[table], own, firsts.get(table))) for table in reads]
        table = f"t{place}"
        for reading in readings:
            if reading["table"] in sliced:
                _add_slices(reading, reads_all=draw(_FEW))
        partition = draw(_partitions(own))
        if draw(_MANY):
            sliced.add(table)
            partition["by"] = BY
        apps[f"fills_{table}"] = {
            "bash_cmd": "true",
            "output_table": table,
            "partition": partition,
            "step_size": draw(st.sampled_from([1, 2, 3, 5])),
            "table_dependencies": _without_repeated(readings),
        }
        calendars[table] = own
    fates = {
        name: draw(_drawn_fates(calendar, table in EXTERNALS))
        for table, calendar in calendars.items()
        for name in ([f"{table}[store={value}]" for value in BY["store"]] if table in sliced else [table])
    }
    asked = draw(st.sampled_from([*apps][::-1]))
    table = apps[asked]["output_table"]
    return Drawn(apps, fates, draw(_submissions(asked, calendars[table], has_slices=table in sliced)))


def _add_slices(reading: dict[str, Any], *, reads_all: bool) -> None:
    """Let the reading be one of a table with a second dimension."""
    if reading["table"] in EXTERNALS:
        reading["partition"]["by"] = BY
    if reads_all:
        reading["by"] = "all"


def loaded(drawn: Drawn) -> Catalogue:
    return catalogue_of(drawn.apps)


def _first(calendar: Calendar, draw: st.DrawFn) -> str | None:
    """Draw the first partition of an external table, which some of its readers define."""
    return calendar.write(draw(st.sampled_from(WINDOWS[calendar.unit]))) if draw(_MANY) else None


def _without_repeated(readings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the readings that read different parts. All readers of an external table share its first partition, so two
    readings are also the same if only one of them defines it. So are two readings of a table with a second dimension,
    if the reader has none."""
    parts = [{word: each[word] for word in each if word not in ("partition", "by")} for each in readings]
    return [each for n, each in enumerate(readings) if parts[n] not in parts[:n]]


@st.composite
def _partitions(draw: st.DrawFn, own: Calendar) -> dict[str, Any]:
    words: dict[str, Any] = {"unit": own.unit}
    if own.format:
        words["format"] = own.format
    if draw(_MANY):
        words["first"] = own.write(draw(st.sampled_from(WINDOWS[own.unit][:4])))
    return words


@st.composite
def _readings(
    draw: st.DrawFn, table: str, calendar: Calendar, own: Calendar, first: str | None
) -> dict[str, Any]:
    offsets = st.sampled_from([0, 0, 1, 2, 3, "6h", "30h", "2d"])
    reading: dict[str, Any] = {
        "table": table,
        "start_offset": draw(st.one_of(offsets, st.none())),
        "end_offset": draw(offsets),
    }
    if table in EXTERNALS:
        reading["partition"] = {"unit": calendar.unit} | ({"first": first} if first and draw(_MANY) else {})
    if draw(st.sampled_from([False, False, True])):
        reading["cumulative"] = True
    cuts = sorted(draw(st.sampled_from(WINDOWS[calendar.unit])) for _ in range(2))
    for word, cut in zip(("start_cutoff", "end_cutoff"), cuts, strict=True):
        if draw(_FEW):
            reading[word] = calendar.write(cut)
    return reading


@st.composite
def _drawn_fates(draw: st.DrawFn, calendar: Calendar, is_external: bool) -> dict[int, str]:
    """Draw fates that are mostly the same for several partitions in a row."""
    fates: dict[int, str] = {}
    ahead = [*WINDOWS[calendar.unit]]
    while ahead:
        length = draw(st.integers(1, max(2, len(ahead) // 2)))
        fate = draw(_FATES)
        if is_external and fate:
            fate = "there"
        if fate:
            fates |= dict.fromkeys(ahead[:length], fate)
        del ahead[:length]
    return fates


@st.composite
def _submissions(draw: st.DrawFn, app: str, calendar: Calendar, *, has_slices: bool) -> Submission:
    window = WINDOWS[calendar.unit]
    drawn = [sorted(draw(st.sampled_from(window[3:])) for _ in range(2)) for _ in range(2)]
    rerun = draw(st.sampled_from([None, None, "job", "downstream"]))
    (first, last), (other, end) = [(calendar.write(a), calendar.write(b)) for a, b in drawn]
    if draw(_MANY):
        slices = [draw(st.sampled_from(["a/", "b/"])) if has_slices else "" for _ in range(2)]
        keys = (f"{slices[0]}{first}..{last}", f"{slices[1]}{other}..{end}")
        return Submission(app=app, id="drawn", keys=keys, rerun=rerun)
    by = draw(st.sampled_from([None, {"store": "a"}, {"store": ("b",)}])) if has_slices else None
    return Submission(app=app, id="drawn", start=first, end=last, by=by, rerun=rerun)
