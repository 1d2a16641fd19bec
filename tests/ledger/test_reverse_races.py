"""Races of the pairs in ``test_races.py`` with the other verb stopped."""

import pytest

from tests.ledger.test_races import PAIRS
from tests.ledger.verb_races import Pair, Verb, meet_at_each_statement


@pytest.mark.parametrize(("planned", "swapped"), [(True, True), (False, False)], ids=str)
@PAIRS
def test_two_verbs_that_race_keep_the_rules_and_every_job_ends(
    embedded_url: str, verbs: tuple[Verb, Verb], pair: Pair, planned: bool, swapped: bool
) -> None:
    meet_at_each_statement(embedded_url, pair, verbs, planned=planned, swapped=swapped)
