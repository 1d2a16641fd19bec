"""What has happened: the one truth about every job. The only SQL.

Owns: the schema and its migrations, every verb that changes a job, what people read, the embedded Postgres.

What holds:

- A job changes state by a verb of ``jobs.states`` alone, in one guarded statement that also writes the
  history (``sql.move``). A refused transition is an answer, never an error.
- Every verb takes a set, is safe to repeat, and runs in a transaction that its caller opens
  (``connection.Ledger.transact``) and that may run again after a deadlock.
- A row that is ready and was not lately announced is its own outbox, so is an executed one, a received
  submission, and a row of ``owed``. Nothing has to be published for anything to come to an end.
- Locks are taken in this order: parents' job rows, needs, gates, children's job rows; each in id order.

    planning, reviving          what is wanted enters        claims      a worker's side
    choosing                    which jobs a hint is for     urgency     who lends whom how much
    release, counts             gates open and shut          judging     what follows from an outcome
    submissions, wishes         who wants what               grooming    what was lost or has become due
    pausing                     what is not begun for now
    opening                     tasks and their numbers      collecting  who has heard what jobs came to
    workers                     leases                       schedules   due times, and what became of them
    pruning, litter             what is not kept any longer
    tallies                     what all of it comes to        app_pauses  apps that stand still
    breakers, breaker_news      apps that keep failing stop for a while
    audit                       who asked for what             crowd       a history made at once, to measure with
    connection, driver          the way to the database      reads/      what people ask

Must not know: definitions, keyspaces, brokers, who calls. Times that are compared are the database's own.
"""
