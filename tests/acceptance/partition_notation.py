"""Notation for definitions, partitions and plans by partition.

*Definitions:* ``S; G=7: S(90), events; J: G(1/1)``. Each part is an app with its step size in partitions (default: 1),
and the tables that it reads. In parentheses is the offset of the start, and after a slash the offset of the end, each
as a number of partitions or a duration. ``all`` means all existing partitions. With ``any``, any later
partition is accepted. ``from=`` and ``to=`` are cut-offs, and ``by=`` is the unit of the table's partitions.
A table that no app is named after is filled outside of Sluice. ``S@hour`` has a partition per hour.

*Partitions:* ``04-01`` is in 2024; other years are written in full. ``G[04-01..04-07]`` is one job.
``S[04-01..04-07 each]`` is a job for each partition. As a need, ``S[01-02..04-07]`` stands for every job that makes any
of these partitions.

*Plans:* ``S[01-02..04-07 each]; G[04-01..04-07] <- S[01-02..04-07]``. A plan has every job, with all jobs that it waits
for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sluice.jobs.keys.calendar import Calendar, Span, Unit

_APP = re.compile(r"(?P<app>\w+)(?:@(?P<unit>\w+))?(?:=(?P<size>\d+))?")
_READING = re.compile(r"(?P<table>\w+)(?:\((?P<words>[^)]*)\))?")
_SPAN = re.compile(r"(?P<name>\w+)\[(?P<first>[\d-]+)(?:\.\.(?P<last>[\d-]+))?(?P<each> each)?\]")
_SHORT = re.compile(r"\d\d(-\d\d)+")


class Step(NamedTuple):
    """Job by its app or its table, and its partitions as they are written."""

    name: str
    first: str
    last: str

    def __repr__(self) -> str:
        return f"{self.name}[{self.first}..{self.last}]"


Graph = dict[Step, frozenset[Step]]


def definitions(text: str) -> dict[str, dict[str, Any]]:
    """Return the definitions in the form of a file."""
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
    """Return the app, the first and the last partition of ``J 04-01..04-30``."""
    app, _, ends = text.partition(" ")
    first, _, last = ends.partition("..")
    return app, written(first), written(last or first)


def written(text: str) -> str:
    return f"2024-{text}" if _SHORT.fullmatch(text) else text


def steps(text: str) -> Iterator[Step]:
    """Yield each span as one step, or with ``each`` a step for each of its partitions."""
    for found in _SPAN.finditer(text):
        first, last = written(found["first"]), written(found["last"] or found["first"])
        yield from (
            _each(Step(found["name"], first, last)) if found["each"] else [Step(found["name"], first, last)]
        )


def graph(text: str, besides: Iterable[Step] = ()) -> Graph:
    """Return the graph of a written plan. Its jobs may also need the steps in ``besides``."""
    told: list[tuple[Step, str]] = []
    for part in filter(str.strip, text.split(";")):
        head, _, needs = part.partition("<-")
        told += [(step, needs) for step in steps(head)]
    jobs = [step for step, _ in told]
    assert len(set(jobs)) == len(jobs), "a job is written twice"
    there = [*jobs, *besides]
    return {step: frozenset(_met(needs, there)) for step, needs in told}


def facts(there: str, active: str) -> dict[str, Any]:
    """Return existing partitions and steps in progress as a document for ``--facts``."""
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
    """Return whether the steps overlap. Their ends are texts of one length, which sort by time."""
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
    """Return the steps of the apps or tables that a document lists."""
    return {Step(each.get("app") or each["table"], *each["span"]) for each in documents}


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text.strip())
    assert found, f"{text!r} cannot be read"
    return found
