"""Planner, executor, groomer and scheduler: the handlers of messages, and the process that runs them.

Owns: the handlers, the composition root (``assembly``), settings, the worker process.

Invariants:

- A handler is a function of ledger, catalogue and message that returns messages. It does not publish, sleep, or read a
  clock or the environment. Running it twice does no harm.
- The messages that a handler returns are sent after its transaction is committed. Sending may fail, because the ledger
  has everything that a message names.
- Actors communicate only by messages. None waits for another.

    planner/    admission, plans by keyspace, bubble up and bubble down, judgements, events, pauses, retries
    executor/   claims, runs, outcomes, polls of external work
    groomer/    everything that is due, lost notifications, retention
    scheduler/  leadership, due schedules, operations by hand
    worker/     the process that runs the handlers: startup, queues, heartbeat, definitions, logs
    settings/   sources and values of settings, checks of transport security
    telemetry/  counters, traces, lineage
    client      for programs: submit, query, wait, cancel; ``tasks`` is its task API, ``async_client`` is for asyncio
    results     results of jobs, for clients and running jobs

Modules with side effects: ``executor.execution`` runs users' code between the executor's two transactions, and
``executor.batches`` holds the jobs that a thread has claimed together. ``worker.heartbeat`` renews the lease,
``scheduler.leader`` sends the ticks, and ``worker.definitions`` reloads changed definitions. ``worker.process``
combines them, and ``worker.command`` starts processes. ``end_listener`` is the thread of a client for calls that wait.

Must not depend on: SQL, dramatiq, the way anything is displayed.
"""
