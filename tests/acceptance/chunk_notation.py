"""Notation for definitions, chunks and plans by chunk.

*Definitions:* ``A=3: B, C(90 unique); B=2: E(0); E=6 by=region``. Each part is an app with its chunk size (default: 1),
other options of its own, and its dependencies. Options of a dependency are in parentheses: ``max_lag`` as a number of
minutes or a duration (default: an hour), ``unique``, ``any`` for ``allow_missing_work_ids``, and ``x=1`` for
``custom_kwargs``. Of the app's own options, ``select`` and ``default`` name a function of
``tests.acceptance.selections``, and ``by`` names the kwarg for ``freshness_by``.

*Chunks:* ``A[1-3]``. ``A'[1-3]`` is a second job of the same app with the same work IDs. Which of the two jobs has
which name does not matter.

*Plans:* ``E[1-6]; B[1,2] <- E[1-6]; B[3,4] <- E[1-6]``. A plan has every job, with all jobs that it waits for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby, permutations, product
from typing import Any, NamedTuple

from sluice.jobs.keys.work_ids import WorkId, parse_work_ids, text_of
from sluice.jobs.text.units import parse_duration_s

_APP = re.compile(r"(?P<app>[\w.-]+)(?:=(?P<size>-?\d+))?(?P<words>(?: \w+=\S+)*)")
_DEPENDENCY = re.compile(r"(?P<app>[\w.-]+)(?:\((?P<words>[^)]*)\))?")
_CHUNK = re.compile(r"(?P<app>[\w.-]+)(?P<twin>'*)\[(?P<ids>[^\]]*)\]")
_SELECTIONS = "tests.acceptance.selections"


class Chunk(NamedTuple):
    """Job by its app and work IDs. ``twin`` is the number of earlier jobs with the same app and work IDs."""

    app: str
    ids: tuple[WorkId, ...]
    twin: int = 0

    def __repr__(self) -> str:
        return f"{self.app}{self.twin * chr(39)}[{text_of(self.ids)}]"


class Job(NamedTuple):
    needs: frozenset[Chunk]
    kwargs: Mapping[str, Any]


Graph = dict[Chunk, Job]


def definitions(text: str) -> dict[str, dict[str, Any]]:
    """Return the definitions in the form of a file. Apps that are only dependencies have chunks of one work ID."""
    apps: dict[str, dict[str, Any]] = {}
    needed: list[str] = []
    for part in text.split(";"):
        head, _, tail = part.partition(":")
        found = _matched(_APP, head)
        dependencies = [_dependency(each.strip()) for each in tail.split(",") if each.strip()]
        needed += [each["job_type"] for each in dependencies]
        apps[found["app"]] = {
            "chunk_size": int(found["size"] or 1),
            "bash_cmd": "true",
            **_own(found["words"]),
            **({"dependencies": dependencies} if dependencies else {}),
        }
    return {**{app: {"chunk_size": 1, "bash_cmd": "true"} for app in needed}, **apps}


def chunk(text: str) -> Chunk:
    found = _matched(_CHUNK, text)
    return Chunk(found["app"], parse_work_ids(found["ids"]), len(found["twin"]))


def chunks(text: str) -> list[Chunk]:
    return [chunk(each[0]) for each in _CHUNK.finditer(text)]


def words(text: str) -> dict[str, Any]:
    """Return the mapping for ``x=1 y=two``. A value that looks like a number becomes a number."""
    pairs = (word.split("=", 1) for word in text.split())
    return {name: int(value) if re.fullmatch(r"-?\d+", value) else value for name, value in pairs}


def ages(text: str) -> dict[str, dict[WorkId, timedelta]]:
    """Return the age of each app's last success by work ID, from ``C[1-6] 10m; B[1] 61m``."""
    found: dict[str, dict[WorkId, timedelta]] = {}
    for named, age in _aged(text):
        known = chunk(named)
        found.setdefault(known.app, {}).update(dict.fromkeys(known.ids, age))
    return found


def ages_of_runs(text: str) -> dict[str, timedelta]:
    """Return the age of the last successful submission of each app, from ``B 30m``."""
    return dict(_aged(text))


