import asyncio
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client


@activity.defn
async def fetch(day: str, shop: str) -> int:
    try:
        for _ in range(60):
            activity.heartbeat()
            await asyncio.sleep(1)
    except asyncio.CancelledError:
        print("cancelled")
        raise
    return len(shop)


@workflow.defn
class Report:
    @workflow.run
    async def run(self, day: str, shop: str) -> int:
        return await workflow.execute_activity(
            fetch,
            args=[day, shop],
            start_to_close_timeout=timedelta(minutes=2),
            heartbeat_timeout=timedelta(seconds=5),
        )


async def main() -> None:
    client = await Client.connect("localhost:7233")
    handle = await client.start_workflow(
        Report.run, args=["2026-11-20", "graz"], id="report", task_queue="shop"
    )
    await handle.cancel()


if __name__ == "__main__":
    asyncio.run(main())
