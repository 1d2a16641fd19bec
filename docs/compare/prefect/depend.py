from datetime import date

from prefect import flow, task


@task
def fetch(day: date, shop: str) -> int:
    return len(shop)


@flow
def report(day: date, shop: str) -> int:
    return fetch(day, shop)
