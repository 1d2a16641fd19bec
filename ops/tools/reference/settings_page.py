"""``docs/configuration.md``: every setting, as ``actors.settings`` reads it."""

from pathlib import Path

from sluice.actors.found import Found
from sluice.actors.settings import settings_of
from sluice.jobs.durations import parse_duration_s
from sluice.ops.times import span

_HEAD = """# Configuration

A setting comes from the command line (`--apps`, `--ledger`, `--broker`), else the environment, else `.env`, else
`sluice.toml` in the folder where the command is started, where it is spelled in lower case without the prefix:

```toml
ledger_url = "postgresql://sluice:secret@db/sluice"
apps = ["pipeline.py", "nightly"]
lease = "30s"
```

Any setting may be given by the path of a file instead, in a variable whose name ends in `_FILE`. The text of the file
is its value, without a line feed at its end. So a password need not be in the environment:
`SLUICE_LEDGER_URL_FILE=/run/secrets/ledger-url`. A file that is missing, unreadable or empty is an error, and so is a
place that gives both forms. Child processes are given the path, never the text. Jobs are given neither.

`sluice doctor` says which settings were found and where, and which names are none. A wrong value is told with the
variable, what was found, and an example. Times are `250ms`, `2s`, `10m`, `6h` or `1d`; sizes are `512MiB` or `2GiB`.
This page is made from the code.

| variable | without it | for example | |
|---|---|---|---|
"""

_TAIL = """
A job finds `SLUICE_APP`, `SLUICE_JOB`, `SLUICE_ROUND`, `SLUICE_CLAIM` and `SLUICE_TOKEN` in its environment where it is
a process of its own, and no other of these: [job types](job-types.md).
"""

#: Description of each setting. A test compares the names with the existing settings.
WORDS = {
    "SLUICE_APPS": "where the definitions are: files, folders, modules, `redis://…`",
    "SLUICE_LEDGER_URL": "the Postgres that is the ledger",
    "SLUICE_LEDGER_SCHEMA": "the schema of that database in which the ledger's tables are",
    "SLUICE_BROKER_URL": "`memory://`, `amqp://…`, `amqps://…`, `redis://…`, `rediss://…`",
    "SLUICE_HOME": "what a machine keeps: the embedded Postgres, programs, blobs",
    "SLUICE_LEASE": "how long a worker that says nothing keeps its jobs; it says so at a third of that",
    "SLUICE_TICK": "how often is looked for what is due or lost",
    "SLUICE_GRACE": "what a job has to end by itself when its worker is told to stop",
    "SLUICE_START_WITHIN": "how long a worker waits for ledger and broker to answer, at first, before it leaves with 3",
    "SLUICE_UNKNOWN_APP_GRACE": "how long a submission may name an app that no definition has, before it is refused",
    "SLUICE_LOG": "`text` or `json`",
    "SLUICE_KEY_DELIMITER": "what parts the identifiers of a key",
    "SLUICE_JOB_ID_DEFAULT_TEMPLATE": "the key of apps that have none of their own",
    "SLUICE_CODE_VERSION": "the version of your code, told with each round; the commit, in a checkout of git",
    "SLUICE_QUEUE_TYPE": "of RabbitMQ: `quorum` or `classic`",
    "SLUICE_BROKER_NAMESPACE": "how the names of [queues](messages.md#queues-with-a-namespace) begin at the broker",
    "SLUICE_PLAIN_TEXT": "servers elsewhere [without TLS](security.md#tls): `warn`, `refuse` or `allow`",
    "SLUICE_MESSAGE_KEYS": "[signed messages](security.md#signed-messages), and no others: `id:secret,…`, or `file:…`",
    "SLUICE_BLOBS_URL": "where large outputs go, as fsspec names it",
    "SLUICE_KEEP_HISTORY": "how long [what happened](retention.md) is kept; `off`: for ever",
    "SLUICE_CONSOLE_TOKEN": "token for all of the console, at least 16 characters",
    "SLUICE_CONSOLE_VIEW_TOKEN": "token to look at the console, at least 16 characters",
    "SLUICE_TRACE": "`on` or `off`: tell OpenTelemetry what is done",
    "SLUICE_TRACE_HEADERS": "[headers for the collector of traces](observe.md#traces), such as a token",
    "SLUICE_LINEAGE_URL": "who is told, as OpenLineage, which partitions are made of which",
    "SLUICE_LINEAGE_TOKEN": "the key of that server",
    "SLUICE_LINEAGE_NAMESPACE": "the namespace of jobs there",
    "SLUICE_LINEAGE_TABLES": "the namespace of tables there",
    "SLUICE_PROGRAMS_DIR": "where [programs](programs.md) are kept that were fetched",
    "SLUICE_PROGRAMS_DIR_SIZE": "how much all stored versions of programs may [take together](programs.md#the-cache)",
    "SLUICE_PROGRAM_HOSTS": "hosts that programs may come from though they are not of the public internet; `*`: any",
    "SLUICE_PROGRAM_FETCH_TIMEOUT": "what fetching one may take",
    "SLUICE_PROGRAM_SIZE": "how large an archive may be",
    "SLUICE_PROGRAM_UNPACKED_SIZE": "how large it may be unpacked",
    "SLUICE_SANDBOX": "`off`, `limits` or `bubblewrap`: what is around [processes of jobs](programs.md#the-sandbox)",
    "SLUICE_SANDBOX_NETWORK": "`on` or `off`: with bubblewrap, whether they have the network",
    "SLUICE_SANDBOX_WRITE": "with bubblewrap, folders that they may write to",
    "SLUICE_SANDBOX_HIDE": "with bubblewrap, more folders and files that are not there for them",
    "SLUICE_CRASH_AT": "for tests: the place in the code, and the time it is come to, at which a process kills itself",
}

