"""Texts about the age of results: fresh or stale, and since when."""

from datetime import datetime

from sluice.ops.text import span


def fresh(at: datetime, now: datetime, lag_s_max: float, *, what: str = "last ran") -> str:
    """Return why a job need not run, as text."""
    return f"fresh: {what} {_ago(at, now)}, max_lag {span(lag_s_max)}"


def stale(at: datetime, now: datetime) -> str:
    """Return why a job would run although it has succeeded, as text."""
    return f"stale: last ran {_ago(at, now)}"


def _ago(at: datetime, now: datetime) -> str:
    return f"{span((now - at).total_seconds())} ago"
