"""Findings about the broker: whether it accepts and keeps messages, and how many of them no worker could read.

A lost message only costs a delay, with one exception. A submit message exists nowhere else until the ledger has it. So
the doctor warns of a broker that may lose messages.
"""

import re
from collections.abc import Iterator, Sequence

from sluice.broker.health import Management, QueueHealth, RabbitmqHealth, RedisHealth, Ruled
from sluice.jobs.text.units import counted
from sluice.ops.observe.doctor.finding import Finding, bad, ok, warn

ABOUT = "broker"
#: Oldest versions that the tests use or their makers still maintain. Older versions are not refused.
RABBITMQ_MIN, REDIS_MIN = (3, 10), (6, 2)
#: Minimum time in milliseconds. A message is held until its jobs are claimed, and a slow ledger can delay this.
CONSUMER_TIMEOUT_MS_MIN = 60_000
#: Minimum number of deliveries before a message is dropped. Workers that start and stop often return many messages.
DELIVERIES_MIN = 20
#: Policy options with which a queue drops messages because it overflows or they expire.
_DROPPING = {
    "message-ttl": "drops messages that are older than {} ms",
    "max-length": "drops messages beyond {}",
    "max-length-bytes": "drops messages beyond {} bytes",
    "expires": "is deleted when it was unused for {} ms",
}
_FULL = 0.9
_KEPT = "Ready jobs are announced again; a lost submit message is not."
#: Warnings about a Redis without an append-only file, by whether it saves snapshots. None: that is unknown.
_FORGETS = {
    False: "It writes nothing to disk: a restart loses every message.",
    True: "It only saves snapshots to disk (appendonly is off): a crash loses all messages since the last one.",
    None: "It keeps no log of its messages (appendonly is off): a crash loses all that are not saved.",
}
_EVERY_SECOND = (
    "With appendfsync everysec, the default, a crash can still lose the last second or two of accepted messages, "
    "including submit messages; with always it loses nothing."
)


def rabbitmq(found: RabbitmqHealth) -> Iterator[Finding]:
    yield _version("RabbitMQ", found.version, RABBITMQ_MIN, where=found.place)
    if found.blocked:
        yield bad(
            ABOUT,
            f"It accepts no messages: {found.blocked}.",
            "Free memory or disk on its machine (`rabbitmq-diagnostics alarms`); it then continues by itself.",
            where=found.place,
        )
    yield from _lines(found.lines, where=found.place)
    for line in found.lines:
        if line.differs:
            yield bad(
                ABOUT,
                f"The queue {line.queue} differs from a queue of Sluice: {line.differs}.",
                "Let it run empty and delete it (rabbitmqctl delete_queue), or set SLUICE_QUEUE_TYPE to its type.",
                where=found.place,
            )
    yield from _managed(found.management)


def redis(found: RedisHealth) -> Iterator[Finding]:
    yield _version("Redis", found.version, REDIS_MIN, where=found.place)
    if found.follows:
        yield bad(
            ABOUT,
            "It is a replica of another Redis and accepts no writes.",
            "Point SLUICE_BROKER_URL at the primary.",
            where=found.place,
        )
    if found.failed_save:
        yield bad(
            ABOUT,
            "Its last write to disk failed, and it accepts no messages until a write succeeds.",
            "Check its log, and whether its disk is full.",
            where=found.place,
        )
    if not found.appends:
        yield warn(
            ABOUT,
            f"{_FORGETS[found.saves]} {_KEPT}",
            f"Set appendonly to yes. {_EVERY_SECOND}",
            where=found.place,
        )
    if found.bytes_max and found.eviction != "noeviction":
        yield warn(
            ABOUT,
            f"When its memory is full, it evicts messages ({found.eviction}). {_KEPT}",
            "Set maxmemory-policy to noeviction.",
            where=found.place,
        )
    if found.bytes_max and found.bytes_used > _FULL * found.bytes_max:
        yield bad(
            ABOUT,
            f"Its memory is nearly full: {found.bytes_used:,} of {found.bytes_max:,} bytes.",
            "Raise maxmemory, or check which other data it stores.",
            where=found.place,
        )
    yield from _lines(found.lines, where=found.place)


def _version(name: str, text: str, least: tuple[int, int], *, where: str) -> Finding:
    numbers = tuple(int(each) for each in re.findall(r"\d+", text)[:2])
    if numbers and numbers < least:
        return warn(
            ABOUT,
            f"It is {name} {text}; versions before {'.'.join(map(str, least))} are not tested.",
            "Upgrade it.",
            where=where,
        )
    return ok(ABOUT, f"It is {name} {text or 'of an unknown version'}.", where=where)


def _lines(lines: Sequence[QueueHealth], *, where: str) -> Iterator[Finding]:
    for line in lines:
        if line.dead:
            yield warn(
                ABOUT,
                f"{counted(line.dead, 'message')} of the queue {line.queue} could not be read.",
                "The log of the worker that refused them has the reason. They are dropped after seven days.",
                where=where,
            )
    there = [line for line in lines if line.exists]
    waiting = sum(line.waiting for line in there)
    yield ok(ABOUT, f"{counted(len(there), 'queue')} of Sluice, in which {_waits(waiting)}.", where=where)


def _waits(messages: int) -> str:
    return f"{counted(messages, 'message')} {'waits' if messages == 1 else 'wait'}"


def _managed(found: Management) -> Iterator[Finding]:
    if found.why:
        yield ok(ABOUT, f"Policies are not checked: {found.why}.", where=found.place)
        return
    for node in found.nodes:
        if not node.running:
            yield bad(
                ABOUT,
                f"The node {node.name} is down.",
                "Start it, or remove it from the cluster.",
                where=found.place,
            )
        for name, has in (("memory", node.memory_alarm), ("disk", node.disk_alarm)):
            if has:
                yield bad(
                    ABOUT,
                    f"The node {node.name} has a {name} alarm: publishing is blocked.",
                    f"Free {name} on its machine; it then continues by itself.",
                    where=found.place,
                )
    told = [finding for ruled in found.ruled for finding in _ruled(ruled, where=found.place)]
    yield from told
    if not told:
        yield ok(
            ABOUT, "No policy makes Sluice's queues drop or return messages too early.", where=found.place
        )


def _ruled(found: Ruled, *, where: str) -> Iterator[Finding]:
    mend = f"Remove this option from the policy {found.policy}, or exclude Sluice's queues from it."
    for word, meaning in _DROPPING.items():
        if word in found.words:
            what = f"The queue {found.queue} {meaning.format(found.words[word])}. {_KEPT}"
            yield warn(ABOUT, what, mend, where=where)
    deliveries, timeout_ms = found.words.get("delivery-limit"), found.words.get("consumer-timeout")
    if isinstance(deliveries, int) and 0 <= deliveries < DELIVERIES_MIN:
        what = f"The queue {found.queue} drops messages that were returned {deliveries} times. {_KEPT}"
        yield warn(ABOUT, what, mend, where=where)
    if isinstance(timeout_ms, int) and timeout_ms < CONSUMER_TIMEOUT_MS_MIN:
        yield warn(
            ABOUT,
            f"The queue {found.queue} takes back messages that are held for {timeout_ms} ms. Long jobs are not "
            "affected, because their messages are acknowledged when they are claimed; with a slow ledger they are.",
            f"Raise consumer-timeout in the policy {found.policy} to a minute or more.",
            where=where,
        )
