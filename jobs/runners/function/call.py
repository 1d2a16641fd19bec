"""Call a user's function and turn any result into an outcome. None of its exceptions leaves this module."""

import inspect
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from itertools import takewhile
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from sluice.jobs.api.hooks import Hooks
from sluice.jobs.api.signature import read_signature
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Ending, Job, Outcome
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.retried_errors import RetriedErrors
from sluice.jobs.runners.function.started_hooks import around
from sluice.jobs.runners.results import returned
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
_ALL = RetriedErrors()
_NO_HOOKS = nullcontext()
#: Outcome of a function whose error was suppressed by a hook.
_SUPPRESSED = Outcome(ending=Ending.DONE)

#: Returns the outcome of a function that has returned this value. May raise ``Fatal`` or ``Retry``.
Finish = Callable[[object], Outcome]


class FunctionCall:
    """One function and its parameters, read from its signature once (``jobs.api.signature``).

    A parameter that is not the job receives the identifier or kwarg of its name. A kwarg is converted to the annotated
    type. A chunk also offers ``work_ids``. A partition job also offers ``span``, its ``start`` and ``end``,
    ``partitions``, ``inputs``, ``table`` and ``version``, and the value of a second dimension by its name. A function
    that takes neither the job nor ``**kwargs`` must take every kwarg of the submission; it may leave out identifiers.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._name = getattr(function, "__qualname__", repr(function))
        signature = read_signature(function)
        self._takes_rest = signature.takes_rest
        self._job = signature.job
        self._parameters = {it.name: it for it in signature.parameters}
        self._positional = tuple(it.name for it in signature.parameters if it.positional_only)

    def arguments(self, job: Job) -> tuple[list[object], dict[str, object]]:
        """Return the positional and the named arguments for this job. BadRequest if they do not fit the function."""
        offered = self._offered(job)
        missing = [it.name for it in self._parameters.values() if it.required and it.name not in offered]
        if missing:
            what = f"{self._name}() needs {_listed(missing)}, which {job.app}/{job.key} has neither as an"
            raise BadRequest(f"{what} identifier nor as a kwarg.")
        first = [offered.pop(name) for name in takewhile(lambda name: name in offered, self._positional)]
        known = self._job.union(self._parameters).difference(self._positional)
        return first, {name: value for name, value in offered.items() if self._takes_rest or name in known}

    def require_kwargs(self, identifiers: Collection[str], kwargs: Mapping[str, JSON]) -> None:
        """Raise BadRequest if no job with these identifiers can run with these kwargs."""
        unknown = [name for name in kwargs if name in identifiers or name not in self._parameters]
        if unknown and not (self._job or self._takes_rest):
            raise BadRequest(f"{self._name}() does not take the kwargs {_listed(unknown)}.")
        known = {*identifiers, *kwargs, *self._job}
        if missing := [it.name for it in self._parameters.values() if it.required and it.name not in known]:
            raise BadRequest(f"{self._name}() needs the kwargs {_listed(missing)}.")
        for name, value in kwargs.items():
            self._of_kwarg(name, value)

    def _offered(self, job: Job) -> dict[str, object]:
        given = _given(job)
        twice = [
            name for name in job.kwargs if name in given and (name in self._parameters or self._takes_rest)
        ]
        if twice:
            raise BadRequest(f"The kwargs {_listed(twice)} are fixed by the key {job.key}; leave them out.")
        unknown = [name for name in job.kwargs if name not in self._parameters]
        if unknown and not (self._job or self._takes_rest):
            raise BadRequest(f"{self._name}() does not take the kwargs {_listed(unknown)}.")
        of_key = {name: self._of_key(name, value) for name, value in given.items()}
        kwargs = {name: self._of_kwarg(name, value) for name, value in job.kwargs.items()}
        return {**of_key, **kwargs, **dict.fromkeys(self._job, job)}

    def _of_key(self, name: str, value: object) -> object:
        parameter = self._parameters.get(name)
        return parameter.of_key(value) if parameter else value

    def _of_kwarg(self, name: str, value: object) -> object:
        parameter = self._parameters.get(name)
        return parameter.of_kwarg(value) if parameter else value


def perform(
    call: FunctionCall,
    job: Job,
    finish: Finish | None = None,
    *,
    retried: RetriedErrors = _ALL,
    hooks: Sequence[Hooks] = (),
) -> Outcome:
    """Call the function to its end. The runner sets ``output`` afterwards.

    ``finish`` processes the returned value. Default: await it if it is awaitable, and act on an answer (``Fatal``,
    ``Retry``). Any other value is the result. After an error that is not ``retried``, the job has failed.
    """
    try:
        first, named = call.arguments(job)
    except BadRequest as fault:
        return failed(fault.what)
    try:
        with around(hooks, job) if hooks else _NO_HOOKS:
            return (finish or _finish)(call.function(*first, **named))
    except BaseException as error:
        # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
        return _of_error(error, retried)
    return _SUPPRESSED


async def perform_async(
    call: FunctionCall, job: Job, *, retried: RetriedErrors = _ALL, hooks: Sequence[Hooks] = ()
) -> Outcome:
    """Await a coroutine function to its end. A cancelled one has seen the request to stop."""
    try:
        first, named = call.arguments(job)
    except BadRequest as fault:
        return failed(fault.what)
    try:
        with around(hooks, job) if hooks else _NO_HOOKS:
            return _finish(await call.function(*first, **named))
    except BaseException as error:
        # The loop cancels the coroutine because of a limit of the job, which ``cancelled`` then notes as seen.
        return failed("It was cancelled.") if job.cancelled else _of_error(error, retried)
    return _SUPPRESSED


def _of_error(error: BaseException, retried: RetriedErrors) -> Outcome:
    """Return the outcome of a function that raised."""
    match error:
        case Fatal():
            return replace(failed(account(error)), final=True)
        case Retry():
            return replace(failed(account(error)), retry_after_s=error.after_s)
    return replace(failed(account(error)), final=retried.excludes(error))


def _given(job: Job) -> dict[str, object]:
    """Return the arguments that are determined by the key."""
    own: dict[str, object] = {"work_ids": job.work_ids, "span": job.span}
    own |= {"table": job.table, "version": job.version, "inputs": job.inputs or None}
    if job.span is not None:
        own["start"], own["end"] = job.span
        own["partitions"] = job.partitions
    return {name: value for name, value in own.items() if value is not None} | job.by | dict(job.ids)


def settled(result: object) -> object:
    """Return the returned value of a function. The awaitable of an ``async def`` is awaited first."""
    if not inspect.isawaitable(result):
        return result
    import asyncio  # noqa: PLC0415  # Costs a third of a child's start, and few functions need it.

    return asyncio.run(_awaited(result))


def _finish(result: object) -> Outcome:
    """Await the value of an ``async def`` and act on an answer. Fail if the value shows that nothing ran."""
    result = settled(result)
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        return failed(
            "The function is a generator (it has a yield), so its body did not run. Make it a plain function."
        )
    answer = answer_in(result)
    if isinstance(answer, Fatal | Retry):
        raise answer
    if answer is None:
        return returned(result)
    if isinstance(answer, Success):
        return Outcome(ending=Ending.DONE)
    return failed(f"The function returned {type(answer).__name__}, which only a step of a saga may return.")


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
