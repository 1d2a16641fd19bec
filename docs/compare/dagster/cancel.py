from time import sleep

import dagster as dg
from dagster_graphql import DagsterGraphQLClient


class Fetch(dg.Config):
    day: str
    shop: str


@dg.asset
def fetch(config: Fetch) -> int:
    try:
        sleep(60)
    except dg.DagsterExecutionInterruptedError:
        print("cancelled")
        raise
    return len(config.shop)


job = dg.define_asset_job("fetch_job", [fetch])

if __name__ == "__main__":
    client = DagsterGraphQLClient("localhost", port_number=3000)
    config = {"ops": {"fetch": {"config": {"day": "2026-11-20", "shop": "graz"}}}}
    run_id = client.submit_job_execution("fetch_job", run_config=config)
    client.terminate_run(run_id)
