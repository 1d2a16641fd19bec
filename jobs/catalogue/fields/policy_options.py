"""Options of a policy, and of the limits that an app may set.

``read_policy`` reads the options as definitions write them, and ``parse_policy`` as submissions write them. These
options have a form of their own:

- ``breaker`` and ``retry_budget`` of an app. A submission cannot set them, because they affect all submissions that
  request the app's jobs. The same holds for ``rate_limit`` (``rate_limit_option``).
- ``concurrency``: the number of jobs that may run at the same time, and the pool in which they are counted.
- ``debug``: steps at which a flight must fail, so that its author can test the consequences.
- ``max_lag``, in all places: how long ago a parent may have succeeded when a child is about to run (``read_lag_s``).
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, get_args

from sluice.jobs.catalogue.errors import At, Words, nearest, one_of, read_fields, read_mapping, truth, unknown
from sluice.jobs.catalogue.fields.draft import Draft
from sluice.jobs.catalogue.fields.notify_option import read_due_within_s
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.pool import say_unknown, unknown_names
from sluice.jobs.model.request_limits import large_policy
from sluice.jobs.policy.breaker import PAUSE_S, PAUSE_S_MAX, Breaker
from sluice.jobs.policy.concurrency import Concurrency
from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.policy.retry_budget import RetryBudget
from sluice.jobs.policy.retry_delay import RETRY_FIELDS, RetryRule
from sluice.jobs.runners.command.environment import WITHHELD, is_withheld
from sluice.jobs.runners.command.placeholders import names
from sluice.jobs.sagas.debug import Debug, Injected
from sluice.jobs.text.units import delay_s, parse_duration_s, parse_instant, parse_size_bytes, read_duration_s

_BREAKER_FORM = '{"fails": 20, "pause": "30s", "pause_max": "10m"}'


def read_breaker(words: Mapping[str, object], at: At, *, unbounded: bool) -> Breaker | None:
    """Return the breaker, or None if none is defined or it is invalid, which adds a fault."""
    value = words.get("breaker")
    if value is None:
        return None
    if unbounded:
        at.add(
            "breaker: the app is_long_running, so each of its jobs has its own delay before a restart;"
            " use retry"
        )
        return None
    try:
        return _read_breaker(value)
    except (ValueError, OverflowError) as error:
        at.add(f"breaker: {error}")
        return None


def _read_breaker(value: object) -> Breaker:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_BREAKER_FORM}")
    fields = read_mapping(_BREAKER_OPTIONS, value)
    if "fails" not in fields:
        raise ValueError(f"fails, the number of fails in a row, is missing; write {_BREAKER_FORM}")
    fields.setdefault("pause_s_max", max(fields.get("pause_s", PAUSE_S), PAUSE_S_MAX))
    breaker = Breaker(**fields)
    if breaker.pause_s_max < breaker.pause_s:
        raise ValueError(f"pause_max: {value['pause_max']!r} is shorter than the first pause")
    return breaker


def _fails(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


def _pause_s(value: object) -> float:
    pause_s = read_duration_s(value)
    if pause_s < 1:
        raise ValueError(f"{value!r} is less than a second, which is no pause")
    return pause_s


_BREAKER_OPTIONS: Words = {
    "fails": ("fails", _fails),
    "pause": ("pause_s", _pause_s),
    "pause_max": ("pause_s_max", _pause_s),
}


_BUDGET_FORM = '{"retries": 100, "per": "1m"}'


def read_retry_budget(words: Mapping[str, object], at: At, *, unbounded: bool) -> RetryBudget | None:
    """Return the retry budget, or None if none is defined or it is invalid, which adds a fault."""
    value = words.get("retry_budget")
    if value is None:
        return None
    if unbounded:
        at.add(
            "retry_budget: the app is_long_running, so each of its jobs has its own delay before a restart;"
            " use retry"
        )
        return None
    try:
        return _read_budget(value)
    except (ValueError, OverflowError) as error:
        at.add(f"retry_budget: {error}")
        return None


def _read_budget(value: object) -> RetryBudget:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_BUDGET_FORM}")
    fields = read_mapping(_BUDGET_OPTIONS, value)
    if fields.keys() != {"retries", "per_s"}:
        raise ValueError(
            f"the number of retries or the time per which they count is missing; write {_BUDGET_FORM}"
        )
    return RetryBudget(**fields)


def _retries(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


def _per_s(value: object) -> float:
    per_s = read_duration_s(value)
    if per_s < 1:
        raise ValueError(f"{value!r} is less than a second; write the number of retries per second")
    return per_s


_BUDGET_OPTIONS: Words = {"retries": ("retries", _retries), "per": ("per_s", _per_s)}


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
    wrong = [unknown(word, _CONCURRENCY_OPTIONS) for word in value if word not in _CONCURRENCY_OPTIONS]
    fields = read_fields(_CONCURRENCY_OPTIONS, value, wrong.append)
    if "limit" not in value:
        wrong.append(f"there is no limit; write {_FORMS}")
    if ("key" in value) == ("pool" in value):
        wrong.append(f"it has either a key or a pool; write {_FORMS}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return Concurrency(**fields)


def check_keys(
    limits: Mapping[str, Concurrency | RateLimit | None], identifiers: tuple[str, ...], at: At
) -> None:
    """Add a fault for each option with a key that has placeholders that no job of the app has."""
    for option, limit in limits.items():
        if limit and limit.key is not None and (missing := unknown_names(limit.key, identifiers)):
            at.add(f"{option}: {say_unknown(missing, identifiers)}")


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


def read_key(value: object) -> str:
    """Return the key of a limit. Raises ValueError if it has no placeholder."""
    if not isinstance(value, str) or not names(value):
        raise ValueError(f"{value!r} is not a text with a value in braces like {{client_id}}")
    return value


def _pool(value: object) -> str:
    if not isinstance(value, str) or not _POOL.fullmatch(value):
        raise ValueError(
            f"{value!r} is not the name of a pool: a letter, then letters, digits, '_', '.' or '-',"
            " at most 200 characters"
        )
    return value


_CONCURRENCY_OPTIONS: Words = {"key": ("key", read_key), "pool": ("pool", _pool), "limit": ("limit", _limit)}


_DEBUG_FORM = '{"fail_at": {"1": "fatal"}}'
_INDEX_MAX = 2**31 - 1


def read_debug(value: object) -> Debug:
    """Return the debug options. Raises ValueError with the reason if they are invalid.

    An empty mapping in a submission removes the app's options.
    """
    if isinstance(value, Debug):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_DEBUG_FORM}")
    return Debug(**read_mapping(_DEBUG_OPTIONS, value))


def _by_index(value: object) -> dict[int, str]:
    """Return answers by step index. A number may be a text, because JSON and TOML have only texts as names."""
    answers = {_index(index): _answer(answer) for index, answer in _mapping(value).items()}
    if len(answers) < len(_mapping(value)):
        raise ValueError("one step is listed twice")
    return answers


def _by_name(value: object) -> dict[str, str]:
    answers: dict[str, str] = {}
    for name, answer in _mapping(value).items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"{name!r} is not the name of a step")
        answers[name] = _answer(answer)
    return answers


def _mapping(value: object) -> Mapping[object, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping of steps to retry or fatal")
    return value


def _index(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _INDEX_MAX:
        raise ValueError(f"{value!r} is not the index of a step; the first is 0")
    return value


def _answer(value: object) -> str:
    return one_of(value, get_args(Injected))


_DEBUG_OPTIONS: Words = {
    "restart_each_step": ("restart_each_step", truth),
    "fail_at": ("fail_at", _by_index),
    "fail_do": ("fail_do", _by_name),
    "fail_undo": ("fail_undo", _by_name),
    "fail_last": ("fail_last", truth),
}


COUNT_MAX = 2**31 - 1


def parse_policy(changes: Mapping[str, object]) -> dict[str, Any]:
    """Return fields for ``Policy.overridden`` from a submission's options. Raises BadRequest with all errors."""
    wrong: list[str] = []
    fields = _read(changes, wrong.append)
    for word in changes:
        if word not in POLICY_WORDS:
            wrong.append(unknown(word, POLICY_WORDS))
    if wrong:
        raise BadRequest(
            f"The policy cannot be used: {'; '.join(wrong)}.", advice="Correct it and submit again."
        )
    return fields


