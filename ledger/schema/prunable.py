"""Condition for the jobs that retention considers. It is not in the table modules, so that workers need not import
those."""

from sluice.jobs.states import TERMINAL, State, sql_list

_ENDED = sql_list(*(state for state in State if state in TERMINAL))

#: SQL that is true if a job has ended, has history to remove, and needs no collection first. A finished job that is
#: ``saga_open`` is a saga that could not be undone, so an operator still has to handle it.
HAS_HISTORY = (
    f"state IN ({_ENDED}) AND NOT saga_open AND (pruned_at IS NULL OR pruned_at <= changed_at)"
    f" AND (NOT needs_collection OR archived_at IS NOT NULL OR state = '{State.SPLIT}')"
)
