"""Options of ``app``, ``saga`` and ``schedule``: names, types, defaults, one sentence and an example for each.

Type checkers read the types (PEP 692). The reference of the definitions is generated from ``About``. The catalogue
checks the values; ``tests/jobs/api`` compares the names.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypedDict

from sluice.jobs.api.definition import AppRef, Duration, KeyValue, Need
from sluice.jobs.policy.retry_delay import RetryRule

#: ISO text, Unix seconds, a day, or an aware datetime.
Moment: TypeAlias = str | float | date | datetime


class About(NamedTuple):
    """Description of an option for people. An empty ``default`` means that there is none."""

    text: str
    default: str
    example: str


class RetryOptions(TypedDict, total=False):
    """Retry rule as a mapping, as files write it."""

    rule: Literal["fixed", "exponential", "random"]
    seconds: Duration
    factor: float
    max_seconds: Duration
    jitter: bool
    concurrency: int
    times: int


class ConcurrencyOptions(TypedDict, total=False):
    """Concurrency limit with a key or the name of a pool."""

    limit: int
    key: str
    pool: str


class BreakerOptions(TypedDict, total=False):
    """Circuit breaker."""

    fails: int
    pause: Duration
    pause_max: Duration


class RetryBudgetOptions(TypedDict):
    """Retry budget."""

    retries: int
    per: Duration


class RateLimitOptions(TypedDict, total=False):
    """Rate limit with a key, or with the number of jobs that may start at once."""

    limit: str
    key: str
    burst: int


class ReceiverOptions(TypedDict, total=False):
    """Receiver of events: either a webhook, a command or an app."""

    webhook: str
    command: str
    app: AppRef
    format: Literal["json", "slack"]


class NotifyOptions(ReceiverOptions, total=False):
    """Rule that notifies a receiver of events. ``receiver`` is a name in ``receivers`` of the source."""

    on: Sequence[Literal["failed", "late", "recovered", "succeeded", "upstream_failed"]]
    receiver: str


class LimitOptions(TypedDict, total=False):
    """Resource limits of processes."""

    cpu: Duration
    memory: str | int
    file_size: str | int
    processes: int
    open_files: int


class PolicyOptions(TypedDict, total=False):
    """Options that every app has, and of which a submission may set some."""

    max_fails: Annotated[int, About("Number of failed rounds after which a job is tried again.", "0", "3")]
    max_timeouts: Annotated[int, About("Number of timeouts after which a job is tried again.", "0", "1")]
    max_losses: Annotated[int, About("Number of lost workers after which a job is tried again.", "3", "10")]
    timeout: Annotated[Duration, About("Maximum duration of a round.", "none", '"10m"')]
    start_after: Annotated[
        Moment | timedelta, About("Earliest start: a time, or a delay after planning.", "none", '"30s"')
    ]
    end_before: Annotated[
        Moment, About("A job that has not finished by this time expires.", "none", '"2026-11-20T06:00:00Z"')
    ]
    due_within: Annotated[
        Duration,
        About("Time after the due time at which an unfinished job is late. It continues.", "none", '"4h"'),
    ]
    random_start_offset: Annotated[
        Duration | bool, About("Longest random delay of the first start.", "0", '"5m"')
    ]
    retry: Annotated[
        RetryRule | RetryOptions,
        About("Delay before the next round.", "at once", "retry.exponential(seconds=1, max_seconds=60)"),
    ]
    retry_on: Annotated[
        Sequence[type[BaseException] | str],
        About(
            "Errors after which a function is tried again; after others it has failed.", "all", "[ApiDown]"
        ),
    ]
    never_retry: Annotated[
        Sequence[type[BaseException] | str],
        About("Errors after which a function has failed, even if it has tries left.", "[]", "[CardStolen]"),
    ]
    priority: Annotated[int, About("Jobs with a higher priority start first.", "0", "10")]
    concurrency: Annotated[
        int | ConcurrencyOptions,
        About(
            "Maximum number of jobs that run at the same time.", "none", '{"key": "{client_id}", "limit": 2}'
        ),
    ]
    pull: Annotated[
        Literal["first", "all"],
        About(
            "Alternatives of `depends_on` that are requested: the first that can be met, or all.",
            "first",
            '"all"',
        ),
    ]
    on_failure: Annotated[
        Literal["fail", "bisect"],
        About("Whether a chunk that has failed is divided into two jobs.", "fail", '"bisect"'),
    ]
    fail_on: Annotated[
        Literal["exit", "stderr", "either"],
        About(
            "Whether a command fails by its exit code, by text on stderr, or by either.", "exit", '"either"'
        ),
    ]
    archive: Annotated[
        Literal["auto", "manual"],
        About("Whether a finished job stays until it is archived by a caller.", "auto", '"manual"'),
    ]
    env: Annotated[
        Mapping[str, str], About("Environment variables of the job's process.", "{}", '{"LANG": "C"}')
    ]
    env_from_os: Annotated[
        Sequence[str], About("Variables of the worker that the job's process receives.", "[]", '["API_KEY"]')
    ]
    cwd: Annotated[str, About("Folder in which the job's process starts.", "the worker's", '"/srv/work"')]
    limits: Annotated[
        LimitOptions, About("Resource limits of the job's processes.", "none", '{"memory": "2GB"}')
    ]
    keep_output: Annotated[
        bool, About("Whether the whole output is stored in the blob store.", "False", "True")
    ]
    debug: Annotated[
        Mapping[str, object], About("Steps of a saga that fail, for tests.", "{}", '{"fail_last": True}')
    ]
    submitters_may_set: Annotated[
        Sequence[str], About("Further policy options that a submission may set.", "[]", '["env"]')
    ]


class NoteOptions(TypedDict, total=False):
    """Options for people and their tools. They have no effect in Sluice."""

    owner: Annotated[object, About("Owner of the app.", "", '"team-sales"')]
    description: Annotated[object, About("Description of the app.", "", '"Daily sales"')]
    tags: Annotated[object, About("Tags of the app.", "", '["sales"]')]
    resources: Annotated[object, About("Resources of the app, for your own tools.", "", '{"cpu": 2}')]


class TemplateOptions(PolicyOptions, NoteOptions, total=False):
    """Options of apps and sagas with a key template."""

    name: Annotated[str, About("Name of the app.", "the function's name", '"fetch"')]
    job_id: Annotated[
        str,
        About("Template of the key.", "the identifiers in the function's signature", '"{day}_{shop}"'),
    ]
    identifiers: Annotated[
        Mapping[str, str | type | Sequence[str | int]],
        About(
            "Type of each identifier: `str`, `int`, `date`, a list of the allowed values, or the path of a function.",
            "the annotations of the parameters",
            '{"day": "date"}',
        ),
    ]
    autofill_values: Annotated[
        Mapping[str, str | Sequence[KeyValue]],
        About(
            "Values of an identifier that are used if none is given: a list or a range.",
            "the values of `each(…)`",
            '{"shop": ["graz", "oslo"]}',
        ),
    ]
    needs: Annotated[
        Sequence[Need],
        About("Jobs that must succeed first.", "[]", '[fetch.all("shop"), any_of(stock, manual)]'),
    ]
    depends_on: Annotated[
        Mapping[str, Any],
        About("The same as `needs`, in the form of files.", "{}", '{"app_name": ["fetch"], "shop": "all"}'),
    ]
    valid_if_or: Annotated[
        Mapping[str, Any],
        About(
            "Values that make a job valid. A job without any of them is skipped.", "all", '{"shop": ["graz"]}'
        ),
    ]
    compensate: Annotated[
        AppRef,
        About('App whose jobs undo the jobs of this app, or `"irreversible"`.', "none", "refund"),
    ]
    breaker: Annotated[
        BreakerOptions,
        About(
            "Number of failures in a row after which the app pauses.", "none", '{"fails": 20, "pause": "30s"}'
        ),
    ]
    retry_budget: Annotated[
        RetryBudgetOptions,
        About("Number of retries that all jobs of the app share.", "none", '{"retries": 100, "per": "1m"}'),
    ]
    rate_limit: Annotated[
        str | RateLimitOptions,
        About("Number of starts of the app's jobs in a period, over all workers.", "none", '"5/s"'),
    ]
    tenant: Annotated[
        str,
        About("Team to which the app belongs. Teams share the workers fairly.", "default", '"risk"'),
    ]
    notify: Annotated[
        Sequence[NotifyOptions],
        About(
            "Receivers of the events of the app's jobs.",
            "[]",
            '[{"on": ["failed"], "webhook": "${ALERT_URL}"}]',
        ),
    ]


class AppOptions(TemplateOptions, total=False):
    """Options of ``app``."""

    job_type: Annotated[
        str,
        About("Type of the job's work.", "`python` for a function", '"pyspark"'),
    ]
    isolate: Annotated[
        bool,
        About(
            "Whether the function runs in a process of its own, which can be killed and limited.",
            "False",
            "True",
        ),
    ]
    is_long_running: Annotated[
        bool, About("Whether the work runs until it is stopped. It needs a job manager.", "False", "True")
    ]
    chunk_size: Annotated[int, About("Number of work IDs of one job.", "", "500")]
    dependencies: Annotated[
        Sequence[Mapping[str, Any]],
        About("Apps that an app with `chunk_size` needs.", "[]", '[{"job_type": "load", "max_lag": "6h"}]'),
    ]
    select_work: Annotated[
        str | Callable[..., Any],
        About(
            "Function that returns the work IDs of a submission that selects none.", "none", '"work:open_ids"'
        ),
    ]
    default_work_ids: Annotated[
        str | Callable[..., Any],
        About("Function that returns the work IDs if `select_work` is missing.", "none", '"work:all_ids"'),
    ]
    freshness_by: Annotated[
        Sequence[str], About("Kwargs for which freshness is recorded separately.", "[]", '["region"]')
    ]
    allow_multiple_jobs: Annotated[
        bool,
        About("Whether a schedule submits the app while a submission of it is active.", "False", "True"),
    ]
    data_sources: Annotated[
        Sequence[str], About("Data that the app reads, for people.", "[]", '["s3://raw/orders"]')
    ]
    data_sinks: Annotated[
        Sequence[str], About("Data that the app writes, for people.", "[]", '["warehouse.orders"]')
    ]
    output_table: Annotated[
        str,
        About(
            "Table whose partitions the app fills. If jobs of the app have keys with one date, all jobs of a day make"
            " its partition.",
            "the app's name",
            '"sales_daily"',
        ),
    ]
    partition: Annotated[
        str | Mapping[str, Any],
        About(
            "Unit of the partitions: `hour`, `day`, `week` (ISO 8601) or `month`. `by` sets a second dimension.",
            "day",
            '{"unit": "day", "by": {"store": ["graz", "oslo"]}}',
        ),
    ]
    step_size: Annotated[int, About("Number of consecutive partitions of one job.", "1", "7")]
    table_dependencies: Annotated[
        Sequence[Mapping[str, Any]],
        About("Tables that the app reads.", "[]", '[{"table": "sales_daily", "start_offset": 6}]'),
    ]
    modes: Annotated[
        Mapping[str, Mapping[str, Any]],
        About("Policy options for each mode.", "{}", '{"online": {"timeout": "5m"}}'),
    ]
    bash_cmd: Annotated[str, About("Command of a `bash` app.", "", '"make report DAY={day}"')]
    pymodule: Annotated[str, About("Module with the `main` function of a `pyspark` app.", "", '"acme.count"')]
    spark_conf: Annotated[
        Mapping[str, str], About("Properties of Spark.", "{}", '{"spark.executor.memory": "4g"}')
    ]
    uris: Annotated[Sequence[str], About("Files that Spark ships to its executors.", "[]", '["lib.zip"]')]
    read_fp: Annotated[str, About("Path that Spark reads.", "", '"/in/{day}.json"')]
    write_fp: Annotated[str, About("Path that Spark writes.", "", '"/out/{day}"')]
    mapjson: Annotated[bool, About("Whether each line that Spark reads is JSON.", "False", "True")]
    minPartitions: Annotated[int, About("Least number of Spark's partitions.", "", "8")]
    sample: Annotated[float, About("Share of the lines that Spark reads.", "1", "0.1")]
    program: Annotated[str, About("Name of a program.", "", '"wordcount"')]
    source: Annotated[str, About("Address of a program.", "", '"https://example.org/wordcount.zip"')]
    input: Annotated[str, About("Arguments of a program.", "", '"{day}"')]
    sha256: Annotated[str, About("Digest that a fetched program must have.", "", '"9f86d0…"')]


class SagaAppOptions(TemplateOptions, total=False):
    """Options of ``saga``."""

    hooks: Annotated[
        Sequence[Any],
        About("Objects that are called with the events of a flight.", "[]", '["acme.saga:Metrics"]'),
    ]
    context: Annotated[
        str | Callable[[], Any],
        About("Function that makes an object for all flights of a process.", "none", "connect_airline"),
    ]


class RequestOptions(TypedDict, total=False):
    """Options of the submission that a schedule makes. Texts may contain the due time: ``{due-1d:%Y%m%d}``."""

    key: Annotated[str | int | date, About("Key of the job.", "", '"{due-1d:%Y%m%d}"')]
    keys: Annotated[Sequence[str | int | date], About("Keys of several jobs.", "", '["a", "b"]')]
    work_ids: Annotated[object, About("Work IDs, for an app with `chunk_size`.", "", '"1-100"')]
    start: Annotated[str | date, About("First partition, or first day.", "", '"{due-1d:%Y-%m-%d}"')]
    end: Annotated[str | date, About("Last partition.", "", '"{due-1d:%Y-%m-%d}"')]
    kwargs: Annotated[Mapping[str, Any], About("Kwargs of the jobs.", "{}", '{"force": True}')]
    mode: Annotated[str, About("Mode of partitions, or `saga`.", "none", '"online"')]
    by: Annotated[
        Mapping[str, str | Sequence[str]],
        About("Slices of a table with a second dimension.", "all", '{"store": ["graz"]}'),
    ]
    branch: Annotated[str, About("Branch of definitions.", "none", '"try"')]
    user: Annotated[str, About("User that is recorded with the submission.", "none", '"nightly"')]
    rerun: Annotated[
        Literal["job", "downstream"] | None,
        About("Whether finished jobs run again, alone or with all that follow.", "none", '"job"'),
    ]
    push: Annotated[
        Literal["all", "wanted"],
        About("Whether children run that no submission requested.", "all", '"wanted"'),
    ]
    policy: Annotated[PolicyOptions, About("Policy options of the submission.", "{}", '{"priority": 5}')]
    after: Annotated[
        Sequence[str], About("Exact jobs that the jobs of work IDs wait for.", "none", '["load/1"]')
    ]


class ScheduleOptions(RequestOptions, total=False):
    """Options of ``schedule``, in addition to ``id`` and ``app``."""

    cron: Annotated[str, About("Due times as a cron expression.", "", '"30 2 * * *"')]
    every: Annotated[Duration, About("Interval of the due times.", "", '"15m"')]
    trigger: Annotated[object, About("Object with `get_next_fire_time(previous, now)`.", "", "MyCalendar()")]
    timezone: Annotated[str, About("Time zone of the cron expression.", "UTC", '"Europe/Vienna"')]
    misfire_grace: Annotated[
        Duration | None,
        About(
            "Maximum lateness of a due time that is still used; `None`: unlimited.",
            "unlimited for `cron`; 30m for others, unless `catch_up` is `all` or a number",
            '"1h"',
        ),
    ]
    catch_up: Annotated[
        Literal["none", "last", "all"] | int,
        About("Missed due times that are submitted later.", "last", '"all"'),
    ]
    overlap: Annotated[
        Literal["skip", "queue", "replace"],
        About("What happens if the previous submission is still active.", "both run", '"skip"'),
    ]
    jitter: Annotated[Duration, About("Longest random delay of a due time.", "0", '"30s"')]
    notify: Annotated[
        Sequence[NotifyOptions],
        About(
            "Receivers of the events of its submissions' jobs.",
            "[]",
            '[{"on": ["failed"], "webhook": "${ALERT_URL}"}]',
        ),
    ]