def read_policy(words: Mapping[str, object], complain: Callable[[str], None]) -> dict[str, Any]:
    """Return the policy's fields from the options of a definition, which may include other options.

    It also complains of a policy that is too large.
    """
    wrong: list[str] = []
    fields = _read(words, wrong.append)
    if not wrong and (reason := large_policy({word: words[word] for word in POLICY_WORDS if word in words})):
        wrong.append(f"its {reason}")
    for each in wrong:
        complain(each)
    return fields


def _read(words: Mapping[str, object], complain: Callable[[str], None]) -> dict[str, Any]:
    fields = read_fields(POLICY_WORDS, words, complain)
    retry = fields.get("retry")
    if retry is not None and retry.within_s is not None:
        complain("retry: within is for the steps of a saga; a job has times, or max_fails")
    if (
        retry is not None
        and retry.times is not None
        and fields.setdefault("max_fails", retry.times) != retry.times
    ):
        complain("retry: times is the number of max_fails; write only one")
    start, end = fields.get("start_after"), fields.get("end_before")
    if isinstance(start, datetime) and end and end <= start:
        complain(f"end_before: {end.isoformat()} is not after start_after, {start.isoformat()}")
    return fields


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 0 on")
    return value


def _priority(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number; higher priorities run first, the default is 0")
    return value


def _timeout_s(value: object) -> float | None:
    if value is None:
        return None
    timeout_s = read_duration_s(value)
    if timeout_s == 0:
        raise ValueError("a timeout of zero ends every job before it starts")
    return timeout_s


def _offset_s(value: object) -> float:
    """Return seconds. ``true`` is one second, as in the system that the option comes from."""
    if value is None or isinstance(value, bool):
        return float(bool(value))
    return read_duration_s(value)


def _instant(value: object) -> datetime | None:
    """Return an instant. Dates and times of TOML and YAML are read like their ISO text."""
    if value is None:
        return None
    if isinstance(value, date):
        value = value.isoformat()
    if not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is not a time; write 2026-11-20T02:00:00Z or Unix seconds")
    return parse_instant(value)


def _start(value: object) -> datetime | timedelta | None:
    """Return an instant, or a delay if the value is a duration with a unit."""
    if isinstance(value, str) and (seconds := delay_s(value)) is not None:
        return timedelta(seconds=seconds)
    return _instant(value)


def _retry(value: object) -> RetryRule:
    if isinstance(value, RetryRule):
        return value
    if callable(getattr(value, "begin", None)):
        raise ValueError("only a step can have a rule of its own class; write retry.fixed(…) or another rule")
    if not isinstance(value, Mapping):
        raise ValueError(f'{value!r} is not a retry rule; write {{"rule": "fixed", "seconds": 5}}')
    fields = read_mapping(_RETRY_WORDS, value)
    if fields.get("choices") is not None and fields.get("rule") != "random":
        raise ValueError("concurrency is for the rule random")
    return RetryRule(**fields)


def _error_classes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f'{value!r} is not a list of errors; write ["acme.errors.ApiDown"]')
    for name in value:
        if not isinstance(name, str) or not all(name.split(".")) or ":" in name:
            raise ValueError(f"{name!r} is not the dotted name of a class; write acme.errors.ApiDown")
    return tuple(value)


