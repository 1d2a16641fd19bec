"""A nightly report over six shops.

    fetch  day_shop  ─►  clean  day_shop  ─►  report  day  ─►  publish  day

A request for one report pulls the twelve jobs that it needs. Its success pushes ``publish``, which was not requested.
The first fetch from Oslo fails, and is retried half a second later.
"""

import time
from datetime import date

from sluice import Job, app, each, retry

SHOPS = ["bergen", "graz", "lyon", "oslo", "porto", "turku"]


@app(max_fails=2, retry=retry.fixed(seconds=0.5))
def fetch(job: Job, day: date, shop: str = each(SHOPS)) -> None:
    job.log.info("asking the till of %s", shop)
    time.sleep(0.2)
    if shop == "oslo" and job.round == 0:
        raise ConnectionError("the till in oslo does not answer")
    job.log.info("%d receipts", 100 + 7 * len(shop))


@app(needs=[fetch])
def clean(job: Job, day: date, shop: str = each(SHOPS)) -> None:
    for part in range(4):
        time.sleep(0.05)
        job.progress(part + 1, 4)


@app(needs=[clean.all("shop")])
def report(job: Job, day: date) -> None:
    time.sleep(0.3)
    job.log.info("turnover of %d shops on %s", len(SHOPS), day)


@app(needs=[report])
def publish(job: Job, day: date) -> None:
    job.log.info("the report of %s is out", day)
