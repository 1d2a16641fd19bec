"""Schedules for tests, as a document writes them."""

from datetime import datetime
from typing import Any

from sluice.jobs.firing import Standing
from sluice.jobs.schedule import Schedule
from sluice.scheduler.jitter import fire_at
from tests.planner.definitions import catalogue_of

APPS: dict[str, Any] = {"a": {"job_id": "{x}", "bash_cmd": "true"}}
HOURLY = {"cron": "0 * * * *"}


def schedule_of(**words: Any) -> Schedule:
    """One of app ``a``; without a rule it is hourly."""
    rule = {} if {"cron", "every"} & words.keys() else HOURLY
    given = {"app": "a", "key": "{due:%Y%m%d%H%M%S}", **rule, **words}
    return catalogue_of({**APPS, "schedules": {"s": given}}).schedules["s"]


def standing_of(schedule: Schedule, next_due: datetime, **fields: Any) -> Standing:
    """As the ledger has it, with nothing come of this due time."""
    given = {"next_due": next_due, "fire_at": fire_at(schedule, next_due), **fields}
    rule = {"rule": schedule.rule.text, "timezone": schedule.zone.key, "digest": schedule.digest}
    return Standing(id=schedule.id, app=schedule.app, source=schedule.source, **{**rule, **given})
