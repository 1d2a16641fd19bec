"""The options of a policy as a definition writes them: the inverse of ``policy_options``."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sluice.jobs.catalogue.fields.policy_options import LIMIT_WORDS, POLICY_WORDS
from sluice.jobs.policy.concurrency import Concurrency
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.text.units import duration_text, size_text


def changed_options(policy: Policy) -> dict[str, object]:
    """Return the options that do not have their default. Environment variables have no values here, because a value
    may be a secret.
    """
    usual = Policy()
    fields = {option: field for option, (field, _) in POLICY_WORDS.items()}
    return {
        option: _written(field, getattr(policy, field))
        for option, field in fields.items()
        if getattr(policy, field) != getattr(usual, field)
    }


def _written(field: str, value: object) -> object:
    match value:
        case RetryRule():
            return {option: _number(part) for option, part in value.options.items()}
        case Concurrency():
            return value.limit if value.is_limit_alone else _given(value, ("key", "pool", "limit"))
        case Allowance():
            limits = {option: (field, getattr(value, field)) for option, (field, _) in LIMIT_WORDS.items()}
            return {option: _written(*limit) for option, limit in limits.items() if limit[1] is not None}
        case Debug():
            return {name: part for name in value.__struct_fields__ if (part := getattr(value, name))}
        case Mapping():
            return dict.fromkeys(value, "…")
    return _scalar(field, value)


def _scalar(field: str, value: object) -> object:
    """Return a time as a text, and a number with the unit that the name of its field has."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return duration_text(value.total_seconds())
    if field.endswith("_s") and isinstance(value, float):
        return duration_text(value)
    if field.endswith("_bytes") and isinstance(value, int):
        size, unit = size_text(value).split()
        return value if unit == "bytes" else size + unit
    return value


def _number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _given(value: object, names: tuple[str, ...]) -> dict[str, object]:
    return {name: part for name in names if (part := getattr(value, name)) is not None}
