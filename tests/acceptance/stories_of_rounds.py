"""Stories of one job: the policy of its submission, and its script."""

from tests.acceptance.round_script import Story

STORIES = (
    Story(
        "a run that succeeds",
        {},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends ok       executed/0/0/0    0:output 0:error 0:executed
        judged        succeeded/0/0/0   0:succeeded
        """,
    ),
    Story(
        "a run that fails for good at once",
        {"max_fails": 0},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends fail     executed/0/0/0    0:output 0:error 0:executed
        judged        failed/0/1/0      0:failure 0:failed
        """,
    ),
    Story(
        "three rounds that fail",
        {"max_fails": 2},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends fail     executed/0/0/0    0:output 0:error 0:executed
        judged        open/1/1/0        0:failure 1:open
        claim         running/1/1/0     1:running 1:worker
        ends fail     executed/1/1/0    1:output 1:error 1:executed
        judged        open/2/2/0        1:failure 2:open
        claim         running/2/2/0     2:running 2:worker
        ends fail     executed/2/2/0    2:output 2:error 2:executed
        judged        failed/2/3/0      2:failure 2:failed
        """,
    ),
    Story(
        "two rounds that fail and a third that succeeds",
        {"max_fails": 2},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends fail     executed/0/0/0    0:output 0:error 0:executed
        judged        open/1/1/0        0:failure 1:open
        claim         running/1/1/0     1:running 1:worker
        ends fail     executed/1/1/0    1:output 1:error 1:executed
        judged        open/2/2/0        1:failure 2:open
        claim         running/2/2/0     2:running 2:worker
        ends ok       executed/2/2/0    2:output 2:error 2:executed
        judged        succeeded/2/2/0   2:succeeded
        """,
    ),
    Story(
        "timeouts that the worker sees",
        {"timeout": 5, "max_timeouts": 1},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends over     open/1/0/1        0:output 0:error 0:timeout 1:open
        after 1       open/1/0/1
        claim         running/1/0/1     1:running 1:worker
        ends over     timed_out/1/0/2   1:output 1:error 1:timeout 1:timed_out
        """,
    ),
    Story(
        "a timeout that the groomer sees",
        {"timeout": 5, "max_timeouts": 1},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        after 8       open/1/0/1        0:timeout 1:open
        claim w2      running/1/0/1     1:running 1:worker
        ends ok w2    executed/1/0/1    1:output 1:error 1:executed
        judged        succeeded/1/0/1   1:succeeded
        """,
    ),
    Story(
        "a worker that ends after the last timeout",
        {"timeout": 5},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        after 8       timed_out/0/0/1   0:timeout 0:timed_out
        late ok       timed_out/0/0/1
        late fail     timed_out/0/0/1
        late over     timed_out/0/0/1
        """,
    ),
    Story(
        "a late worker while another runs the next round",
        {"timeout": 5, "max_timeouts": 1},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        after 8       open/1/0/1        0:timeout 1:open
        late ok       open/1/0/1
        claim w2      running/1/0/1     1:running 1:worker
        late ok       running/1/0/1
        late over     running/1/0/1
        ends ok w2    executed/1/0/1    1:output 1:error 1:executed
        late fail     executed/1/0/1
        judged        succeeded/1/0/1   1:succeeded
        late ok       succeeded/1/0/1
        """,
    ),
    Story(
        "failures and timeouts are counted separately",
        {"timeout": 5, "max_timeouts": 1, "max_fails": 1},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        after 8       open/1/0/1        0:timeout 1:open
        claim         running/1/0/1     1:running 1:worker
        ends fail     executed/1/0/1    1:output 1:error 1:executed
        judged        open/2/1/1        1:failure 2:open
        claim         running/2/1/1     2:running 2:worker
        ends fail     executed/2/1/1    2:output 2:error 2:executed
        judged        failed/2/2/1      2:failure 2:failed
        """,
    ),
    Story(
        "no worker claims it before its end",
        {"end_before": 10},
        """
        submit        open/0/0/0        0:open
        after 9       open/0/0/0
        after 2       expired/0/0/0     0:expired
        unclaimable   expired/0/0/0
        """,
    ),
    Story(
        "its end had passed when it was submitted",
        {"end_before": -1},
        """
        submit        open/0/0/0        0:open
        unclaimable   open/0/0/0
        after 1       expired/0/0/0     0:expired
        """,
    ),
    Story(
        "a worker cannot claim it between its end and the groomer's tick",
        {"end_before": 10},
        """
        submit        open/0/0/0        0:open
        unseen 11     open/0/0/0
        unclaimable   open/0/0/0
        after 0       expired/0/0/0     0:expired
        """,
    ),
    Story(
        "ended in time and judged late",
        {"end_before": 10},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        unseen 9      running/0/0/0
        ends ok       executed/0/0/0    0:output 0:error 0:executed
        after 5       executed/0/0/0
        judged        succeeded/0/0/0   0:succeeded
        """,
    ),
    Story(
        "ended too late",
        {"end_before": 10},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        unseen 11     running/0/0/0
        ends ok       executed/0/0/0    0:output 0:error 0:executed
        judged        expired/0/0/0     0:expired
        """,
    ),
    Story(
        "expired while it runs",
        {"end_before": 10},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        after 11      expired/0/0/0     0:expired
        late ok       expired/0/0/0
        """,
    ),
    Story(
        "an end that has passed overrides a timeout",
        {"end_before": 10, "timeout": 5, "max_timeouts": 3},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        after 20      expired/0/0/0     0:expired
        """,
    ),
    Story(
        "an end that has passed overrides a failure",
        {"end_before": 10, "max_fails": 3},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        unseen 11     running/0/0/0
        ends fail     executed/0/0/0    0:output 0:error 0:executed
        judged        expired/0/0/0     0:expired
        """,
    ),
    Story(
        "a retry that expires",
        {"end_before": 10, "max_fails": 1},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends fail     executed/0/0/0    0:output 0:error 0:executed
        judged        open/1/1/0        0:failure 1:open
        after 11      expired/1/1/0     1:expired
        """,
    ),
    Story(
        "no worker can claim it before its start time",
        {"start_after": 3600},
        """
        submit        open/0/0/0        0:open
        unclaimable   open/0/0/0
        after 3599    open/0/0/0
        unclaimable   open/0/0/0
        after 1       open/0/0/0
        claim         running/0/0/0     0:running 0:worker
        """,
    ),
    Story(
        "a worker that dies, without a timeout",
        {"max_losses": 1},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        lost          open/1/0/0/1      0:lost 1:open
        claim w2      running/1/0/0/1   1:running 1:worker
        late ok w1    running/1/0/0/1
        ends ok w2    executed/1/0/0/1  1:output 1:error 1:executed
        judged        succeeded/1/0/0/1   1:succeeded
        """,
    ),
    Story(
        "a worker that dies more often than max_losses allows",
        {"max_losses": 0},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        lost          failed/0/0/0/1    0:lost 0:failed
        """,
    ),
    Story(
        "a worker that dies counts as a timeout if the job has one",
        {"timeout": 2, "max_timeouts": 1},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        lost          open/1/0/1        0:timeout 1:open
        """,
    ),
    Story(
        "handed back, and still the same round",
        {},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends back     open/0/0/0
        claim w2      running/0/0/0
        late ok w1    running/0/0/0
        ends ok w2    executed/0/0/0    0:output 0:error 0:executed
        judged        succeeded/0/0/0   0:succeeded
        """,
    ),
    Story(
        "the groomer judges a run if its message has not arrived",
        {},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        ends ok       executed/0/0/0    0:output 0:error 0:executed
        after 5       executed/0/0/0
        after 6       succeeded/0/0/0   0:succeeded
        """,
    ),
    Story(
        "cancelled while it runs",
        {},
        """
        submit        open/0/0/0        0:open
        claim         running/0/0/0     0:running 0:worker
        cancel        cancelled/0/0/0   0:cancelled
        late ok       cancelled/0/0/0
        """,
    ),
)
