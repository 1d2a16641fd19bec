"""RabbitMQ underneath: dramatiq's broker with quorum queues, pipelined confirms and one connection for all
queues of a process.

dramatiq's own consumers are not used. They acknowledge on whatever channel they have, so that after a
lost connection an answer can hit another message's delivery tag and lose it; they take ahead of need;
and they hold two connections a queue. Here ``intake`` has one connection and ``feed`` one channel a
queue; ``counter`` decides when messages are pushed to us and when fetched, ``fetching`` from which
queue, and ``vigil`` whether RabbitMQ still feeds us. ``publisher`` has a second connection, which
RabbitMQ may block without keeping acknowledgements from getting through.
"""
