"""Results of jobs, read from the ledger and the blob store: for clients, and for running jobs.

Running jobs also get answers about the jobs that they add.
"""

from collections.abc import Callable, Mapping

from sluice.actors.expansions import RunExpander
from sluice.actors.job_keys import canonical_key
from sluice.jobs.blobs import BlobStore
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.expansions import Expansion, ExpansionRequest
from sluice.jobs.keys.identifiers import Value
from sluice.jobs.model.names import JobName
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.reads import results
from sluice.ledger.reads.results import StoredResult


class NoResult(BadRequest):
    """Raised if a job has no result, because it has not succeeded, or because the result is not available any more."""


def read_result(ledger: Ledger, blobs: BlobStore | None, name: JobName) -> str | None:
    """Return the result of a job as JSON, or None if its function returned None.

    NoResult if the job has not succeeded, or if its result was removed or lost. BlobsUnavailable if the blob store does
    not return it.
    """
    found = ledger.transact(lambda tx: results.result(tx, name))
    if found is None:
        raise NoResult(
            f"There is no job {name}, so it has no result.", advice="Write the key as `sluice ls` shows it."
        )
    return _text(found, blobs)


def _text(found: StoredResult, blobs: BlobStore | None) -> str | None:
    if found.missing is not None:
        raise NoResult(f"{found.name} has no result: {found.missing}.")
    if found.result_blob is None:
        return found.result
    if blobs is None:
        raise NoResult(
            f"The result of {found.name} is in the blob store, which this client does not have.",
            advice="Use `sluice.connect`, which opens it.",
        )
    return b"".join(blobs.read(found.result_blob)).decode()


class RunAnswers:
    """Answers to one running job with these identifiers. Each call for results reads the ledger once."""

    def __init__(
        self,
        ledger: Ledger,
        catalogue: Callable[[], Catalogue],
        blobs: BlobStore,
        job: ClaimedJob,
        ids: Mapping[str, Value],
    ) -> None:
        self._ledger = ledger
        self._catalogue = catalogue
        self._blobs = blobs
        self._job = job
        self._ids = ids
        self._expander = RunExpander(catalogue, job.name, ids)

    def of(self, app: str, key: str | None, identifiers: Mapping[str, str]) -> str | None:
        """Return the result of any job as JSON. Identifiers that are not given have the values of the running job."""
        found = self._catalogue().app(app)
        name = JobName(app, canonical_key(found, key, identifiers, self._ids))
        return read_result(self._ledger, self._blobs, name)

    def needed(self, app: str) -> Mapping[str, str | None]:
        """Return the results of all jobs of an app that the running job needs, by key."""
        self._catalogue().app(app)
        found = self._ledger.transact(lambda tx: results.results_of_needed(tx, self._job.id, app))
        return {each.key: _text(each, self._blobs) for each in found}

    def expansion(self, request: ExpansionRequest) -> Expansion:
        """Return the jobs that the running job adds, with canonical keys. BadRequest if they cannot be planned."""
        return self._expander.expansion(request)
