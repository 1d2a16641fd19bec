from datetime import date
from time import sleep

import application
from celery import shared_task
from celery.contrib.abortable import AbortableTask


@shared_task(bind=True, base=AbortableTask)
def fetch(self, day: date, shop: str) -> int:
    for _ in range(60):
        if self.is_aborted():
            print("cancelled")
            return 0
        sleep(1)
    return len(shop)


if __name__ == "__main__":
    result = fetch.delay(date(2026, 11, 20), "graz")
    result.abort()
