"""Check of the jobs that a running job adds (``job.expand``), by the definitions of its worker."""

from collections.abc import Callable, Iterator, Mapping

from sluice.actors.job_keys import canonical_key
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.expansions import PARTS_MAX, Expansion, ExpansionRequest, PartKeys
from sluice.jobs.keys.identifiers import Value
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.planner.keyspaces.choose import keyspace_of

#: Job types whose runs return the added jobs to the worker.
_FUNCTIONS = ("python", "pyspark")


class RunExpander:
    """Check for one running job with these identifiers. It reads no ledger."""

    def __init__(self, catalogue: Callable[[], Catalogue], name: JobName, ids: Mapping[str, Value]) -> None:
        self._catalogue = catalogue
        self._name = name
        self._ids = ids
        self._count = 0

    def expansion(self, request: ExpansionRequest) -> Expansion:
        """Return the expansion with canonical keys. BadRequest if the definitions do not allow it.

        A job must not wait for itself. So neither the running job nor the one of ``then`` is a part, and the app of
        ``then`` is not upstream of the app of the parts.
        """
        catalogue = self._catalogue()
        own = catalogue.app(self._name.app)
        if reason := _unfit(own):
            raise self._refusal(
                f"{own.name} {reason}; only a function that is keyed by template can add jobs"
            )
        app = self._added(catalogue, request.parts.app)
        self._count += len(request.parts.keys)
        if self._count > PARTS_MAX:
            raise self._refusal(f"a job can add {PARTS_MAX:,} jobs, and this one adds more")
        keys = tuple(dict.fromkeys(self._keys(catalogue, app, request.parts)))
        then = None
        if request.then is not None:
            last = self._added(catalogue, request.then.app)
            then = JobName(last.name, next(self._keys(catalogue, last, request.then)))
            if app.name != last.name and app.name in catalogue.below([last.name]):
                raise self._refusal(f"{then} would wait for jobs of {app.name}, which depend on {last.name}")
        expansion = Expansion(app.name, keys, then, request.when)
        if self._name in (*expansion.parts, then) or then in expansion.parts:
            raise self._refusal("a job would wait for itself")
        return expansion

    def _added(self, catalogue: Catalogue, name: str) -> App:
        app = catalogue.app(name)
        if not app.is_keyed_by_template:
            raise self._refusal(f"{name} is not keyed by template, so its jobs cannot be added")
        if catalogue.may_need_others(name):
            raise self._refusal(f"jobs of {name} may need tables or work IDs, so they cannot be added")
        return app

    def _keys(self, catalogue: Catalogue, app: App, named: PartKeys) -> Iterator[str]:
        keyspace = keyspace_of(app, catalogue)
        for each in named.keys:
            key, identifiers = (each, {}) if isinstance(each, str) else (None, each)
            found = canonical_key(app, key, identifiers, self._ids)
            if keyspace.unmatched(app, found):
                raise BadKey(
                    f"{app.name}/{found} fits none of the app's dependency groups.", where=app.origin
                )
            yield found

    def _refusal(self, reason: str) -> BadRequest:
        return BadRequest(f"job.expand is refused: {reason}.", where=str(self._name))


def _unfit(app: App) -> str | None:
    """Return the reason why jobs of an app cannot add jobs, or None."""
    if app.chunking:
        return "is keyed by chunk"
    if app.partitioning:
        return "is keyed by partition"
    return None if app.job_type in _FUNCTIONS else "is run by a job manager"