def facts(known: str, ran: str, now: datetime) -> dict[str, Any]:
    """Return these ages as a document for ``--facts``."""
    return {
        "freshness": {
            app: {str(work_id): (now - age).isoformat() for work_id, age in of_app.items()}
            for app, of_app in ages(known).items()
        },
        "runs": {app: (now - age).isoformat() for app, age in ages_of_runs(ran).items()},
    }


def graph(text: str, kwargs: Mapping[str, Any], others: str = "") -> Graph:
    """Return the graph of a written plan. All jobs have the same ``kwargs``, except the jobs in ``others``:
    ``B x=1; D' x=2``."""
    own = {name: words(rest) for name, _, rest in (each.strip().partition(" ") for each in _parts(others))}
    jobs: Graph = {}
    for part in _parts(text):
        head, _, needs = part.partition("<-")
        job = chunk(head.strip())
        assert job not in jobs, f"{job} is written twice"
        jobs[job] = Job(frozenset(chunks(needs)), own.get(job.app + "'" * job.twin, kwargs))
    return jobs


def numbered(named: Iterable[tuple[str, tuple[WorkId, ...]]]) -> Iterator[Chunk]:
    """Yield jobs as chunks. Jobs that look the same are numbered in their order."""
    seen: Counter[tuple[str, tuple[WorkId, ...]]] = Counter()
    for app, ids in named:
        yield Chunk(app, ids, seen[app, ids])
        seen[app, ids] += 1


def assert_same(found: Graph, told: Graph) -> None:
    """Assert that the graphs are equal, however jobs that look the same are numbered."""
    spellings = [_renamed(found, names) for names in _renamings(found)]
    assert told in spellings, f"\nfound: {in_words(found)}\ntold:  {in_words(told)}"


def in_words(jobs: Graph) -> str:
    """Return the text that ``graph`` reads, with the kwargs in braces."""
    told = [
        f"{job!r}{dict(its.kwargs) if its.kwargs else ''}"
        + (f" <- {', '.join(map(repr, sorted(its.needs, key=repr)))}" if its.needs else "")
        for job, its in jobs.items()
    ]
    return "; ".join(sorted(told)) or "nothing"


def _own(text: str) -> dict[str, Any]:
    read = {
        "select": lambda name: {"select_work": f"{_SELECTIONS}:{name}"},
        "default": lambda name: {"default_work_ids": f"{_SELECTIONS}:{name}"},
        "by": lambda name: {"freshness_by": [name]},
    }
    return {word: value for name, given in words(text).items() for word, value in read[name](given).items()}


def _dependency(text: str) -> dict[str, Any]:
    found = _matched(_DEPENDENCY, text)
    said: dict[str, Any] = {"job_type": found["app"], "max_lag": 60}
    for word in (found["words"] or "").split():
        if word in ("unique", "any"):
            said[{"unique": "unique", "any": "allow_missing_work_ids"}[word]] = True
        elif "=" in word:
            said.setdefault("custom_kwargs", {}).update(words(word))
        else:
            said["max_lag"] = int(word) if re.fullmatch(r"-?\d+", word) else word
    return said


def _aged(text: str) -> Iterator[tuple[str, timedelta]]:
    for part in _parts(text):
        named, _, age = part.rpartition(" ")
        yield named, timedelta(seconds=parse_duration_s(age))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _renamings(jobs: Graph) -> Iterator[dict[Chunk, Chunk]]:
    """Yield every numbering of the jobs that look the same."""
    ordered = sorted(jobs, key=repr)
    alike = [list(group) for _, group in groupby(sorted(ordered, key=_looks), key=_looks)]
    for orders in product(*(permutations(group) for group in alike)):
        yield {
            job: other
            for group, order in zip(alike, orders, strict=True)
            for job, other in zip(group, order, strict=True)
        }


def _looks(job: Chunk) -> tuple[str, str]:
    return job.app, text_of(job.ids)


def _renamed(jobs: Graph, names: Mapping[Chunk, Chunk]) -> Graph:
    return {
        names[job]: Job(frozenset(names[need] for need in its.needs), its.kwargs) for job, its in jobs.items()
    }


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text.strip())
    assert found, f"{text!r} cannot be read"
    return found
