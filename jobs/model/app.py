"""An app: one kind of work, as its author defined it. It is parsed, typed and checked, never a raw mapping."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.errors import BadKey
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.identifiers import Day, Identifier, Text, Value, Values
from sluice.jobs.keys.partitions import Partitioning
from sluice.jobs.keys.template import Template
from sluice.jobs.model.dependency import TwoWay, When
from sluice.jobs.model.program import Program
from sluice.jobs.model.spark import Spark
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.breaker import Breaker
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.policy.retry_budget import RetryBudget
from sluice.jobs.policy.tenants import DEFAULT_TENANT
from sluice.jobs.sagas.spec import Saga

_TEXT = Text()

#: Value of ``compensate`` for an app that no other app can undo.
IRREVERSIBLE = "irreversible"

#: Path segments that browsers and proxies remove.
_DOTS = (".", "..")


class Parents(Struct, frozen=True, kw_only=True):
    """One sub-dependency: these apps, at the listed values. An identifier that is not listed takes the child's own
    value.

    ``every`` names the identifiers that take all of the parent's autofill values. If ``keys`` are given, exactly
    these jobs are the parents, and ``values`` only determine which children need them. A ``function`` determines by
    itself which jobs of ``apps`` are the parents; if ``apps`` is empty, they may be jobs of any app. Parents that
    succeeded more than ``lag_s_max`` seconds ago run again when a child is requested.
    """

    apps: tuple[str, ...]
    values: Mapping[str, tuple[Value, ...]] = {}
    every: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    function: TwoWay | None = None
    when: When = "succeeded"
    lag_s_max: float | None = None


class DependencyGroup(Struct, frozen=True, kw_only=True):
    """One alternative of an app. It requires all of its sub-dependencies; the groups of an app are combined with OR."""

    name: str
    all_of: tuple[Parents, ...]


class ValidIf(Struct, frozen=True, kw_only=True):
    """The option ``valid_if_or``: a job passes if the function accepts it or if any identifier has a listed value.

    ``function`` is called with the app's name and the identifiers by name.
    """

    values: Mapping[str, tuple[Value, ...]] = {}
    function_path: str | None = None
    function: Callable[..., object] | None = None


class App(Struct, frozen=True, kw_only=True):
    """Definition of an app, checked.

    Source and code: ``origin`` is the source that defines the app, for messages to people. ``function`` is the user's
    callable. ``function_path`` is ``module:name`` or ``path/to/file.py:name``; a child process finds the function by
    it. ``hooks`` are the paths of the hooks of its source (``jobs.api.hooks``). ``manager`` is the user's class, if
    ``job_type`` is a path to one (``jobs.model.external_work``). For a ``saga``, the function that builds the steps is
    in ``saga`` only.

    Keys: ``identifiers`` has the kind of each identifier of the template that is not text. An app with ``chunking``
    is keyed by chunk, one with ``partitioning`` by partition. Both have no identifiers, and their templates accept any
    key. An app with ``partitioning`` has no groups. An app with ``chunking`` has at most one group, in which two-way
    functions lead from work IDs to jobs with keys. If an app that is keyed by template has ``daily``, all of its jobs
    of one day together make the partition of this day.

    ``unbounded`` work never ends by itself. ``compensate`` names the app that undoes the jobs of this app, or is
    ``IRREVERSIBLE``; it is None if there is nothing to undo. ``breaker`` sets when the app's jobs are held back.
    ``retry_budget`` limits how many failed rounds are retried in a period, and ``rate_limit`` how many rounds start.
    ``tenant`` is the team to which the app belongs.

    ``digest`` changes with the effect of the app, but not with its number of tries, its time limits or its start
    times. ``version`` of an app that is keyed by partition also changes with the apps that fill the tables it reads.
    ``words`` is the definition in a form that any process can read again, if that is possible. ``code`` is a digest
    of the parts that ``words`` leave to a function; such a function must be present, too.
    """

    name: str
    origin: str
    job_type: str
    template: Template
    identifiers: Mapping[str, Identifier] = {}
    autofill: Mapping[str, Values] = {}
    groups: tuple[DependencyGroup, ...] = ()
    valid_if_or: ValidIf | None = None
    policy: Policy = Policy()
    function: Callable[..., Any] | None = None
    function_path: str | None = None
    isolate: bool = False
    hooks: tuple[str, ...] = ()
    bash_cmd: str | None = None
    manager: type | None = None
    spark: Spark | None = None
    program: Program | None = None
    saga: Saga | None = None
    chunking: Chunking | None = None
    partitioning: Partitioning | None = None
    daily: Partitioning | None = None
    unbounded: bool = False
    compensate: str | None = None
    breaker: Breaker | None = None
    retry_budget: RetryBudget | None = None
    rate_limit: RateLimit | None = None
    tenant: str = DEFAULT_TENANT
    digest: str = ""
    code: str = ""
    version: str = ""
    words: Mapping[str, JSON] | None = None

    @property
    def is_keyed_by_template(self) -> bool:
        """True if the keys determine which jobs exist and need each other. Otherwise each submission's plan does so."""
        return self.chunking is None and self.partitioning is None

    @property
    def filling(self) -> Partitioning | None:
        """Table that the app's jobs fill, and the tables that they read, if any."""
        return self.partitioning or self.daily

    @property
    def table(self) -> str | None:
        """Table that the app's jobs fill, if any."""
        return self.filling.table if self.filling else None

    @property
    def table_of_days(self) -> str | None:
        """Table of which the app's jobs make the days, each with a key of its own, if any."""
        return self.daily.table if self.daily else None

    @property
    def table_version(self) -> str:
        """Version under which the ledger has the partitions of the app's table."""
        return self.daily.calendar.unit if self.daily else self.version

    @property
    def reads_tables(self) -> bool:
        """True if its jobs have keys, and need partitions of tables."""
        return self.daily is not None and bool(self.daily.dependencies)

    @property
    def slices(self) -> "tuple[App, ...]":
        """The app for each slice of its table, each as if it filled and read only tables without a second dimension.

        Without any second dimension, only the app itself.
        """
        if self.partitioning is None or not self.partitioning.has_slices:
            return (self,)
        values = self.partitioning.by.values if self.partitioning.by else (None,)
        return tuple(self.of_slice(value) for value in values)

    def of_slice(self, value: str | None) -> "App":
        """Return the app for one slice. The definition may no longer have the value."""
        if self.partitioning is None or not self.partitioning.has_slices:
            return self
        return replace(self, partitioning=self.partitioning.of_slice(value))

    @property
    def parent_apps(self) -> Iterator[str]:
        """Every app named as a parent, in the order of the definition, with repeats."""
        yield from (name for group in self.groups for parents in group.all_of for name in parents.apps)
        yield from self.situational_parent_apps

    @property
    def firm_parent_apps(self) -> Iterator[str]:
        """Parent apps that are named together with the needed keys, not by a function."""
        mappings = (parents for group in self.groups for parents in group.all_of if not parents.function)
        yield from (name for parents in mappings for name in parents.apps)
        yield from self.situational_parent_apps

    @property
    def situational_parent_apps(self) -> Iterator[str]:
        """Parent apps that are needed for the same work IDs or for tables, so that a plan determines the parents of a
        job."""
        yield from (each.app for each in (self.chunking.dependencies if self.chunking else ()))
        tables = self.filling.dependencies if self.filling else ()
        yield from (name for each in tables if (name := each.producer or each.daily_maker))

    def read_key(self, key: str) -> dict[str, Value]:
        """Return the identifiers of a key, typed. Raises BadKey if the key does not fit the template."""
        ids: dict[str, Value] = {}
        try:
            for name, raw in zip(self.template.names, self.template.split(key), strict=True):
                ids[name] = self.read_value(name, raw)
        except ValueError as error:
            raise BadKey(
                f"{key!r} is not a key of {self.name}: {error}." if key else f"{self.name} needs a key.",
                where=f"{self.name}, whose template is {self.template.text}",
                advice=f"Write it like {self.example_key}",
            ) from None
        return ids

    def write_key(self, ids: Mapping[str, Value]) -> str:
        """Return the canonical key of these identifiers. The app must accept each of them (``accepts``)."""
        return self.template.join(str(ids[name]) for name in self.template.names)

    def accepts(self, name: str, value: Value) -> bool:
        """Return whether a job of this app can have this value for this identifier."""
        try:
            return self.read_value(name, str(value)) == value
        except ValueError:
            return False

    def read_value(self, name: str, raw: str) -> Value:
        """Return the value of one identifier. Raises ValueError with the reason if it is wrong."""
        if raw in _DOTS and self.template.join([raw for _ in self.template.names]) == raw:
            raise ValueError(f"{raw!r} would be the whole key, and such a job has no valid address")
        try:
            value = self.kind(name).parse(raw)
        except ValueError as error:
            raise ValueError(f"at {name}, {error}") from None
        if not self.template.fits(name, str(value)):
            raise ValueError(f"at {name}, {value!r} contains {self.template.delimiter!r}, which ends it")
        return value

    @property
    def days(self) -> tuple[str, ...]:
        """Identifiers that are calendar days."""
        return tuple(name for name in self.template.names if isinstance(self.kind(name), Day))

    def kind(self, name: str) -> Identifier:
        return self.identifiers.get(name, _TEXT)

    @property
    def example_key(self) -> str:
        """Key that fits, for messages to people."""
        return self.template.join(
            str(next(iter(self.autofill.get(name, ())), self.kind(name).example))
            for name in self.template.names
        )
