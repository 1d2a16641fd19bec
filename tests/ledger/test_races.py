"""Races of every two verbs, stopped at every statement.

The ledger stays consistent, and every job ends.

If the child is not planned yet, the second verb is stopped. If it is planned, the first verb is stopped.
``test_races_the_other_way.py`` has the other two cases.
"""

from itertools import combinations_with_replacement

import pytest

from sluice.ledger.job_graph import dependencies
from sluice.ledger.lifecycle import plans
from tests.ledger.verb_pairs import ENCOUNTERS, judge_and_plan
from tests.ledger.verb_races import Pair, Verb, meet_at_each_statement

PAIRS = pytest.mark.parametrize(
    ("verbs", "pair"),
    [(verbs, pair) for verbs, pairs in ENCOUNTERS.items() for pair in pairs],
    ids=lambda value: value.__name__ if callable(value) else "",
)


def test_every_two_verbs_race_each_other_and_each_verb_races_itself() -> None:
    assert set(ENCOUNTERS) == set(combinations_with_replacement(Verb, 2))
    assert all(ENCOUNTERS.values())


@pytest.mark.parametrize(("planned", "swapped"), [(True, False), (False, True)], ids=str)
@PAIRS
def test_two_verbs_that_race_keep_the_rules_and_every_job_ends(
    embedded_url: str, verbs: tuple[Verb, Verb], pair: Pair, planned: bool, swapped: bool
) -> None:
    meet_at_each_statement(embedded_url, pair, verbs, planned=planned, swapped=swapped)


def test_without_the_lock_on_parents_a_wake_up_is_lost(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the races can fail: a plan that does not lock the parents that it reads leaves its child waiting."""
    monkeypatch.setattr(dependencies, "_HOLD_PARENTS", "SELECT 1 WHERE %(jobs)s::bigint[] IS NOT NULL")
    monkeypatch.setattr(plans, "_HOLD", plans._HOLD.replace(" FOR SHARE", ""))
    with pytest.raises(AssertionError, match="the propagation outbox"):
        meet_at_each_statement(
            embedded_url, judge_and_plan, (Verb.JUDGE, Verb.PLAN), planned=False, swapped=True
        )
