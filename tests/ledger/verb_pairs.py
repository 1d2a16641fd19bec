"""Pairs of concurrent verbs: at least one pair for every two verbs, and for each verb with itself."""

from collections.abc import Mapping, Sequence

from sluice.jobs.model.job import Ending
from tests.ledger.verb_races import Act, Meeting, Pair, Verb


def judge_and_plan(m: Meeting) -> tuple[Act, Act]:
    return m.judge("a"), m.plan("c")


def two_judges(m: Meeting) -> tuple[Act, Act]:
    m.record("b").do(m.world.ledger)
    return m.judge("a"), m.judge("b")


def one_judge_twice(m: Meeting) -> tuple[Act, Act]:
    return m.judge("a"), m.judge("a")


def two_plans(m: Meeting) -> tuple[Act, Act]:
    return m.plan("c"), m.plan("d")


def cancel_and_plan(m: Meeting) -> tuple[Act, Act]:
    return m.cancel(), m.plan("d")


def cancel_and_record(m: Meeting) -> tuple[Act, Act]:
    return m.cancel(), m.record("b")


def cancel_and_judge(m: Meeting) -> tuple[Act, Act]:
    return m.cancel(), m.judge("a")


def cancel_and_judge_a_failure(m: Meeting) -> tuple[Act, Act]:
    m.record("b", Ending.ERROR).do(m.world.ledger)
    return m.cancel(), m.judge("b")


