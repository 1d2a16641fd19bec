import asyncio

from fan_out import Report
from temporalio.client import Client


async def main() -> None:
    client = await Client.connect("localhost:7233")
    print(await client.execute_workflow(Report.run, "2026-11-20", id="report", task_queue="shop"))


asyncio.run(main())
