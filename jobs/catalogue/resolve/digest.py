"""Digests of definitions.

``digest`` covers an app's effect. It is the same on every machine with the same definition. ``KnownDefinitions`` are
the definitions that a process uses, in a form that can be compared between processes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from sluice.jobs.catalogue.catalogue import Catalogue
from sluice.jobs.catalogue.fields.chunk_options import CHUNK_WORDS
from sluice.jobs.catalogue.fields.draft import Draft
from sluice.jobs.catalogue.fields.partition_options import PARTITION_WORDS
from sluice.jobs.catalogue.fields.policy_options import METADATA_WORDS
from sluice.jobs.catalogue.fields.work_options import SAGA_WORDS
from sluice.jobs.catalogue.sources.functions import source_of
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.partitions import Offset, Partitioning, TableDependency
from sluice.jobs.sagas.spec import Saga

_SPELLED_OUT = frozenset(
    {"job_id", "job_id_template", "job_type", "function", *SAGA_WORDS, *CHUNK_WORDS, *PARTITION_WORDS}
)
#: Left out, because the effect of an app does not depend on the app that undoes it.
_ELSEWHERE = frozenset({"compensate"})


def digest(draft: Draft) -> str:
    """Return the digest of an app.

    It covers the options of the definition, the template even if it is a default, and the text of the code. Options
    that only determine the number of tries, the durations or the times are left out, and so are paths. The order of
    the groups counts, that of options does not.
    """
    words = {
        word: value
        for word, value in draft.words.items()
        if word not in METADATA_WORDS | _SPELLED_OUT | _ELSEWHERE
    }
    content = {
        "words": _plain(words),
        "groups": list(draft.groups),
        "template": draft.template and [draft.template.text, draft.template.delimiter],
        "job_type": draft.work.job_type,
        "function": _code(draft),
        **(_of_saga(draft.work.saga) if draft.work.saga else {}),
        **(_of_chunks(draft.chunking) if draft.chunking else {}),
        **(_of_partitions(draft.partitioning) if draft.partitioning else {}),
        **(_of_readings(draft.days) if draft.days and draft.days.dependencies else {}),
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def code_of(draft: Draft) -> str:
    """Return the digest of the code alone; empty if the options of the definition contain all of it."""
    code = _code(draft)
    return hashlib.blake2b(code.encode(), digest_size=16).hexdigest() if code else ""


def _code(draft: Draft) -> str:
    return draft.work.source or (source_of(draft.work.function) if draft.work.function else "")


def _of_saga(saga: Saga) -> dict[str, object]:
    """Return the parts of a saga. Its hooks only observe it, so they are left out."""
    return {"context": saga.context and _text(saga.context)}


def _of_chunks(chunking: Chunking) -> dict[str, object]:
    """Return the parts of a chunking. A source's default work IDs belong to no single app, so they are left out."""
    return {
        "chunk_size": chunking.size,
        "dependencies": [asdict(dependency) for dependency in chunking.dependencies],
        "freshness_by": sorted(chunking.freshness_by),
        "select_work": chunking.select and _text(chunking.select),
    }


def _of_partitions(partitioning: Partitioning) -> dict[str, object]:
    """Return the parts of a partitioning.

    The partitions per job, the modes and the first partition are left out, and so are the values of a second dimension:
    another value does not change the partitions of the others.
    """
    own = partitioning.calendar
    return {
        **({"by": partitioning.by.name} if partitioning.by else {}),
        "output_table": partitioning.table,
        "partition": [own.unit, own.format],
        **_of_readings(partitioning),
    }


def _of_readings(partitioning: Partitioning) -> dict[str, object]:
    own = partitioning.calendar
    return {"table_dependencies": [_of_reading(each, own) for each in partitioning.dependencies]}


def _of_reading(dependency: TableDependency, own: Calendar) -> dict[str, object]:
    """Return the parts of a dependency. If another app fills the table, that app's digest covers the calendar."""
    calendar = None if dependency.producer else [dependency.calendar.unit, dependency.calendar.format]
    return {
        "table": dependency.table,
        "partition": calendar,
        "start_offset": dependency.start_offset and _length(dependency.start_offset, own),
        "end_offset": _length(dependency.end_offset, own),
        "cutoffs": [dependency.start_cutoff_s, dependency.end_cutoff_s],
        "cumulative": dependency.cumulative,
        **({"by": [dependency.by.name, dependency.all_slices]} if dependency.by else {}),
    }


def _length(offset: Offset, own: Calendar) -> list[int]:
    """Return the length of an offset. Equal lengths are equal in any unit; the length of a month depends on the
    month.
    """
    if own.unit == "month":
        return [offset.partitions, offset.seconds]
    return [0, offset.length_s(0, own)]


def _text(function: Callable[..., Any]) -> str:
    """Return the text of a function. Its representation would not do, because it contains an address in memory."""
    if isinstance(function, FunctionType) and (text := source_of(function)):
        return text
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _plain(value: object) -> object:
    """Return the value with texts as names. YAML and Python allow other names, which cannot be sorted."""
    if isinstance(value, Mapping):
        return {str(word): _plain(inner) for word, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


#: Characters of a digest: 64 bits, enough to distinguish versions of one app.
DIGEST_CHARACTERS = 16


class KnownDefinitions(Struct, frozen=True, kw_only=True):
    """Definitions that a process uses.

    ``apps`` are digests of each app's effect, by name. Processes may have different sources, so only apps that both
    know can be compared. ``problem`` is the reason why a change was not loaded.
    """

    apps: Mapping[str, str]
    problem: str | None = None

    @property
    def digest(self) -> str:
        """Digest of all apps. Two processes have the same one exactly if their apps are equal."""
        text = "\n".join(f"{name} {digest}" for name, digest in sorted(self.apps.items()))
        return hashlib.blake2b(text.encode(), digest_size=DIGEST_CHARACTERS // 2).hexdigest()


def known(catalogue: Catalogue, problem: str | None = None) -> KnownDefinitions:
    return KnownDefinitions(
        apps={name: app.digest[:DIGEST_CHARACTERS] for name, app in catalogue.items()}, problem=problem
    )
