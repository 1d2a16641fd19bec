"""Rules that every row of ``job`` follows, checked by one CHECK that calls a function.

Postgres reads the text of each CHECK again for each statement that writes a row. Fourteen of them took a tenth of its
time for a hop of a chain. A session compiles the function once. Measured: statements that write a single row take 0.78
to 0.85 of the time, batches of 100 rows the same time as before.

The error names the broken rule as its constraint, as if the rule was a CHECK of its own.

Unlike all other functions of the ledger, this function sets no ``search_path``, because that takes 1 to 2 µs for each
row: a tenth of a claim in a batch. It names only operators of Postgres, and runs with the rights of its caller.
"""

from collections.abc import Mapping

from sluice.jobs.states import RERUNNABLE, SAGA_OPEN, TERMINAL, State, sql_list

_ENDED = sql_list(*(state for state in State if state in TERMINAL))
_COLLECTED = sql_list(*(state for state in State if state in RERUNNABLE))
_SAGA_OPEN = sql_list(*(state for state in State if state in SAGA_OPEN))
#: The columns that the rules read, with their types.
_COLUMNS = {
    "state": "text",
    "round": "integer",
    "fails": "integer",
    "timeouts": "integer",
    "losses": "integer",
    "unblocked": "boolean",
    "worker": "uuid",
    "next_poll_at": "timestamptz",
    "paused": "boolean",
    "needs_collection": "boolean",
    "archived_at": "timestamptz",
    "pool": "text",
    "pool_limit": "integer",
    "rate_bucket": "text",
    "waiting_for_slot": "boolean",
    "saga_open": "boolean",
    "undoes": "bigint",
    "undoes_claim": "bigint",
    "expansion": "text",
}
#: The rules by name. Like a CHECK, a rule that is null is not broken.
RULES: Mapping[str, str] = {
    "job_state": f"state IN ({sql_list(*State)})",
    "job_counts": "fails >= 0 AND timeouts >= 0 AND losses >= 0",
    "job_round": f"round = fails + timeouts + losses OR state IN ({_ENDED})",
    "job_worker": f"worker IS NULL OR state = '{State.RUNNING}'",
    "job_looked_after": f"state <> '{State.RUNNING}' OR worker IS NOT NULL OR next_poll_at IS NOT NULL",
    "job_unblocked": f"state NOT IN ('{State.READY}', '{State.RUNNING}') OR unblocked",
    "job_paused": f"state <> '{State.READY}' OR NOT paused",
    "job_archived": f"archived_at IS NULL OR needs_collection AND state IN ({_COLLECTED})",
    "job_pool": "(pool IS NULL) = (pool_limit IS NULL) AND pool_limit > 0",
    "job_rate_bucket": "rate_bucket IS NULL OR pool IS NOT NULL",
    "job_waiting_for_slot": f"NOT waiting_for_slot"
    f" OR state = '{State.WAITING}' AND unblocked AND NOT paused AND pool IS NOT NULL",
    "job_saga_open": f"NOT saga_open OR unblocked AND state IN ({_SAGA_OPEN})",
    "job_expansion": "expansion IN ('open', 'entered')",
    "job_undoes": "(undoes IS NULL) = (undoes_claim IS NULL)",
}

#: The condition of the CHECK.
CHECK = f"job_follows_rules({', '.join(_COLUMNS)})"


def definition() -> str:
    """Return the statement that makes the function of the CHECK."""
    parameters = ",\n".join(f"    {column} {type_}" for column, type_ in _COLUMNS.items())
    cases = "\n".join(f"        WHEN NOT ({rule}) THEN '{name}'" for name, rule in RULES.items())
    return f"""CREATE FUNCTION job_follows_rules(
{parameters}
) RETURNS boolean LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    broken text := CASE
{cases}
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE check_violation USING
            MESSAGE = 'a row of job breaks the rule ' || broken, TABLE = 'job', CONSTRAINT = broken;
    END IF;
    RETURN true;
END
$$;
"""
