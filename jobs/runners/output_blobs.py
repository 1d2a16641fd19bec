"""Storage of complete outputs that are too long for the ledger (``keep_output``)."""

import re
from collections.abc import Callable

from msgspec.structs import replace

from sluice.jobs.blobs import BlobStore, BlobsUnavailable, is_name
from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.runners.output import Excerpt, job_log, worker_log
from sluice.jobs.runners.process.process import Exit

_STORED = re.compile(r"[^/]+/[^/]+/\d+-(?:output|stderr)-[0-9a-f]{32}")


def is_output(blob: str) -> bool:
    """Return whether this module stored the blob of this name. Other blobs in the store are not Sluice outputs."""
    return is_name(blob) and _STORED.fullmatch(blob) is not None


def keep_whole(
    outcome: Outcome, exit_: Exit, assignment: Assignment, blobs: BlobStore, say: Callable[[str], object]
) -> Outcome:
    """Return the outcome with the names of the stored blobs. A failure to store is logged and has no other effect.

    A run that is handed back will start again, so its output is not stored.
    """
    try:
        if outcome.ending is Ending.HANDED_BACK:
            return outcome
        place = f"{assignment.name.app}/{assignment.token}/{assignment.claim}"
        return replace(
            outcome,
            output_blob=_stored("output", exit_.stdout, f"{place}-output", blobs, say),
            stderr_blob=_stored("stderr", exit_.stderr, f"{place}-stderr", blobs, say),
        )
    finally:
        exit_.stdout.close()
        exit_.stderr.close()


def with_whole(outcome: Outcome, exit_: Exit, assignment: Assignment, blobs: BlobStore) -> Outcome:
    """Return the outcome with the names of the stored blobs. Use this in a runner without a log of its own."""
    if not assignment.policy.keep_output:
        return outcome
    lines = Excerpt()
    log = job_log(assignment.name, write=lines.add_text, tell=worker_log(assignment.name))
    return replace(keep_whole(outcome, exit_, assignment, blobs, log.warning), log=lines.text())


def _stored(
    what: str, excerpt: Excerpt, place: str, blobs: BlobStore, say: Callable[[str], object]
) -> str | None:
    """Store one output and return its name. None if the ledger's copy is complete, or if it could not be stored."""
    if excerpt.spool is None or excerpt.is_all:
        return None
    if excerpt.spool.trouble is not None:
        say(f"the complete {what} was not kept: {excerpt.spool.trouble}")
    try:
        reached(Failpoint.BLOB_BEGINS)
        stored = blobs.put(place, excerpt.spool.read())
        reached(Failpoint.BLOB_STORED)
        return stored
    except BlobsUnavailable as error:
        say(f"the complete {what} was not kept: {error.what}")
        return None
