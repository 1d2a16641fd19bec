"""Findings about the ledger: the server, its schema, long transactions, and its consistency."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sluice.jobs.text.units import counted
from sluice.ledger.notifications.dead_letters import DeliveryCounts
from sluice.ledger.reads.server_health import LONG_S, TOLD_MAX, VERSION_MIN, Long, ServerFacts, TableSize
from sluice.ledger.recovery.invariants import Breach
from sluice.ledger.schema import migrate
from sluice.ledger.schema.migrate import Schema
from sluice.ops.documents.rule_texts import advice, examples
from sluice.ops.observe.doctor.finding import Finding, bad, ok, warn
from sluice.ops.text import ago, span

ABOUT = "ledger"
#: Minimum number of free connections. With fewer, the next worker may not get all of its own.
PLACES_MIN = 10
#: Seconds by which clocks may differ. A smaller difference has no visible effect on lists and due times.
APART_S_MAX = 2.0


def schema(found: Schema | None, *, where: str) -> Finding:
    if found is None:
        return ok(
            ABOUT, "It contains no ledger yet; the first command that needs one creates it.", where=where
        )
    if found.revision == migrate.REVISION:
        told = f"Its schema is at {found.revision}, as this version requires."
        return ok(ABOUT, told, where=where)
    told = f"Its schema is at {found.revision}; this version of Sluice works with {migrate.REVISION}."
    return (warn if found.is_ours else bad)(ABOUT, told, migrate.remedy(found), where=where)


def server(found: ServerFacts, *, where: str) -> Iterator[Finding]:
    if found.version < VERSION_MIN:
        yield bad(
            ABOUT,
            f"It is Postgres {found.release}, and has to be {VERSION_MIN // 10000} or newer.",
            "Upgrade the server.",
            where=where,
        )
    else:
        yield ok(ABOUT, f"It is Postgres {found.release}.", where=where)
    if found.standby:
        yield bad(
            ABOUT,
            "It is a standby of another server and accepts no writes.",
            "Point SLUICE_LEDGER_URL at the primary, or promote this server.",
            where=where,
        )
    if not found.autovacuum:
        yield bad(
            ABOUT,
            "Autovacuum is off: every change leaves a dead row, and none is removed.",
            "Set autovacuum and track_counts to on, and reload the server.",
            where=where,
        )
    if not found.fsync:
        yield warn(
            ABOUT,
            "It does not wait for the disk (fsync is off): a crash of the machine may destroy all of it.",
            "Set fsync to on, unless its data is expendable.",
            where=where,
        )
    yield _places(found, where=where)


def clocks(found: ServerFacts, before: datetime, after: datetime, *, where: str) -> Finding:
    """Compare the clocks. ``before`` and ``after`` are the local times around the query for the ledger's time."""
    apart_s = max((before - found.now).total_seconds(), (found.now - after).total_seconds(), 0.0)
    if apart_s < APART_S_MAX:
        return ok(ABOUT, "Its clock and the local clock agree.", where=where)
    side = "behind" if before > found.now else "ahead of"
    return warn(
        ABOUT,
        f"Its clock is {span(apart_s)} {side} the local clock; due times and leases use the ledger's clock.",
        "Set the clocks of both machines by NTP.",
        where=where,
    )


def transactions(found: Sequence[Long], now: datetime, *, where: str) -> Iterator[Finding]:
    for each in found:
        who = f"{each.name} (process {each.pid}, {each.doing})" if each.pid else f"{each.name} (prepared)"
        end = f"SELECT pg_terminate_backend({each.pid})" if each.pid else f"ROLLBACK PREPARED '{each.name}'"
        yield warn(
            ABOUT,
            f"A transaction of {who} is open since {ago(each.since, now)}; dead rows stay until it ends.",
            f"End it, if it is not needed: {end}",
            where=where,
        )
    if not found:
        yield ok(ABOUT, f"No visible transaction is open for longer than {span(LONG_S)}.", where=where)


def tables(found: Sequence[TableSize], *, where: str) -> Iterator[Finding]:
    for each in found:
        if each.left_out:
            yield bad(
                ABOUT,
                f"Autovacuum skips the table {each.name}: its dead rows stay.",
                f"ALTER TABLE {each.name} RESET (autovacuum_enabled)",
                where=where,
            )
        elif each.is_overgrown:
            yield warn(
                ABOUT,
                f"The table {each.name} has about {each.dead:,} dead rows and {each.living:,} living rows.",
                f"Find out what blocks autovacuum (an old transaction?), then run VACUUM {each.name}.",
                where=where,
            )


def notifications(found: DeliveryCounts, *, where: str) -> Iterator[Finding]:
    if found.dead:
        yield warn(
            ABOUT,
            f"The delivery of {counted(found.dead, 'notification')} was given up.",
            "`sluice notifications ls` shows the errors, and `sluice notifications retry --all` sends them again.",
            where=where,
        )


def agreement(found: Sequence[Breach] | None, *, where: str) -> Iterator[Finding]:
    """Yield the broken rules. ``found`` is None if the check took too long."""
    if found is None:
        yield ok(ABOUT, "It is too large for a quick check; run `sluice db check`.", where=where)
    elif not found:
        yield ok(ABOUT, "It is consistent.", where=where)
    for each in found or ():
        named = examples(each, most=TOLD_MAX)
        yield bad(
            ABOUT,
            f"This rule is broken: {each.rule}. It is broken by {each.things}: {named}",
            advice(each),
            where=where,
        )


def _places(found: ServerFacts, *, where: str) -> Finding:
    left = found.places - found.taken
    told = f"{counted(max(left, 0), 'connection')} of {found.places} left"
    if left >= PLACES_MIN:
        return ok(ABOUT, f"There are {told}.", where=where)
    return warn(
        ABOUT,
        f"There are {told}: the next worker may get none.",
        "Raise max_connections, run fewer processes, or use a connection pooler.",
        where=where,
    )
