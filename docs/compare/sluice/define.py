from datetime import date

from sluice import app


@app
def fetch(day: date, shop: str) -> int:
    return len(shop)
