import pytest
from fan_out import Report, fetch
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


@pytest.mark.asyncio
async def test_report():
    async with await WorkflowEnvironment.start_time_skipping() as env:
        async with Worker(env.client, task_queue="test", workflows=[Report], activities=[fetch]):
            result = await env.client.execute_workflow(Report.run, "2026-11-20", id="test", task_queue="test")
    assert result == 13
