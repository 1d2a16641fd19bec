"""RabbitMQ underneath: dramatiq's broker with quorum queues, pipelined confirms and one connection for all queues of a
process.

dramatiq's own consumers are not used. They acknowledge on whichever channel they have, so after a lost connection an
answer can hit another message's delivery tag and lose that message. They take messages ahead of need. They hold two
connections per queue.

Here ``consumer`` has one connection, and ``channel`` one channel per queue. ``prefetch`` decides when messages are
pushed to this process, when they are fetched, and from which queue. ``watchdog`` finds queues that RabbitMQ does not
feed any more. ``publisher`` has a second connection, which RabbitMQ may block without holding up acknowledgements.
"""
