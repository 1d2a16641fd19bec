"""RabbitMQ underneath: dramatiq's broker with quorum queues, pipelined confirms and one connection for all
queues of a process.

dramatiq's own consumers are not used. They acknowledge on whatever channel they have, so that after a
lost connection an answer can hit another message's delivery tag and lose it; they take ahead of need;
and they hold two connections a queue. Here ``intake`` holds one connection, ``feed`` one channel a
queue, and ``counter`` decides when to take. ``publisher`` has a second connection, which RabbitMQ may
block without keeping acknowledgements from getting through.
"""
