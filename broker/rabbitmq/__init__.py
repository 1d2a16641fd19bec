"""RabbitMQ underneath: dramatiq's broker with quorum queues, pipelined confirms and one connection for all queues of a
process.

dramatiq's own consumers are not used. They acknowledge on whichever channel they have, so after a lost connection an
answer can hit another message's delivery tag and lose that message. They take messages ahead of need. They hold two
connections per queue.

Here ``intake`` has one connection and ``feed`` one channel per queue. ``counter`` decides when messages are pushed to
this process and when fetched, ``fetching`` from which queue, and ``vigil`` whether RabbitMQ still feeds a queue.
``publisher`` has a second connection, which RabbitMQ may block without holding up acknowledgements.
"""
