"""A fingerprint of what an app does, the same on every machine that has the same definition."""

import hashlib
import json
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from msgspec.structs import asdict

from sluice.jobs.calendar import Calendar
from sluice.jobs.catalogue.chunks import CHUNK_WORDS
from sluice.jobs.catalogue.draft import Draft
from sluice.jobs.catalogue.functions import source_of
from sluice.jobs.catalogue.partitions import PARTITION_WORDS
from sluice.jobs.catalogue.policy import METADATA_WORDS
from sluice.jobs.catalogue.sagas import SAGA_WORDS
from sluice.jobs.chunking import Chunking
from sluice.jobs.partitioning import Offset, Partitioning, TableDependency
from sluice.jobs.sagas.saga import Saga

_SPELLED_OUT = frozenset(
    {"job_id", "job_id_template", "job_type", "function", *SAGA_WORDS, *CHUNK_WORDS, *PARTITION_WORDS}
)
#: What an app does is the same, whatever undoes it.
_ELSEWHERE = frozenset({"compensate"})


def digest(draft: Draft) -> str:
    """Over the words of the definition, the template even where it is a default, and the text of what does the work.

    Words that say only how often, how long or when a job is tried are left out, and so are paths. The
    order of the groups counts, that of words does not.
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
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def code_of(draft: Draft) -> str:
    """The same of the code alone that does the work; empty where the words of the definition say all of it."""
    code = _code(draft)
    return hashlib.blake2b(code.encode(), digest_size=16).hexdigest() if code else ""


def _code(draft: Draft) -> str:
    return draft.work.source or (source_of(draft.work.function) if draft.work.function else "")


def _of_saga(saga: Saga) -> dict[str, object]:
    """Its hooks hear what happens, and are no part of it."""
    return {"context": saga.context and _text(saga.context)}


def _of_chunks(chunking: Chunking) -> dict[str, object]:
    """What a source takes for granted of all its apps, its default work IDs, is of none of them."""
    return {
        "chunk_size": chunking.size,
        "dependencies": [asdict(dependency) for dependency in chunking.dependencies],
        "freshness_by": sorted(chunking.freshness_by),
        "select_work": chunking.select and _text(chunking.select),
    }


def _of_partitions(partitioning: Partitioning) -> dict[str, object]:
    """Neither how many partitions make one job, nor in which modes, nor how far back the table goes."""
    own = partitioning.calendar
    return {
        "output_table": partitioning.table,
        "partition": [own.unit, own.format],
        "table_dependencies": [_of_reading(each, own) for each in partitioning.dependencies],
    }


def _of_reading(dependency: TableDependency, own: Calendar) -> dict[str, object]:
    """How the partitions of a table are counted that another app fills is in the digest of that one."""
    calendar = None if dependency.producer else [dependency.calendar.unit, dependency.calendar.format]
    return {
        "table": dependency.table,
        "partition": calendar,
        "start_offset": dependency.start_offset and _length(dependency.start_offset, own),
        "end_offset": _length(dependency.end_offset, own),
        "cutoffs": [dependency.start_cutoff_s, dependency.end_cutoff_s],
        "cumulative": dependency.cumulative,
    }


def _length(offset: Offset, own: Calendar) -> list[int]:
    """A day is a day, by whatever it is counted; how long a month is depends on the month."""
    if own.unit == "month":
        return [offset.partitions, offset.seconds]
    return [0, -offset.before(0, own)]


def _text(function: Callable[..., Any]) -> str:
    """Never its representation, which tells where in memory it is."""
    if isinstance(function, FunctionType) and (text := source_of(function)):
        return text
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _plain(value: object) -> object:
    """With texts for words, since YAML and Python can have others, which do not sort."""
    if isinstance(value, Mapping):
        return {str(word): _plain(inner) for word, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
