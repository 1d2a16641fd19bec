"""JSON log lines about a job, which contain the job's fields."""

import json
from pathlib import Path
from typing import Any

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from tests.live.fleet import Fleet, fleet, wait_until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
APPS = str(Path(__file__).parent / "spoken.py")


def lines(workers: Fleet) -> list[dict[str, Any]]:
    return [json.loads(line) for line in workers.log().splitlines()]


def about(said: list[dict[str, Any]], app: str) -> list[tuple[str, dict[str, Any]]]:
    fields = ("app", "key", "round", "claim", "submission", "trace_id", "customer")
    return [
        (line["message"], {name: line[name] for name in fields if name in line})
        for line in said
        if line.get("app") == app
    ]


def test_every_line_about_a_job_names_it(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path
) -> None:
    broker = connect(redis)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=redis, apps=APPS, SLUICE_LOG="json") as workers:
        client.submit(Submission(app="process", key="7", id="nightly", traceparent=TRACEPARENT))
        assert client.wait("nightly", timeout_s=60).state is SubmissionState.SUCCEEDED
        workers.terminate()
        said = lines(workers)
    broker.close()
    known = {"submission": "nightly", "trace_id": TRACE}
    first = {"app": "thread", "key": "7", "round": 0, "claim": 1, **known}
    second = first | {"round": 1, "claim": 2}
    own, library = "thread/7: a word of its own\nand another line", "a library speaks"
    told = about(said, "thread")
    failure, fields = told.pop(2)
    extra = {"customer": 7}
    assert told == [(own, first), (library, first | extra), (own, second), (library, second | extra)]
    assert failure.startswith("thread/7 failed in round 0: ValueError: not yet\n\nTraceback (most recent")
    assert fields == first
    child = {"app": "process", "key": "7", "round": 0, "claim": 1, **known}
    assert about(said, "process") == [("process/7: from another process", child)]


def test_a_line_about_a_lost_claim_names_its_job(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path
) -> None:
    broker = connect(redis)
    client = Client(ledger, broker.publish)
    began = folder / "began"
    with fleet(1, folder, ledger=live_ledger_url, broker=redis, apps=APPS, SLUICE_LOG="json") as workers:
        client.submit(Submission(app="stopped", key="1", id="long", kwargs={"began": str(began)}))
        wait_until(began.exists, within_s=60)
        client.cancel_job(JobName("stopped", "1"))
        wait_until(lambda: "is stopped and its result dropped" in workers.log(), within_s=30)
        said = lines(workers)
    broker.close()
    gone = [fields for message, fields in about(said, "stopped") if "is stopped and" in message]
    assert gone == [{"app": "stopped", "key": "1", "round": 0, "claim": 1, "submission": "long"}]
