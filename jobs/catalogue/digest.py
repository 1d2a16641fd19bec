"""A fingerprint of what an app does, the same on every machine that has the same definition."""

import hashlib
import json
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from msgspec.structs import asdict

from jobs.catalogue.chunks import CHUNK_WORDS
from jobs.catalogue.draft import Draft
from jobs.catalogue.functions import source_of
from jobs.catalogue.policy import METADATA_WORDS
from jobs.chunking import Chunking

_SPELLED_OUT = frozenset({"job_id", "job_id_template", *CHUNK_WORDS})


def digest(draft: Draft) -> str:
    """Over the words of the definition, the template even where it is a default, and the text of what does the work.

    Words that say only how often, how long or when a job is tried are left out, and so are paths. The
    order of the groups counts, that of words does not.
    """
    words = {
        word: value
        for word, value in draft.words.items()
        if word not in METADATA_WORDS and word not in _SPELLED_OUT
    }
    content = {
        "words": _plain(words),
        "groups": list(draft.groups),
        "template": draft.template and [draft.template.text, draft.template.delimiter],
        "function": draft.work.source or (source_of(draft.work.function) if draft.work.function else ""),
        **(_of_chunks(draft.chunking) if draft.chunking else {}),
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _of_chunks(chunking: Chunking) -> dict[str, object]:
    """What a source takes for granted of all its apps, its default work IDs, is of none of them."""
    return {
        "chunk_size": chunking.size,
        "dependencies": [asdict(dependency) for dependency in chunking.dependencies],
        "freshness_by": sorted(chunking.freshness_by),
        "select_work": chunking.select and _text(chunking.select),
    }


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
