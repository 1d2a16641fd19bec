"""Definitions, partitions and plans by partition, written as one would on paper.

*Definitions:* ``S; G=7: S(90), events; J: G(1/1)``. An app, how many partitions make one of its jobs (one, where it is
not said), and the tables that it reads. In parentheses, how far back: of its start, and after a slash of its end, as
so many partitions or a duration, ``all`` for whatever there is; ``any`` where any later partition does; ``from=`` and
``to=`` for cut-offs. A table that no app is called like is one that others fill. ``S@hour`` counts hours.

*Partitions:* ``04-01`` is of 2024, other years are written in full. ``G[04-01..04-07]`` is one job;
``S[04-01..04-07 each]`` is a job for each partition. What a job needs, ``S[01-02..04-07]``, is every job there is that
makes any of these.

*Plans:* ``S[01-02..04-07 each]; G[04-01..04-07] <- S[01-02..04-07]``. Every job there is, and all those it waits for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sluice.jobs.calendar import Calendar, Span, Unit

_APP = re.compile(r"(?P<app>\w+)(?:@(?P<unit>\w+))?(?:=(?P<size>\d+))?")
_READING = re.compile(r"(?P<table>\w+)(?:\((?P<words>[^)]*)\))?")
_SPAN = re.compile(r"(?P<name>\w+)\[(?P<first>[\d-]+)(?:\.\.(?P<last>[\d-]+))?(?P<each> each)?\]")
_SHORT = re.compile(r"\d\d(-\d\d)+")


class Step(NamedTuple):
    """A job by its app, or its table, and its partitions as they are written."""

    name: str
    first: str
    last: str

    def __repr__(self) -> str:
        return f"{self.name}[{self.first}..{self.last}]"


Graph = dict[Step, frozenset[Step]]


def definitions(text: str) -> dict[str, dict[str, Any]]:
    """The declarative form, for a file."""
    apps: dict[str, dict[str, Any]] = {}
    for part in text.split(";"):
        head, _, tail = part.partition(":")
        found = _matched(_APP, head)
        readings = [_reading(each) for each in tail.split(",") if each.strip()]
        apps[found["app"]] = {
            "bash_cmd": "true",
            "partition": found["unit"] or "day",
            "step_size": int(found["size"] or 1),
            **({"table_dependencies": readings} if readings else {}),
        }
    return apps


def asked(text: str) -> tuple[str, str, str]:
    """``J 04-01..04-30``: the app, the first and the last."""
    app, _, ends = text.partition(" ")
    first, _, last = ends.partition("..")
    return app, written(first), written(last or first)


def written(text: str) -> str:
    return f"2024-{text}" if _SHORT.fullmatch(text) else text


def steps(text: str) -> Iterator[Step]:
    """Each span as it stands, or each of its partitions."""
    for found in _SPAN.finditer(text):
        first, last = written(found["first"]), written(found["last"] or found["first"])
        yield from (
            _each(Step(found["name"], first, last)) if found["each"] else [Step(found["name"], first, last)]
        )


def graph(text: str, besides: Iterable[Step] = ()) -> Graph:
    """A plan as it is written; its jobs may need some ``besides`` each other."""
    told: list[tuple[Step, str]] = []
    for part in filter(str.strip, text.split(";")):
        head, _, needs = part.partition("<-")
        told += [(step, needs) for step in steps(head)]
    jobs = [step for step, _ in told]
    assert len(set(jobs)) == len(jobs), "a job is told twice"
    there = [*jobs, *besides]
    return {step: frozenset(_met(needs, there)) for step, needs in told}


def facts(there: str, active: str) -> dict[str, Any]:
    """The same for ``--facts``."""
    partitions: dict[str, list[str]] = {}
    for each in steps(there):
        partitions.setdefault(each.name, []).append(f"{each.first}..{each.last}")
    under_way = [{"app": each.name, "span": [each.first, each.last]} for each in steps(active)]
    return {"partitions": partitions, "active": under_way}


def _met(needs: str, there: Iterable[Step]) -> Iterator[Step]:
    for wanted in steps(needs):
        found = [each for each in there if each.name == wanted.name and _meet(each, wanted)]
        assert found, f"nothing makes {wanted}"
        yield from found


def _meet(each: Step, other: Step) -> bool:
    """As texts of one length they are in the order of time."""
    return each.first <= other.last and other.first <= each.last


def _each(step: Step) -> list[Step]:
    unit: Unit = "hour" if step.first.count("-") == 3 else "day"
    calendar = Calendar(unit)
    span = Span(calendar.read(step.first), calendar.read(step.last))
    texts = map(calendar.write, range(span.first, span.last + 1))
    return [Step(step.name, text, text) for text in texts]


def _reading(text: str) -> dict[str, Any]:
    found = _matched(_READING, text)
    said: dict[str, Any] = {"table": found["table"]}
    for word in (found["words"] or "").split():
        name, equals, value = word.partition("=")
        if equals:
            said[{"from": "start_cutoff", "to": "end_cutoff", "by": "partition"}[name]] = written(value)
        elif word == "any":
            said["cumulative"] = True
        else:
            said |= dict(zip(("start_offset", "end_offset"), map(_offset, word.split("/")), strict=False))
    return said


def _offset(text: str) -> int | str | None:
    if text == "all":
        return None
    return int(text) if text.isdigit() else text


def told(documents: Iterable[Mapping[str, Any]]) -> set[Step]:
    """What a document has of apps or tables, by its span."""
    return {Step(each.get("app") or each["table"], *each["span"]) for each in documents}


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text.strip())
    assert found, f"{text!r} cannot be read"
    return found
