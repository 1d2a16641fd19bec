"""The record of every job: schema, transitions and queries. The only package with SQL.

Owns: the schema and its migrations, every verb that changes a job, the queries for people, the embedded Postgres.

Invariants:

- A job changes state only by a verb of ``jobs.states``, in one guarded statement that also writes the history
  (``database.transitions.move``). A refused transition is an answer, never an error.
- Every verb takes a set, is safe to repeat, and runs in a transaction that its caller opens
  (``database.connection.Ledger.transact``) and that may run again after a deadlock.
- Some rows serve as their own outbox: a ready job that was not announced recently, an executed job, a received
  submission, and a row of ``propagation_outbox`` (the propagation outbox). No job needs a particular message in order
  to end.
- Locks are taken in this order: parents' job rows, needs, gates, children's job rows; each in id order.

    reads/      queries for people
    recovery/   leases, work of the groomer, check of all invariants, repair, restoration from a backup
    retention/  removal of old jobs and blobs
    lifecycle/  submissions, plans, claims, outcomes, judgements, bisection of failed chunks
    sagas/      journals, events, waits, abortion, compensation across apps
    keyspaces/  freshness of work IDs, partitions, stored definitions
    limits/     pools, pauses, circuit breakers, retry budgets
    job_graph/  jobs and their dependencies, requests, readiness, priorities, reruns
    schema/     tables, migrations, roles
    stats/      counts, durations, the audit log
    database/   connections, transactions, the statement of a transition, NOTIFY
    embedded/   a Postgres server that Sluice starts itself

Must not know: definitions, keyspaces, brokers, callers. Times that are compared come from the database's clock.
"""
