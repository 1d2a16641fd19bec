from datetime import date

from sluice import Job, app, each


@app
def fetch(day: date, shop: str = each(["graz", "oslo", "porto"])) -> int:
    return len(shop)


@app(needs=[fetch.all("shop")])
def report(job: Job, day: date) -> int:
    return sum(job.results(fetch).values())
