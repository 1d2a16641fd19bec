"""Client for asyncio: the operations of ``Client`` as coroutines.

A few threads make the calls to the ledger, and one thread waits for the ends of submissions and jobs. So any number of
coroutines may wait without a thread or a connection each.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from sluice.actors.client import Client, Handle, HandleStatus, status_of
from sluice.actors.connect import connect
from sluice.jobs.api.definition import AppRef
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.history import JobReport
from sluice.jobs.model.results import JobRequest, Returning
from sluice.jobs.model.submission import Submission
from sluice.ledger.lifecycle.awaited_ends import Awaited, Progress
from sluice.ledger.reads.submission_progress import SubmissionStatus

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

#: Threads that call the ledger: 4. Each call takes a millisecond or two, and each thread may hold a connection.
THREADS = 4


class AsyncClient:
    """Client for asyncio, which is opened and closed by ``async with``. It has the methods of ``Client``.

    ``apps``, ``ledger_url`` and ``broker_url`` are as for ``connect``. An existing ``client`` can be passed instead,
    and stays open.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        apps: tuple[str, ...] = (),
        ledger_url: str | None = None,
        broker_url: str | None = None,
    ) -> None:
        self._opens = partial(connect, apps=apps, ledger_url=ledger_url, broker_url=broker_url)
        self._given = client
        self._client: Client | None = None
        self._opened = ExitStack()

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sluice client")
        try:
            self._client = self._given or await self.run(self._opened.enter_context, self._opens())
        except BaseException:
            self._threads.shutdown()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client. Coroutines that wait are cancelled."""
        if self._client is None:
            return
        self._client = None
        await self.run(self._opened.close)
        self._threads.shutdown()

    @overload
    async def submit(self, wanted: JobRequest[R]) -> "AsyncHandle[R]": ...

    @overload
    async def submit(self, wanted: Submission) -> str: ...

    async def submit(self, wanted: Any) -> Any:
        """Submit ``wanted``, and return the id of the submission, or a handle of the one job of a ``JobRequest``."""
        submitted = await self.run(self.sync.submit, wanted)
        return AsyncHandle(self, submitted) if isinstance(submitted, Handle) else submitted

    async def wait(self, submission: str, timeout: float | None = None) -> SubmissionStatus:
        """Wait until a submission has ended, and return its status. ``submission`` is its id. TimeoutError after
        ``timeout`` seconds."""
        await self.ended(Awaited(submission, of_job=False), timeout)
        status = await self.status(submission)
        if status is None:
            raise BadRequest(f"There is no submission {submission}.")
        return status

    @overload
    async def result(self, app: Returning[Coroutine[Any, Any, R]], key: str) -> R: ...

    @overload
    async def result(self, app: Returning[R], key: str) -> R: ...

    @overload
    async def result(self, app: str, key: str) -> Any: ...

    async def result(self, app: Any, key: str) -> Any:
        """Return the result of the job with this ``app`` and ``key``, as ``Client.result`` does."""
        return await self.run(self.sync.result, app, key)

    async def cancel(self, submission: str) -> list[int]:
        """Cancel the ``submission`` with this id, as ``Client.cancel`` does."""
        return await self.run(self.sync.cancel, submission)

    async def status(self, submission: str) -> SubmissionStatus | None:
        """Return the status of the ``submission`` with this id, or None if it does not exist."""
        return await self.run(self.sync.status, submission)

    async def job(self, app: AppRef, key: str) -> JobReport | None:
        """Return the report of the job with this ``app`` and ``key``, or None if the ledger does not have it."""
        return await self.run(self.sync.job, app, key)

    @property
    def sync(self) -> Client:
        """The client that makes the calls, for operations without a coroutine here. Its calls block."""
        if self._client is None:
            raise BadRequest("The client is not open.", advice="Use it in `async with`.")
        return self._client

    async def ended(self, awaited: Awaited, timeout: float | None) -> Progress:
        """Return the end of a submission or a job, once it has come. TimeoutError after ``timeout`` seconds."""
        end = asyncio.wrap_future(self.sync.end_of(awaited))
        return await asyncio.wait_for(end, timeout)

    async def run(self, call: Callable[P, T], *args: P.args, **words: P.kwargs) -> T:
        """Make a blocking call in one of the threads, within the trace context of the caller."""
        bound = partial(copy_context().run, call, *args, **words)
        return await asyncio.get_running_loop().run_in_executor(self._threads, bound)


class AsyncHandle(Generic[R]):
    """One submitted job, which ``AsyncClient.submit`` returns for a ``JobRequest``."""

    def __init__(self, client: AsyncClient, handle: Handle[R]) -> None:
        #: Id of the submission.
        self.id: str = handle.id
        #: Name of the app.
        self.app: str = handle.app
        #: Key of the job, as it was requested.
        self.key: str = handle.key
        self._client = client
        self._handle = handle

    def __repr__(self) -> str:
        return repr(self._handle)

    async def wait(self, timeout: float | None = None) -> HandleStatus:
        """Wait until the job has ended, and return its status. TimeoutError after ``timeout`` seconds."""
        return status_of(await self._client.ended(self._handle.awaited, timeout))

    async def result(self, timeout: float | None = None) -> R:
        """Wait until the job has ended, and return its result. JobFailed if it has not succeeded. TimeoutError after
        ``timeout`` seconds."""
        progress = await self._client.ended(self._handle.awaited, timeout)
        return await self._client.run(self._handle.result_of, progress)

    async def cancel(self) -> None:
        """Cancel the submission, and the job unless other submissions request it. BadRequest if it has ended."""
        await self._client.run(self._handle.cancel)

    async def status(self) -> HandleStatus:
        """Return the present state of the job."""
        return await self._client.run(self._handle.status)
