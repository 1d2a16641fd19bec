"""The option ``concurrency``: how many jobs may run at the same time, and in which pool they are counted."""

import re
from collections.abc import Iterable, Mapping

from sluice.jobs.catalogue.draft import Draft
from sluice.jobs.catalogue.faults import At, Words, read_fields, unknown
from sluice.jobs.concurrency import Concurrency
from sluice.jobs.pooling import say_unknown, unknown_names
from sluice.jobs.runners.braces import names

LIMIT_MAX = 2**31 - 1
_POOL = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,199}")
_FORMS = '3, {"key": "{client_id}", "limit": 2} or {"pool": "warehouse", "limit": 5}'


def read_concurrency(value: object) -> Concurrency:
    """Return a limit, alone or with a key or the name of a pool. Raises ValueError with the reason if it is invalid."""
    if isinstance(value, Concurrency):
        return value
    if isinstance(value, int):
        return Concurrency(limit=_limit(value))
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is neither a number nor a mapping; write {_FORMS}")
    wrong = [unknown(word, _WORDS) for word in value if word not in _WORDS]
    fields = read_fields(_WORDS, value, wrong.append)
    if "limit" not in value:
        wrong.append(f"there is no limit; write {_FORMS}")
    if ("key" in value) == ("pool" in value):
        wrong.append(f"it has either a key or a pool; write {_FORMS}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return Concurrency(**fields)


def check_key(concurrency: Concurrency | None, identifiers: tuple[str, ...], at: At) -> None:
    """Add a fault if the key has placeholders that no job of the app has."""
    key = concurrency.key if concurrency else None
    if key is not None and (missing := unknown_names(key, identifiers)):
        at.add(f"concurrency: {say_unknown(missing, identifiers)}")


def check_pools(drafts: Iterable[Draft]) -> None:
    """Add a fault for each app that gives a pool a different limit than the app that named it first."""
    first: dict[str, tuple[str, int]] = {}
    for draft in drafts:
        concurrency = draft.policy.concurrency
        if concurrency is None or concurrency.pool is None:
            continue
        app, limit = first.setdefault(concurrency.pool, (draft.name, concurrency.limit))
        if limit != concurrency.limit:
            draft.at.add(
                f"concurrency: pool {concurrency.pool} has a limit of {concurrency.limit} at {draft.name}"
                f" and of {limit} at {app}; give it one"
            )


def _limit(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LIMIT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


def _key(value: object) -> str:
    if not isinstance(value, str) or not names(value):
        raise ValueError(f"{value!r} is not a text with a value in braces, such as {{client_id}}")
    return value


def _pool(value: object) -> str:
    if not isinstance(value, str) or not _POOL.fullmatch(value):
        raise ValueError(
            f"{value!r} is not the name of a pool: a letter, then letters, digits, '_', '.' or '-',"
            " at most 200 characters"
        )
    return value


_WORDS: Words = {"key": ("key", _key), "pool": ("pool", _pool), "limit": ("limit", _limit)}
