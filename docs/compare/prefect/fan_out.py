from datetime import date

from prefect import flow, task

SHOPS = ["graz", "oslo", "porto"]


@task
def fetch(day: date, shop: str) -> int:
    return len(shop)


@flow
def report(day: date) -> int:
    return sum(fetch.map(day, SHOPS).result())
