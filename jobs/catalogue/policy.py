"""Options of a policy, as definitions and submissions write them."""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from sluice.jobs.allowance import Allowance
from sluice.jobs.backoff import Retry
from sluice.jobs.catalogue.concurrency import read_concurrency
from sluice.jobs.catalogue.debug import read_debug
from sluice.jobs.catalogue.faults import Words, nearest, one_of, read_fields, read_mapping, truth, unknown
from sluice.jobs.durations import parse_instant, read_duration_s
from sluice.jobs.errors import BadRequest
from sluice.jobs.request_limits import large_policy
from sluice.jobs.runners.environment import WITHHELD, is_withheld
from sluice.jobs.sizes import parse_size_bytes

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
    start, end = fields.get("start_after"), fields.get("end_before")
    if start and end and end <= start:
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


def _retry(value: object) -> Retry:
    if isinstance(value, Retry):
        return value
    if callable(getattr(value, "begin", None)):
        raise ValueError(
            "this is the rule of a step, and belongs to the step; write the retry rule of a job like"
            ' {"rule": "fixed", "seconds": 5}'
        )
    if not isinstance(value, Mapping):
        raise ValueError(f'{value!r} is not a retry rule; write {{"rule": "fixed", "seconds": 5}}')
    return Retry(**read_mapping(_RETRY_WORDS, value))


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
    return Allowance(**read_mapping(_LIMIT_WORDS, value))


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


_LIMIT_WORDS: Words = {
    "cpu": ("cpu_s", _cpu_s),
    "memory": ("memory_bytes", _size_bytes),
    "file_size": ("file_size_bytes", _size_bytes),
    "processes": ("processes", _number),
    "open_files": ("open_files", _number),
}
_RETRY_WORDS: Words = {
    "rule": ("rule", _rule),
    "seconds": ("delay_s", read_duration_s),
    "factor": ("factor", _factor),
    "max_seconds": ("delay_s_max", read_duration_s),
}

#: By option: the field of ``Policy`` that it sets, and the function that reads its value.
POLICY_WORDS: Words = {
    "max_fails": ("max_fails", _count),
    "max_timeouts": ("max_timeouts", _count),
    "max_losses": ("max_losses", _count),
    "timeout": ("timeout_s", _timeout_s),
    "start_after": ("start_after", _instant),
    "end_before": ("end_before", _instant),
    "random_start_offset": ("random_start_offset_s", _offset_s),
    "retry": ("retry", _retry),
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
METADATA_WORDS = frozenset({*POLICY_WORDS, *NOTES, "breaker", "retry_budget"}).difference(
    ("fail_on", "env", "env_from_os", "cwd")
)
