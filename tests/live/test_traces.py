"""One trace joins the submitter, the planner, the runs, their verdicts and their children, across processes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sluice.jobs.model.submission import SubmissionState
from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads import submission_progress
from tests.live.collector import Collector, Seen, collecting
from tests.live.fleet import ROOT, wait_until

TRACE, SENDER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTROL, APPS = "planner,groomer,scheduler", "fetch,lose,apart,report"
REPORT = {
    "report": {
        "job_id": "{date}",
        "identifiers": {"date": "date"},
        "bash_cmd": "echo $TRACEPARENT",
        "depends_on": {"app_name": ["apart"]},
    }
}


class House:
    """Processes that share a ledger, a broker and a collector. A process that dies is replaced."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = os.environ | environment
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self.deaths = 0

    def hire(self, queues: str) -> None:
        with (self._folder / "workers.log").open("ab") as log:
            self._workers[queues] = subprocess.Popen(
                [sys.executable, "-m", "actors.worker", "--queues", queues],
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def replace(self) -> None:
        for queues, worker in list(self._workers.items()):
            if worker.poll() is not None:
                self.deaths += 1
                self.hire(queues)

    def types(self, *words: str, **environment: str) -> str:
        command = [sys.executable, "-m", "sluice.ops.cli.main", *words]
        environment = self._environment | environment
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    def close(self) -> None:
        """Stop the workers in order, so that they send their remaining spans."""
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            worker.wait(timeout=40)

    def kill(self) -> None:
        for worker in self._workers.values():
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()

    def log(self) -> str:
        return (self._folder / "workers.log").read_text()


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@contextmanager
def house(folder: Path, ledger: str, broker: str, collector: Collector, **words: str) -> Iterator[House]:
    (folder / "report.json").write_text(json.dumps(REPORT))
    made = House(
        folder,
        {
            "SLUICE_APPS": f"{ROOT}/tests/live/traced.py,{folder}/report.json",
            "SLUICE_LEDGER_URL": ledger,
            "SLUICE_BROKER_URL": broker,
            "SLUICE_LEASE": "2s",
            "SLUICE_TICK": "200ms",
            "SLUICE_TRACE": "on",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            **words,
        },
    )
    with ExitStack() as stack:
        stack.callback(made.kill)
        made.hire(CONTROL)
        made.hire(APPS)
        yield made


def run_it(made: House, ledger: Ledger, **environment: str) -> None:
    told = json.loads(
        made.types("--json", "submit", "report", "2026-01-02", "--id", "nightly", **environment)
    )
    assert told["submission"] == "nightly"

    def is_over() -> bool:
        status = ledger.transact(lambda tx: submission_progress.status(tx, "nightly"))
        return status is not None and status.state is SubmissionState.SUCCEEDED

    wait_until(is_over, within_s=60, meanwhile=made.replace, explain=made.log)
    made.close()


def test_one_trace_joins_the_submitter_the_planner_the_runs_and_the_verdicts(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path, collector: Collector
) -> None:
    with house(folder, live_ledger_url, rabbitmq, collector) as made:
        run_it(made, ledger, TRACEPARENT=f"00-{TRACE}-{SENDER}-01")
        assert made.deaths == 1
    spans = collector.spans()
    assert {span.trace for span in spans} == {TRACE}
    assert {span.service for span in spans} == {"sluice"}
    (submit,) = collector.named("submit planner")
    (plan,) = collector.named("plan planner")
    assert (submit.parent, plan.parent) == (SENDER, submit.span)
    runs = {
        app: sorted(collector.named(f"execute {app}"), key=lambda span: span.attributes["sluice.claim"])
        for app in ("fetch", "lose", "apart", "report")
    }
    assert {app: [run.failed for run in of_app] for app, of_app in runs.items()} == {
        "fetch": [True, False],
        "lose": [True, False],
        "apart": [False],
        "report": [False],
    }
    assert {run.parent for of_app in runs.values() for run in of_app} == {plan.span}
    assert runs["lose"][0].attributes["sluice.ending"] == "lease lost"
    _check_verdicts(collector, runs)
    _check_conventions([plan, *(run for of_app in runs.values() for run in of_app)])
    _check_what_jobs_see(collector, runs, ledger)


def _check_verdicts(collector: Collector, runs: dict[str, list[Seen]]) -> None:
    """Check that each recorded run has a verdict, and that each run is linked to the run that it came after."""
    verdicts = {span.parent: span.attributes["sluice.state"] for span in collector.named("judge planner")}
    assert verdicts == {
        runs["fetch"][0].span: "waiting",
        runs["fetch"][1].span: "succeeded",
        runs["lose"][1].span: "succeeded",
        runs["apart"][0].span: "succeeded",
        runs["report"][0].span: "succeeded",
    }
    assert [run.links for run in runs["fetch"]] == [(), ()]
    assert {run.links for run in runs["lose"][1:]} == {(runs["fetch"][1].span,)}
    assert runs["apart"][0].links == (runs["lose"][1].span,)
    assert runs["report"][0].links == (runs["apart"][0].span,)


def _check_conventions(spans: list[Seen]) -> None:
    for span in spans:
        operation, queue = span.name.split()
        assert span.attributes["messaging.system"] == "rabbitmq"
        assert span.attributes["messaging.operation.name"] == operation
        assert span.attributes["messaging.operation.type"] == "process"
        assert span.attributes["messaging.destination.name"] == queue
        assert span.attributes["messaging.message.conversation_id"] == "nightly"


def _check_what_jobs_see(collector: Collector, runs: dict[str, list[Seen]], ledger: Ledger) -> None:
    """Check that a job's environment names the span of its run, and that a library's span is inside of it."""
    outputs = dict(
        ledger.transact(
            lambda tx: tx.rows(
                "SELECT app, output FROM round JOIN job ON job.id = round.job WHERE app IN ('apart', 'report')"
            )
        )
    )
    for app, output in outputs.items():
        assert output.strip() == f"00-{TRACE}-{runs[app][0].span}-01"
    inner = collector.named("open the till")
    assert {span.parent for span in inner} == {run.span for run in runs["fetch"]}


def test_a_submission_without_a_trace_begins_a_trace_for_all_processes(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path, collector: Collector
) -> None:
    with house(folder, live_ledger_url, redis, collector) as made:
        run_it(made, ledger, SLUICE_TRACE="off")
    (plan,) = collector.named("plan planner")
    assert plan.parent == ""
    assert collector.named("submit planner") == []
    assert {span.trace for span in collector.spans()} == {plan.trace}
    assert {span.parent for span in collector.named("execute report")} == {plan.span}


def test_spans_of_an_unsampled_trace_are_not_sent(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path, collector: Collector
) -> None:
    with house(folder, live_ledger_url, redis, collector) as made:
        run_it(made, ledger, SLUICE_TRACE="off", TRACEPARENT=f"00-{TRACE}-{SENDER}-00")
    assert collector.spans() == []
