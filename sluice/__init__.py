"""Sluice, a distributed job orchestrator. Definitions and other services import only this package::

    from sluice import app

    @app(job_id="{date}_{client_id}", identifiers={"date": "date", "client_id": "int"})
    def preprocess(date, client_id): ...

A name is loaded when it is first used, so a definition loads no driver of a database or a broker. The subpackages are
the folders of the repository: ``sluice.jobs`` is ``jobs/``, ``sluice.ledger`` is ``ledger/``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sluice.actors.async_client import AsyncClient
    from sluice.actors.client import Client, Handle
    from sluice.actors.connect import connect
    from sluice.jobs import retry
    from sluice.jobs.api.decorators import app, saga, schedule
    from sluice.jobs.api.definition import any_of, each
    from sluice.jobs.api.hooks import Hooks
    from sluice.jobs.errors import JobFailed
    from sluice.jobs.model.external_work import ManagesJobs, Status
    from sluice.jobs.model.job import Job
    from sluice.jobs.model.names import JobName
    from sluice.jobs.model.results import JobRequest
    from sluice.jobs.model.submission import Submission
    from sluice.jobs.sagas.answers import Fatal, Rerun, Retry, Stop, Success, Wait
    from sluice.jobs.sagas.flight import Flight
    from sluice.jobs.sagas.step import Step

__all__ = [
    "AsyncClient",
    "Client",
    "Fatal",
    "Flight",
    "Handle",
    "Hooks",
    "Job",
    "JobFailed",
    "JobName",
    "JobRequest",
    "ManagesJobs",
    "Rerun",
    "Retry",
    "Status",
    "Step",
    "Stop",
    "Submission",
    "Success",
    "Wait",
    "any_of",
    "app",
    "connect",
    "each",
    "retry",
    "saga",
    "schedule",
]

_DECORATORS = "sluice.jobs.api.decorators"
_DEFINITION = "sluice.jobs.api.definition"
_ANSWERS = "sluice.jobs.sagas.answers"
#: Module of each name.
_MODULES = {
    "AsyncClient": "sluice.actors.async_client",
    "Client": "sluice.actors.client",
    "Fatal": _ANSWERS,
    "Flight": "sluice.jobs.sagas.flight",
    "Handle": "sluice.actors.client",
    "Hooks": "sluice.jobs.api.hooks",
    "Job": "sluice.jobs.model.job",
    "JobFailed": "sluice.jobs.errors",
    "JobName": "sluice.jobs.model.names",
    "JobRequest": "sluice.jobs.model.results",
    "ManagesJobs": "sluice.jobs.model.external_work",
    "Rerun": _ANSWERS,
    "Retry": _ANSWERS,
    "Status": "sluice.jobs.model.external_work",
    "Step": "sluice.jobs.sagas.step",
    "Stop": _ANSWERS,
    "Submission": "sluice.jobs.model.submission",
    "Success": _ANSWERS,
    "Wait": _ANSWERS,
    "any_of": _DEFINITION,
    "app": _DECORATORS,
    "connect": "sluice.actors.connect",
    "each": _DEFINITION,
    "retry": "sluice.jobs.retry",
    "saga": _DECORATORS,
    "schedule": _DECORATORS,
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sluice' has no attribute {name!r}")
    module = import_module(_MODULES[name])
    # ``retry`` is a module: rules are written ``retry.fixed(…)``.
    value = module if name == "retry" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
