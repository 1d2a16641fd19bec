"""When something is due, and what becomes of it. The only room that knows APScheduler; pure, and told what time it is.

    ticks         the groomer's, and the looks at schedules
    due_times     of a rule, one after the other             jitter    when each is fired
    passed        which have come, and are still in time     turns     one after the other, in view of what is open
    overlap       what an open submission is to a schedule   policy    all of it, for one schedule

What holds: a due time and its jitter are functions of the definition alone, the same in every process and after
every restart. Every due time that has come gets one outcome.
"""
