from datetime import date

from sluice import app, retry


@app(max_fails=4, retry=retry.exponential(seconds=1), retry_on=[ConnectionError])
def fetch(day: date, shop: str) -> int:
    return len(shop)
