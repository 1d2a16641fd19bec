"""Environment of a child process, in three layers. A later layer overrides an earlier one.

1. Variables of the worker. A command gets ``BASICS`` and the variables that ``env_from_os`` names. An isolated function
   gets all of them, because it is the same code as in a thread.
2. The app's ``env``.
3. ``SLUICE_APP``, ``SLUICE_JOB`` (the key), ``SLUICE_ROUND``, ``SLUICE_CLAIM`` (the fencing number) and
   ``SLUICE_TOKEN`` (the idempotency key). ``TRACEPARENT`` if the run is traced.

No layer contains the worker's own settings or the secrets of its database connection (``is_withheld``), whichever
definition or submission names them. They grant access to the ledger and the broker, which a job does not have.
"""

from collections.abc import Mapping

from sluice.jobs.model.job import RunContext
from sluice.jobs.policy.policy import Policy

#: Worker variables that every command gets: paths of programs and files, the user, the locale and the time zone.
BASICS = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
#: Prefix of all settings of Sluice. A new setting is therefore withheld without being listed here.
_SETTINGS = "SLUICE_"
#: Passwords, keys and their files that libpq reads, and the folder of secrets that systemd gives a service. Also the
#: credentials for a trace collector.
_SECRETS = frozenset(
    (
        *("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "CREDENTIALS_DIRECTORY"),
        *("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
    )
)
#: Reason why a variable is withheld, for messages that begin with its name.
WITHHELD = "is a setting or a secret of the worker itself and is not passed to jobs; set another variable for the job"


def is_withheld(name: str) -> bool:
    """Return whether the worker withholds this variable of its own environment from every job."""
    return name.startswith(_SETTINGS) or name in _SECRETS


def command_environment(claimed: RunContext, policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command. ``worker`` is the worker's own environment. ValueError as in ``_named``."""
    return basic_environment(worker) | _named(policy, worker) | _of_the_job(claimed, policy)


def basic_environment(worker: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the worker that every command gets."""
    return {name: worker[name] for name in BASICS if name in worker}


def function_environment(claimed: RunContext, policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an isolated function. ValueError as in ``_named``."""
    return of_the_worker(worker) | _named(policy, worker) | _of_the_job(claimed, policy)


def of_the_worker(worker: Mapping[str, str]) -> dict[str, str]:
    """Return the worker's environment without our secrets, for code that is as trusted as the worker's own."""
    return {name: text for name, text in worker.items() if not is_withheld(name)}


def _named(policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ``env_from_os`` names. ValueError if one is withheld or not set: without it a job that
    needs a password would run and fail elsewhere, with a misleading error.
    """
    for name in policy.env_from_os:
        if is_withheld(name):
            raise ValueError(f"env_from_os: {name} {WITHHELD}")
        if name not in worker:
            raise ValueError(f"env_from_os: {name} is not set in the environment of this worker")
    return {name: worker[name] for name in policy.env_from_os}


def _of_the_job(claimed: RunContext, policy: Policy) -> dict[str, str]:
    return {
        **policy.env,
        "SLUICE_APP": claimed.name.app,
        "SLUICE_JOB": claimed.name.key,
        "SLUICE_ROUND": str(claimed.round),
        "SLUICE_CLAIM": str(claimed.claim),
        "SLUICE_TOKEN": claimed.token,
        **({"TRACEPARENT": claimed.traceparent} if claimed.traceparent else {}),
    }
