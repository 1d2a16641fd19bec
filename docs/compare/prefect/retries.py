from datetime import date

from prefect import task
from prefect.tasks import exponential_backoff


def is_connection_error(task, task_run, state) -> bool:
    return isinstance(state.result(raise_on_failure=False), ConnectionError)


@task(retries=4, retry_delay_seconds=exponential_backoff(1), retry_condition_fn=is_connection_error)
def fetch(day: date, shop: str) -> int:
    return len(shop)
