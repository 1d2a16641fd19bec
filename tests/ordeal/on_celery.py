"""The job on Celery: with its defaults, or acknowledged late and with publisher confirms."""

import os

from celery import Celery

from tests.ordeal.effects import work
from tests.ordeal.publishing import BROKER, is_careful, publish

_URL = os.environ[BROKER]
app = Celery("tests.ordeal.on_celery", broker=_URL)
app.conf.update(
    task_default_queue="ordeal",
    task_ignore_result=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
)
if is_careful():
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        broker_transport_options={} if _URL.startswith("redis") else {"confirm_publish": True},
    )


@app.task(name="ordeal.job")
def job(n: int) -> None:
    work(n)


if __name__ == "__main__":
    # If Redis is down, kombu may raise any exception, even an AttributeError.
    publish(job.delay, (Exception,))
