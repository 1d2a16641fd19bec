"""Planner, executor, groomer and scheduler: what is done about a message, and the process it is done in.

Owns: the handlers, the composition root (``assembly``), settings, the worker process.

What holds:

- A handler is a function of ledger, catalogue and message that returns messages. It does not publish, sleep,
  or read a clock or the environment, and running it twice does no harm.
- What a handler returned is sent after its transaction committed. Sending may fail: the ledger knows more.
- Actors know of each other only by messages. None waits for another.

The shells are few: ``running`` runs users' code between the executor's two transactions (``load`` is what a
thread has claimed for that), ``lifeline`` renews the lease, ``ticker`` sends the ticks, ``lookout`` has changed
``definitions`` taken up, ``process`` puts them together, ``worker`` starts processes.

Must not know: SQL, dramatiq, how anything looks to people.
"""
