from datetime import date, timedelta

from application import app
from celery import shared_task
from celery.schedules import crontab
from fan_out import report


@shared_task
def nightly() -> None:
    report(date.today() - timedelta(days=1)).delay()


app.conf.beat_schedule = {"nightly": {"task": "nightly.nightly", "schedule": crontab(hour=2, minute=0)}}
