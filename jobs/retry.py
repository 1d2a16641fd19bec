"""Retry rules for jobs and for the steps of sagas: ``retry.exponential(seconds=1, max_seconds=60, jitter=True)``.

The names of this module are the names that users write after ``retry.``. A rule is an immutable value, which any number
of apps, steps and flights may share.

``times`` is the maximum number of retries. For a job it is the default of ``max_fails``. A step needs ``times`` or
``within``, the time since its first attempt within which it is retried.
"""

from datetime import timedelta

from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.text.units import read_duration_s


def none() -> RetryRule:
    """Return a rule that never retries. It is the default of steps."""
    return RetryRule(times=0)


def fixed(seconds: float | str | timedelta, times: int | None = None, *, jitter: bool = False) -> RetryRule:
    """Return a rule that waits ``seconds`` after each failure.

    ``times`` is the maximum number of retries. For a job it is the default of ``max_fails``. With ``jitter``, each
    delay is drawn evenly between half of it and all of it.
    """
    return RetryRule(delay_s=read_duration_s(seconds), times=_count(times), jitter=jitter)


def exponential(
    seconds: float | str | timedelta,
    max_seconds: float | str | timedelta = "1h",
    within: float | str | timedelta | None = None,
    *,
    factor: float = 2.0,
    jitter: bool = False,
    times: int | None = None,
) -> RetryRule:
    """Return a rule that waits ``seconds``, then ``factor`` times as long after each failure, up to ``max_seconds``.

    With ``jitter``, each delay is drawn evenly between half of it and all of it, so that jobs that failed together are
    not retried together. ``times`` is the maximum number of retries. For a job it is the default of ``max_fails``.
    ``within`` is for steps: the time since the first attempt within which the step is retried.
    """
    if not 1 <= factor < float("inf"):
        raise ValueError(f"{factor!r} is not a factor; write a number from 1 on")
    return RetryRule(
        rule="exponential",
        delay_s=read_duration_s(seconds),
        delay_s_max=read_duration_s(max_seconds),
        factor=float(factor),
        jitter=jitter,
        times=_count(times),
        within_s=None if within is None else read_duration_s(within),
    )


def random(
    seconds: float | str | timedelta,
    concurrency: int | None = None,
    times: int | None = None,
    *,
    factor: float = 2.0,
    max_seconds: float | str | timedelta = "1h",
) -> RetryRule:
    """Return a rule that draws each delay evenly between zero and the delay of ``exponential``, which ``seconds``,
    ``factor`` and ``max_seconds`` determine.

    With ``concurrency``, the delay is a multiple of ``seconds`` instead. The multiple is a whole number from 0 to below
    ``concurrency``, so that steps that failed together are spread over that many times. ``times`` is the maximum number
    of retries. For a job it is the default of ``max_fails``.
    """
    if concurrency is not None and (_count(concurrency) or 0) < 1:
        raise ValueError("concurrency is the number of delays to choose from, so it is at least 1")
    return RetryRule(
        rule="random",
        delay_s=read_duration_s(seconds),
        delay_s_max=read_duration_s(max_seconds),
        factor=float(factor),
        choices=concurrency,
        times=_count(times),
    )


def _count(times: int | None) -> int | None:
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 0):
        raise ValueError(f"{times!r} is not a whole number from 0 on")
    return times
