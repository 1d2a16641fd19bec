"""Jobs with keys that chunks need.

A two-way function relates work IDs to jobs with keys. A chunk needs the jobs of all of its work IDs. So the needs of a
half are part of the needs of the whole, and it does not matter how a list is cut.

The relation is read from both ends, and both must agree (``_WorkIds``). Children of a job with a key are work IDs and
not chunks, because only a submission about work IDs creates chunks. So the end of the job starts the chunks that wait
for it, and plans no others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TypeAlias

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.dependency_links import Bridge
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.identifiers import Value
from sluice.jobs.keys.work_ids import WorkId, in_order, parse_work_ids
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import Gate, Need, Neighbour
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan, PlannedJob, RequestReason
from sluice.jobs.model.submission import JSON, Submission
from sluice.planner.bubble_up import merge
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.protocol import Keyspace
from sluice.planner.keyspaces.template_keys import bridged_parents, united_needs

#: Name by which a two-way function is given a work ID, and names one.
WORK_ID = "work_id"
#: Maximum number of pairs of a work ID and a job, in one submission: two for each of a million work IDs.
PAIRS_MAX = 2_000_000

#: Piece of a sorted list of work IDs: its first position, and the position after its last.
Cut: TypeAlias = tuple[int, int]


class KeyedNeeds:
    """Needs of the chunks of one submission for jobs with keys."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._pairs = 0

    @property
    def is_any(self) -> bool:
        """Whether any chunk so far needs a job with a key."""
        return self._pairs > 0

    def of(self, app: App, ids: Sequence[WorkId], cuts: Sequence[Cut]) -> dict[Cut, tuple[Need, ...]]:
        """Return the needs of the chunks of an app; empty if it needs no jobs with keys. BadRequest if a two-way
        function fails, contradicts itself, or names too many jobs."""
        if not self._catalogue.has_bridges(app.name):
            return {}
        found: dict[Cut, list[tuple[Bridge, set[JobName]]]] = {cut: [] for cut in cuts}
        for bridge in (each for group in self._catalogue.alternatives(app.name) for each in group.bridges):
            relation = _WorkIds(self._catalogue, app, bridge)
            for cut in cuts:
                named = (self._counted(relation.parents(work_id)) for work_id in ids[slice(*cut)])
                found[cut].append((bridge, {*chain.from_iterable(named)}))
            relation.require_agreement()
        return {cut: united_needs(named) for cut, named in found.items()}

    def _counted(self, parents: Sequence[JobName]) -> Sequence[JobName]:
        self._pairs += len(parents)
        if self._pairs > PAIRS_MAX:
            raise BadRequest(
                f"The work IDs name more than {PAIRS_MAX:,} parents in all; one submission may name that many.",
                advice="Submit fewer work IDs at once.",
            )
        return parents


class _WorkIds:
    """Relation between the work IDs of an app and the jobs that they need, as one two-way function has it."""

    def __init__(self, catalogue: Catalogue, app: App, bridge: Bridge) -> None:
        self._catalogue = catalogue
        self._app = app
        self._bridge = bridge
        self._asked: set[WorkId] = set()
        self._naming: dict[JobName, set[WorkId]] = {}

    def parents(self, work_id: WorkId) -> list[JobName]:
        ids = {WORK_ID: work_id}
        try:
            parents = sorted(set(bridged_parents(self._bridge, self._app, ids)))
        except BadRequest:
            raise
        except Exception as error:  # Reading an object of the user's may raise anything.
            raise self._bridge.function.refusal(
                f"returned an unreadable parent: {type(error).__name__}: {error}", self._app.name, ids
            ) from error
        self._asked.add(work_id)
        for parent in parents:
            self._naming.setdefault(parent, set()).add(work_id)
        return parents

    def children(self, parent: JobName) -> set[WorkId]:
        """Return the work IDs that need this job. BadRequest if an answer is no work ID."""
        ids = self._read(parent)
        try:
            named = self._bridge.function.children_of(parent.app, ids)
            return named_work_ids(neighbour for neighbour in named if neighbour.app == self._app.name)
        except BadRequest:
            raise
        except Exception as error:  # Reading an object of the user's may raise anything.
            raise self._bridge.function.refusal(
                f"named children that cannot be used: {error}", parent.app, ids
            ) from error

    def require_agreement(self) -> None:
        """Raise BadRequest if a named parent does not name the same work IDs, as far as their parents are known.

        If the function has no ``children``, there is nothing to compare.
        """
        if self._bridge.function.children is None:
            return
        for parent, naming in self._naming.items():
            named = self._asked & self.children(parent)
            if lacking := naming - named:
                raise self._contradiction(
                    parent, lacking, "did not name {}, which named this job as a parent"
                )
            if strange := named - naming:
                raise self._contradiction(
                    parent, strange, "named {}, but does not name this job as a parent of it"
                )

    def require_parent(self, parent: JobName, work_ids: Iterable[WorkId]) -> None:
        """Raise BadRequest if a work ID among these does not name this job as a parent."""
        for work_id in work_ids:
            if parent not in self.parents(work_id):
                what = "named {}, but does not name this job as a parent of it"
                raise self._contradiction(parent, {work_id}, what)

    def _contradiction(self, parent: JobName, work_ids: Iterable[WorkId], what: str) -> BadRequest:
        first = min(work_ids, key=in_order)
        return self._bridge.function.refusal(
            what.format(f"{self._app.name} with {WORK_ID} {first!r}"), parent.app, self._read(parent)
        )

    def _read(self, parent: JobName) -> Mapping[str, Value]:
        return self._catalogue.app(parent.app).read_key(parent.key)


