from datetime import date

from sluice import Job, app


@app
def fetch(day: date, shop: str) -> int:
    return len(shop)


@app(needs=[fetch])
def report(job: Job, day: date, shop: str) -> int:
    return job.result_of(fetch)
