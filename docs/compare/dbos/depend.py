from datetime import date

from dbos import DBOS


@DBOS.step()
def fetch(day: date, shop: str) -> int:
    return len(shop)


@DBOS.workflow()
def report(day: date, shop: str) -> int:
    return fetch(day, shop)
