from time import sleep

from application import defs
from dagster import DagsterRunStatus
from dagster_graphql import DagsterGraphQLClient

client = DagsterGraphQLClient("localhost", port_number=3000)
run_id = client.submit_job_execution("nightly", tags={"dagster/partition": "2026-11-20"})
while client.get_run_status(run_id) != DagsterRunStatus.SUCCESS:
    sleep(1)
print(defs.load_asset_value("report", partition_key="2026-11-20"))