_UNSET = {
    "SLUICE_APPS": "none",
    "SLUICE_LEDGER_URL": "an embedded one",
    "SLUICE_CODE_VERSION": "the commit, or none",
    "SLUICE_MESSAGE_KEYS": "none",
    "SLUICE_BLOBS_URL": "under `SLUICE_HOME`",
    "SLUICE_PROGRAMS_DIR": "under `SLUICE_HOME`",
    "SLUICE_PROGRAM_HOSTS": "public ones alone",
    "SLUICE_SANDBOX_WRITE": "none",
    "SLUICE_SANDBOX_HIDE": "what is ours, and keys",
    "SLUICE_JOB_ID_DEFAULT_TEMPLATE": "none",
    "SLUICE_CONSOLE_TOKEN": "one of its own, for this user alone",
    "SLUICE_CONSOLE_VIEW_TOKEN": "none",
    "SLUICE_TRACE_HEADERS": "none",
    "SLUICE_LINEAGE_URL": "nobody",
    "SLUICE_LINEAGE_TOKEN": "none",
    "SLUICE_LINEAGE_TABLES": "that of jobs",
    "SLUICE_CRASH_AT": "nowhere",
}


def page() -> str:
    return _HEAD + "\n".join(_row(name) for name in known()) + "\n" + _TAIL


def known() -> list[str]:
    """Return the names of all settings, in the order in which they are read."""
    return [*_asked().asked]


def _asked() -> Found:
    """Return the settings as they are read if nothing is set anywhere."""
    found = Found({}, folder=Path("/"))
    settings_of(found, folder=Path("/"))
    return found


def _row(name: str) -> str:
    asked = _asked().asked[name]
    default = _UNSET.get(name) or _default(asked.default, asked.example)
    return f"| `{name}` | {default} | `{asked.example}` | {WORDS.get(name, '')} |"


def _default(value: object, example: str) -> str:
    if isinstance(value, float) and _is_duration(example):
        return f"`{_short(value)}`"
    if isinstance(value, int) and "iB" in example:
        return f"`{value // 2**20}MiB`" if value < 2**30 else f"`{value // 2**30}GiB`"
    return f"`{value}`"


def _is_duration(example: str) -> bool:
    try:
        parse_duration_s(example)
    except ValueError:
        return False
    return True


def _short(seconds: float) -> str:
    """Return a duration in its usual form: ``15s``, ``90d``."""
    for unit, length_s in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= length_s and seconds % length_s == 0:
            return f"{seconds / length_s:.0f}{unit}"
    return span(seconds)
