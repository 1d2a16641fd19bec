"""Pool and rate limit of a job, by the names under which the ledger counts it."""

from collections.abc import Mapping
from hashlib import sha256

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.concurrency import Concurrency
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.rate_limit import JobRate
from sluice.jobs.runners.command.placeholders import OF_EVERY_JOB, fill_braces, names
from sluice.jobs.text.redaction import masked

#: Prefix of kwargs in the placeholders of a key.
OF_KWARGS = "kwargs."
#: Longest text of a key in a pool's name, in characters. A longer text is replaced by its beginning and a digest,
#: because the names are in an index.
_CHARACTERS_MAX = 200
#: Prefix of the names of pools that several apps may share.
NAMED = "pool "
#: Limit of a pool of jobs that have a rate limit and no concurrency limit: more than any number of jobs.
UNLIMITED = 2**31 - 1


def pool_of(app: App, policy: Policy, key: str, kwargs: Mapping[str, JSON]) -> str | None:
    """Return the pool of the job with this key, or None if the job is not counted.

    The name is ``app``, ``app:text`` or ``pool name``. These cannot be confused: names of apps and pools contain no
    colon and no space, so the first colon or space determines which form it is.

    A job with a rate limit always has a pool, because admission to the pool is where it waits for the limit. Without
    a concurrency limit, the pool has the name of the token bucket, and no limit.
    """
    concurrency = policy.concurrency
    if concurrency is None:
        rate = rate_of(app, key, kwargs)
        return rate.bucket if rate else None
    if concurrency.pool is not None:
        return f"{NAMED}{concurrency.pool}"
    if concurrency.key is None:
        return app.name
    return _of_key(app, concurrency.key, key, kwargs)


def rate_of(app: App, key: str, kwargs: Mapping[str, JSON]) -> JobRate | None:
    """Return the token bucket of the job with this key, or None if its starts are not limited.

    The name is ``app`` or ``app:text``, as that of a pool.
    """
    limit = app.rate_limit
    if limit is None:
        return None
    return JobRate(app.name if limit.key is None else _of_key(app, limit.key, key, kwargs), limit)


def spoken(pool: str) -> str:
    """Return the pool's name for messages to people."""
    return pool if pool.startswith(NAMED) else f"the pool of {masked(pool)}"


def spoken_rate(bucket: str) -> str:
    """Return the name of a token bucket for messages to people."""
    return f"the rate limit of {masked(bucket)}"


def unknown_names(key: str, identifiers: tuple[str, ...]) -> list[str]:
    """Return the placeholders of a key that no job of an app with these identifiers has.

    Names of kwargs are accepted, because they are not known before a submission gives them.
    """
    known = {*OF_EVERY_JOB, *identifiers}
    return [name for name in names(key) if name not in known and not _is_of_kwargs(name)]


def require_names(app: App, policy: Policy) -> None:
    """Raise BadRequest if the submission's concurrency key has placeholders that the app's jobs lack."""
    concurrency = policy.concurrency or Concurrency(limit=1)
    if unknown := unknown_names(concurrency.key or "", identifiers_of(app)):
        raise BadRequest(
            f"concurrency: {say_unknown(unknown, identifiers_of(app))}.",
            where=app.name,
            advice="Correct the key and submit again.",
        )


def _of_key(app: App, template: str, key: str, kwargs: Mapping[str, JSON]) -> str:
    return f"{app.name}:{_short(fill_braces(template, _values(app, template, key, kwargs)))}"


def identifiers_of(app: App) -> tuple[str, ...]:
    return app.template.names if app.is_keyed_by_template else ()


def say_unknown(unknown: list[str], identifiers: tuple[str, ...]) -> str:
    asked = ", ".join(f"{{{name}}}" for name in dict.fromkeys(unknown))
    known = ", ".join(f"{{{name}}}" for name in (*identifiers, *OF_EVERY_JOB))
    return f"the key names {asked}; there are {known}, and {{{OF_KWARGS}NAME}} for a kwarg of the submission"


def _values(app: App, text: str, key: str, kwargs: Mapping[str, JSON]) -> dict[str, str]:
    """Return the values of the placeholders. A missing value is empty.

    Values may be missing if another app's submission reaches this app, or if a kwarg was not given.
    """
    values = dict.fromkeys(names(text), "")
    values |= {name: _text(kwargs.get(name[len(OF_KWARGS) :])) for name in values if _is_of_kwargs(name)}
    values |= dict(zip(OF_EVERY_JOB, (app.name, key), strict=True))
    if any(name in values for name in identifiers_of(app)):
        values |= {name: str(value) for name, value in app.read_key(key).items()}
    return values


def _is_of_kwargs(name: str) -> bool:
    return name.startswith(OF_KWARGS) and len(name) > len(OF_KWARGS)


def _text(value: JSON) -> str:
    """Return the value as text. A text and a number that read alike are equal; any other value counts as missing."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _short(text: str) -> str:
    if len(text) <= _CHARACTERS_MAX:
        return text
    return f"{masked(text)[: _CHARACTERS_MAX // 2]}…{sha256(text.encode()).hexdigest()}"
