from datetime import date

from dbos import DBOS


@DBOS.workflow()
def fetch(day: date, shop: str) -> int:
    return len(shop)
