"""Walk to the jobs with keys that make missing partitions of the tables in a plan."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason, RerunRequest
from sluice.jobs.model.submission import Submission
from sluice.planner.bubble_up.walk import Walk


class InputWalk(Walk):
    """Walk of a submission about partitions to these jobs. The submission requests them as inputs, under their own
    terms.

    ``forced`` jobs run again although they have succeeded, and so do all jobs downstream of them.
    """

    _asked_as = RequestReason.PULLED

    def __init__(
        self,
        catalogue: Catalogue,
        number: int,
        submission: Submission,
        now: datetime | None,
        *,
        inputs: Iterable[JobName],
        forced: Collection[JobName] = (),
    ) -> None:
        self._inputs = tuple(dict.fromkeys(inputs))
        self._forced = frozenset(forced)
        super().__init__(catalogue, number, replace(submission, rerun=None, after=None), now)

    @property
    def inputs(self) -> tuple[JobName, ...]:
        return self._inputs

    def reruns(self) -> Iterator[RerunRequest]:
        yield from super().reruns()
        if forced := tuple(name for name in self._inputs if name in self._forced):
            yield RerunRequest(self.number, forced, downstream=True)

    def _expand(self) -> Iterable[JobName]:
        return self._inputs

    def _runs_again(self, name: JobName) -> bool:
        return name in self._forced or super()._runs_again(name)
