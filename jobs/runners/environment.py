"""The environment of a child process, in three layers, each over the one before.

1. From the worker's environment: for a command, ``BASICS`` and the variables that ``env_from_os`` names; for an
   isolated function, which is the same code as in a thread, everything.
2. The app's ``env``.
3. ``SLUICE_APP``, ``SLUICE_JOB`` (the key), ``SLUICE_ROUND``, ``SLUICE_CLAIM`` (the fencing number) and
   ``SLUICE_TOKEN`` (the idempotency key); ``TRACEPARENT`` where its run is traced.

The worker's own settings and the secrets of its database connection (``is_withheld``) are in no layer, whichever
definition or submission names them: they are rights on the ledger and the broker, which a job does not have.
"""

from collections.abc import Mapping

from sluice.jobs.job import Claimed
from sluice.jobs.policy import Policy

#: What a command sees without asking for it: where programs and files are, whose they are, and how to write.
BASICS = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
#: Every setting of Sluice begins with this, so that a new one is withheld without being listed here.
_SETTINGS = "SLUICE_"
#: Passwords, keys and files of them that libpq reads, and the folder of secrets that systemd gives a service.
#: And what lets a process in at a collector of traces.
_SECRETS = frozenset(
    (
        *("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "CREDENTIALS_DIRECTORY"),
        *("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
    )
)
#: Why a variable is withheld, for messages that begin with its name.
WITHHELD = (
    "is a setting or a secret of the worker itself, which no job is given; set another variable for the job"
)


def is_withheld(name: str) -> bool:
    """Return whether the worker keeps this variable of its own environment from every job."""
    return name.startswith(_SETTINGS) or name in _SECRETS


def command_environment(claimed: Claimed, policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command; ``worker`` is the worker's own. ValueError as for ``_named``."""
    basics = {name: worker[name] for name in BASICS if name in worker}
    return basics | _named(policy, worker) | _of_the_job(claimed, policy)


def function_environment(claimed: Claimed, policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an isolated function. ValueError as for ``_named``."""
    return of_the_worker(worker) | _named(policy, worker) | _of_the_job(claimed, policy)


def of_the_worker(worker: Mapping[str, str]) -> dict[str, str]:
    """Return the worker's environment for code that is as trusted as the worker's own, without our secrets."""
    return {name: text for name, text in worker.items() if not is_withheld(name)}


def _named(policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ``env_from_os`` names. ValueError if one is withheld, or is not set: a job that asks
    for a password should not run without it, and fail somewhere else for that reason."""
    for name in policy.env_from_os:
        if is_withheld(name):
            raise ValueError(f"env_from_os: {name} {WITHHELD}")
        if name not in worker:
            raise ValueError(f"env_from_os: {name} is not set in the environment of this worker")
    return {name: worker[name] for name in policy.env_from_os}


def _of_the_job(claimed: Claimed, policy: Policy) -> dict[str, str]:
    return {
        **policy.env,
        "SLUICE_APP": claimed.name.app,
        "SLUICE_JOB": claimed.name.key,
        "SLUICE_ROUND": str(claimed.round),
        "SLUICE_CLAIM": str(claimed.claim),
        "SLUICE_TOKEN": claimed.token,
        **({"TRACEPARENT": claimed.traceparent} if claimed.traceparent else {}),
    }
