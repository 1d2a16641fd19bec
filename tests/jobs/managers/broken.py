"""Work simulated by files, a job manager that meets every requirement, and managers that each violate one."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any, ClassVar

from sluice.jobs.managers.conformance import Conformance, sample
from sluice.jobs.model.external_work import Status
from sluice.jobs.model.job import Job, RunContext

#: Environment variable with the folder of the work. Other processes inherit it.
PLACE = "TEST_PLACE"


class Sound:
    """Correct manager. Its work is a file, named by token and number, that contains the key of the job: ``brief``,
    ``endless`` or ``failing``. A second file marks cancelled work.
    """

    poll_s = 0.01

    def __init__(self) -> None:
        self._place = Path(os.environ[PLACE])

    def run(self, job: Job) -> Any:
        for work in self._of(job.token):
            if self._stands(work) == "running":
                return work
        return self._begin(job)

    def check(self, handle: Any) -> Any:
        stands = self._stands(handle)
        return Status("failed", "it was not to be") if stands == "failed" else stands

    def cancel(self, handle: Any) -> None:
        if self._stands(handle) == "running":
            (self._place / f"{handle}.cancelled").touch()

    def _of(self, token: str) -> list[str]:
        return sorted(work.name for work in self._place.glob(f"{token}-?"))

    def _begin(self, job: Job) -> str:
        work = f"{job.token}-{len(self._of(job.token))}"
        (self._place / work).write_text(job.key)
        return work

    def _stands(self, handle: str) -> str:
        if (self._place / f"{handle}.cancelled").exists():
            return "failed"
        return {"brief": "succeeded", "endless": "running", "failing": "failed"}[
            (self._place / handle).read_text()
        ]


class Promises(Conformance):
    """Conformance tests for the managers of this module. Tests set ``manager`` to the manager under test."""

    manager = Sound
    within_s = 5.0

    def brief_job(self) -> RunContext:
        return sample("brief")

    def endless_job(self) -> RunContext:
        return sample("endless")

    def failing_job(self) -> RunContext:
        return sample("failing")

    def started(self, job: RunContext) -> int:
        return len(list(Path(os.environ[PLACE]).glob(f"{job.token}-?")))


class Asynchronous(Sound):
    async def run(self, job: Job) -> Any:
        await asyncio.sleep(0)
        return super().run(job)

    async def check(self, handle: Any) -> Any:
        return super().check(handle)

    async def cancel(self, handle: Any) -> None:
        super().cancel(handle)


class TakesArguments(Sound):
    def __init__(self, place: str) -> None:
        super().__init__()


class GivesNoHandle(Sound):
    def run(self, job: Job) -> Any:
        super().run(job)


class GivesAnObject(Sound):
    def run(self, job: Job) -> Any:
        return {"of": self, "work": super().run(job)}

    def cancel(self, handle: Any) -> None:
        super().cancel(handle["work"])


class NeverLooks(Sound):
    def run(self, job: Job) -> Any:
        return self._begin(job)


class CallsAllByOneName(Sound):
    """Manager that returns the token as the handle, so two pieces of work have equal handles."""

    def run(self, job: Job) -> Any:
        self._begin(job)
        return job.token

    def check(self, handle: Any) -> Any:
        return super().check(f"{handle}-0")

    def cancel(self, handle: Any) -> None:
        for work in self._of(handle):
            super().cancel(work)


class FindsWhatIsOver(Sound):
    def run(self, job: Job) -> Any:
        return next(iter(self._of(job.token)), None) or self._begin(job)


class Remembers(Sound):
    """Manager that knows only the work that it has started in the same process."""

    begun: ClassVar[set[str]] = set()

    def run(self, job: Job) -> Any:
        work = super().run(job)
        self.begun.add(work)
        return work

    def check(self, handle: Any) -> Any:
        return super().check(handle) if handle in self.begun else Status("failed", "never heard of it")


class KeepsItsChildren(Sound):
    """Manager that runs the work as a child in the worker's own process group."""

    def _begin(self, job: Job) -> str:
        work = super()._begin(job)
        child = subprocess.Popen(("sleep", "1000"))
        child.returncode = 0  # So that ``Popen`` never waits for the child. It is found by its number.
        (self._place / f"{work}.pid").write_text(str(child.pid))
        return work

    def _stands(self, handle: str) -> str:
        stands = super()._stands(handle)
        pid = int((self._place / f"{handle}.pid").read_text())
        return "failed" if stands == "running" and _is_gone(pid) else stands


class GivesNoReason(Sound):
    def check(self, handle: Any) -> Any:
        return self._stands(handle)


class InventsWords(Sound):
    def check(self, handle: Any) -> Any:
        return {"running": "queued"}.get(self._stands(handle), self._stands(handle))


class ForgetsEnds(Sound):
    """Manager that reports the end of work only once. Afterwards it reports ended work as running."""

    def check(self, handle: Any) -> Any:
        told = self._place / f"{handle}.told"
        if told.exists():
            return "running"
        if self._stands(handle) != "running":
            told.touch()
        return super().check(handle)


class CannotCancel(Sound):
    def cancel(self, handle: Any) -> None:
        """Ignore the request, so the work runs on."""


class CancelsOnce(Sound):
    def cancel(self, handle: Any) -> None:
        if self._stands(handle) != "running":
            raise RuntimeError("no such work")
        super().cancel(handle)


class CancelsWhatIsOver(Sound):
    def cancel(self, handle: Any) -> None:
        (self._place / f"{handle}.cancelled").touch()


class TakesTheCancelledForDone(Sound):
    def check(self, handle: Any) -> Any:
        return "succeeded" if (self._place / f"{handle}.cancelled").exists() else super().check(handle)


class TakesTheUnknownForRunning(Sound):
    def check(self, handle: Any) -> Any:
        return super().check(handle) if (self._place / handle).exists() else "running"


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
