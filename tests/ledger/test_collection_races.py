"""Races of archiving against a rerun and against another archiving, stopped at every statement."""

from collections.abc import Sequence

import pytest

from sluice.broker.messages import Message
from sluice.ledger import managed_tasks
from sluice.ledger.managed_tasks import Finished
from tests.ledger.races import Act, Acts, meet
from tests.ledger.results import finished, keys, one_done


def _archiving(seen: Finished) -> Act:
    return lambda ledger: ledger.transact(lambda tx: managed_tasks.archive(tx, [seen]))


@pytest.mark.parametrize("swapped", [False, True], ids=["archived first", "run again first"])
def test_a_job_that_is_archived_during_a_rerun_is_uncollected_again(embedded_url: str, swapped: bool) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        return _archiving(one_done(m.world)), m.plan("a", rerun="job")

    def check(m: Acts, _: object, messages: list[Message] | None) -> None:
        m.world.queue.extend(messages or [])
        m.world.deliver()
        assert m.world.field("a", "archived_at") is None
        m.world.finish("a")
        assert keys(finished(m.world)) == ["1"]

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=80)


def test_of_two_concurrent_archivings_of_a_result_one_succeeds(embedded_url: str) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        seen = one_done(m.world)
        return _archiving(seen), _archiving(seen)

    def check(_: Acts, one: Sequence[object], two: Sequence[object]) -> None:
        assert sorted(map(len, (one, two))) == [0, 1]

    meet(lambda: Acts(embedded_url), arrange, check, swapped=False, most=10)
