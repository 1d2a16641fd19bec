"""Preview of a submission with steps: one about partitions, or about jobs with keys that read tables."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan, PlannedJob
from sluice.jobs.model.submission import Submission
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.partitions.input_walk import InputWalk
from sluice.planner.keyspaces.partitions.levels import missing_inputs, with_tables
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.table_demand import TableKnowledge
from sluice.planner.keyspaces.partitions.table_readings import days_to_run
from sluice.planner.preview.preview import Lookup, Preview, preview_of
from sluice.planner.preview.pushes import with_pushed


class TablePreview(Struct, frozen=True, kw_only=True):
    """Steps of a submission, and the jobs with keys that would be planned, if there are any."""

    catalogue: Catalogue
    layout: Layout
    keyed: Preview | None

    def in_order(self, jobs: Sequence[PlannedJob]) -> tuple[PlannedJob, ...]:
        """Sort jobs with keys, and steps, so that parents come before children."""
        return tuple(sorted(jobs, key=lambda job: self._level(job.name)))

    def _level(self, name: JobName) -> int:
        """Return the level of a job. Partitions that have to land are on the first level with steps."""
        return self.catalogue.level(name.app) if name.app in self.catalogue else 1


def preview_tables(
    catalogue: Catalogue, submission: Submission, tables: TableKnowledge, lookup: Lookup, now: datetime
) -> TablePreview:
    """Plan as the planner would (``actors.planner.table_plans``). BadRequest if it would refuse."""
    walks: list[Callable[[], Walk]] = []
    if catalogue.app(submission.app).is_keyed_by_template:
        walks.append(partial(Walk, catalogue, 0, submission, now))
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
        walks.append(partial(InputWalk, catalogue, 0, submission, now, inputs=tuple(inputs), forced=forced))
    if keyed:
        if catalogue.app(submission.app).is_keyed_by_template:
            keyed = with_pushed(catalogue, submission, keyed, lookup)
        plan = with_tables(catalogue, JobPlan(jobs=keyed.jobs, requests=()), layout)
        keyed = replace(keyed, jobs=plan.jobs)
    return TablePreview(catalogue=catalogue, layout=layout, keyed=keyed)