def named_work_ids(neighbours: Iterable[Neighbour]) -> set[WorkId]:
    """Return the work IDs of an answer. Raises ValueError if the answer is about something else."""
    # One call for all, because a call for each takes 30 s for a million.
    return {*parse_work_ids([_work_id(neighbour) for neighbour in neighbours])}


def _work_id(neighbour: Neighbour) -> JSON:
    """Return the work ID of an answer, unchecked. Raises ValueError if the answer is about something else."""
    written = neighbour.ids
    if isinstance(written, str) or [*written] != [WORK_ID] or not isinstance(written[WORK_ID], int | str):
        raise ValueError(
            f'{neighbour.app} {written!r}; it is keyed by chunk, so name a work ID of it, like {{"{WORK_ID}": 7}}'
        )
    return written[WORK_ID]


def related_work_ids(catalogue: Catalogue, name: JobName) -> Iterator[tuple[str, tuple[WorkId, ...]]]:
    """Yield the apps keyed by chunk with work IDs that need this job, each with these work IDs in order. BadRequest if
    a named work ID does not name the job as a parent."""
    for app, bridge in catalogue.bridged_to_work_ids(name.app):
        relation = _WorkIds(catalogue, app, bridge)
        if found := relation.children(name):
            relation.require_parent(name, found)
            yield app.name, tuple(sorted(found, key=in_order))


class ChunkInputWalk(Walk):
    """Walk of a submission about work IDs, from its chunks to the jobs with keys that they need. The submission
    requests these as inputs, under their own terms."""

    def __init__(
        self,
        catalogue: Catalogue,
        number: int,
        submission: Submission,
        now: datetime | None,
        *,
        chunks: Iterable[PlannedJob],
    ) -> None:
        super().__init__(catalogue, number, replace(submission, rerun=None, after=None), now)
        self._chunks = {job.name: job for job in chunks}
        for name, job in self._chunks.items():
            self._planned[name] = job
            self._states[name] = None
            for gate in job.gates:
                if keyed := tuple(need for need in gate.needs if need.parent not in self._chunks):
                    self._choices.append((name, (Gate(gate.name, keyed),)))

    def requests(self) -> Iterator[tuple[int, JobName, RequestReason]]:
        """Yield the jobs with keys that this submission requests."""
        return (request for request in super().requests() if request[1] not in self._chunks)

    def plan(self, chunks: JobPlan) -> JobPlan:
        """Return the plan of the chunks together with the jobs that they need, which come first."""
        jobs = {job.name: job for job in self.jobs()}
        planned = [jobs.pop(name) for name in self._chunks]
        return JobPlan(
            jobs=(*merge.in_order(self._catalogue, jobs.values()), *planned),
            requests=(*self.requests(), *chunks.requests),
            reruns=tuple(self.reruns()),
        )

    def _expand(self) -> Iterable[JobName]:
        return ()

    def _add_run(self, keyspace: Keyspace, app: App, name: JobName) -> None:
        if app.reads_tables or self._catalogue.names_work_ids(app.name):
            what = "reads tables" if app.reads_tables else "needs chunks itself"
            raise BadRequest(
                f"Chunks of {self.submission.app} need {name}, which has not run and {what}.",
                where=self.submission.app,
                advice=f"Submit {name} first.",
            )
        super()._add_run(keyspace, app, name)
