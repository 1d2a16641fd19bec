"""Redis underneath: dramatiq's keys, so that any dramatiq program can publish, and scripts of Sluice's own.

dramatiq's fetch returns only bodies. If its answer is lost, it is unknown which messages were taken, and they stay in
the set of a worker that is alive. A body that cannot be read cannot be removed either. Sluice's scripts return ids.
dramatiq's scripts also trust the clock of every caller to decide which workers are dead. Sluice's scripts use the clock
of Redis.

``definitions`` is not about messages: apps may be defined in a Redis, whichever broker carries the messages.
"""
