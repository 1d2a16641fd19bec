"""Schedules for tests, in the form in which a document contains them."""

from datetime import datetime
from typing import Any

from sluice.jobs.schedules.schedule import Schedule, StoredSchedule
from sluice.scheduler.due_times import fire_at
from tests.planner.definitions import catalogue_of

APPS: dict[str, Any] = {"a": {"job_id": "{x}", "bash_cmd": "true"}}
HOURLY = {"cron": "0 * * * *"}


def schedule_of(**words: Any) -> Schedule:
    """Return a schedule of app ``a``. Default rule: hourly."""
    rule = {} if {"cron", "every"} & words.keys() else HOURLY
    given = {"app": "a", "key": "{due:%Y%m%d%H%M%S}", **rule, **words}
    return catalogue_of({**APPS, "schedules": {"s": given}}).schedules["s"]


def standing_of(schedule: Schedule, next_due: datetime, **fields: Any) -> StoredSchedule:
    """Return the schedule as the ledger stores it, while this due time has no outcome."""
    given = {"next_due": next_due, "fire_at": fire_at(schedule, next_due), **fields}
    rule = {"rule": schedule.rule.text, "timezone": schedule.zone.key, "digest": schedule.digest}
    return StoredSchedule(id=schedule.id, app=schedule.app, source=schedule.source, **{**rule, **given})
