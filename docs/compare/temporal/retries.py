from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RetryPolicy


@activity.defn
async def fetch(day: str, shop: str) -> int:
    return len(shop)


@workflow.defn
class Report:
    @workflow.run
    async def run(self, day: str, shop: str) -> int:
        return await workflow.execute_activity(
            fetch,
            args=[day, shop],
            start_to_close_timeout=timedelta(minutes=1),
            retry_policy=RetryPolicy(maximum_attempts=5, non_retryable_error_types=["ValueError"]),
        )
