"""Who may do what in RabbitMQ and in Redis, as lines for ``rabbitmqctl`` and ``redis-cli`` that may be run again.

A user's password is none of this: who has none yet, or does not exist, is given one by hand.

RabbitMQ. The default exchange reaches every queue, and a permission to write to it says nothing of which: whoever has
it may publish any message to anybody. Our own processes have it, since each of them tells others of jobs; what they
publish is a hint, which the ledger is asked about. So a worker is kept from taking control's messages and from queues
that are not apps', and not from writing to them. A submitter has no default exchange, but one by name, from which only
``planner`` can be reached; of what comes by that, nothing but submissions is read (``rabbitmq.queues``).

Redis. What a script may do is checked by key, and each of ours writes and reads, so that all of our processes have all
keys of the namespace; what they have not is every other key, and whatever is about the server. A submitter may add a
message to the planner's queue, and can neither read nor overwrite one. Redis does not tell who wrote a message, so that
this one may be of any kind: who is not trusted with a cancellation submits by RabbitMQ, HTTP or SQL.
"""

import re

from sluice.broker.connect import NAMESPACE
from sluice.broker.messages import CONTROL, PLANNER
from sluice.broker.rabbitmq.queues import Names
from sluice.broker.redis.keys import Keys

_NOTHING = "^$"
_DEFAULT_EXCHANGE = r"^amq\.default$"
RABBITMQ = ("control", "worker", "operator", "submitter")
_ALWAYS = "+ping +auth +hello +select"
#: What our scripts do, and how they are brought there.
_WORKING = "+@read +@write +@scripting +@transaction +publish +subscribe +unsubscribe -@dangerous +keys +time"
REDIS = ("worker", "operator", "submitter")


def rabbitmq(prefix: str, vhost: str, namespace: str = "") -> str:
    """For a shell on RabbitMQ's machine; the users have to be there."""
    lines = [
        f"rabbitmqctl set_permissions --vhost {_quoted(vhost)} {prefix}_{role} {' '.join(map(_quoted, patterns))}"
        for role, patterns in permissions(namespace).items()
    ]
    return "\n".join(lines) + "\n"


def permissions(namespace: str = "") -> dict[str, tuple[str, str, str]]:
    """What each role may configure, write and read in RabbitMQ. ``operator`` is the console, the command line, and
    ``sluice doctor``."""
    begin = re.escape(Names(namespace).of(""))
    ours = rf"^(?!amq\.){begin}.*$"
    control = "|".join(CONTROL)
    apps = rf"^(?!amq\.){begin}(?!(sluice\.submit$|({control})(\.XQ)?$)).*$"
    named = f"^{re.escape(Names(namespace).submit_exchange)}$"
    return {
        "control": (ours, ".*", ours),
        "worker": (apps, _DEFAULT_EXCHANGE, apps),
        "operator": (_NOTHING, _DEFAULT_EXCHANGE, _NOTHING),
        "submitter": (_NOTHING, named, _NOTHING),
    }


def redis(prefix: str, namespace: str = "") -> str:
    """For ``redis-cli``, by a user who may do anything. Passwords that there are stay as they are."""
    namespace = namespace or NAMESPACE
    keys = Keys(namespace, worker="")
    everything = f"~{namespace}:* &{keys.bell} {_ALWAYS} {_WORKING}"
    rights = {
        "worker": everything,
        "operator": f"{everything} +info +config|get",
        "submitter": f"~{keys.waiting(PLANNER)} ~{keys.bodies(PLANNER)} {_ALWAYS} +hsetnx +rpush +multi +exec",
    }
    begin = "resetkeys resetchannels nocommands"
    return "".join(f"ACL SETUSER {prefix}_{role} on {begin} {rights[role]}\n" for role in REDIS)


def _quoted(text: str) -> str:
    """For a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"
