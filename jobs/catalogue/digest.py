"""A fingerprint of what an app does, the same on every machine that has the same definition."""

import hashlib
import json
from collections.abc import Mapping

from jobs.catalogue.draft import Draft
from jobs.catalogue.functions import source_of
from jobs.catalogue.policy import METADATA_WORDS

_SPELLED_OUT = frozenset({"job_id", "job_id_template"})


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
        "function": source_of(draft.work.function) if draft.work.function else draft.work.source,
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: object) -> object:
    """With texts for words, since YAML and Python can have others, which do not sort."""
    if isinstance(value, Mapping):
        return {str(word): _plain(inner) for word, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
