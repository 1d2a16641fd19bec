"""Load fixture: the ledger that it writes could have come about by running jobs."""

from datetime import UTC, datetime

from sluice.jobs.states import State
from sluice.ledger import fixtures
from sluice.ledger.reads.state_statistics import standing
from sluice.ledger.recovery.invariants import breaches
from tests.world import World

_PAGE_BYTES = 8192
_FILLED = """
SELECT sum(pg_column_size(round.*)) FROM round GROUP BY (ctid::text::point)[0] ORDER BY (ctid::text::point)[0]
"""
_FILLFACTOR = """
SELECT option_value::int FROM pg_class CROSS JOIN pg_options_to_table(reloptions)
WHERE oid = 'round'::regclass AND option_name = 'fillfactor'
"""


def test_the_load_fixture_keeps_every_rule(world: World) -> None:
    world.apps("a -> b -> c")
    since = datetime(2025, 1, 1, tzinfo=UTC)
    world.ledger.transact(
        lambda tx: fixtures.gather(tx, "abc", 2 * fixtures.FAILS_EVERY, since=since, apart_s=10.0)
    )
    assert world.ledger.transact(breaches) == []
    assert world.ledger.transact(standing) == {
        "a": {State.SUCCEEDED: 200},
        "b": {State.SUCCEEDED: 200},
        "c": {State.SUCCEEDED: 198, State.FAILED: 2},
    }
    world.submit("c", str(fixtures.FAILS_EVERY), id="again", rerun="job")
    world.finish(f"c/{fixtures.FAILS_EVERY}")
    assert world.submission("again") == "succeeded"


def test_rounds_of_the_load_fixture_fill_their_pages_as_ended_rounds(world: World) -> None:
    """Otherwise each page would have room for one open round."""
    world.ledger.transact(fixtures.cut_off)
    since = datetime(2025, 1, 1, tzinfo=UTC)
    world.ledger.transact(lambda tx: fixtures.gather(tx, "abc", 200, since=since, apart_s=10.0))
    filled = world.ledger.transact(lambda tx: tx.column(_FILLED))
    assert len(filled) > 5
    assert min(filled[:-1]) > 0.6 * _PAGE_BYTES
    assert world.ledger.transact(lambda tx: tx.column(_FILLFACTOR)) == [55]
