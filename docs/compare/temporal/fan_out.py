import asyncio
from datetime import timedelta

from temporalio import activity, workflow

SHOPS = ["graz", "oslo", "porto"]


@activity.defn
async def fetch(day: str, shop: str) -> int:
    return len(shop)


@workflow.defn
class Report:
    @workflow.run
    async def run(self, day: str) -> int:
        fetches = [
            workflow.execute_activity(fetch, args=[day, shop], start_to_close_timeout=timedelta(minutes=1))
            for shop in SHOPS
        ]
        return sum(await asyncio.gather(*fetches))
