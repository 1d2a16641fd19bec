"""Every rule of a job's row is enforced by the database, and the error names it."""

import psycopg
import pytest

from sluice.ledger.schema.job_rules import RULES
from tests.world import World

#: For each rule, a change of a job that is ready, which breaks it and no earlier rule.
_BREAKS = {
    "job_state": "state = 'odd'",
    "job_counts": "fails = -1",
    "job_round": "round = 5",
    "job_worker": "worker = gen_random_uuid()",
    "job_looked_after": "state = 'running'",
    "job_unblocked": "unblocked = false",
    "job_paused": "paused = true",
    "job_archived": "archived_at = now()",
    "job_pool": "pool = 'p'",
    "job_rate_bucket": "rate_bucket = 'b'",
    "job_waiting_for_slot": "waiting_for_slot = true",
    "job_saga_open": "state = 'skipped', saga_open = true",
    "job_expansion": "expansion = 'odd'",
    "job_undoes": "undoes = 1",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_row_that_breaks_a_rule_is_refused_by_its_name(world: World, rule: str) -> None:
    world.apps("a")
    world.submit("a")
    change = f"UPDATE job SET {_BREAKS[rule]}"
    with psycopg.connect(world.url) as connection:
        with pytest.raises(psycopg.errors.CheckViolation) as caught:
            connection.execute(change.encode())
        assert caught.value.diag.constraint_name == rule
