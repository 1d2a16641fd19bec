"""Emptying of a ledger, for tests and simulations with a database of their own."""

from sluice.ledger.connection import Tx

TABLES = (
    *(
        "submission",
        "job",
        "wants",
        "need",
        "gate",
        "round",
        "transition",
        "owed",
        "freshness",
        "worker",
        "pace",
    ),
    *("pulse", "schedule", "firing", "partition", "app_version", "branch", "branch_sync", "counter"),
    *("step", "event", "early", "meter", "sweep", "litter", "app_pause", "audit", "breaker", "breaker_news"),
    *("tally", "tally_minute", "tally_stay", "tally_verb", "happening", "restoration", "retry_budget"),
    *("shared_kwargs", "plan_attempt"),
)
#: Ids begin again, so the counting of transitions must begin again too.
_COUNT_ANEW = "UPDATE tally_place SET counted = 0, settled = 0, mark = 0, mark_xid = 0, at = '-infinity'"
#: Bytes up to which tables are emptied by DELETE. TRUNCATE takes ten times as long unless they have much data, live or
#: dead.
_SWEPT_BYTES_MAX = 2 * 1024 * 1024
_CUT_OFF = f"TRUNCATE {', '.join(TABLES)} RESTART IDENTITY"
_EMPTY = f"""
DO $$ BEGIN
    IF (SELECT sum(pg_relation_size(name::regclass)) FROM unnest('{{{",".join(TABLES)}}}'::text[]) AS each (name))
       > {_SWEPT_BYTES_MAX} THEN
        {_CUT_OFF};
    ELSE
        {" ".join(f"DELETE FROM {name};" for name in TABLES)}
        PERFORM setval(quote_ident(sequencename)::regclass, 1, false) FROM pg_sequences
        WHERE schemaname = current_schema();
    END IF;
    {_COUNT_ANEW};
END $$
"""


def empty(tx: Tx) -> None:
    """Empty the ledger, as if it had never been used."""
    tx.write(_EMPTY)


def cut_off(tx: Tx) -> None:
    """Empty the ledger by TRUNCATE, which leaves no dead rows either."""
    tx.write(_CUT_OFF)
    tx.write(_COUNT_ANEW)
