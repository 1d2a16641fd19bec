from datetime import date

from celery import group, shared_task
from celery.canvas import Signature

SHOPS = ["graz", "oslo", "porto"]


@shared_task
def fetch(day: date, shop: str) -> int:
    return len(shop)


@shared_task
def total(sales: list[int]) -> int:
    return sum(sales)


def report(day: date) -> Signature:
    return group(fetch.s(day, shop) for shop in SHOPS) | total.s()
