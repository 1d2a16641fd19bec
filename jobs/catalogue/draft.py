"""An app as written: its words are read and have the right shape, but its values have no types yet.

Types come later, since an identifier means the same in every app that ``depends_on`` links.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, TypeAlias

from msgspec import Struct

from jobs.catalogue.faults import At
from jobs.gate import When
from jobs.identifiers import Identifier
from jobs.policy import Policy
from jobs.spark import Spark
from jobs.template import Template
from jobs.two_way import TwoWay

#: A value as JSON, TOML, YAML or Python hold it.
Raw: TypeAlias = str | int | date


class Entry(Struct, frozen=True, kw_only=True):
    """One app of one source, unread. ``default_job_id`` is the source's own."""

    origin: str
    name: str
    words: object
    default_job_id: str | None = None
    function: Callable[..., Any] | None = None
    function_path: str | None = None


class Span(Struct, frozen=True):
    """A half-open range as written, ``first:end:step``."""

    text: str
    first: str
    end: str
    step: int


class Mention(Struct, frozen=True, kw_only=True):
    """One mapping of ``depends_on``; ``jobs.app.Parents`` without types."""

    apps: tuple[str, ...] = ()
    values: Mapping[str, tuple[Raw, ...]] = {}
    every: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    function: TwoWay | None = None
    when: When


class Work(Struct, frozen=True, kw_only=True):
    """What a job of the app does. ``source`` is the text of what does it, where there is no function to ask for it."""

    job_type: str
    function: Callable[..., Any] | None = None
    function_path: str | None = None
    isolate: bool = False
    bash_cmd: str | None = None
    manager: type | None = None
    spark: Spark | None = None
    source: str = ""


class Draft(Struct, frozen=True, kw_only=True):
    """``template`` is None where it could not be read; the rest is still checked."""

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

    @property
    def names(self) -> tuple[str, ...]:
        return self.template.names if self.template else ()

    @property
    def mentions(self) -> Iterator[Mention]:
        return (mention for group in self.groups.values() for mention in group)
