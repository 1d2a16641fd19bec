"""Assignments for runners, by the version of the app that each job was planned with.

``assign`` converts a claimed job into the assignment that a runner needs. ``Versions`` finds the definition for a job's
version. The ledger stores versions beside the definitions that a process was started with.

A plan stores the versions of its apps (``keep``). So if a definition changes, a step that was planned by the old one
can still be run by it. That holds as far as its options determine the work. A function that the options name exists
only in the worker's code. If a worker has another version of it, the step is left to other workers.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sluice.jobs.catalogue import Catalogue, load, parse_policy
from sluice.jobs.errors import DefinitionError, SluiceError
from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import Partitioning, inputs_of, without_dimension, without_version
from sluice.jobs.keys.work_ids import ids_of
from sluice.jobs.model.app import App
from sluice.jobs.model.job import NO_ECHO, Assignment, Echo, idempotency_token
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.keyspaces import versions
from sluice.ledger.keyspaces.versions import Kept
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.planner.keyspaces.partitions.daily_jobs import day_of
from sluice.planner.keyspaces.partitions.partition_keys import app_of_key, partitioning_of, read_key


def assign(app: App, job: ClaimedJob, echo: Echo = NO_ECHO) -> Assignment:
    """Return the assignment of a claimed job. ``echo`` listens to its output. BadRequest if its key no longer fits the
    app."""
    partitioning = app.partitioning
    return Assignment(
        name=job.name,
        ids={} if app.chunking or partitioning else app.read_key(job.key),
        days=app.days,
        **(_versions(app, partitioning) if partitioning else {}),
        **(_step(app, partitioning, job) if partitioning and not app.unbounded else {}),
        **(_readings(app, app.daily, job) if app.daily and app.daily.dependencies else {}),
        work_ids=None if job.work_ids is None else tuple(ids_of(job.work_ids)),
        kwargs=job.kwargs or {},
        round=job.round,
        claim=job.claim,
        token=idempotency_token(job.app, "", job.key),
        app=app,
        policy=app.policy.overridden(parse_policy(job.overrides or {})),
        echo=echo,
    )


def _versions(app: App, partitioning: Partitioning) -> dict[str, Any]:
    """Return the version of the app and of its input tables. Long-running services have them too: they read tables,
    although not by partition."""
    read = {each.table: each.version for each in partitioning.dependencies if each.version}
    return {"version": app.version, "input_versions": read}


def _step(app: App, partitioning: Partitioning, job: ClaimedJob) -> dict[str, Any]:
    """Return the partitions to make and their inputs. BadRequest if the definitions have another version of the app."""
    write = partitioning.calendar.write
    found = app_of_key(app, job.key)
    span, value = read_key(found, job.key), partitioning_of(found).slice
    left = job.partitions or []
    return {
        "span": (write(span.first), write(span.last)),
        "partitions": tuple(map(write, left)),
        "table": partitioning.table,
        **({"by": {partitioning.by.name: value}} if partitioning.by and value is not None else {}),
        "inputs": inputs_of(partitioning, Span(left[0], left[-1])) if left else {},
    }


def _readings(app: App, daily: Partitioning, job: ClaimedJob) -> dict[str, Any]:
    """Return the partitions that a job with a key reads, and their versions."""
    day = day_of(app, job.key)
    return {
        "inputs": inputs_of(daily, Span(day, day)),
        "input_versions": {
            without_dimension(each.table): each.version for each in daily.dependencies if each.version
        },
    }


#: Address for the loader. Any address is accepted for definitions that are already in memory.
_AT_HAND = "kept://"


class NotHere(SluiceError):
    """Raised when this process cannot run a job of this version."""


def keep(tx: Tx, apps: Iterable[App]) -> None:
    """Store the versions of the apps, except apps with a definition that cannot be stored."""
    versions.store(tx, [made for app in apps if (made := kept(app))])


def kept(app: App) -> Kept | None:
    if app.words is None:
        return None
    return Kept(app=app.name, version=app.version, code=app.code, options=_by_itself(app, app.words))


def _by_itself(app: App, words: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the definition with the versions of the tables that it reads. These cannot be computed without the
    definitions of those tables."""
    read = app.partitioning.dependencies if app.partitioning else ()
    if not any(each.version for each in read):
        return words
    written: Any = words["table_dependencies"]
    return {
        **words,
        "table_dependencies": [
            {**mapping, **({"version": each.version} if each.version else {})}
            for mapping, each in zip(written, read, strict=True)
        ],
    }


def texts_of(of: Iterable[Kept], confs: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return these versions in the form in which a server of definitions has them."""
    texts = {each.app: msgspec.json.encode(each.options).decode() for each in of}
    return {**texts, "confs": msgspec.json.encode(confs).decode()} if confs else texts


def catalogue_of(of: Iterable[Kept], confs: Mapping[str, Mapping[str, str]]) -> Catalogue:
    """Return these versions as a catalogue. DefinitionError if they cannot be read here."""
    texts = texts_of(of, confs)
    return load([_AT_HAND], fetch=lambda _: texts)


class Versions:
    """Definitions by which jobs are run. Results are kept, because a version does not change."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._found: dict[JobName, App] = {}

    def of(self, catalogue: Catalogue, job: JobName) -> App:
        """Return the definition for a job. NotHere if this process has no definition of the job's version, or other
        code than it was planned with."""
        app = catalogue.app(job.app)
        _, version = without_version(job.key) if app.partitioning else ("", "")
        if version == app.version:
            return app
        name = JobName(job.app, version)
        if name not in self._found:
            self._found[name] = self._look_up(name)
        return self._found[name]

    def _look_up(self, name: JobName) -> App:
        found = self._ledger.transact(lambda tx: versions.kept(tx, name.app, name.key))
        if found is None:
            raise NotHere(
                f"The definition of {name.app} has changed; the definition of version {name.key} was not kept."
            )
        try:
            app = catalogue_of([found], {})[name.app]
        except DefinitionError as error:
            raise NotHere(f"Version {name.key} of {name.app} cannot be read here: {error}") from error
        if app.code != found.code:
            raise NotHere(
                f"Version {name.key} of {name.app} was planned with other code than this worker has."
            )
        return msgspec.structs.replace(app, version=name.key)
