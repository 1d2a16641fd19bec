from datetime import date
from time import sleep

from sluice import Job, app, connect


@app
def fetch(job: Job, day: date, shop: str) -> int:
    for _ in range(60):
        if job.cancelled:
            print("cancelled")
            return 0
        sleep(1)
    return len(shop)


if __name__ == "__main__":
    with connect() as client:
        handle = client.submit(fetch.job(day=date(2026, 11, 20), shop="graz"))
        handle.cancel()
