from datetime import date
from time import sleep

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.deployments import run_deployment
from prefect.states import Cancelling


def on_cancellation(flow, flow_run, state):
    print("cancelled")


@flow(on_cancellation=[on_cancellation])
def fetch(day: date, shop: str) -> int:
    sleep(60)
    return len(shop)


if __name__ == "__main__":
    run = run_deployment("fetch/fetch", parameters={"day": date(2026, 11, 20), "shop": "graz"}, timeout=0)
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run.id, Cancelling())
