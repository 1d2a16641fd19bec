"""Columns of ``job``: a plan determines the terms, and verbs write the other columns."""

from sluice.ledger.job_graph.insertion import TERMS
from sluice.ledger.schema.job_tables import job

#: Columns that are written when the job is inserted or moves, and are no terms of a plan. The rules of notification are
#: written by a statement of their own, only for jobs that have some (``notifications.subscriptions``).
WRITTEN_BY_VERBS = {
    *("id", "key", "state", "created_at", "changed_at", "dispatched_at", "dispatch_attempts", "worker"),
    *("round", "claim", "fails", "timeouts", "losses", "consecutive_fails", "attempt_timeout_at"),
    *(
        "effective_deadline",
        "paused",
        "waiting_for_slot",
        "archived_at",
        "pruned_at",
        "begun_at",
        "unbounded",
    ),
    *("handle", "next_poll_at", "poll_interval_s", "failed_polls", "external_status"),
    *("notify", "notify_on", "alerts", "late_at", "late", "due_within_s"),
    *("event", "flight", "saga_open", "saga_first_claim", "abort_reason", "undoes", "undoes_claim"),
    "expansion",
}
#: Columns that are sent for each job and not with the terms that many jobs share.
OF_EACH_JOB = {"work_ids", "bisected_from"}


def test_each_column_of_a_job_is_a_term_or_written_by_verbs() -> None:
    terms = {term.column for term in TERMS}
    assert terms | WRITTEN_BY_VERBS | OF_EACH_JOB == {column.name for column in job.columns}
    assert not terms & (WRITTEN_BY_VERBS | OF_EACH_JOB)
