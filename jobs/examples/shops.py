"""A nightly report over six shops.

    fetch  date_shop  ─►  clean  date_shop  ─►  report  date  ─►  publish  date

A request for one report pulls the twelve jobs that it needs. Its success pushes ``publish``, which was not requested.
The first fetch from Oslo fails, and is retried half a second later.
"""

import datetime as dt
import time

from sluice import app
from sluice.jobs.model.job import Job

SHOPS = ["bergen", "graz", "lyon", "oslo", "porto", "turku"]


@app(
    job_id="{date}_{shop}",
    identifiers={"date": "date"},
    autofill_values={"shop": SHOPS},
    max_fails=2,
    retry={"rule": "fixed", "seconds": 0.5},
)
def fetch(job: Job, shop: str) -> None:
    job.log.info("asking the till of %s", shop)
    time.sleep(0.2)
    if shop == "oslo" and job.round == 0:
        raise ConnectionError("the till in oslo does not answer")
    job.log.info("%d receipts", 100 + 7 * len(shop))


@app(
    job_id="{date}_{shop}",
    identifiers={"date": "date"},
    autofill_values={"shop": SHOPS},
    depends_on={"app_name": ["fetch"]},
)
def clean(job: Job) -> None:
    for part in range(4):
        time.sleep(0.05)
        job.progress(part + 1, 4)


@app(job_id="{date}", identifiers={"date": "date"}, depends_on={"app_name": ["clean"], "shop": "all"})
def report(job: Job) -> None:
    time.sleep(0.3)
    job.log.info("turnover of %d shops on %s", len(SHOPS), job.ids["date"])


@app(job_id="{date}", identifiers={"date": "date"}, depends_on={"app_name": ["report"]})
def publish(job: Job, date: dt.date) -> None:
    job.log.info("the report of %s is out", date)
