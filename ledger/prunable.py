"""Which jobs retention looks at: said apart from the tables, for workers have no use for what these are made with."""

from sluice.jobs.states import TERMINAL, State, sql_list

_ENDED = sql_list(*(state for state in State if state in TERMINAL))

#: Whether a job has ended, has a history left since, and nobody has to collect it first. One that flies is a saga that
#: could not be undone: somebody has still to deal with it.
HAS_HISTORY = (
    f"state IN ({_ENDED}) AND NOT flying AND (pruned_at IS NULL OR pruned_at <= changed_at)"
    f" AND (NOT collect OR archived_at IS NOT NULL OR state = '{State.SPLIT}')"
)
