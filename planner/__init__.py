"""Planning and judging: the jobs and verdicts that follow from a message.

This package contains three things: the keyspaces (which jobs need which), the walk from requested jobs to their missing
parents, and the rules for judging an outcome.

Everything here is pure. Functions take values and, if it matters, the time. They return values that describe what to
do. The dependencies between jobs are one relation, read from both ends: ``gates`` and ``children`` of a keyspace are
inverse for every catalogue.

This package must not depend on the ledger, the broker, the clock or the environment.
"""
