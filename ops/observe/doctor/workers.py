"""Findings about workers: queues without a worker, and workers with code or definitions that differ from the local
ones.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sluice.broker.messages import CONTROL, SCHEDULER
from sluice.jobs.model.queues import is_served
from sluice.jobs.text.units import counted
from sluice.ledger.reads.fleet import Variant, WorkerRow
from sluice.ledger.reads.server_health import LOOKED_AT_MAX, ReadyCount, Runs
from sluice.ops.documents.rule_texts import SAME_DEFINITIONS, by_app, differ
from sluice.ops.observe.doctor.finding import Finding, bad, ok, warn
from sluice.ops.text import moment

ABOUT = "workers"


def judge(
    workers: Sequence[WorkerRow],
    ready: Sequence[ReadyCount],
    scheduled: Sequence[str],
    *,
    code: str | None,
) -> Iterator[Finding]:
    """Yield the findings about workers and queues. ``scheduled`` are the apps that schedules submit. ``code`` is the
    local version of the users' code, if known.
    """
    alive = [each for each in workers if each.alive]
    for each in workers:
        if not each.alive:
            yield warn(
                ABOUT,
                f"It was lost: its lease ended at {moment(each.lease_until)} UTC, and it had not shut down.",
                "Find out why it died (its log, the machine's memory). Other workers take over its jobs.",
                where=f"{each.host}:{each.pid}",
            )
    if alive:
        threads = sum(each.threads for each in alive)
        yield ok(ABOUT, f"{counted(len(alive), 'worker')} with {counted(threads, 'thread')}.")
    yield from _unserved(alive, ready, scheduled)
    yield from _codes(alive, code)


def definitions(runs: Sequence[Runs], digests: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the workers that run jobs by another definition. ``digests`` has the digests of the local definitions by
    app.
    """
    for each in runs:
        if each.digest and each.app in digests and each.digest != digests[each.app]:
            yield warn(
                ABOUT,
                f"It runs {counted(each.jobs, 'job')} of {each.app} by a definition that differs from the local one.",
                "Give both the same definitions; only a restart loads changed Python modules.",
                where=f"{each.host}:{each.pid}",
            )


def drift(workers: Sequence[WorkerRow], variants: Sequence[Variant]) -> Iterator[Finding]:
    """Report workers that keep old definitions, and apps of which several definitions are in use."""
    for each in workers:
        if each.alive and each.definitions_problem:
            yield warn(
                ABOUT,
                f"It still uses its previous definitions: {each.definitions_problem}.",
                "Repair the source, or restart the worker if the source is a Python module.",
                where=f"{each.host}:{each.pid}",
            )
    for app, found in by_app(variants).items():
        yield warn(ABOUT, differ(app, found), SAME_DEFINITIONS)


def _unserved(
    alive: Sequence[WorkerRow], ready: Sequence[ReadyCount], scheduled: Sequence[str]
) -> Iterator[Finding]:
    if not alive:
        jobs = sum(each.jobs for each in ready)
        start = "Start one: sluice up, or sluice worker"
        if jobs:
            yield bad(ABOUT, f"{_many(jobs)} ready, and no worker is running.", start)
        else:
            yield warn(ABOUT, "No worker is running; no job runs until one is started.", start)
        return
    for queue in sorted(CONTROL):
        if not _is_served(queue, alive) and (queue != SCHEDULER or scheduled):
            yield bad(ABOUT, f"No worker serves the queue {queue}.", _serve(queue), where=f"queue {queue}")
    for each in ready:
        if not _is_served(each.app, alive):
            since = f"since {moment(each.since)} UTC"
            what = f"{_many(each.jobs)} ready, the first {since}, and no worker serves their queue."
            yield bad(ABOUT, what, _serve(each.app), where=f"queue {each.app}")
    waiting = {each.app for each in ready}
    for app in sorted(set(scheduled) - waiting):
        if not _is_served(app, alive):
            what = "It is submitted by a schedule, and no worker serves its queue."
            yield warn(ABOUT, what, _serve(app), where=f"queue {app}")


def _codes(alive: Sequence[WorkerRow], code: str | None) -> Iterator[Finding]:
    """Report workers with different code. Workers with an unknown version of the code are left out."""
    known = [each for each in alive if each.code]
    for each in known:
        if code and each.code != code:
            yield warn(
                ABOUT,
                f"It has the code {each.code}; the local code is {code}.",
                "Restart it with the same code, unless a roll-out is under way.",
                where=f"{each.host}:{each.pid}",
            )
    codes = Counter(each.code for each in known)
    if len(codes) > 1:
        by_number = sorted(
            codes.items(), key=lambda code_and_number: (-code_and_number[1], code_and_number[0])
        )
        told = ", ".join(f"{code} ({number})" for code, number in by_number)
        yield warn(
            ABOUT,
            f"Workers have different code: {told}.",
            "Restart the outdated workers, unless a roll-out is under way.",
        )


def _is_served(queue: str, alive: Sequence[WorkerRow]) -> bool:
    return any(is_served(queue, each.queues) for each in alive)


def _serve(queue: str) -> str:
    return f"sluice worker --queues {queue}"


def _many(jobs: int) -> str:
    if jobs >= LOOKED_AT_MAX:
        return f"{jobs:,} jobs or more are"
    return f"{counted(jobs, 'job')} {'is' if jobs == 1 else 'are'}"
