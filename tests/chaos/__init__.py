"""Chaos: all faults at once, on real servers and processes, judged by a checker that trusts none of them.

    python -m tests.chaos --seconds 90 --seed 7 --broker redis

    python -m tests.chaos --seconds 600 --calm 4

A fleet of workers runs a mixture of every kind of job. Meanwhile a *nemesis* kills, stops and replaces workers, changes
their clocks, and cuts and slows their connections. It also kills the broker and the database, empties queues and
repeats messages. Then everything heals, and all jobs must become terminal. A run leaves a *record folder*: the effects
of its jobs (``effects/``, written by the jobs themselves, outside the ledger), the submissions that clients saw
accepted (``submitted.jsonl``), and the acts of the nemesis (``nemesis.jsonl``).

The seed determines the submissions and the acts, with their targets and times. It does not determine how the threads of
twenty processes are scheduled. So a seed that has failed fails again mostly, but not always.

Effects of crashes: the claims of a killed worker are taken over when its lease has ended. A worker that was stopped for
longer comes back late, and its claim is refused. A connection that is cut at a COMMIT leaves the outcome unknown. The
caller has to repeat the operation, and may find it done. Nothing here knows how the product handles these.

Only the ``checker`` decides whether a run was right. It reads the folder and the rows of the ledger afterwards, and
computes in plain Python the conditions that must hold. It uses the tables and the state machine of the product, but
none of its decisions. Its own test: a true history breaks no rule, and for each rule there is a history, false in one
place, that breaks it (``test_checker``). A test harness that cannot fail proves nothing.
"""
