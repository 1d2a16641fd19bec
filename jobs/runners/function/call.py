"""Call a user's function and turn any result into an outcome. None of its exceptions leaves this module."""

import inspect
import traceback
from collections.abc import Awaitable, Callable
from itertools import takewhile
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Ending, Job, Outcome
from sluice.jobs.runners.run_outcome import failed
from sluice.jobs.sagas.answers import Fatal, Retry, Success, answer_in

#: Modules between the worker and user code: our own, and modules that import code or run a coroutine for us.
_LEADING = (
    "sluice.jobs.runners.",
    "sluice.jobs.sagas.",
    "sluice.jobs.catalogue.",
    "asyncio.",
    "importlib",
    "_frozen_importlib",
)
_Parameter = inspect.Parameter

#: Processes the returned value. Returns the reason if the job has failed. May raise ``Fatal`` or ``Retry``.
Finish = Callable[[object], str | None]


class FunctionCall:
    """One function and its parameters, read from its signature once.

    A parameter named ``job`` receives the job. Any other parameter receives the identifier or kwarg of its name. A
    chunk also offers ``work_ids``. A partition job also offers ``span``, its ``start`` and ``end``, ``partitions``,
    ``inputs``, ``table`` and ``version``. A function that takes neither ``job`` nor ``**kwargs`` must take every kwarg
    of the submission; it may leave out identifiers.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._name = getattr(function, "__qualname__", repr(function))
        parameters = _parameters(function)
        self._takes_rest = any(it.kind is _Parameter.VAR_KEYWORD for it in parameters)
        self._named = tuple(
            it for it in parameters if it.kind not in {_Parameter.VAR_KEYWORD, _Parameter.VAR_POSITIONAL}
        )
        self._positional = tuple(it for it in self._named if it.kind is _Parameter.POSITIONAL_ONLY)
        self._names = frozenset(it.name for it in self._named)
        self._by_name = self._names - {it.name for it in self._positional}

    def arguments(self, job: Job) -> tuple[list[object], dict[str, object]]:
        """Return the positional and the named arguments for this job. BadRequest if they do not fit the function."""
        offered = self._offered(job)
        missing = [it.name for it in self._named if it.default is it.empty and it.name not in offered]
        if missing:
            what = f"{self._name}() needs {_listed(missing)}, which {job.app}/{job.key} has neither as an"
            raise BadRequest(f"{what} identifier nor as a kwarg.")
        first = [offered.pop(it.name) for it in takewhile(lambda it: it.name in offered, self._positional)]
        return first, offered if self._takes_rest else {
            n: v for n, v in offered.items() if n in self._by_name
        }

    def _offered(self, job: Job) -> dict[str, object]:
        given = _given(job)
        twice = [name for name in job.kwargs if name in given and (name in self._names or self._takes_rest)]
        if twice:
            raise BadRequest(f"The kwargs {_listed(twice)} are fixed by the key {job.key}; leave them out.")
        if "job" in self._names:
            return {**given, **job.kwargs, "job": job}
        unknown = [name for name in job.kwargs if name not in self._names]
        if unknown and not self._takes_rest:
            raise BadRequest(f"{self._name}() does not take the kwargs {_listed(unknown)}.")
        return {**given, **job.kwargs}


def perform(call: FunctionCall, job: Job, finish: Finish | None = None) -> Outcome:
    """Call the function to its end. The runner sets ``output`` afterwards.

    ``finish`` processes the returned value. Default: await it if it is awaitable, and act on an answer (``Fatal``,
    ``Retry``).
    """
    try:
        first, named = call.arguments(job)
    except BadRequest as fault:
        return failed(fault.what)
    try:
        complaint = (finish or _finish)(call.function(*first, **named))
    except Fatal as error:
        return replace(failed(account(error)), final=True)
    except Retry as error:
        return replace(failed(account(error)), retry_after_s=error.after_s)
    except BaseException as error:
        # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
        return failed(account(error))
    return failed(complaint) if complaint else Outcome(ending=Ending.DONE)


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Return the parameters. Some callables written in C have no signature; they receive all arguments by name."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return (_Parameter("kwargs", _Parameter.VAR_KEYWORD),)


def _given(job: Job) -> dict[str, object]:
    """Return the arguments that are determined by the key."""
    own: dict[str, object] = {"work_ids": job.work_ids, "span": job.span, "partitions": job.partitions}
    own |= {"table": job.table, "version": job.version, "inputs": job.inputs or None}
    if job.span is not None:
        own["start"], own["end"] = job.span
    return {name: value for name, value in own.items() if value is not None} | dict(job.ids)


def settled(result: object) -> object:
    """Return the returned value of a function. The awaitable of an ``async def`` is awaited first."""
    if not inspect.isawaitable(result):
        return result
    import asyncio  # noqa: PLC0415  # Costs a third of a child's start, and few functions need it.

    return asyncio.run(_awaited(result))


def _finish(result: object) -> str | None:
    """Await the value of an ``async def`` and act on an answer. Return the reason if the value shows that nothing
    ran.
    """
    result = settled(result)
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        return (
            "The function is a generator (it has a yield), so its body did not run. Make it a plain function."
        )
    answer = answer_in(result)
    if isinstance(answer, Fatal | Retry):
        raise answer
    if answer is None or isinstance(answer, Success):
        return None
    return f"The function returned {type(answer).__name__}, which only a step of a saga may return."


async def _awaited(result: Awaitable[object]) -> object:
    return await result


def account(error: BaseException) -> str:
    """Return the type and message, followed by the traceback from the first frame of user code."""
    told = traced(error)
    return "".join(told.format_exception_only()) + "\n" + "".join(told.format())


def traced(error: BaseException) -> traceback.TracebackException:
    """Return the exception as text, from the first frame of user code. It works even if ``str(error)`` fails."""
    return traceback.TracebackException(type(error), error, _users_part(error.__traceback__), compact=True)


def _users_part(frames: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the leading frames between the worker and user code."""
    while frames is not None and str(frames.tb_frame.f_globals.get("__name__")).startswith(_LEADING):
        frames = frames.tb_next
    return frames


def _listed(names: list[str]) -> str:
    return ", ".join(sorted(names))
