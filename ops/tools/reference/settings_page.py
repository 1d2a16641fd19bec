"""``docs/configuration.md``: every setting, as ``actors.settings`` reads it."""

from pathlib import Path

from sluice.actors.settings.settings import settings_of
from sluice.actors.settings.sources import FoundSettings
from sluice.ops.documents.setting_document import UNSET, default_text

_HEAD = """# Configuration

Settings are read from these sources, the first that has a value: the command line (`--apps`, `--ledger`, `--broker`),
the environment, `.env`, and `sluice.toml` in the folder where the command is started. In `sluice.toml` the names are in
lower case, without the prefix:

```toml
ledger_url = "postgresql://sluice:secret@db/sluice"
apps = ["pipeline.py", "nightly"]
lease = "30s"
```

The value of any setting may be in a file. Add `_FILE` to the name of the variable, and set it to the path of the file:
`SLUICE_LEDGER_URL_FILE=/run/secrets/ledger-url`. The value is the text of the file without a line feed at its end. So a
password need not be in the environment. A file that is missing, unreadable or empty is an error. A source with both
forms of one setting is an error too. Child processes get the path, never the text. Jobs get neither.

`sluice config show` prints the value of every setting with its source, and masks secrets. `sluice doctor` reports
unknown names. The error for a wrong value contains the variable, the value and an example. Durations are written
`250ms`, `2s`, `10m`, `6h` or `1d`, and sizes `512MiB` or `2GiB`. This page is generated from the code.

| variable | default | example | meaning |
|---|---|---|---|
"""

_TAIL = """
A job that runs in a separate process has `SLUICE_APP`, `SLUICE_JOB`, `SLUICE_ROUND`, `SLUICE_CLAIM` and `SLUICE_TOKEN`
in its environment, and none of the variables above: [commands](commands.md#environment).
"""

