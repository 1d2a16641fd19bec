import asyncio
from datetime import timedelta

from fan_out import Report
from temporalio import workflow
from temporalio.client import Client, Schedule, ScheduleActionStartWorkflow, ScheduleSpec


@workflow.defn
class Nightly:
    @workflow.run
    async def run(self) -> int:
        day = workflow.now().date() - timedelta(days=1)
        return await workflow.execute_child_workflow(Report.run, day.isoformat())


async def main() -> None:
    client = await Client.connect("localhost:7233")
    await client.create_schedule(
        "nightly",
        Schedule(
            action=ScheduleActionStartWorkflow(Nightly.run, id="nightly", task_queue="shop"),
            spec=ScheduleSpec(cron_expressions=["0 2 * * *"]),
        ),
    )


if __name__ == "__main__":
    asyncio.run(main())
