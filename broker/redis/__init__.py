"""Redis underneath: dramatiq's keys, so that any dramatiq program can publish, and scripts of our own.

dramatiq's fetch answers with bodies only. When the answer is lost, nobody knows which messages were
taken, and they stay in the set of a worker that lives; a body that cannot be read cannot be thrown out
either. Ours answers with ids. dramatiq's scripts also believe every caller what time it is, by which others
are found dead; ours ask Redis.

``definitions`` has nothing to do with messages: apps may be defined in a Redis, whatever carries the messages.
"""