#: Description of each setting. A test compares the names with the existing settings.
WORDS = {
    "SLUICE_APPS": "sources of the definitions: files, folders, modules, `redis://…`",
    "SLUICE_HOOKS": "[hooks](functions.md#hooks) of all functions, as `module:name`",
    "SLUICE_LEDGER_URL": "the Postgres database of the ledger",
    "SLUICE_LEDGER_SCHEMA": "the schema of that database with the tables of the ledger",
    "SLUICE_LEDGER_POOLER_URL": "a [pooler](deploy.md#a-connection-pooler) before that database, in transaction mode",
    "SLUICE_BROKER_URL": "the broker: `memory://`, `amqp://…`, `amqps://…`, `redis://…`, `rediss://…`",
    "SLUICE_HOME": "folder for the data of this machine: the embedded Postgres, programs, blobs",
    "SLUICE_LEASE": "how long a worker keeps its jobs without a heartbeat; it sends one every third of this time",
    "SLUICE_TICK": "interval between checks for due jobs, due schedules and lost jobs",
    "SLUICE_SHUTDOWN_GRACE": "time that a job has to end by itself when its worker stops",
    "SLUICE_HEALTH_PATH": "file that a worker's heartbeat writes, for [probes](observe.md#probes-of-workers)",
    "SLUICE_STARTUP_TIMEOUT": "how long a worker or `sluice db upgrade` waits for its servers before it exits",
    "SLUICE_UNKNOWN_APP_GRACE": "how long a submission for an undefined app is retried before it is refused",
    "SLUICE_LOG": "format of the logs: `text` or `json`",
    "SLUICE_KEY_DELIMITER": "delimiter between the identifiers of a key",
    "SLUICE_JOB_ID_DEFAULT_TEMPLATE": "`job_id` of apps that set none",
    "SLUICE_CODE_VERSION": "the version of your code, recorded with each round; in a git checkout the commit",
    "SLUICE_QUEUE_TYPE": "type of the queues in RabbitMQ: `quorum` or `classic`",
    "SLUICE_BROKER_NAMESPACE": "prefix for the names of [queues](messages.md#queues-with-a-namespace) at the broker",
    "SLUICE_PLAINTEXT": "connections to other machines [without TLS](security.md#tls): `warn`, `refuse` or `allow`",
    "SLUICE_MESSAGE_KEYS": "keys for [signed messages](security.md#signed-messages): `id:secret,…`, or `file:…`",
    "SLUICE_BLOBS_URL": "storage for large outputs, as an fsspec URL",
    "SLUICE_KEEP_HISTORY": "how long [history](retention.md) is kept; `off`: indefinitely",
    "SLUICE_KEEP_JOBS": "how long [jobs and submissions](retention.md#remove-jobs) are kept; `off`: indefinitely",
    "SLUICE_CONSOLE_TOKEN": "token for full access to the console, at least 16 characters",
    "SLUICE_CONSOLE_VIEW_TOKEN": "token for read-only access to the console, at least 16 characters",
    "SLUICE_CONSOLE_TOKENS": "file with [named tokens](console.md#named-tokens) and the roles of a proxy's users",
    "SLUICE_CONSOLE_PROXY": "addresses of proxies whose [signed-in users](console.md#users-of-a-proxy) are trusted",
    "SLUICE_CONSOLE_PROXY_HEADER": "header with the user that such a proxy has signed in",
    "SLUICE_CONSOLE_PROXY_GROUPS_HEADER": "header with the groups of that user, separated by commas",
    "SLUICE_TENANTS": "file with the settings of each [tenant](tenants.md), YAML or JSON",
    "SLUICE_TRACE": "`on` or `off`: send traces to OpenTelemetry",
    "SLUICE_TRACE_HEADERS": "[headers for the trace collector](observe.md#traces), for example a token",
    "SLUICE_LINEAGE_URL": "server that receives the lineage of partitions as OpenLineage events",
    "SLUICE_LINEAGE_TOKEN": "API key for that server",
    "SLUICE_LINEAGE_NAMESPACE": "namespace of jobs on that server",
    "SLUICE_LINEAGE_DATASET_NAMESPACE": "namespace of tables on that server",
    "SLUICE_PROGRAMS_DIR": "folder for fetched [programs](programs.md)",
    "SLUICE_PROGRAMS_DIR_SIZE": "maximum [total size of all stored versions](programs.md#store-of-fetched-programs)"
    " of programs",
    "SLUICE_PROGRAM_HOSTS": "hosts outside the public internet from which programs may be fetched; `*`: any",
    "SLUICE_NOTIFY_HOSTS": "hosts outside the public internet that may [receive events](notifications.md); `*`: any",
    "SLUICE_CONSOLE_URL": "address of the console for people, for links in [notifications](notifications.md)",
    "SLUICE_PROGRAM_FETCH_TIMEOUT": "maximum time for fetching a program",
    "SLUICE_PROGRAM_SIZE": "maximum size of an archive",
    "SLUICE_PROGRAM_UNPACKED_SIZE": "maximum size of an unpacked archive",
    "SLUICE_SANDBOX": "`off`, `limits` or `bubblewrap`: [sandbox of job processes](sandbox.md)",
    "SLUICE_SANDBOX_NETWORK": "with bubblewrap, `on` or `off`: network access of job processes",
    "SLUICE_SANDBOX_WRITE": "with bubblewrap, folders to which job processes may write",
    "SLUICE_SANDBOX_HIDE": "with bubblewrap, further folders and files that are hidden from job processes",
    "SLUICE_FAILPOINT": "for tests: failpoint at which the process kills itself, and at which of its executions",
}


def page() -> str:
    return _HEAD + "\n".join(_row(name) for name in known()) + "\n" + _TAIL


def known() -> list[str]:
    """Return the names of all settings, in the order in which they are read."""
    return [*_asked().asked]


def _asked() -> FoundSettings:
    """Return the settings as they are read if nothing is set anywhere."""
    found = FoundSettings({}, folder=Path("/"))
    settings_of(found, folder=Path("/"))
    return found


def _row(name: str) -> str:
    asked = _asked().asked[name]
    default = UNSET.get(name) or f"`{default_text(asked)}`"
    return f"| `{name}` | {default} | `{asked.example}` | {WORDS.get(name, '')} |"
