"""Options written in Python, converted to the options of the declarative form: of definitions and of submissions.

- An app's function becomes its name, a class of an error its dotted name.
- A ``timedelta`` becomes a duration, an aware ``datetime`` a text. A naive one is refused.
- ``needs`` becomes ``depends_on``, or ``dependencies`` of an app with ``chunk_size``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import islice, product
from typing import Any

from sluice.jobs.api.definition import Alternatives, AppDependency, Definition, as_dependency
from sluice.jobs.catalogue.errors import At
from sluice.jobs.catalogue.fields.dependency_grammar import DEFAULT_GROUP
from sluice.jobs.errors import BadRequest
from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.text.units import as_duration

#: Alternatives that several ``any_of`` may have together.
_GROUPS_MAX = 100
_TYPES: Mapping[object, str] = {str: "str", int: "int", date: "date"}


def declarative(options: Mapping[str, object], at: At) -> dict[str, object]:
    """Return the options of a definition in Python as a file has them. Invalid ones add a fault and are left out."""
    converted: dict[str, object] = {}
    for option, value in options.items():
        try:
            converted[option] = _plain(value)
        except ValueError as error:
            at.add(f"{option}: {error}")
    if "needs" in converted:
        _compile_needs(converted, at)
    return converted


def declarative_policy(policy: Mapping[str, object]) -> dict[str, object]:
    """Return the policy of a submission in Python as a message has it. BadRequest if a value is invalid."""
    converted: dict[str, object] = {}
    for option, value in policy.items():
        try:
            converted[option] = _plain(value)
        except ValueError as error:
            raise BadRequest(f"policy: {option}: {error}.") from None
    return converted


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if type(value) in (list, tuple):
        return [_plain(inner) for inner in value]
    convert = next((function for kind, function in _CONVERSIONS.items() if isinstance(value, kind)), None)
    return convert(value) if convert else value


def _instant(value: datetime) -> str:
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone; write datetime(…, tzinfo=UTC)")
    return value.isoformat()


def _type(value: type) -> object:
    """Return the name of an identifier's type or of an error. Other classes are hooks or job managers."""
    if issubclass(value, BaseException):
        return f"{value.__module__}.{value.__qualname__}"
    return _TYPES.get(value, value)


#: By type of a value: the function that returns it as a file has it.
_CONVERSIONS: Mapping[type, Callable[[Any], object]] = {
    Definition: lambda definition: definition.name,
    RetryRule: lambda rule: dict(rule.options),
    timedelta: as_duration,
    datetime: _instant,
    type: _type,
}


def _compile_needs(options: dict[str, object], at: At) -> None:
    needs, within = options.pop("needs"), at.inside("needs")
    other = "dependencies" if "chunk_size" in options else "depends_on"
    if other in options:
        within.add(f"{other} is the same in another form; write only one")
        return
    if not isinstance(needs, Sequence) or isinstance(needs, str):
        within.add(f'{needs!r} is not a list of dependencies; write [fetch.all("shop"), stock]')
        return
    try:
        groups = dict(_groups([_choices(need) for need in needs]))
        if other == "dependencies":
            options[other] = [_of_work_ids(need) for need in _only(groups)]
        elif needs:
            options[other] = {name: list(map(_of_keys, group)) for name, group in groups.items()}
    except ValueError as error:
        within.add(str(error))


def _choices(need: object) -> tuple[tuple[AppDependency, ...], ...]:
    return need.choices if isinstance(need, Alternatives) else ((as_dependency(need),),)


def _groups(
    needs: Sequence[tuple[tuple[AppDependency, ...], ...]],
) -> Iterator[tuple[str, list[AppDependency]]]:
    """Yield each combination of the choices, named after the apps that distinguish it."""
    combinations = list(islice(product(*needs), _GROUPS_MAX + 1))
    if len(combinations) > _GROUPS_MAX:
        raise ValueError(f"its alternatives have more than {_GROUPS_MAX} combinations")
    seen: dict[str, int] = {}
    for combination in combinations:
        open_choices = [choice for choice, need in zip(combination, needs, strict=True) if len(need) > 1]
        name = "+".join(each.app for choice in open_choices for each in choice) or DEFAULT_GROUP
        seen[name] = seen.get(name, 0) + 1
        yield (
            name if seen[name] == 1 else f"{name}-{seen[name]}",
            [each for choice in combination for each in choice],
        )


def _of_keys(need: AppDependency) -> dict[str, object]:
    """Return a mapping of ``depends_on``."""
    mapping: dict[str, object] = {"app_name": [need.app], **dict.fromkeys(need.every, "all")}
    mapping |= {name: list(values) for name, values in need.values.items()}
    if need.condition is not None:
        mapping["when"] = need.condition
    if need.lag is not None:
        mapping["max_lag"] = _lag(need.lag)
    return mapping


def _of_work_ids(need: AppDependency) -> dict[str, object]:
    """Return a mapping of ``dependencies``. Without a ``max_lag`` the age of a success does not matter."""
    if need.every or need.values or need.condition:
        raise ValueError(
            f"{need.app}: an app with chunk_size needs the same work IDs; only max_lag can be set"
        )
    if need.lag is None:
        raise ValueError(
            f"{need.app}: it has no max_lag, the maximum age of its results; 0 means that it always runs"
        )
    return {"job_type": need.app, "max_lag": _lag(need.lag)}


def _only(groups: Mapping[str, list[AppDependency]]) -> list[AppDependency]:
    if len(groups) > 1:
        raise ValueError("an app with chunk_size has no alternatives")
    return next(iter(groups.values()), [])


def _lag(lag: object) -> object:
    """Return a lag with a unit. A number is seconds here, but minutes in a file."""
    return as_duration(timedelta(seconds=lag)) if isinstance(lag, int | float) else _plain(lag)
