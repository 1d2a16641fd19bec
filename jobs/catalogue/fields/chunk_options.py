"""Options of an app that is keyed by chunk.

chunk_size   = a whole number from 1 on, the work IDs of one job
dependencies = [{job_type: app, max_lag: minutes or "6h", custom_kwargs: {name: value},
                 allow_missing_work_ids: bool, unique: bool} …]
depends_on   = one group of mappings with _func (see dependency_grammar)
select_work, default_work_ids = module:function, or in Python the function itself
freshness_by = [kwarg …]        allow_multiple_jobs = bool        data_sources, data_sinks = [text …]
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sluice.jobs.api.definition import Definition
from sluice.jobs.catalogue.errors import At, Words, name_of_app, read_fields, truth, unknown
from sluice.jobs.catalogue.fields.dependency_grammar import read_groups
from sluice.jobs.catalogue.fields.draft import Mention, Selector, UnreadApp
from sluice.jobs.catalogue.fields.policy_options import read_lag_s
from sluice.jobs.catalogue.sources.functions import find_function, path_of
from sluice.jobs.keys.chunks import Chunking, Dependency
from sluice.jobs.keys.template import Template
from sluice.jobs.text.json_value import as_json

#: Kwarg in which a chunk receives its IDs.
RESERVED = "work_ids"
#: Placeholders of such an app's command, in addition to the placeholders of every job.
PLACEHOLDERS = ("work_ids",)


def any_key(delimiter: str) -> Template:
    """Return the template of an app with keys that the planner makes."""
    return Template.parse("{chunk}", delimiter)


def read_chunking(words: Mapping[str, object], entry: UnreadApp, at: At) -> Chunking | None:
    """Return the chunking of an app, or None if it has no such options.

    An invalid option adds a fault and is replaced by a default.
    """
    if not any(word in words for word in CHUNK_WORDS):
        return None
    selects = _selector("select_work", words, at)
    default = _selector("default_work_ids", words, at) or entry.default_ids
    dependencies = tuple(_dependencies(words.get("dependencies", ()), at.inside("dependencies")))
    return Chunking(
        **{"size": 1, **read_fields(_WORDS, words, at.add)},
        dependencies=dependencies,
        select=selects.function if selects else None,
        select_path=selects.path if selects else None,
        default_ids=default.function if default else None,
        default_ids_path=default.path if default else None,
    )


def read_groups_of_work_ids(word: object, at: At) -> Mapping[str, tuple[Mention, ...]]:
    """Return the dependency group of an app that is keyed by chunk. Work IDs lead to jobs with keys only by a two-way
    function, and a chunk has no alternatives.
    """
    groups = read_groups(word, at)
    if len(groups) > 1:
        at.add("an app with chunk_size has no alternatives; write all of its mappings in one group")
        return {}
    mentions = [mention for group in groups.values() for mention in group]
    if word == {} or any(mention.function is None for mention in mentions):
        at.add(
            "a work ID leads to jobs with keys only by a two-way function: give the mapping a _func;"
            " list apps with chunk_size in dependencies"
        )
        return {}
    return groups


def read_selector(value: object) -> Selector:
    """Return a function that selects work IDs. Raises ValueError if it is not one."""
    if isinstance(value, str):
        return Selector(find_function(value), value)
    function = value.function if isinstance(value, Definition) else value
    if not callable(function):
        raise ValueError(f"{value!r} is no function; write package.module:name")
    return Selector(function, path_of(function))


def _selector(word: str, words: Mapping[str, object], at: At) -> Selector | None:
    if word not in words:
        return None
    try:
        return read_selector(words[word])
    except ValueError as error:
        at.add(f"{word}: {error}")
        return None


def _dependencies(value: object, at: At) -> Iterator[Dependency]:
    if not isinstance(value, list | tuple):
        at.add(f"{value!r} is not a list of mappings with job_type and max_lag")
        return
    seen: list[Dependency] = []
    for place, mapping in enumerate(value, start=1):
        if not isinstance(mapping, Mapping):
            at.add(f"it has to be a mapping with job_type and max_lag; this is {mapping!r}")
        elif dependency := _dependency(mapping, place, at):
            if any(_are_alike(dependency, other) for other in seen):
                at.add(f"{dependency.app} is listed twice")
            seen.append(dependency)
            yield dependency


def _dependency(mapping: Mapping[Any, object], place: int, at: At) -> Dependency | None:
    app = mapping.get("job_type")
    within = at.inside(app if isinstance(app, str) else f"number {place}")
    for word in mapping:
        if word not in _DEPENDENCY_WORDS:
            within.add(unknown(word, _DEPENDENCY_WORDS))
    if "job_type" not in mapping:
        within.add("it has no job_type, the name of the app that it depends on")
    if "max_lag" not in mapping:
        within.add("it has no max_lag, the maximum age of its results; 0 means that it always runs")
    fields = read_fields(_DEPENDENCY_WORDS, mapping, within.add)
    return Dependency(**{"lag_s_max": 0.0, **fields}) if "app" in fields else None


def _are_alike(one: Dependency, other: Dependency) -> bool:
    return (one.app, one.unique, one.kwargs) == (other.app, other.unique, other.kwargs)


def _size(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is not a whole number from 1 on, the number of work IDs per job")
    return value


def _kwargs(value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a mapping of names to values")
    if RESERVED in value:
        raise ValueError(f"{RESERVED} is set for each chunk; it cannot be fixed")
    return dict(as_json(value))


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{value!r} is not a list of texts")
    return tuple(value)


def _names(value: object) -> tuple[str, ...]:
    names = _texts(value)
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is listed twice")
    if RESERVED in names:
        raise ValueError(f"{RESERVED}: freshness is recorded per work ID in any case")
    return names


#: By option: the field of ``Chunking`` that it sets, and the function that reads its value.
_WORDS: Words = {
    "chunk_size": ("size", _size),
    "freshness_by": ("freshness_by", _names),
    "allow_multiple_jobs": ("allow_multiple_jobs", truth),
    "data_sources": ("data_sources", _texts),
    "data_sinks": ("data_sinks", _texts),
}
#: By option: the field of ``Dependency`` that it sets, and the function that reads its value.
_DEPENDENCY_WORDS: Words = {
    "job_type": ("app", name_of_app),
    "max_lag": ("lag_s_max", read_lag_s),
    "custom_kwargs": ("kwargs", _kwargs),
    "allow_missing_work_ids": ("any_ids", truth),
    "unique": ("unique", truth),
}
CHUNK_WORDS = (*_WORDS, "dependencies", "select_work", "default_work_ids")
