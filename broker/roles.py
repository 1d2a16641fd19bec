"""Access rights in RabbitMQ and Redis, as lines for ``rabbitmqctl`` and ``redis-cli`` that may be run again.

Passwords are not part of this. A user that has none yet, or does not exist, is given one by hand.

RabbitMQ. The default exchange reaches every queue, and a permission to write to it cannot be limited to some queues: it
lets a user publish any message to any queue. Sluice's own processes have it, because each of them sends notifications
about jobs. They publish notifications, which are checked against the ledger. So a worker is kept from taking control's
messages and from queues that are not apps', but not from writing to them. A submitter has no default exchange, but a
named one, from which only ``planner`` can be reached. Of messages that come from there, only submissions are read
(``rabbitmq.queues``).

Redis. The access of a script is checked by key, and each of Sluice's scripts writes and reads. So all of its processes
have all keys of the namespace. They have no other key, and no command about the server. A submitter may add a message
to the planner's queue, and can neither read nor overwrite one. Redis does not record the author of a message, so this
message may be of any kind: a program that must not cancel has to submit by RabbitMQ, HTTP or SQL.
"""

import re

from sluice.broker.connect import NAMESPACE
from sluice.broker.messages import CONTROL, PLANNER
from sluice.broker.rabbitmq.topology import QueueNames
from sluice.broker.redis.keys import RedisKeys

_NOTHING = "^$"
_DEFAULT_EXCHANGE = r"^amq\.default$"
RABBITMQ = ("control", "worker", "operator", "submitter")
_ALWAYS = "+ping +auth +hello +select"
#: Commands of Sluice's scripts, and commands to load them.
_WORKING = "+@read +@write +@scripting +@transaction +publish +subscribe +unsubscribe -@dangerous +keys +time"
REDIS = ("worker", "operator", "submitter")


def rabbitmq(prefix: str, vhost: str, namespace: str = "") -> str:
    """Return lines for a shell on RabbitMQ's machine. The users have to exist."""
    lines = [
        f"rabbitmqctl set_permissions --vhost {_quoted(vhost)} {prefix}_{role} {' '.join(map(_quoted, patterns))}"
        for role, patterns in permissions(namespace).items()
    ]
    return "\n".join(lines) + "\n"


def permissions(namespace: str = "") -> dict[str, tuple[str, str, str]]:
    """Return the patterns that each role may configure, write and read in RabbitMQ. ``operator`` is the console, the
    command line, and ``sluice doctor``."""
    begin = re.escape(QueueNames(namespace).of(""))
    ours = rf"^(?!amq\.){begin}.*$"
    control = "|".join(CONTROL)
    apps = rf"^(?!amq\.){begin}(?!(sluice\.submit$|({control})(\.XQ)?$)).*$"
    named = f"^{re.escape(QueueNames(namespace).submit_exchange)}$"
    return {
        "control": (ours, ".*", ours),
        "worker": (apps, _DEFAULT_EXCHANGE, apps),
        "operator": (_NOTHING, _DEFAULT_EXCHANGE, _NOTHING),
        "submitter": (_NOTHING, named, _NOTHING),
    }


def redis(prefix: str, namespace: str = "") -> str:
    """Return lines for ``redis-cli``, run by a user with all rights. Existing passwords stay as they are."""
    namespace = namespace or NAMESPACE
    keys = RedisKeys(namespace, worker="")
    everything = f"~{namespace}:* &{keys.bell} {_ALWAYS} {_WORKING}"
    rights = {
        "worker": everything,
        "operator": f"{everything} +info +config|get",
        "submitter": f"~{keys.waiting(PLANNER)} ~{keys.bodies(PLANNER)} {_ALWAYS} +hsetnx +rpush +multi +exec",
    }
    begin = "resetkeys resetchannels nocommands"
    return "".join(f"ACL SETUSER {prefix}_{role} on {begin} {rights[role]}\n" for role in REDIS)


def _quoted(text: str) -> str:
    """Quote a text for a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"
