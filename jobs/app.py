"""An app: a kind of work, as its author defined it. Parsed, typed and checked; never a raw mapping."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from sluice.jobs.breaker import Breaker
from sluice.jobs.chunking import Chunking
from sluice.jobs.errors import BadKey
from sluice.jobs.gate import When
from sluice.jobs.identifiers import Identifier, Text, Value
from sluice.jobs.partitioning import Partitioning
from sluice.jobs.policy import Policy
from sluice.jobs.program import Program
from sluice.jobs.retry_budget import RetryBudget
from sluice.jobs.sagas.saga import Saga
from sluice.jobs.spark import Spark
from sluice.jobs.submission import JSON
from sluice.jobs.template import Template
from sluice.jobs.two_way import TwoWay
from sluice.jobs.values import Values

_TEXT = Text()

#: What ``compensate`` says of an app that no other can undo.
IRREVERSIBLE = "irreversible"

#: Browsers and proxies remove these from a path.
_DOTS = (".", "..")


class Parents(Struct, frozen=True, kw_only=True):
    """One sub-dependency: these apps, at the values listed (for identifiers not listed, the child's own).

    ``every`` names the identifiers that take all of the parent's autofill values. Where ``keys`` are
    given, these very jobs are the parents, and the values say only which children need them. A
    ``function`` says by itself which jobs of the apps are the parents, and of any app where none are named.
    Those that succeeded longer than ``lag_s_max`` ago are run again for a child that is asked for.
    """

    apps: tuple[str, ...]
    values: Mapping[str, tuple[Value, ...]] = {}
    every: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    function: TwoWay | None = None
    when: When = "succeeded"
    lag_s_max: float | None = None


class Group(Struct, frozen=True, kw_only=True):
    """One alternative: all of its sub-dependencies together. The groups of an app are OR."""

    name: str
    all_of: tuple[Parents, ...]


class Filter(Struct, frozen=True, kw_only=True):
    """``valid_if_or``: a job passes when the function says so or any identifier has a listed value.

    ``function`` is called with the app's name and the identifiers by name.
    """

    values: Mapping[str, tuple[Value, ...]] = {}
    function_path: str | None = None
    function: Callable[..., object] | None = None


class App(Struct, frozen=True, kw_only=True):
    """``origin`` is the source that defines it, for messages to people. ``function`` is the user's callable;
    ``function_path`` is ``module:name`` or ``path/to/file.py:name``, by which a child process finds it.
    ``manager`` is the user's class that ``job_type`` names, where that is a path (``jobs.managed``). Of a
    ``saga`` the function is what builds it, and stands there alone.

    ``identifiers`` has the kind of each identifier of the template that is not text. An app with ``chunking`` is
    keyed by chunk, one with ``partitioning`` by partition: neither has identifiers, their templates take any key, and
    their groups are empty. Work that is ``unbounded`` never ends by itself.
    ``compensate`` names the app whose jobs undo what its jobs have done, or says that none does; None where there is
    nothing to undo. ``breaker`` says when none of its jobs is begun for a while,
    ``retry_budget`` how many failed rounds are tried again in what time. ``digest`` changes with what the app
    does, not with how often it is tried, how long it may take, or when; ``version``, of one that is keyed by
    partition, also with what all those do whose tables it reads. Its ``words`` are its definition as any process can
    read it again, where that is possible; ``code`` is a digest of what they leave to a function, which has to be there
    too.
    """

    name: str
    origin: str
    job_type: str
    template: Template
    identifiers: Mapping[str, Identifier] = {}
    autofill: Mapping[str, Values] = {}
    groups: tuple[Group, ...] = ()
    valid_if_or: Filter | None = None
    policy: Policy = Policy()
    function: Callable[..., Any] | None = None
    function_path: str | None = None
    isolate: bool = False
    bash_cmd: str | None = None
    manager: type | None = None
    spark: Spark | None = None
    program: Program | None = None
    saga: Saga | None = None
    chunking: Chunking | None = None
    partitioning: Partitioning | None = None
    unbounded: bool = False
    compensate: str | None = None
    breaker: Breaker | None = None
    retry_budget: RetryBudget | None = None
    digest: str = ""
    code: str = ""
    version: str = ""
    words: Mapping[str, JSON] | None = None

    @property
    def is_keyed_by_template(self) -> bool:
        """Whether its keys say which jobs there are and who needs whom; else that is planned for each submission."""
        return self.chunking is None and self.partitioning is None

    @property
    def parent_apps(self) -> Iterator[str]:
        """Every app it names as a parent, in the order of the definition, with repeats."""
        yield from (name for group in self.groups for parents in group.all_of for name in parents.apps)
        yield from self._dependencies

    @property
    def firm_parent_apps(self) -> Iterator[str]:
        """Those that are named together with the keys that are needed, and not left to a function."""
        mappings = (parents for group in self.groups for parents in group.all_of if not parents.function)
        yield from (name for parents in mappings for name in parents.apps)
        yield from self._dependencies

    @property
    def _dependencies(self) -> Iterator[str]:
        yield from (each.app for each in (self.chunking.dependencies if self.chunking else ()))
        tables = self.partitioning.dependencies if self.partitioning else ()
        yield from (each.producer for each in tables if each.producer)

    def read_key(self, key: str) -> dict[str, Value]:
        """The identifiers of a key, typed; BadKey where it does not fit the template."""
        ids: dict[str, Value] = {}
        try:
            for name, raw in zip(self.template.names, self.template.split(key), strict=True):
                ids[name] = self.read_value(name, raw)
        except ValueError as error:
            raise BadKey(
                f"{key!r} is not a key of {self.name}: {error}.",
                where=f"{self.name}, whose template is {self.template.text}",
                advice=f"Write it like {self.example_key}",
            ) from None
        return ids

    def write_key(self, ids: Mapping[str, Value]) -> str:
        """The canonical key of these identifiers, each of which the app ``accepts``."""
        return self.template.join(str(ids[name]) for name in self.template.names)

    def accepts(self, name: str, value: Value) -> bool:
        """Whether a job of this app can have this value at this identifier."""
        try:
            return self.read_value(name, str(value)) == value
        except ValueError:
            return False

    def read_value(self, name: str, raw: str) -> Value:
        """The value of one identifier; ValueError says what is wrong with it."""
        if raw in _DOTS and self.template.join([raw for _ in self.template.names]) == raw:
            raise ValueError(f"{raw!r} would be the whole key, and no address could name the job")
        try:
            value = self.kind(name).parse(raw)
        except ValueError as error:
            raise ValueError(f"at {name}, {error}") from None
        if not self.template.fits(name, str(value)):
            raise ValueError(f"at {name}, {value!r} contains {self.template.delimiter!r}, which ends it")
        return value

    def kind(self, name: str) -> Identifier:
        return self.identifiers.get(name, _TEXT)

    @property
    def example_key(self) -> str:
        """A key that fits, for messages to people."""
        return self.template.join(
            str(next(iter(self.autofill.get(name, ())), self.kind(name).example))
            for name in self.template.names
        )
