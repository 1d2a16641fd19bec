"""Definitions, chunks and plans by chunk, written as one would on paper.

*Definitions:* ``A=3: B, C(90 unique); B=2: E(0); E=6 by=region``. An app, how many work IDs make one of its jobs (one,
where it is not said), other words of its own, and what it depends on. In parentheses: ``max_lag`` as a number of
minutes or a duration (an hour, where it is not said), ``unique``, ``any`` for ``allow_missing_work_ids``, and
``x=1`` for ``custom_kwargs``. Of an app's own words ``select`` and ``default`` name a function of
``tests.acceptance.selections``, ``by`` a kwarg that freshness is told apart by.

*Chunks:* ``A[1-3]``; ``A'[1-3]`` is a second job of the same app on the same IDs, and it does not matter which is
which.

*Plans:* ``E[1-6]; B[1,2] <- E[1-6]; B[3,4] <- E[1-6]``. Every job there is, and all those it waits for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby, permutations, product
from typing import Any, NamedTuple

from sluice.jobs.durations import parse_duration_s
from sluice.jobs.work_ids import WorkId, parse_work_ids, text_of

_APP = re.compile(r"(?P<app>[\w.-]+)(?:=(?P<size>-?\d+))?(?P<words>(?: \w+=\S+)*)")
_DEPENDENCY = re.compile(r"(?P<app>[\w.-]+)(?:\((?P<words>[^)]*)\))?")
_CHUNK = re.compile(r"(?P<app>[\w.-]+)(?P<twin>'*)\[(?P<ids>[^\]]*)\]")
_SELECTIONS = "tests.acceptance.selections"


class Chunk(NamedTuple):
    """A job by its app and work IDs; ``twin`` counts those of the same before it."""

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
    """The declarative form, for a file. Apps that are only depended on have chunks of one."""
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
    """``x=1 y=two`` as a mapping; what looks like a number is one."""
    pairs = (word.split("=", 1) for word in text.split())
    return {name: int(value) if re.fullmatch(r"-?\d+", value) else value for name, value in pairs}


def ages(text: str) -> dict[str, dict[WorkId, timedelta]]:
    """``C[1-6] 10m; B[1] 61m`` as how long ago each app succeeded on each ID."""
    found: dict[str, dict[WorkId, timedelta]] = {}
    for named, age in _aged(text):
        known = chunk(named)
        found.setdefault(known.app, {}).update(dict.fromkeys(known.ids, age))
    return found


def ages_of_runs(text: str) -> dict[str, timedelta]:
    """``B 30m`` as how long ago the app succeeded for whoever had asked for it by name."""
    return dict(_aged(text))


def facts(known: str, ran: str, now: datetime) -> dict[str, Any]:
    """The same for ``--facts``."""
    return {
        "freshness": {
            app: {str(work_id): (now - age).isoformat() for work_id, age in of_app.items()}
            for app, of_app in ages(known).items()
        },
        "runs": {app: (now - age).isoformat() for app, age in ages_of_runs(ran).items()},
    }


def graph(text: str, kwargs: Mapping[str, Any], others: str = "") -> Graph:
    """A plan as it is written. All jobs have the same ``kwargs``, but those of ``others``: ``B x=1; D' x=2``."""
    own = {name: words(rest) for name, _, rest in (each.strip().partition(" ") for each in _parts(others))}
    jobs: Graph = {}
    for part in _parts(text):
        head, _, needs = part.partition("<-")
        job = chunk(head.strip())
        assert job not in jobs, f"{job} is told twice"
        jobs[job] = Job(frozenset(chunks(needs)), own.get(job.app + "'" * job.twin, kwargs))
    return jobs


def numbered(named: Iterable[tuple[str, tuple[WorkId, ...]]]) -> Iterator[Chunk]:
    """Jobs as chunks, where those that look the same are told apart by their order."""
    seen: Counter[tuple[str, tuple[WorkId, ...]]] = Counter()
    for app, ids in named:
        yield Chunk(app, ids, seen[app, ids])
        seen[app, ids] += 1


def assert_same(found: Graph, told: Graph) -> None:
    """Equal, whichever of two jobs that look the same is called which."""
    spellings = [_renamed(found, names) for names in _renamings(found)]
    assert told in spellings, f"\nfound: {in_words(found)}\ntold:  {in_words(told)}"


def in_words(jobs: Graph) -> str:
    """As ``graph`` reads it, with the kwargs in braces."""
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
    """Every way to number those that look the same."""
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
