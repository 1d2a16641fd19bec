"""Landed partitions: they were made outside of Sluice's apps, or before these apps existed."""

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct

from sluice.broker.messages import Ended, Landed, Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import table_of
from sluice.jobs.errors import BadMessage, BadRequest
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import read_landing_key, read_span
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.keyspaces import partitions

#: Maximum number of partitions in one landing.
PARTITIONS_MAX = 1_000_000


class LandingResult(Struct, frozen=True):
    """Result of a landing: how many of the partitions were ``new``, and the messages that follow."""

    new: int
    messages: Sequence[Message]


def landed(ledger: Ledger, catalogue: Catalogue, message: Landed) -> Sequence[Message]:
    try:
        return land(ledger, catalogue, message.table, message.partitions).messages
    except BadRequest as error:
        raise BadMessage(error.what, where=error.where, advice=error.advice) from error


def land(ledger: Ledger, catalogue: Catalogue, table: str, texts: Iterable[str]) -> LandingResult:
    """Record that these partitions, or ranges of partitions, exist. Jobs that wait for them go on. A repetition changes
    nothing.

    BadRequest for a table that no app fills or reads, and for a text that is not a partition of it.
    """
    known = table_of(catalogue, table)
    found = _read(table, known.calendar, texts)
    work = partial(_land, table=table, version=known.version, calendar=known.calendar, found=found)
    return ledger.transact(work)


def _read(table: str, calendar: Calendar, texts: Iterable[str]) -> list[int]:
    found: set[int] = set()
    for text in texts:
        try:
            span = read_span(calendar, text)
        except ValueError as error:
            raise BadRequest(f"It is not a partition of {table}: {error}.", where=table) from None
        if len(found) + len(span) > PARTITIONS_MAX:
            raise BadRequest(f"That is more than {PARTITIONS_MAX:,} partitions at once.", where=table)
        found.update(range(span.first, span.last + 1))
    return sorted(found)


def _land(tx: Tx, *, table: str, version: str, calendar: Calendar, found: list[int]) -> LandingResult:
    partitions.lock_tables(tx, [table])
    new = partitions.land(tx, table, version, found)
    awaited = partitions.awaited(tx, table)
    ended = partitions.land_jobs(tx, _come(calendar, awaited, found)) if awaited and found else []
    return LandingResult(new, [Ended(jobs=tuple(ended))] if ended else [])


def _come(calendar: Calendar, awaited: dict[int, str], found: Sequence[int]) -> list[int]:
    """Return the waiting jobs that are satisfied by the landed partitions."""
    there = set(found)
    come = []
    for job, key in awaited.items():
        try:
            partition, or_later = read_landing_key(calendar, key)
        except ValueError:
            continue  # The job was made when the table's partitions were numbered or written in another way.
        if partition in there or (or_later and found[-1] >= partition):
            come.append(job)
    return come
