"""Everything goes wrong at once, on real servers and real processes, and a judge who trusts none of them looks at it.

    python -m tests.chaos --seconds 90 --seed 7 --broker redis

    python -m tests.chaos --seconds 600 --calm 4

A fleet of workers runs a mixture of every kind of job while a *nemesis* kills, stops and replaces them, turns their
clocks, cuts and slows their wires, kills the broker and the database, empties queues and says messages again. Then
everything heals, and all has to become terminal. A run leaves a *record folder*: what its jobs did (``effects/``,
written by the jobs themselves, outside the ledger), what clients saw accepted (``submitted.jsonl``), and what was done
to it (``nemesis.jsonl``).

The seed decides what is asked for, and what is done to whom and when. It does not decide how the threads of twenty
processes run, so a seed that has failed fails mostly, and not always, again.

What a crash leaves, and who is raced: a killed worker leaves claims to be taken over when its lease has ended; one
that was stopped for longer comes back late, and its claim is refused; a cut at a COMMIT leaves its outcome unknown to
whoever asked for it, who has to ask for it again and find that it is done. Nothing here knows how the product closes
these.

Nobody but the ``checker`` says whether a run was right. It reads the folder and the rows of the ledger after the fact,
and works out in plain Python what has to hold of them: it asks the product for its tables and its state machine, never
for its opinion. What holds of the judge: a true history breaks no rule, and for each rule there is a history, false in
one place, that breaks it (``test_checker``). A harness that cannot fail proves nothing.
"""
