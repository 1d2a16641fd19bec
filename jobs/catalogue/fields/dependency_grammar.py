"""The grammar of ``depends_on``.

depends_on = mapping | {group: mapping | [mapping …]}      groups are OR, a list is AND
mapping    = {app_name: [app …], identifier: [value …] | "all" …, job_id: [key …], when: …, max_lag: …}
           | {_func: module:object, app_name: [app …], when: …, max_lag: …}
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from sluice.jobs.catalogue.errors import At, nearest
from sluice.jobs.catalogue.fields.draft import Mention, Raw
from sluice.jobs.catalogue.fields.literals import raws
from sluice.jobs.catalogue.fields.policy_options import read_lag_s
from sluice.jobs.catalogue.sources.functions import find_two_way
from sluice.jobs.model.dependency import When

#: Name of the only group of the flat form.
DEFAULT_GROUP = "default"
MENTION_WORDS = ("app_name", "job_id", "when", "max_lag", "_func")

_WHENS: tuple[When, ...] = get_args(When)


def read_groups(word: object, at: At) -> dict[str, tuple[Mention, ...]]:
    """Return the groups in the order written. Invalid parts are left out and add a fault."""
    if not isinstance(word, Mapping):
        at.add(f"it has to be a mapping with app_name, or a mapping of named groups; this is {word!r}")
        return {}
    if "app_name" in word or "_func" in word:
        return {DEFAULT_GROUP: _all_of([word], at)}
    groups = {str(name): _group(value, at.inside(f"group {name}")) for name, value in word.items()}
    _refuse_same(groups, at)
    return groups


def _group(value: object, at: At) -> tuple[Mention, ...]:
    mappings = value if isinstance(value, list | tuple) else [value]
    if not mappings or not all(isinstance(mapping, Mapping) for mapping in mappings):
        at.add(f"it has to be a mapping with app_name, or a list of them; this is {value!r}")
        return ()
    mentions = _all_of(mappings, at)
    if any(mention in mentions[:place] for place, mention in enumerate(mentions)):
        at.add("it lists the same mapping twice")
    return mentions


def _refuse_same(groups: Mapping[str, tuple[Mention, ...]], at: At) -> None:
    first: list[tuple[str, tuple[Mention, ...]]] = []
    for name, mentions in groups.items():
        for other, same in first:
            if mentions and mentions == same:
                at.add(f"groups {other} and {name} are the same")
        first.append((name, mentions))


def _all_of(mappings: Sequence[Any], at: At) -> tuple[Mention, ...]:
    read = [_mention(mapping, at) for mapping in mappings]
    return tuple(mention for mention in read if mention is not None)


def _mention(mapping: Mapping[str, object], at: At) -> Mention | None:
    if "_func" in mapping:
        return _two_way(mapping, at)
    if "app_name" not in mapping:
        words = ", ".join(map(str, mapping)) or "nothing"
        at.add(f"a mapping needs app_name, the list of parent apps; this one has {words}")
        return None
    apps = _listed(mapping["app_name"], at.inside("app_name"), "apps")
    keys = _listed(mapping["job_id"], at.inside("job_id"), "keys") if "job_id" in mapping else ()
    values: dict[str, tuple[Raw, ...]] = {}
    for name, value in mapping.items():
        if name not in MENTION_WORDS and value != "all":
            values[str(name)] = _values(value, at.inside(str(name)))
    every = frozenset(
        str(name) for name, value in mapping.items() if value == "all" and name not in MENTION_WORDS
    )
    when = _when(mapping["when"], at) if "when" in mapping else None
    lag_s_max = _lag_s(mapping, when, at)
    if not apps:
        return None
    return Mention(apps=apps, values=values, every=every, keys=keys, when=when, lag_s_max=lag_s_max)


def _two_way(mapping: Mapping[str, object], at: At) -> Mention | None:
    """Return a mapping with a function. It has no options for identifiers, because the function determines them."""
    if others := [str(name) for name in mapping if name not in ("_func", "app_name", "when", "max_lag")]:
        at.add(
            "a mapping with _func may also have app_name, when and max_lag;"
            f" the function itself determines {', '.join(others)}"
        )
    apps = _listed(mapping["app_name"], at.inside("app_name"), "apps") if "app_name" in mapping else ()
    when = _when(mapping["when"], at) if "when" in mapping else None
    lag_s_max = _lag_s(mapping, when, at)
    path = mapping["_func"]
    try:
        if not isinstance(path, str):
            raise ValueError(f"{path!r} is not the path of an object; write package.module:name")
        function = find_two_way(path)
    except ValueError as error:
        at.add(f"_func: {error}")
        return None
    return Mention(apps=apps, function=function, when=when, lag_s_max=lag_s_max)


def _listed(value: object, at: At, what: str) -> tuple[str, ...]:
    try:
        listed = tuple(str(item) for item in raws(value))
    except ValueError:
        at.add(f"{value!r} is not a list of {what}")
        return ()
    if not listed:
        at.add(f"it lists no {what}")
    _refuse_repeats(listed, at)
    return tuple(dict.fromkeys(listed))


def _values(value: object, at: At) -> tuple[Raw, ...]:
    try:
        values = raws(value)
    except ValueError as error:
        at.add(f'{error}; write a list, or "all"')
        return ()
    if not values:
        at.add('it lists no values; list some, write "all", or leave it out to use the child\'s value')
    return values


def _refuse_repeats(listed: tuple[str, ...], at: At) -> None:
    if repeated := sorted(item for item, times in Counter(listed).items() if times > 1):
        at.add(f"{', '.join(repeated)} is listed twice")


def _when(value: object, at: At) -> When:
    for when in _WHENS:
        if value == when:
            return when
    at.add(f"when: {value!r} is none of {', '.join(_WHENS)}{nearest(value, _WHENS)}")
    return _WHENS[0]


def _lag_s(mapping: Mapping[str, object], when: When | None, at: At) -> float | None:
    if "max_lag" not in mapping:
        return None
    if when not in (None, "succeeded"):
        at.add(f"max_lag is the maximum age of a parent's success, so it cannot be used with when: {when}")
        return None
    try:
        return read_lag_s(mapping["max_lag"])
    except ValueError as error:
        at.add(f"max_lag: {error}")
        return None