def _rule(value: object) -> str:
    return one_of(value, ("fixed", "exponential", "random"))


def _factor(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < math.inf:
        raise ValueError(f"{value!r} is not a factor; write a number from 1 on")
    return float(value)


def _fail_on(value: object) -> str:
    return one_of(value, ("exit", "stderr", "either"))


def _pull(value: object) -> str:
    return one_of(value, ("first", "all"))


def _on_failure(value: object) -> str:
    return one_of(value, ("fail", "bisect"))


def _archive(value: object) -> str:
    return one_of(value, ("auto", "manual"))


def _environment(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a mapping of variables to texts")
    for name, text in value.items():
        _variable(name)
        if not isinstance(text, str) or "\0" in text:
            raise ValueError(f"the value of {name}, {text!r}, is not a text; put it in quotes")
    return dict(value)


def _variables(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of variables")
    return tuple(_variable(name) for name in value)


def _variable(name: object) -> str:
    if not isinstance(name, str) or not name or "=" in name or "\0" in name:
        raise ValueError(f"{name!r} is not the name of a variable")
    return name


def _variables_of_the_worker(value: object) -> tuple[str, ...]:
    names = _variables(value)
    for name in names:
        if is_withheld(name):
            raise ValueError(f"{name} {WITHHELD}")
    return names


def _options(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(option, str) for option in value):
        raise ValueError(f'{value!r} is not a list of policy options; write ["env", "cwd"]')
    for option in value:
        if option not in POLICY_WORDS or option == "submitters_may_set":
            raise ValueError(f"{option!r} is not an option of a policy{nearest(option, POLICY_WORDS)}")
    return tuple(value)


def _folder(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"{value!r} is not the path of a folder")
    return value


def _limits(value: object) -> Allowance:
    if not isinstance(value, Mapping):
        raise ValueError(f'{value!r} is no mapping of limits; write {{"cpu": "10m", "memory": "2GB"}}')
    return Allowance(**read_mapping(LIMIT_WORDS, value))


def _cpu_s(value: object) -> float:
    """Return seconds of processor time. The operating system counts whole seconds."""
    cpu_s = read_duration_s(value)
    if cpu_s < 1:
        raise ValueError(f"{value!r} is less than a second, in which no process could start")
    return cpu_s


def _size_bytes(value: object) -> int:
    if not isinstance(value, str | int):
        raise ValueError(f'{value!r} is not a size; write "2GB", "512MiB" or a number of bytes')
    size_bytes = parse_size_bytes(value)
    if not 0 < size_bytes < 2**62:
        raise ValueError(f"{value!r} is no limit that could be set")
    return size_bytes


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= COUNT_MAX:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


LIMIT_WORDS: Words = {
    "cpu": ("cpu_s", _cpu_s),
    "memory": ("memory_bytes", _size_bytes),
    "file_size": ("file_size_bytes", _size_bytes),
    "processes": ("processes", _number),
    "open_files": ("open_files", _number),
}
_RETRY_READERS: Mapping[str, Callable[[object], Any]] = {
    "rule": _rule,
    "seconds": read_duration_s,
    "factor": _factor,
    "max_seconds": read_duration_s,
    "jitter": truth,
    "concurrency": _number,
    "times": _count,
    "within": read_duration_s,
}
_RETRY_WORDS: Words = {option: (field, _RETRY_READERS[option]) for option, field in RETRY_FIELDS.items()}

#: By option: the field of ``Policy`` that it sets, and the function that reads its value.
POLICY_WORDS: Words = {
    "max_fails": ("max_fails", _count),
    "max_timeouts": ("max_timeouts", _count),
    "max_losses": ("max_losses", _count),
    "timeout": ("timeout_s", _timeout_s),
    "start_after": ("start_after", _start),
    "end_before": ("end_before", _instant),
    "due_within": ("due_within_s", read_due_within_s),
    "random_start_offset": ("random_start_offset_s", _offset_s),
    "retry": ("retry", _retry),
    "retry_on": ("retry_on", _error_classes),
    "never_retry": ("never_retry", _error_classes),
    "priority": ("priority", _priority),
    "concurrency": ("concurrency", read_concurrency),
    "pull": ("pull", _pull),
    "on_failure": ("on_failure", _on_failure),
    "fail_on": ("fail_on", _fail_on),
    "archive": ("archive", _archive),
    "env": ("env", _environment),
    "env_from_os": ("env_from_os", _variables_of_the_worker),
    "cwd": ("cwd", _folder),
    "limits": ("limits", _limits),
    "keep_output": ("keep_output", truth),
    "debug": ("debug", read_debug),
    "submitters_may_set": ("submitters_may_set", _options),
}

#: Options with any content. They are for people and their tools, and have no effect in Sluice.
NOTES = ("owner", "description", "tags", "resources")
#: Options that set the number of tries, durations and times. They do not change the effect of an app.
METADATA_WORDS = frozenset(
    {*POLICY_WORDS, *NOTES, "breaker", "retry_budget", "rate_limit", "notify", "tenant"}
).difference(("fail_on", "env", "env_from_os", "cwd"))


#: Longest lag in seconds: a thousand years, more than the age of any result. Python has no dates much further back.
LAG_S_MAX = 1000 * 366 * 86_400.0


def read_lag_s(value: object) -> float:
    """Return a lag in seconds. A number means minutes, so a text must have a unit.

    Raises ValueError with the accepted forms.
    """
    if isinstance(value, str):
        if is_number(value):
            raise ValueError(f'{value!r} has no unit; write "6h", or a number of minutes without quotes')
        lag_s = parse_duration_s(value)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f'{value!r} is not a number of minutes from 0 on, nor a duration like "6h"')
    else:
        lag_s = min(value, LAG_S_MAX) * 60.0  # Some whole numbers exceed the range of a float.
    if lag_s > LAG_S_MAX:
        raise ValueError(f"{value!r} is more than a thousand years")
    return lag_s


def is_number(text: str) -> bool:
    """Return whether the text is a number without a unit."""
    try:
        float(text)
    except ValueError:
        return False
    return True
