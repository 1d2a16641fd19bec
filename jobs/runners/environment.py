"""What a child process sees of the world: three layers, each over the one before.

1. Of the worker's environment: for a command, ``BASICS`` and what the app names in ``env_from_os``; for an
   isolated function, which is the same code as in a thread, everything but our own settings (they hold
   the passwords of the ledger and the broker) and again what ``env_from_os`` names.
2. The app's ``env``.
3. ``SLUICE_APP``, ``SLUICE_JOB`` (the key), ``SLUICE_ROUND``, ``SLUICE_CLAIM`` (the fencing number) and
   ``SLUICE_TOKEN`` (the idempotency key).
"""

from collections.abc import Mapping

from jobs.job import Assignment

#: What a command sees without asking for it: where programs and files are, whose they are, and how to write.
BASICS = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


def command_environment(assignment: Assignment, worker: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command. ``worker`` is the worker's own."""
    named = (*BASICS, *assignment.policy.env_from_os)
    return {name: worker[name] for name in named if name in worker} | _of_the_job(assignment)


def function_environment(assignment: Assignment, worker: Mapping[str, str]) -> dict[str, str]:
    """The environment of an isolated function."""
    named = assignment.policy.env_from_os
    passed = {k: v for k, v in worker.items() if not k.startswith("SLUICE_") or k in named}
    return passed | _of_the_job(assignment)


def _of_the_job(assignment: Assignment) -> dict[str, str]:
    return {
        **assignment.policy.env,
        "SLUICE_APP": assignment.name.app,
        "SLUICE_JOB": assignment.name.key,
        "SLUICE_ROUND": str(assignment.round),
        "SLUICE_CLAIM": str(assignment.claim),
        "SLUICE_TOKEN": assignment.token,
    }
