"""How a message travels: the messages, their JSON, and RabbitMQ, Redis or memory underneath.

Owns: every message type, the dramatiq envelope, queues, publishing with confirms, and the way from a
queue to a handler and back (``Delivery``). Only this room imports dramatiq, pika and redis; so it also
reads definitions that lie in Redis.

What holds:

- A published message was confirmed by the broker, or ``publish`` raised ``Unreachable``. It may arrive
  twice; it may be lost later, when a broker is wiped. The ledger makes up for both.
- A process takes a message off a queue only while it has a free slot to run it (``slots``). What it
  holds beyond that for a moment goes back, so that an idle process finds it.
- A delivery is settled once: acknowledged, rejected to the queue's dead letters (``<queue>.XQ``), or
  given back. The answer goes to the channel the delivery came from, or nowhere.
- A handler may acknowledge early. Its slot stays taken until it ends.
- When a handler fails, news (``Message.news``) is given back after a growing pause, a ``BadMessage``
  goes to the dead letters, and a hint is dropped.
- Nothing is delayed by the broker, retried by dramatiq, or pickled. Options from outside are ignored.
- Where there are keys (``keyring``), a message that none of them has signed is rejected unread.

The way of a message: ``intake`` (one thread a process) takes a slot and a message → ``reception`` reads
it and puts it into its queue's mailbox → dramatiq's consumer and worker threads → ``service`` runs the
handler and settles. Each broker has its own intake; all else is shared.

Must not know: the ledger, what a handler does, the environment.
"""
