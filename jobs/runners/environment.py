"""What a child process sees of the world: three layers, each over the one before.

1. Of the worker's environment: for a command, ``BASICS`` and what the app names in ``env_from_os``; for an
   isolated function, which is the same code as in a thread, everything but our own settings (they hold
   the passwords of the ledger and the broker) and again what ``env_from_os`` names.
2. The app's ``env``.
3. ``SLUICE_APP``, ``SLUICE_JOB`` (the key), ``SLUICE_ROUND``, ``SLUICE_CLAIM`` (the fencing number) and
   ``SLUICE_TOKEN`` (the idempotency key); ``TRACEPARENT`` where its run is traced.
"""

from collections.abc import Collection, Mapping

from jobs.job import Claimed
from jobs.policy import Policy

#: What a command sees without asking for it: where programs and files are, whose they are, and how to write.
BASICS = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


def command_environment(claimed: Claimed, policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command. ``worker`` is the worker's own."""
    named = (*BASICS, *policy.env_from_os)
    return {name: worker[name] for name in named if name in worker} | _of_the_job(claimed, policy)


def function_environment(claimed: Claimed, policy: Policy, worker: Mapping[str, str]) -> dict[str, str]:
    """The environment of an isolated function."""
    return of_the_worker(worker, policy.env_from_os) | _of_the_job(claimed, policy)


def of_the_worker(worker: Mapping[str, str], named: Collection[str] = ()) -> dict[str, str]:
    """What a program sees that is as trusted as the worker's own code, but has no business with our servers."""
    return {name: text for name, text in worker.items() if not name.startswith("SLUICE_") or name in named}


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
