from datetime import date

from celery import shared_task
from celery.canvas import Signature


@shared_task
def fetch(day: date, shop: str) -> int:
    return len(shop)


@shared_task
def total(sales: int) -> int:
    return sales


def report(day: date, shop: str) -> Signature:
    return fetch.s(day, shop) | total.s()
