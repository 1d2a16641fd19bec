"""The record of every job: schema, transitions and queries. The only package with SQL.

Owns: the schema and its migrations, every verb that changes a job, the queries for people, the embedded Postgres.

Invariants:

- A job changes state only by a verb of ``jobs.states``, in one guarded statement that also writes the history
  (``sql.move``). A refused transition is an answer, never an error.
- Every verb takes a set, is safe to repeat, and runs in a transaction that its caller opens
  (``connection.Ledger.transact``) and that may run again after a deadlock.
- Some rows serve as their own outbox: a ready job that was not announced recently, an executed job, a received
  submission, and a row of ``owed`` (the propagation outbox). No job needs a particular message in order to end.
- Locks are taken in this order: parents' job rows, needs, gates, children's job rows; each in id order.

    planning, reviving          planned and rerun jobs      claims      claims by workers
    choosing                    jobs that a claim takes     urgency     urgency inherited from waiting children
    release, counts             open dependency groups      judging     state changes that follow from an outcome
    submissions, wishes         requests for jobs           grooming    repair of lost messages, due jobs
    pausing                     paused submissions
    opening                     tasks and their numbers     collecting  results that were or were not collected
    workers                     leases                      schedules   due times and their submissions
    pruning, litter             retention, blob deletion
    tallies                     state counts                app_pauses  paused apps
    breakers, breaker_news      circuit breakers of apps
    audit                       acts requested by people    crowd       load fixture for measurements
    connection, driver          access to the database      reads/      queries for people

Must not know: definitions, keyspaces, brokers, callers. Times that are compared come from the database's clock.
"""
