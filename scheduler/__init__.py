"""Due times of schedules and their outcomes. The only package that imports APScheduler. Pure: the caller passes the
time.

    tick_clock    ticks of the groomer and the schedule checks
    due_times     due times of a rule, in order, and the jitter of each
    misfires      due times that have come, and which of them are still fired
    overlap       firings in order, given the open submissions of the schedule
    evaluate      outcomes of all due times of one schedule

Invariants: a due time and its jitter are functions of the definition alone, the same in every process and after every
restart. Every due time that has come gets one outcome.
"""
