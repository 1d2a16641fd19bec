"""Draft of an app: its options have been read and have the right shape, but its values have no types yet.

Types come later, because an identifier has the same meaning in every app that ``depends_on`` links.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from sluice.jobs.catalogue.errors import At
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.identifiers import Identifier
from sluice.jobs.keys.partitions import Dimension, Partitioning, TableDependency
from sluice.jobs.keys.template import Template
from sluice.jobs.model.dependency import TwoWay, When
from sluice.jobs.model.program import Program
from sluice.jobs.model.spark import Spark
from sluice.jobs.notifications.rules import NotifyRule
from sluice.jobs.policy.breaker import Breaker
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.policy.retry_budget import RetryBudget
from sluice.jobs.policy.tenants import DEFAULT_TENANT
from sluice.jobs.sagas.spec import Saga

#: A value as in JSON, TOML, YAML or Python.
Raw: TypeAlias = str | int | date


class Selector(NamedTuple):
    """Function that returns the work IDs of a submission. The path is for people."""

    function: Callable[..., Any]
    path: str


class UnreadApp(Struct, frozen=True, kw_only=True):
    """One app of one source, unread. ``default_job_id`` and ``default_ids`` come from the source.

    ``text`` is the text of the whole module if the module is one app. ``spent`` are options that the source has
    already read itself. ``hooks`` are the paths of the hooks in the source, and ``notify`` its rules for all
    of its apps.
    """

    origin: str
    name: str
    words: object
    default_job_id: str | None = None
    default_ids: Selector | None = None
    function: Callable[..., Any] | None = None
    function_path: str | None = None
    text: str = ""
    spent: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    notify: tuple[NotifyRule, ...] = ()


class ScheduleEntry(Struct, frozen=True, kw_only=True):
    """One schedule of one source, unread. ``origin`` is its place, ``source`` the loaded source.

    ``definition`` is the user's Python object, which several modules may contain.
    """

    origin: str
    source: str
    id: object
    words: object
    definition: object = None


class ConfEntry(Struct, frozen=True, kw_only=True):
    """One conf of one source. ``terminals`` has the final app of each mode, unchecked."""

    at: At
    name: str
    terminals: Mapping[str, object]


class WrittenRange(Struct, frozen=True):
    """A half-open range as written, ``first:end:step``."""

    text: str
    first: str
    end: str
    step: int


class Mention(Struct, frozen=True, kw_only=True):
    """One mapping of ``depends_on``: ``jobs.model.app.Parents`` without types.

    If ``when`` is missing, the kind of its apps determines it.
    """

    apps: tuple[str, ...] = ()
    values: Mapping[str, tuple[Raw, ...]] = {}
    every: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    function: TwoWay | None = None
    when: When | None
    lag_s_max: float | None = None


class Reading(Struct, frozen=True, kw_only=True):
    """One mapping of ``table_dependencies``.

    The cut-offs and the ``first`` partition of the table are as written, because reading them requires the table's
    calendar. The mapping may set that as ``calendar``, or leave it to another definition, and the second dimension
    ``by`` of an external table, too. So ``dependency`` has none of them yet.
    """

    dependency: TableDependency
    calendar: Calendar | None = None
    start_cutoff: object = None
    end_cutoff: object = None
    first: object = None
    by: Dimension | None = None


class AppWork(Struct, frozen=True, kw_only=True):
    """Work of an app's jobs. ``source`` is the text of the code if there is no function to read it from."""

    job_type: str
    function: Callable[..., Any] | None = None
    function_path: str | None = None
    isolate: bool = False
    bash_cmd: str | None = None
    manager: type | None = None
    unbounded: bool = False
    spark: Spark | None = None
    program: Program | None = None
    saga: Saga | None = None
    source: str = ""


class Draft(Struct, frozen=True, kw_only=True):
    """An app as written.

    ``template`` is None if it could not be read; the rest is still checked. ``partitioning`` receives the result of
    ``readings`` once ``jobs.catalogue.resolve.tables`` has linked them. So does ``days``, which belongs to an app that
    is keyed by template.
    """

    name: str
    at: At
    words: Mapping[str, object]
    template: Template | None
    declared: Mapping[str, Identifier]
    autofill: Mapping[str, tuple[Raw, ...] | WrittenRange]
    groups: Mapping[str, tuple[Mention, ...]]
    filtered: Mapping[str, tuple[Raw, ...]] | None
    filter_path: str | None
    filter_function: Callable[..., object] | None
    work: AppWork
    policy: Policy
    chunking: Chunking | None = None
    partitioning: Partitioning | None = None
    days: Partitioning | None = None
    readings: tuple[Reading, ...] = ()
    hooks: tuple[str, ...] = ()
    compensate: str | None = None
    breaker: Breaker | None = None
    retry_budget: RetryBudget | None = None
    rate_limit: RateLimit | None = None
    tenant: str = DEFAULT_TENANT

    @property
    def filling(self) -> Partitioning | None:
        """Table that the app's jobs fill, if any."""
        return self.partitioning or self.days

    @property
    def names(self) -> tuple[str, ...]:
        return self.template.names if self.template else ()

    @property
    def mentions(self) -> Iterator[Mention]:
        return (mention for group in self.groups.values() for mention in group)
