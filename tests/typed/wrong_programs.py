"""Programs with one error each, in their last statement, and what mypy and pyright report there."""

from typing import NamedTuple


class Wrong(NamedTuple):
    """Program, and a part of the message of each type checker."""

    name: str
    text: str
    mypy: str
    pyright: str


HEAD = """\
from datetime import date, timedelta
from sluice import Flight, Job, Step, any_of, app, each, retry, saga, schedule

@app
def fetch(job: Job, day: date, shop: str = each(["graz"]), *, force: bool = False) -> int:
    return 1
"""

PROGRAMS = [
    Wrong(
        "misspelt option",
        "@app(max_fial=3)\ndef f() -> None: ...",
        'Unexpected keyword argument "max_fial"',
        'No overloads for "app" match the provided arguments',
    ),
    Wrong(
        "number as text",
        '@app(max_fails="three")\ndef f() -> None: ...',
        'No overload variant of "app" matches argument type "str"',
        '"max_fails"',
    ),
    Wrong(
        "list instead of duration",
        "@app(timeout=[5])\ndef f() -> None: ...",
        'No overload variant of "app" matches argument type "list[int]"',
        '"timeout"',
    ),
    Wrong(
        "unknown value of a choice",
        '@app(on_failure="split")\ndef f() -> None: ...',
        'No overload variant of "app" matches argument type "str"',
        '"on_failure"',
    ),
    Wrong(
        "unknown option of a mapping",
        '@app(limits={"memroy": "2GB"})\ndef f() -> None: ...',
        'No overload variant of "app" matches argument type "dict[str, str]"',
        '"memroy" is an undefined item in type "LimitOptions"',
    ),
    Wrong(
        "breaker with a text",
        '@app(breaker={"fails": "many"})\ndef f() -> None: ...',
        'No overload variant of "app" matches argument type "dict[str, str]"',
        'parameter "breaker" of type "BreakerOptions"',
    ),
    Wrong(
        "one need without a list",
        "@app(needs=fetch)\ndef f() -> None: ...",
        'No overload variant of "app" matches argument type "AppFunction[',
        '"needs"',
    ),
    Wrong(
        "unknown condition",
        'fetch.when("broken")',
        'Argument 1 to "when" of "Definition" has incompatible type',
        '"condition"',
    ),
    Wrong(
        "need that is no app",
        "@app(needs=[3])\ndef f() -> None: ...",
        'List item 0 has incompatible type "int"',
        '"needs"',
    ),
    Wrong(
        "alternative that is no app",
        "any_of(fetch, 3)",
        'Argument 2 to "any_of" has incompatible type "int"',
        '"choices"',
    ),
    Wrong(
        "values of another type",
        'def g(n: int = each(["graz"])) -> None: ...',
        'Incompatible default for parameter "n"',
        '"int"',
    ),
    Wrong(
        "identifier of the wrong type in a request",
        'fetch.job("2026-11-20")',
        'Argument 1 to "job" of "Definition" has incompatible type "str"; expected "date"',
        '"day"',
    ),
    Wrong(
        "kwarg of the wrong type in a request",
        'fetch.job(date(2026, 1, 1), force="yes")',
        'Argument "force" to "job" of "Definition" has incompatible type "str"; expected "bool"',
        '"force"',
    ),
    Wrong(
        "unknown argument of a request",
        "fetch.job(date(2026, 1, 1), store=1)",
        'Unexpected keyword argument "store" for "job" of "Definition"',
        'No parameter named "store"',
    ),
    Wrong(
        "missing identifier of a request",
        "fetch.job()",
        'Missing positional argument "day" in call to "job" of "Definition"',
        'Argument missing for parameter "day"',
    ),
    Wrong(
        "call without the job",
        "fetch(date(2026, 1, 1))",
        'Argument 1 to "__call__" of "AppFunction" has incompatible type "date"; expected "Job"',
        'Argument missing for parameter "day"',
    ),
    Wrong(
        "misspelt option of a schedule",
        'schedule(id="n", app=fetch, evry="1h")',
        'Unexpected keyword argument "evry" for "schedule"',
        'No parameter named "evry"',
    ),
    Wrong(
        "unknown overlap",
        'schedule(id="n", app=fetch, every="1h", overlap="stop")',
        'Argument "overlap" to "schedule" has incompatible type',
        '"overlap"',
    ),
    Wrong(
        "option of a saga",
        '@saga(job_id="{n}", isolate=True)\ndef trip(flight: Flight) -> list[Step]:\n    return []',
        'Unexpected keyword argument "isolate"',
        'No overloads for "saga" match the provided arguments',
    ),
    Wrong(
        "misspelt word of a rule",
        "retry.exponential(seconds=1, maximum=60)",
        'Unexpected keyword argument "maximum" for "exponential"',
        'No parameter named "maximum"',
    ),
]
