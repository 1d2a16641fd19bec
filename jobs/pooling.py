"""Which pool a job belongs to, by the name that the ledger counts under."""

from collections.abc import Mapping
from hashlib import sha256

from sluice.jobs.app import App
from sluice.jobs.concurrency import Concurrency
from sluice.jobs.errors import BadRequest
from sluice.jobs.masking import masked
from sluice.jobs.policy import Policy
from sluice.jobs.runners.braces import OF_EVERY_JOB, fill, names
from sluice.jobs.submission import JSON

#: Before the name of a kwarg that a key asks for.
OF_KWARGS = "kwargs."
#: A longer text is kept by its beginning and a digest: the names of pools are in an index.
_CHARACTERS_MAX = 200
#: How the names of pools begin that apps may share.
NAMED = "pool "


def pool_of(app: App, policy: Policy, key: str, kwargs: Mapping[str, JSON]) -> str | None:
    """The pool of the job with this key, or None for one that is not counted.

    ``app``, ``app:text`` or ``pool name``. None of these can be taken for another: there is no colon and no space in
    the name of an app or a pool, so what stands before the first colon or space says which it is.
    """
    concurrency = policy.concurrency
    if concurrency is None:
        return None
    if concurrency.pool is not None:
        return f"{NAMED}{concurrency.pool}"
    if concurrency.key is None:
        return app.name
    return f"{app.name}:{_short(fill(concurrency.key, _values(app, concurrency.key, key, kwargs)))}"


def spoken(pool: str) -> str:
    """As people are told of it."""
    return pool if pool.startswith(NAMED) else f"the pool of {masked(pool)}"


def unknown_names(key: str, identifiers: tuple[str, ...]) -> list[str]:
    """Those that a key asks for and that no job of an app with these identifiers has. Of kwargs nobody knows before
    they are given."""
    known = {*OF_EVERY_JOB, *identifiers}
    return [name for name in names(key) if name not in known and not _is_of_kwargs(name)]


def require_names(app: App, policy: Policy) -> None:
    """BadRequest where a submission for this app brings a key that asks for what its jobs have not."""
    concurrency = policy.concurrency or Concurrency(limit=1)
    if unknown := unknown_names(concurrency.key or "", identifiers_of(app)):
        raise BadRequest(
            f"concurrency: {say_unknown(unknown, identifiers_of(app))}.",
            where=app.name,
            advice="Mend the key and submit again.",
        )


def identifiers_of(app: App) -> tuple[str, ...]:
    return app.template.names if app.is_keyed_by_template else ()


def say_unknown(unknown: list[str], identifiers: tuple[str, ...]) -> str:
    asked = ", ".join(f"{{{name}}}" for name in dict.fromkeys(unknown))
    known = ", ".join(f"{{{name}}}" for name in (*identifiers, *OF_EVERY_JOB))
    return f"the key asks for {asked}; there are {known}, and {{{OF_KWARGS}NAME}} for what a submission gives"


def _values(app: App, text: str, key: str, kwargs: Mapping[str, JSON]) -> dict[str, str]:
    """What a job has not is empty: an app that another's submission reaches, or a kwarg that was not given."""
    values = dict.fromkeys(names(text), "")
    values |= {name: _text(kwargs.get(name[len(OF_KWARGS) :])) for name in values if _is_of_kwargs(name)}
    values |= dict(zip(OF_EVERY_JOB, (app.name, key), strict=True))
    if any(name in values for name in identifiers_of(app)):
        values |= {name: str(value) for name, value in app.read_key(key).items()}
    return values


def _is_of_kwargs(name: str) -> bool:
    return name.startswith(OF_KWARGS) and len(name) > len(OF_KWARGS)


def _text(value: JSON) -> str:
    """A text and a number that read alike are one; whatever else there is counts as not given."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _short(text: str) -> str:
    if len(text) <= _CHARACTERS_MAX:
        return text
    return f"{masked(text)[: _CHARACTERS_MAX // 2]}…{sha256(text.encode()).hexdigest()}"
