"""Redis underneath: dramatiq's keys, its Lua for the dead, and scripts of our own for what must not be lost.

dramatiq's fetch answers with bodies only. When the answer is lost, nobody knows which messages were
taken, and they stay in the set of a worker that lives; a body that cannot be read cannot be thrown out
either. Our scripts answer with ids, in the same keys, so that any dramatiq program can publish.

``definitions`` has nothing to do with messages: apps may be defined in a Redis, whatever carries the messages.
"""
