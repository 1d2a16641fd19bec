"""An app as written: its words are read and have the right shape, but its values have no types yet.

Types come later, since an identifier means the same in every app that ``depends_on`` links.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from sluice.jobs.breaker import Breaker
from sluice.jobs.calendar import Calendar
from sluice.jobs.catalogue.faults import At
from sluice.jobs.chunking import Chunking
from sluice.jobs.gate import When
from sluice.jobs.identifiers import Identifier
from sluice.jobs.partitioning import Partitioning, TableDependency
from sluice.jobs.policy import Policy
from sluice.jobs.program import Program
from sluice.jobs.retry_budget import RetryBudget
from sluice.jobs.sagas.saga import Saga
from sluice.jobs.spark import Spark
from sluice.jobs.template import Template
from sluice.jobs.two_way import TwoWay

#: A value as JSON, TOML, YAML or Python hold it.
Raw: TypeAlias = str | int | date


class Selector(NamedTuple):
    """A function that says which work IDs a submission is about; the path is for people."""

    function: Callable[..., Any]
    path: str


class Entry(Struct, frozen=True, kw_only=True):
    """One app of one source, unread. ``default_job_id`` and ``default_ids`` are the source's own.

    ``text`` is of the whole module, where all of it is one app. ``spent`` are words that the source has read by itself.
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


class ScheduleEntry(Struct, frozen=True, kw_only=True):
    """One schedule of one source, unread. ``origin`` is where it stands, ``source`` what was loaded for it.

    ``definition`` is the user's Python object, which several modules may show.
    """

    origin: str
    source: str
    id: object
    words: object
    definition: object = None


class ConfEntry(Struct, frozen=True, kw_only=True):
    """One conf of one source; ``terminals`` has the app that each mode ends in, unchecked."""

    at: At
    name: str
    terminals: Mapping[str, object]


class Span(Struct, frozen=True):
    """A half-open range as written, ``first:end:step``."""

    text: str
    first: str
    end: str
    step: int


class Mention(Struct, frozen=True, kw_only=True):
    """One mapping of ``depends_on``; ``jobs.app.Parents`` without types. Where it does not say ``when``, that follows
    from what its apps are."""

    apps: tuple[str, ...] = ()
    values: Mapping[str, tuple[Raw, ...]] = {}
    every: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    function: TwoWay | None = None
    when: When | None
    lag_s_max: float | None = None


class Reading(Struct, frozen=True, kw_only=True):
    """One mapping of ``table_dependencies``. The cut-offs are as written: to read them takes the table's calendar,
    which the mapping itself may say, as ``calendar``, or leave to others. So the ``dependency`` has neither yet."""

    dependency: TableDependency
    calendar: Calendar | None = None
    start_cutoff: object = None
    end_cutoff: object = None


class Work(Struct, frozen=True, kw_only=True):
    """What a job of the app does. ``source`` is the text of what does it, where there is no function to ask for it."""

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
    """``template`` is None where it could not be read; the rest is still checked. ``partitioning`` has what its
    ``readings`` come to once ``lineage`` has linked them."""

    name: str
    at: At
    words: Mapping[str, object]
    template: Template | None
    declared: Mapping[str, Identifier]
    autofill: Mapping[str, tuple[Raw, ...] | Span]
    groups: Mapping[str, tuple[Mention, ...]]
    filtered: Mapping[str, tuple[Raw, ...]] | None
    filter_path: str | None
    filter_function: Callable[..., object] | None
    work: Work
    policy: Policy
    chunking: Chunking | None = None
    partitioning: Partitioning | None = None
    readings: tuple[Reading, ...] = ()
    compensate: str | None = None
    breaker: Breaker | None = None
    retry_budget: RetryBudget | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.template.names if self.template else ()

    @property
    def mentions(self) -> Iterator[Mention]:
        return (mention for group in self.groups.values() for mention in group)
