"""Histories that are false in one place, with the rules of the checker that must notice each."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from sluice.jobs.model.history import Lost
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.recovery.invariants import Breach
from tests.chaos.checker import Rule
from tests.chaos.false_history import (
    Pick,
    Tamper,
    also,
    both,
    changed,
    doubled,
    moved,
    never_stopped,
    of,
    unwritten,
    without,
)
from tests.chaos.history import History
from tests.chaos.rows import Firing, Owed, Submission
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


def _unasked(history: History) -> Submission:
    """Return a submission for a due time that was not fired."""
    return structs.replace(
        history.rows.submissions[0], number=99, id="schedule:s:2026-01-01T00:00:05Z", app="often"
    )


def _again(history: History) -> Any:
    """Return a second success of a job of ``days``."""
    won = next(step for step in history.rows.transitions if of("days", target=State.SUCCEEDED)(history, step))
    return structs.replace(won, id=10_000)


def _handed_back_too(history: History) -> Any:
    """Return a hand-back of a claim that was also taken from its worker."""
    lost = next(step for step in history.rows.transitions if of("b", source=State.RUNNING)(history, step))
    return structs.replace(lost, target=State.READY, verb="hand_back", by="executor")


def _of_lone(key: str) -> Pick:
    return lambda history, row: history.jobs[row.job].name == f"lone/{key}"


#: By fault: how the history is changed, the rule that must notice it, and further rules that it breaks as well.
MUTATIONS: Mapping[str, tuple[Tamper, tuple[Rule, ...]]] = {
    "an accepted submission is missing": (
        without("submissions", lambda history, row: row.id == history.accepted[-1].id),
        (submissions.accepted_submissions_are_there,),
    ),
    "a submission never ends": (
        changed("submissions", of("c"), state=SubmissionState.ACTIVE, ended_at=None),
        (submissions.every_submission_has_ended,),
    ),
    "a submission succeeds before its job": (
        changed("submissions", of("c"), ended_at=lambda row: row.ended_at - 1),
        (submissions.succeeded_submissions_have_all_their_jobs,),
    ),
    "a job is begun after all its submissions were cancelled": (
        changed(
            "submissions",
            of("d", state=SubmissionState.SUCCEEDED),
            state=SubmissionState.CANCELLED,
            ended_at=lambda row: row.ended_at - 20,
        ),
        (submissions.unwanted_jobs_are_not_begun,),
    ),
    "a job jumps from ready to executed": (
        without("transitions", of("c", target=State.RUNNING)),
        (
            jobs.histories_follow_the_state_table,
            jobs.claims_count_up_one_by_one,
            claims.claims_have_one_outcome_each,
        ),
    ),
    "an executor judges": (
        changed("transitions", of("c", target=State.SUCCEEDED), by="executor"),
        (jobs.histories_follow_the_state_table,),
    ),
    "a row is not where its history leads": (
        changed("jobs", of("c"), state=State.FAILED),
        (jobs.rows_are_where_their_histories_lead,),
    ),
    "a round is not counted": (
        changed("jobs", of("a"), round=0),
        (jobs.rows_are_where_their_histories_lead,),
    ),
    "a claim is numbered like the one before it": (
        changed(
            "transitions",
            lambda history, row: of("b", verb="claim")(history, row) and row.claim == 2,
            claim=1,
        ),
        (jobs.claims_count_up_one_by_one, claims.claims_have_one_outcome_each),
    ),
    "a job never ends": (
        both(
            changed("jobs", of("d", key="2"), state=State.WAITING),
            changed("transitions", of("d", target=State.SUCCEEDED), target=State.WAITING, verb="retry"),
        ),
        (jobs.every_job_has_ended, submissions.succeeded_submissions_have_all_their_jobs),
    ),
    "a job is still held by a worker": (
        changed("jobs", of("c"), is_held=True),
        (jobs.nothing_is_under_way,),
    ),
    "a claim is left open": (
        changed("rounds", of("c"), ending=None),
        (jobs.nothing_is_under_way,),
    ),
    "the propagation outbox is not empty": (
        also("owed", lambda history: Owed(history.rows.jobs[0].id)),
        (jobs.nothing_is_under_way,),
    ),
    "an invariant of the ledger is broken": (
        also(
            "breaches",
            lambda _: Breach("dependency groups count their dependencies correctly", 1, "jobs", ["a/1"]),
        ),
        (jobs.the_ledger_agrees_with_itself,),
    ),
    "a claim has two outcomes": (
        also("transitions", _handed_back_too),
        (claims.claims_have_one_outcome_each, jobs.histories_follow_the_state_table),
    ),
    "two claims overlap in the ledger": (
        changed("rounds", of("b", claim=1), executed_at=lambda row: row.executed_at + 100),
        (claims.claims_do_not_overlap,),
    ),
    "work is done under a claim that never existed": (
        both(doubled(of("d", event="start"), claim=7), doubled(of("d", event="end"), claim=7)),
        (
            claims.work_is_done_under_a_claim,
            claims.only_lost_claims_are_overtaken,
            claims.runs_of_a_job_do_not_overlap,
        ),
    ),
    "work is done before its claim": (
        moved(of("d", event="start"), by_s=-2.0),
        (claims.work_is_done_under_a_claim,),
    ),
    "a job is begun twice under one claim": (
        doubled(of("d", event="start"), pid=3),
        (claims.a_claim_begins_its_job_once,),
    ),
    "a job ends without having begun": (
        unwritten(of("d", event="start")),
        (claims.ends_follow_starts,),
    ),
    "a job has succeeded without having been done": (
        unwritten(of("d", event="end")),
        (claims.succeeded_jobs_were_done,),
    ),
    "a claim is overtaken without having been lost": (
        changed("transitions", of("b", note=Lost.LEASE_LOST), verb="record", target=State.EXECUTED),
        (claims.only_lost_claims_are_overtaken, jobs.histories_follow_the_state_table),
    ),
    "a claim is overtaken before it is lost": (
        changed("transitions", of("b", note=Lost.LEASE_LOST), at=lambda row: row.at + 5),
        (claims.only_lost_claims_are_overtaken,),
    ),
    "a run overlaps the next run of its job": (
        never_stopped(),
        (claims.runs_of_a_job_do_not_overlap,),
    ),
    "a child is claimed before its second parent": (
        changed("transitions", of("c", verb="claim"), at=lambda row: row.at - 3),
        (order.children_are_claimed_after_their_parents,),
    ),
    "a child begins before its parent is done": (
        moved(of("a", event="end"), by_s=2.5),
        (order.children_begin_after_their_parents_are_done, claims.succeeded_jobs_were_done),
    ),
    "a due time has a submission though it was skipped": (
        changed("firings", lambda _, row: row.submission is not None, outcome="skipped"),
        (schedules.due_times_have_one_submission_at_most,),
    ),
    "a submission exists for a due time that was not fired": (
        also("submissions", _unasked),
        (schedules.due_times_have_one_submission_at_most,),
    ),
    "a due time is passed over": (
        without("firings", lambda history, row: row.submission is None and row != history.rows.firings[0]),
        (schedules.no_due_time_is_passed_over,),
    ),
    "a due time comes too early": (
        also("firings", lambda history: Firing("s", history.rows.firings[0].due + 5, "missed", None)),
        (schedules.no_due_time_is_passed_over,),
    ),
    "a saga has succeeded without its last step": (
        unwritten(of("trip", event="end", step="S2")),
        (sagas.sagas_are_completed_or_undone,),
    ),
    "a saga has failed, and a finished step is not undone": (
        unwritten(of("fall", event="undo", step="S0")),
        (sagas.sagas_are_completed_or_undone,),
    ),
    "a saga has failed, and a step that had only begun is not undone": (
        unwritten(of("fall", event="undo", step="S2")),
        (sagas.sagas_are_completed_or_undone, sagas.steps_are_undone_in_reverse_order),
    ),
    "a saga undoes its steps in the wrong order": (
        moved(of("fall", event="undo", step="S1"), by_s=1.5),
        (sagas.steps_are_undone_in_reverse_order,),
    ),
    "a journal entry is written too late": (
        changed("steps", of("trip", seq=1), at=lambda row: row.at + 100),
        (sagas.journals_are_written_under_the_current_claim,),
    ),
    "a journal entry is written under an overtaken claim": (
        changed("steps", of("trip", seq=3), claim=1),
        (sagas.journals_are_written_under_the_current_claim,),
    ),
    "a flight leaves out a step": (
        also("astray", lambda _: "entry 1 is followed by entry 3"),
        (sagas.flights_keep_their_course,),
    ),
    "a job is done only after it has succeeded": (
        moved(of("d", event="end"), by_s=1.5),
        (claims.succeeded_jobs_were_done,),
    ),
    "a partition is made twice": (
        both(also("transitions", _again), changed("partitions", lambda _, row: True, is_there=True)),
        (partitions.partitions_are_made_once, jobs.histories_follow_the_state_table),
    ),
    "a partition of a succeeded job is missing": (
        changed("partitions", lambda _, row: True, is_there=False),
        (partitions.partitions_belong_to_who_made_them,),
    ),
    "a row written with a success is missing": (
        without("stamps", lambda _, row: row.key == "2"),
        (transactions.writes_of_a_success_are_there_once,),
    ),
    "a row written with a success exists twice": (
        also("stamps", lambda history: history.rows.stamps[0]),
        (transactions.writes_of_a_success_are_there_once,),
    ),
    "a row written under a lost claim exists": (
        also("stamps", lambda history: structs.replace(history.rows.stamps[0], claim=2)),
        (transactions.writes_of_a_success_are_there_once,),
    ),
    "two jobs run at once in a pool with one slot": (
        changed("rounds", _of_lone("2"), running_at=lambda row: row.running_at - 1.5),
        (pools.no_more_run_at_once_than_may,),
    ),
    "a partition belongs to a job that does not exist": (
        changed("partitions", lambda _, row: True, job=lambda row: -1),
        (partitions.partitions_belong_to_who_made_them,),
    ),
}
