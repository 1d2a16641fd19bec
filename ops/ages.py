"""How old results are, and what follows, in words."""

from datetime import datetime

from sluice.ops.times import span


def fresh(at: datetime, now: datetime, lag_s_max: float, *, what: str = "last ran") -> str:
    """Why something need not run."""
    return f"fresh: {what} {_ago(at, now)}, max_lag {span(lag_s_max)}"


def stale(at: datetime, now: datetime) -> str:
    """Why it would run though it has succeeded."""
    return f"stale: last ran {_ago(at, now)}"


def _ago(at: datetime, now: datetime) -> str:
    return f"{span((now - at).total_seconds())} ago"
