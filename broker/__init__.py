"""Transport of messages: the message types, their JSON, and RabbitMQ, Redis or memory underneath.

Owns: every message type, the dramatiq envelope, queues, publishing with confirms, and the path from a queue to a
handler and back (``Delivery``). Only this package imports dramatiq, pika and redis, so it also reads definitions that
are stored in Redis.

Invariants:

- A published message was confirmed by the broker, or ``publish`` raised ``Unreachable``. It may arrive twice. It may be
  lost later, when a broker is wiped. The ledger makes up for both.
- A process takes a message off a queue only while it has a free slot to run it (``consumer.slots``). Messages that it
  holds beyond that for a moment go back, so that an idle process finds them.
- A delivery is settled once: acknowledged, rejected to the queue's dead letters (``<queue>.XQ``), or given back. The
  settlement uses the channel that the delivery came from, or is dropped.
- A handler may acknowledge early. Its slot stays taken until it ends.
- When a handler fails, news (``Message.news``) is given back after a growing pause, and a notification is dropped. A
  ``BadMessage`` goes to the dead letters.
- Nothing is delayed by the broker, retried by dramatiq, or pickled. Options from outside are ignored.
- If there are keys (``signing``), a message that none of them has signed is rejected unread.

Path of a message: ``consumer.intake`` (one thread per process) takes a slot and a message → ``consumer.inbox`` reads it
and puts it into its queue's mailbox → dramatiq's consumer and worker threads → ``consumer.service`` runs the handler
and settles. Each broker has its own intake (``rabbitmq.consumer``, ``redis.consumer``); everything else is shared.

Must not depend on: the ledger, the work of handlers, the environment.
"""
