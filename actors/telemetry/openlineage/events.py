"""Lineage events as defined by OpenLineage 2-0-2. Names of fields follow its spelling."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct

from sluice.jobs.errors import BadKey
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import (
    TableDependency,
    read_span,
    value_of,
    with_slice,
    without_dimension,
    without_slice,
    without_version,
)
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Assignment
from sluice.jobs.model.names import Claim
from sluice.ledger.reads.run_records import RunOrigin
from sluice.planner.keyspaces.partitions.daily_jobs import DAYS, day_of

PRODUCER = "urn:sluice"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
FACETS = {
    "parent": "1-2-0/ParentRunFacet.json#/$defs/ParentRunFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
    "jobType": "2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet",
    "inputSubset": "1-0-0/BaseSubsetDatasetFacet.json#/$defs/InputSubsetInputDatasetFacet",
    "outputSubset": "1-0-0/BaseSubsetDatasetFacet.json#/$defs/OutputSubsetOutputDatasetFacet",
}
#: Maximum number of partitions that an event lists. A longer range is reported as its table alone.
PARTITIONS_MAX = 1000

Facets = Mapping[str, Any]
#: Name and value of the second dimension of a slice.
_Slice: TypeAlias = tuple[str, str] | None


class RunNamed(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    run_id: UUID
    facets: Facets = {}


class JobNamed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    namespace: str
    name: str
    facets: Facets = {}


class Dataset(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    namespace: str
    name: str
    facets: Facets = {}
    input_facets: Facets = {}
    output_facets: Facets = {}


class LineageEvent(Struct, frozen=True, kw_only=True, rename="camel"):
    event_type: str
    event_time: datetime
    run: RunNamed
    job: JobNamed
    inputs: list[Dataset]
    outputs: list[Dataset]
    producer: str = PRODUCER
    schema_url: str = msgspec.field(name="schemaURL", default=SCHEMA)


class LineageNames(Struct, frozen=True):
    """Namespaces of jobs and of tables."""

    jobs: str
    tables: str

    def run(self, claim: Claim, origin: RunOrigin | None, error: str | None) -> RunNamed:
        facets: dict[str, Any] = {}
        if origin:
            facets["parent"] = _facet(
                "parent",
                run={"runId": _id("submission", *_place(origin))},
                job={"namespace": self.jobs, "name": f"{origin.app}.submission"},
            )
        if error:
            facets["errorMessage"] = _facet("errorMessage", message=error, programmingLanguage="Python")
        run_id = _id("run", *_place(origin), str(claim.job), str(claim.number))
        return RunNamed(run_id=run_id, facets=facets)

    def job(self, app: str) -> JobNamed:
        of_type = _facet("jobType", processingType="BATCH", integration="SLUICE", jobType="STEP")
        return JobNamed(namespace=self.jobs, name=app, facets={"jobType": of_type})

    def inputs(self, assignment: Assignment) -> Iterator[Dataset]:
        """Yield the tables that a job reads. If it reads the whole past of a table, or any partition that is late
        enough, no partitions are listed."""
        read = _read(assignment)
        for table, (first, last) in assignment.inputs.items():
            facets = _version(assignment.input_versions.get(table))
            subset: dict[str, Any] = {}
            if first is not None and last is not None:
                calendar, slices = read[table][0].calendar, [value_of(each.table) for each in read[table]]
                span = Span(calendar.read(first), calendar.read(last))
                subset = _subset("input", calendar, span, [*dict.fromkeys(slices)])
            yield Dataset(namespace=self.tables, name=table, facets=facets, input_facets=subset)

    def outputs(self, app: App | None, table: str, key: str) -> list[Dataset]:
        """Return the table that a job fills, with the partitions in its key. They cannot be listed without the
        definition of the app. The slices of a table with a second dimension are one table."""
        if app and app.table_of_days == table:
            return [Dataset(namespace=self.tables, name=table, output_facets=_day(app, key))]
        text, version = without_version(key)
        value, text = without_slice(text)
        table = without_dimension(table)
        subset: dict[str, Any] = {}
        if app and app.partitioning and app.partitioning.table == table:
            by = app.partitioning.by
            try:
                calendar = app.partitioning.calendar
                slices = [(by.name, value) if by and value else None]
                subset = _subset("output", calendar, read_span(calendar, text), slices)
            except ValueError:
                subset = {}  # The partitions of the table are numbered in another way by now.
        facets = _version(version)
        return [Dataset(namespace=self.tables, name=table, facets=facets, output_facets=subset)]


def now() -> datetime:
    return datetime.now(UTC)


def _read(assignment: Assignment) -> dict[str, list[TableDependency]]:
    """Return what a job reads of each table, by slice."""
    found: dict[str, list[TableDependency]] = {}
    if filling := assignment.app.filling:
        for part in filling.of_slice(next(iter(assignment.by.values()), None)).dependencies:
            found.setdefault(without_dimension(part.table), []).append(part)
    return found


def _version(version: str | None) -> dict[str, Any]:
    return {"version": _facet("version", datasetVersion=version)} if version else {}


def _day(app: App, key: str) -> dict[str, Any]:
    try:
        day = day_of(app, key)
    except BadKey:
        return {}  # The app has another template by now.
    return _subset("output", DAYS, Span(day, day), [None])


def _subset(which: str, calendar: Calendar, span: Span, slices: Sequence[_Slice]) -> dict[str, Any]:
    """Return the facet that lists the partitions of these slices. A slice is None in a table without a second
    dimension."""
    if len(span) * len(slices) > PARTITIONS_MAX:
        return {}
    partitions = [
        {
            "dimensions": {calendar.unit: text, **(dict([of]) if of else {})},
            "identifier": with_slice(text, of[1] if of else None),
        }
        for of in slices
        for text in map(calendar.write, range(span.first, span.last + 1))
    ]
    condition = {"type": "partition", "partitions": partitions}
    return {"subset": _facet(f"{which}Subset", **{f"{which}Condition": condition})}


def _facet(name: str, **words: Any) -> dict[str, Any]:
    url = f"https://openlineage.io/spec/facets/{FACETS[name]}"
    return {"_producer": PRODUCER, "_schemaURL": url, **words}


def _place(origin: RunOrigin | None) -> tuple[str, ...]:
    """Return the parts that identify a submission. Another ledger may have the same id, but not the same time of
    receipt."""
    return (origin.submission, origin.received_at.isoformat()) if origin else ()


def _id(*parts: str) -> UUID:
    """Return a UUID that is derived from these parts, so that every process gets the same one."""
    digest = hashlib.blake2b("\x00".join(parts).encode(errors="surrogatepass"), digest_size=16).digest()
    return UUID(bytes=digest, version=5)
