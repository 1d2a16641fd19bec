import asyncio

from fan_out import Report, fetch
from nightly import Nightly
from temporalio.client import Client
from temporalio.worker import Worker


async def main() -> None:
    client = await Client.connect("localhost:7233")
    await Worker(client, task_queue="shop", workflows=[Report, Nightly], activities=[fetch]).run()


if __name__ == "__main__":
    asyncio.run(main())
