"""Planner, executor, groomer and scheduler: the handlers of messages, and the process that runs them.

Owns: the handlers, the composition root (``assembly``), settings, the worker process.

Invariants:

- A handler is a function of ledger, catalogue and message that returns messages. It does not publish, sleep, or read a
  clock or the environment. Running it twice does no harm.
- The messages that a handler returns are sent after its transaction is committed. Sending may fail, because the ledger
  has everything that a message names.
- Actors communicate only by messages. None waits for another.

Modules with side effects: ``running`` runs users' code between the executor's two transactions, and ``load`` holds the
jobs that a thread has claimed together. ``lifeline`` renews the lease, ``ticker`` sends the ticks, and ``lookout``
reloads changed ``definitions``. ``process`` combines them, and ``worker`` starts processes.

Must not depend on: SQL, dramatiq, the way anything is displayed.
"""
