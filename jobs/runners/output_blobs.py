"""Storage of complete outputs (``keep_output``) and of results that are too long for the ledger.

A failure to store an output is logged and has no other effect. A failure to store a result fails the round.
"""

import re
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import IO

from msgspec.structs import replace

from sluice.jobs.blobs import BlobStore, BlobsUnavailable, is_name
from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.model.results import LEDGER_BYTES_MAX
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.runners.output import Excerpt, job_log, worker_log
from sluice.jobs.runners.process.process import Exit
from sluice.jobs.text.units import size_text

_STORED = re.compile(r"[^/]+/[^/]+/\d+-(?:output|stderr|result)-[0-9a-f]{32}")


def is_output(blob: str) -> bool:
    """Return whether a run stored the blob of this name, as its output or result. No other blob is Sluice's own."""
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
        store = partial(_stored, assignment=assignment, blobs=blobs, say=say)
        return replace(
            outcome,
            output_blob=store("output", exit_.stdout),
            stderr_blob=store("stderr", exit_.stderr),
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
    what: str, excerpt: Excerpt, *, assignment: Assignment, blobs: BlobStore, say: Callable[[str], object]
) -> str | None:
    """Store one output and return its name. None if the ledger's copy is complete, or if it could not be stored."""
    if excerpt.spool is None or excerpt.is_all:
        return None
    most = assignment.quota.output_bytes
    if most is not None and excerpt.spool.size > most:
        limit = f"its tenant {assignment.app.tenant} has a limit of {size_text(most)}"
        say(f"the complete {what} of {size_text(excerpt.spool.size)} was not kept: {limit}")
        return None
    if excerpt.spool.trouble is not None:
        blobs.count_loss()
        say(f"the complete {what} was not kept: {excerpt.spool.trouble}")
    place = f"{assignment.name.app}/{assignment.token}/{assignment.claim}-{what}"
    try:
        return _put(blobs, place, excerpt.spool.read())
    except BlobsUnavailable as error:
        say(f"the complete {what} was not kept: {error.what}")
        return None


def needs_blob(outcome: Outcome, assignment: Assignment) -> bool:
    """Return whether the result is too long for the ledger, or for the tenant."""
    most = min(assignment.quota.result_bytes or LEDGER_BYTES_MAX, LEDGER_BYTES_MAX)
    return outcome.result_json is not None and len(outcome.result_json.encode()) > most


def with_stored_result(outcome: Outcome, assignment: Assignment, blobs: BlobStore) -> Outcome:
    """Return the outcome with its result in the blob store, if it is too long for the ledger.

    A result that is too long for the tenant fails the job. If the run has committed its own success, it stays.
    """
    if outcome.result_json is None or not needs_blob(outcome, assignment):
        return outcome
    text = outcome.result_json.encode()
    if (most := assignment.quota.result_bytes) is not None and len(text) > most:
        reason = (
            f"Its result has {size_text(len(text))}, and its tenant {assignment.app.tenant} has a limit of"
            f" {size_text(most)}. Store the data elsewhere, and return where it is."
        )
        return replace(outcome, ending=Ending.ERROR, error=reason, final=True, result_json=None)
    place = f"{assignment.name.app}/{assignment.token}/{assignment.claim}-result"
    try:
        blob = _put(blobs, place, BytesIO(text))
    except BlobsUnavailable as error:
        reason = f"Its result of {size_text(len(text))} could not be stored. {error.reason}"
        return replace(outcome, ending=Ending.ERROR, error=reason, result_json=None)
    return replace(outcome, result_json=None, result_blob=blob)


def _put(blobs: BlobStore, place: str, content: IO[bytes]) -> str:
    reached(Failpoint.BLOB_BEGINS)
    stored = blobs.put(place, content)
    reached(Failpoint.BLOB_STORED)
    return stored
