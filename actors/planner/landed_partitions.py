"""Landed partitions: they were made outside of Sluice's apps, or before these apps existed.

If they land again, existing partitions that were made from them become stale, transitively. A plan treats a stale
partition as missing. A job that has begun may have read the old contents, so its partitions become stale too, and stay
stale when it succeeds. A job that has not begun will read the new contents. Its partitions become stale only if it also
reads a partition that is or will be stale.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from sluice.broker.messages import Ended, Landed, Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, slices_by, table_of, tables_of
from sluice.jobs.errors import BadMessage, BadRequest
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import read_landing_key, read_span
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.keyspaces import partitions
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs
from sluice.planner.keyspaces.partitions.partition_keys import filling_of, text_of
from sluice.planner.keyspaces.partitions.ranges import in_both, united
from sluice.planner.keyspaces.partitions.refill import downstream, touched
from sluice.planner.keyspaces.partitions.table_demand import ALL

#: Maximum number of partitions in one landing.
PARTITIONS_MAX = 1_000_000


class LandingResult(Struct, frozen=True, kw_only=True):
    """Result of a landing.

    ``new`` is the number of partitions that did not exist before, and ``again`` the number of existing partitions that
    landed again. ``stale`` has the number of partitions that became stale, by table. ``messages`` must be sent.
    """

    new: int
    again: int = 0
    stale: Mapping[str, int] = {}
    messages: Sequence[Message] = ()


def landed(ledger: Ledger, catalogue: Catalogue, message: Landed) -> Sequence[Message]:
    try:
        return land(ledger, catalogue, message.table, message.partitions, again=message.again).messages
    except BadRequest as error:
        raise BadMessage(error.what, where=error.where, advice=error.advice) from error


def land(
    ledger: Ledger, catalogue: Catalogue, table: str, texts: Iterable[str], *, again: bool = False
) -> LandingResult:
    """Record that these partitions, or ranges of partitions, exist. Jobs that wait for them go on.

    A repetition changes nothing. With ``again`` existing ones have new contents, and the partitions that were made from
    them become stale. Then each repetition is another landing.

    BadRequest for a table that no app fills or reads, and for a text that is not a partition of it.
    """
    known = table_of(catalogue, table)
    found = _read(table, known.calendar, texts)
    work = partial(_land, table=known, found=found, catalogue=catalogue if again else None)
    return ledger.transact(work)


def stale_partitions(
    tx: Tx,
    catalogue: Catalogue,
    table: str | None = None,
    texts: Iterable[str] = (),
    *,
    by: Mapping[str, str | Sequence[str]] | None = None,
) -> list[Submission]:
    """Return submissions that make all stale partitions again, one for each app, in the order of their dependencies.

    With a ``table``: only partitions that are made from it, or from these partitions of it, or only of the slices that
    ``by`` selects. BadRequest as for ``land``.
    """
    known = partitions.LedgerTables(tx)
    among: Mapping[str, Sequence[Span]] | None = None
    if table is None and by is not None:
        raise BadRequest("Slices need a table.", advice="Name the table that they belong to.")
    if table is not None:
        changed = dict(_changed(catalogue, slices_by(catalogue, table, by), texts))
        among = touched(catalogue, changed, known.existing)
    found: dict[str, list[str]] = {}
    for each in sorted(tables_of(catalogue), key=lambda table: _rank(catalogue, table)):
        maker = each.app or each.daily_maker
        if maker is None:
            continue
        stale = united(part.span for part in known.existing(each.name, each.version, ALL) if part.is_outdated)
        spans = stale if among is None else in_both(stale, among.get(each.name, ()))
        if (first := filling_of(maker).first) is not None:
            spans = in_both(spans, [Span(first, ALL.last)])
        if spans:
            found.setdefault(maker.name, []).extend(_keys(catalogue, each, spans))
    return [Submission(app=app, keys=tuple(keys)) for app, keys in found.items()]


def _changed(
    catalogue: Catalogue, tables: Sequence[str], texts: Iterable[str]
) -> Iterator[tuple[str, list[Span]]]:
    """Yield each table with these partitions, or with all."""
    texts = [*texts]
    for name in tables:
        read = _read(name, table_of(catalogue, name).calendar, texts)
        yield name, [Span(each, each) for each in read] or [ALL]


def _rank(catalogue: Catalogue, table: TableOf) -> tuple[int, str]:
    return (catalogue.rank(table.filled_by), table.filled_by) if table.filled_by else (-1, table.name)


def _keys(catalogue: Catalogue, table: TableOf, spans: Iterable[Span]) -> Iterator[str]:
    """Yield keys that request these partitions: of the spans, or of the jobs that make the days."""
    if table.app:
        yield from (text_of(table.app, span) for span in spans)
    elif table.daily_maker:
        daily_jobs = DailyJobs(catalogue, table.daily_maker)
        days = (day for span in spans for day in range(span.first, span.last + 1))
        yield from (name.key for day in days for name in daily_jobs.of_day(day))


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


def _land(tx: Tx, *, table: TableOf, found: list[int], catalogue: Catalogue | None) -> LandingResult:
    """Land the partitions. With a catalogue, existing partitions land again."""
    if catalogue:
        again, stale = _land_again(tx, catalogue, table, found)
    else:
        partitions.lock_tables(tx, [table.name])
        again, stale = 0, {}
    new = partitions.land(tx, table.name, table.version, found)
    return LandingResult(new=new, again=again, stale=stale, messages=end_awaited(tx, table, found))


def end_awaited(tx: Tx, table: TableOf, found: Sequence[int]) -> list[Message]:
    """End the placeholder jobs that wait for these landed partitions, in order. Return the message about their end."""
    awaited = partitions.awaited(tx, table.name) if found else {}
    ended = partitions.land_jobs(tx, _come(table.calendar, awaited, found)) if awaited else []
    return [Ended(jobs=tuple(ended))] if ended else []


def _land_again(tx: Tx, catalogue: Catalogue, table: TableOf, found: list[int]) -> tuple[int, dict[str, int]]:
    """Land the existing partitions again, and mark the partitions that are made from them as stale. Return the number
    of existing partitions, and by table the number of stale ones."""
    places = [(filling_of(app).table, app.table_version) for app in downstream(catalogue, [table.name])]
    partitions.lock_tables(tx, [table.name, *(name for name, _ in places)])
    known = partitions.LedgerTables(tx)
    # Lock the jobs before any partition is written, in the order of a worker that records their success.
    makers = {each.by.id for place in places for each in known.existing(*place, ALL) if each.by}
    waiting = partitions.hold_waiting(tx, sorted(makers))
    old = partitions.land_again(tx, table.name, table.version, found)
    changed = [Span(each, each) for each in old]
    spans = touched(catalogue, {table.name: changed}, known.existing, waiting=waiting) if old else {}
    stale = {
        name: partitions.mark_stale(tx, name, version, spans[name])
        for name, version in places
        if name in spans
    }
    return len(old), stale


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
