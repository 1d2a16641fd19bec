"""Preview of a submission with steps or chunks: about partitions, or jobs with keys that need tables or work IDs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.freshness import Age, UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan, PlannedJob
from sluice.jobs.model.submission import Submission
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.chunks.chunk_inputs import ChunkInputWalk
from sluice.planner.keyspaces.chunks.chunk_plan import ChunkKnowledge, Fresh
from sluice.planner.keyspaces.chunks.chunk_readers import KeyedWithChunks, with_chunks
from sluice.planner.keyspaces.partitions.input_walk import InputWalk
from sluice.planner.keyspaces.partitions.levels import missing_inputs, with_tables
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.table_demand import TableKnowledge
from sluice.planner.keyspaces.partitions.table_readings import days_to_run
from sluice.planner.preview.forecast import Outlook
from sluice.planner.preview.preview import Lookup, Preview, parents_first, preview_of
from sluice.planner.preview.pushes import with_pushed


class TablePreview(Struct, frozen=True, kw_only=True):
    """Steps of a submission, and the jobs with keys and chunks that would be planned, if there are any.

    ``ages`` has the age of the results of stale chunks. If ``waits_for`` is not empty, the submission would stay
    unplanned until that work has ended.
    """

    catalogue: Catalogue
    layout: Layout
    keyed: Preview | None
    ages: Mapping[JobName, Age]
    fresh: Sequence[Fresh]
    waits_for: Sequence[UnfinishedWork]

    def in_order(self, jobs: Sequence[PlannedJob]) -> tuple[PlannedJob, ...]:
        """Sort jobs with keys, and steps, so that parents come before children."""
        return tuple(sorted(jobs, key=lambda job: self._level(job.name)))

    def _level(self, name: JobName) -> int:
        """Return the level of a job. Partitions that have to land are on the first level with steps."""
        return self.catalogue.level(name.app) if name.app in self.catalogue else 1


def preview_tables(
    catalogue: Catalogue,
    submission: Submission,
    tables: TableKnowledge,
    lookup: Lookup,
    past: ChunkKnowledge,
) -> TablePreview:
    """Plan as the planner would (``actors.planner.table_plans``). BadRequest if it would refuse."""
    walks: list[Callable[[], Walk]] = []
    if catalogue.app(submission.app).is_keyed_by_template:
        walks.append(partial(Walk, catalogue, 0, submission, past.now))
    walked: set[JobName] = set()
    while True:
        keyed = preview_of(catalogue, submission, lookup, walks) if walks else None
        jobs = keyed.jobs if keyed else ()
        layout = Layout(catalogue, submission, tables, [*days_to_run(catalogue, jobs)])
        inputs = missing_inputs(layout, jobs, walked)
        if not inputs:
            break
        walked.update(inputs)
        forced = layout.forced_inputs
        begin = partial(InputWalk, catalogue, 0, submission, past.now, inputs=tuple(inputs), forced=forced)
        walks.append(begin)
    found = KeyedWithChunks(JobPlan(jobs=(), requests=()), (), ())
    if keyed:
        found = with_chunks(catalogue, submission, replace(found.keyed, jobs=keyed.jobs), past, number=0)
        keyed = _with_chunks(catalogue, submission, lookup, walks, found) or keyed
        if catalogue.app(submission.app).is_keyed_by_template:
            keyed = with_pushed(catalogue, submission, keyed, lookup, past)
        plan = with_tables(catalogue, JobPlan(jobs=keyed.jobs, requests=()), layout)
        keyed = replace(keyed, jobs=plan.jobs)
    return TablePreview(
        catalogue=catalogue,
        layout=layout,
        keyed=keyed,
        ages={name: age for each in found.chunked for name, age in each.ages.items()},
        fresh=[fresh for each in found.chunked for fresh in each.fresh],
        waits_for=found.waits_for,
    )


def _with_chunks(
    catalogue: Catalogue,
    submission: Submission,
    lookup: Lookup,
    walks: Sequence[Callable[[], Walk]],
    found: KeyedWithChunks,
) -> Preview | None:
    """Return the preview of these walks with the chunks that their jobs need, and the jobs that these need. None if no
    job needs a chunk."""
    if not found.chunked or found.waits_for:
        return None
    inputs = (
        partial(ChunkInputWalk, catalogue, 0, submission, None, chunks=each.jobs) for each in found.chunked
    )
    whole = preview_of(catalogue, submission, lookup, [*walks, *inputs])
    needing = {job.name: job for job in found.keyed.jobs if job.name in found.keyed.rewired}
    jobs = parents_first(catalogue, {job.name: job for job in whole.jobs} | needing)
    states = {name: job.state for name, job in whole.known.items()}
    return replace(whole, jobs=jobs, outlook=Outlook(jobs, states, again=whole.outlook.again))