def groom_and_record(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.groom(), m.record("b")


def two_grooms(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.groom(), m.groom()


def two_claims(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    return m.claim_again("b"), m.claim_again("b")


def claim_and_cancel(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    return m.claim_again("b"), m.cancel()


def rerun_and_judge(m: Meeting) -> tuple[Act, Act]:
    m.record("b", Ending.ERROR).do(m.world.ledger)
    return m.retry("c"), m.judge("b")


def change_and_judge_a_parent_that_stays(m: Meeting) -> tuple[Act, Act]:
    m.world.apps("a -> c, b, c -> d", max_fails=1)
    return m.plan("c"), m.judge("a")


def change_and_judge_a_parent_that_leaves(m: Meeting) -> tuple[Act, Act]:
    m.world.apps("b -> c, a, c -> d", max_fails=1)
    return m.plan("c"), m.judge("a")


def claim_and_plan_for_a_run(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    words = {"job_id": "{x}", "bash_cmd": "true"}
    m.world.define(
        {
            "a": words,
            "b": words,
            "c": {**words, "depends_on": {"app_name": ["b"], "when": "running"}},
            "d": {**words, "depends_on": {"app_name": ["c"]}},
        }
    )
    return m.claim_again("b"), m.plan("c")


def two_plans_that_claim(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    return m.plan_and_claim("b", "2"), m.plan_and_claim("b", "3")


def claim_and_plan_that_claims(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    return m.claim_again("b"), m.plan_and_claim("b", "2")


def cancel_and_plan_that_claims(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    return m.cancel(), m.plan_and_claim("b", "1")


def groom_and_plan_that_claims(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    m.go_unheard()
    return m.groom(), m.plan_and_claim("b", "2")


def plan_that_claims_and_settle(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.plan_and_claim("c", "2"), m.settle("b")


def judge_and_settle(m: Meeting) -> tuple[Act, Act]:
    return m.judge("a"), m.settle("b")


def settle_twice(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.settle("b"), m.settle("b")


def settle_and_plan(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.settle("b"), m.plan("c")


def settle_and_plan_a_child(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.settle("b"), m.plan("d")


def settle_and_cancel(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.settle("b"), m.cancel()


def settle_and_groom(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    m.lose_the_lease()
    return m.settle("b"), m.groom()


def settle_and_rerun(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.settle("b"), m.retry("a")


def judge_and_rerun(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    m.record("b").do(m.world.ledger)
    return m.judge("b"), m.retry("a")


def plan_and_record(m: Meeting) -> tuple[Act, Act]:
    return m.plan("c"), m.record("b")


def plan_and_groom(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.plan("d"), m.groom()


def plan_and_retry(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.plan("d"), m.retry("a")


def claim_and_record_a_returned_job(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    return m.claim_again("b"), m.record("b")


def claim_and_judge(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    return m.claim_again("b"), m.judge("a")


def claim_and_groom(m: Meeting) -> tuple[Act, Act]:
    m.hand_back("b")
    m.go_unheard()
    return m.claim_again("b"), m.groom()


def claim_and_retry(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    m.hand_back("b")
    return m.claim_again("b"), m.retry("a")


def record_and_record_otherwise(m: Meeting) -> tuple[Act, Act]:
    return m.record("b"), m.record("b", Ending.ERROR)


def record_and_judge(m: Meeting) -> tuple[Act, Act]:
    return m.record("b"), m.judge("a")


def record_and_retry(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.record("b"), m.retry("a")


def judge_and_groom(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.judge("a"), m.groom()


def judge_and_groom_without_a_message(m: Meeting) -> tuple[Act, Act]:
    m.go_unheard()
    return m.judge("a"), m.groom()


def claim_and_settle(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    m.hand_back("b")
    return m.claim_again("b"), m.settle("b")


def record_and_settle(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.record("b", Ending.ERROR), m.settle("b")


def two_cancels(m: Meeting) -> tuple[Act, Act]:
    return m.cancel(), m.cancel()


def cancel_and_groom(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.cancel(), m.groom()


def cancel_and_retry(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.cancel(), m.retry("a")


def groom_and_retry(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    m.lose_the_lease()
    return m.groom(), m.retry("a")


def two_retries(m: Meeting) -> tuple[Act, Act]:
    m.judge("a").do(m.world.ledger)
    return m.retry("a"), m.retry("a", "job")


#: Pairs by their verbs. The tests stop each of the two in turn.
ENCOUNTERS: Mapping[tuple[Verb, Verb], Sequence[Pair]] = {
    (Verb.PLAN, Verb.PLAN): (
        two_plans,
        two_plans_that_claim,
    ),
    (Verb.PLAN, Verb.CLAIM): (
        claim_and_plan_for_a_run,
        claim_and_plan_that_claims,
    ),
    (Verb.PLAN, Verb.RECORD): (plan_and_record,),
    (Verb.PLAN, Verb.JUDGE): (
        judge_and_plan,
        change_and_judge_a_parent_that_stays,
        change_and_judge_a_parent_that_leaves,
    ),
    (Verb.PLAN, Verb.CANCEL): (
        cancel_and_plan,
        cancel_and_plan_that_claims,
    ),
    (Verb.PLAN, Verb.GROOM): (
        plan_and_groom,
        groom_and_plan_that_claims,
    ),
    (Verb.PLAN, Verb.RETRY): (plan_and_retry,),
    (Verb.PLAN, Verb.SETTLE): (
        settle_and_plan,
        settle_and_plan_a_child,
        plan_that_claims_and_settle,
    ),
    (Verb.CLAIM, Verb.CLAIM): (two_claims,),
    (Verb.CLAIM, Verb.RECORD): (claim_and_record_a_returned_job,),
    (Verb.CLAIM, Verb.JUDGE): (claim_and_judge,),
    (Verb.CLAIM, Verb.CANCEL): (claim_and_cancel,),
    (Verb.CLAIM, Verb.GROOM): (claim_and_groom,),
    (Verb.CLAIM, Verb.RETRY): (claim_and_retry,),
    (Verb.CLAIM, Verb.SETTLE): (claim_and_settle,),
    (Verb.RECORD, Verb.RECORD): (record_and_record_otherwise,),
    (Verb.RECORD, Verb.JUDGE): (record_and_judge,),
    (Verb.RECORD, Verb.CANCEL): (cancel_and_record,),
    (Verb.RECORD, Verb.GROOM): (groom_and_record,),
    (Verb.RECORD, Verb.RETRY): (record_and_retry,),
    (Verb.RECORD, Verb.SETTLE): (record_and_settle,),
    (Verb.JUDGE, Verb.JUDGE): (
        two_judges,
        one_judge_twice,
    ),
    (Verb.JUDGE, Verb.CANCEL): (
        cancel_and_judge,
        cancel_and_judge_a_failure,
    ),
    (Verb.JUDGE, Verb.GROOM): (
        judge_and_groom,
        judge_and_groom_without_a_message,
    ),
    (Verb.JUDGE, Verb.RETRY): (
        rerun_and_judge,
        judge_and_rerun,
    ),
    (Verb.JUDGE, Verb.SETTLE): (judge_and_settle,),
    (Verb.CANCEL, Verb.CANCEL): (two_cancels,),
    (Verb.CANCEL, Verb.GROOM): (cancel_and_groom,),
    (Verb.CANCEL, Verb.RETRY): (cancel_and_retry,),
    (Verb.CANCEL, Verb.SETTLE): (settle_and_cancel,),
    (Verb.GROOM, Verb.GROOM): (two_grooms,),
    (Verb.GROOM, Verb.RETRY): (groom_and_retry,),
    (Verb.GROOM, Verb.SETTLE): (settle_and_groom,),
    (Verb.RETRY, Verb.RETRY): (two_retries,),
    (Verb.RETRY, Verb.SETTLE): (settle_and_rerun,),
    (Verb.SETTLE, Verb.SETTLE): (settle_twice,),
}
