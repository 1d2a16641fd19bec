from datetime import date

from dbos import DBOS


@DBOS.step(
    retries_allowed=True, max_attempts=5, should_retry=lambda error: isinstance(error, ConnectionError)
)
def fetch(day: date, shop: str) -> int:
    return len(shop)
