"""Checker of a run: applies every rule to its history."""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from tests.chaos import history
from tests.chaos.history import History
from tests.chaos.rules import (
    claims,
    jobs,
    order,
    partitions,
    pools,
    sagas,
    schedules,
    submissions,
    transactions,
)

Rule = Callable[[History], Iterator[str]]

RULES: tuple[Rule, ...] = (
    submissions.accepted_submissions_are_there,
    submissions.every_submission_has_ended,
    submissions.succeeded_submissions_have_all_their_jobs,
    submissions.unwanted_jobs_are_not_begun,
    jobs.histories_follow_the_state_table,
    jobs.rows_are_where_their_histories_lead,
    jobs.claims_count_up_one_by_one,
    jobs.every_job_has_ended,
    jobs.nothing_is_under_way,
    jobs.the_ledger_agrees_with_itself,
    claims.claims_have_one_outcome_each,
    claims.claims_do_not_overlap,
    claims.work_is_done_under_a_claim,
    claims.a_claim_begins_its_job_once,
    claims.ends_follow_starts,
    claims.succeeded_jobs_were_done,
    claims.only_lost_claims_are_overtaken,
    claims.runs_of_a_job_do_not_overlap,
    order.children_are_claimed_after_their_parents,
    order.children_begin_after_their_parents_are_done,
    schedules.due_times_have_one_submission_at_most,
    schedules.no_due_time_is_passed_over,
    sagas.sagas_are_completed_or_undone,
    sagas.steps_are_undone_in_reverse_order,
    sagas.journals_are_written_under_the_current_claim,
    sagas.flights_keep_their_course,
    partitions.partitions_are_made_once,
    partitions.partitions_belong_to_who_made_them,
    transactions.writes_of_a_success_are_there_once,
    pools.no_more_run_at_once_than_may,
)


class Violation(Struct, frozen=True):
    """One violation. ``rule`` does not hold at ``what``."""

    rule: str
    what: str


def check(folder: Path, ledger_url: str) -> list[Violation]:
    """Return all violations of the run with this record folder and this ledger."""
    return judge(history.read(folder, ledger_url))


def judge(found: History) -> list[Violation]:
    return [Violation(named(rule), what) for rule in RULES for what in rule(found)]


def named(rule: Rule) -> str:
    """Return the name of a rule in words, for example ``claims do not overlap``."""
    return rule.__name__.replace("_", " ")
