import asyncio
import os
from datetime import date

from dbos import DBOS, DBOSClient


@DBOS.step(preemptible=True)
async def fetch(day: date, shop: str) -> int:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("cancelled")
        raise
    return len(shop)


@DBOS.workflow()
async def report(day: date, shop: str) -> int:
    return await fetch(day, shop)


if __name__ == "__main__":
    client = DBOSClient(system_database_url=os.environ["DATABASE_URL"])
    handle = client.enqueue({"workflow_name": "report", "queue_name": "shop"}, date(2026, 11, 20), "graz")
    client.cancel_workflow(handle.workflow_id)
