"""Due times of schedules and their outcomes. The only package that imports APScheduler. Pure: the caller passes the
time.

    ticks         ticks of the groomer and the schedule checks
    due_times     due times of a rule, in order
    jitter        time at which a due time is fired
    passed        due times that have come, and which of them are still fired
    turns         firings in order, given the open submissions
    overlap       effect of an open submission on the next due times
    policy        outcomes of all due times of one schedule

Invariants: a due time and its jitter are functions of the definition alone, the same in every process and after every
restart. Every due time that has come gets one outcome.
"""
