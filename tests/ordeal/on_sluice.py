"""The job on Sluice: the definition that its workers load, and a publisher of submit messages, as in any service."""

import os
from functools import partial

import msgspec

from sluice import app
from sluice.broker.connect import connect
from sluice.broker.interface import Broker
from sluice.broker.messages import Submit
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.job import Job
from tests.ordeal.effects import work
from tests.ordeal.publishing import BROKER, publish


@app(job_id="{n}", max_losses=1000)
def job(job: Job) -> None:
    work(int(job.key))


def submit(broker: Broker, n: int) -> None:
    submission = msgspec.json.encode({"app": "job", "key": str(n)})
    broker.publish([Submit(id=f"ordeal-{n}", submission=msgspec.Raw(submission))])


if __name__ == "__main__":
    publish(partial(submit, connect(os.environ[BROKER])), (Unreachable,))
