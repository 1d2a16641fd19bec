"""Output of jobs of real workers: visible while they run, kept if their worker is killed, and never of another job."""

import itertools
import json
import re
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.live.fleet import Fleet, fleet, wait_until
from tests.ops.typist import Typist

APPS = Path(__file__).parent / "counting.py"
#: Each kind of job that prints in a worker, in a process, or by polls. A command is defined in JSON.
KINDS = ["thread", "apart", "trip", "managed", "command"]
COMMAND = """
i=0
until [ -e FOLDER/released ]; do echo command {n} $i; echo $i > FOLDER/command-{n}; i=$((i + 1)); sleep 0.1; done
"""
#: Lines that a job prints between two statements of its worker, and in a second of margin for a loaded machine.
UNSTORED_MAX = 5 + 10


class Counters:
    """Jobs that print numbered lines, the fleet that runs them, and `sluice` beside it."""

    def __init__(self, workers: Fleet, client: Client, desk: Typist, folder: Path) -> None:
        self.workers = workers
        self.client = client
        self._desk = desk
        self._folder = folder

    def printed(self, kind: str) -> int:
        """Return the number of the last line that the job has printed, or -1."""
        note = self._folder / f"{kind}-1"
        text = note.read_text() if note.exists() else ""
        return int(text) if text else -1

    def logs(self, kind: str) -> str:
        return self._desk.types("logs", kind, "1").out

    def release(self) -> None:
        (self._folder / "released").touch()


def numbers(text: str, kind: str) -> list[int]:
    return [int(found) for found in re.findall(rf"^{kind} 1 (\d+)$", text, re.MULTILINE)]


def sources(folder: Path) -> str:
    command = {"job_id": "{n}", "bash_cmd": COMMAND.replace("FOLDER", str(folder))}
    (folder / "command.json").write_text(json.dumps({"command": command}))
    return f"{APPS},{folder / 'command.json'}"


def _desk(folder: Path, ledger: str, broker: str, apps: str) -> Typist:
    return Typist(folder, SLUICE_LEDGER_URL=ledger, SLUICE_BROKER_URL=broker, SLUICE_APPS=apps)


@pytest.mark.timeout(180)
def test_a_killed_worker_leaves_what_its_jobs_have_written(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path
) -> None:
    apps, broker = sources(folder), connect(redis)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=redis, apps=apps, threads=len(KINDS)) as workers:
        jobs = Counters(workers, client, _desk(folder, live_ledger_url, redis, apps), folder)
        for kind in KINDS:
            client.submit(Submission(app=kind, key="1", policy={"max_fails": 0}))
        wait_until(lambda: all(jobs.printed(kind) > 30 for kind in KINDS), within_s=90, explain=workers.log)
        for kind in KINDS:
            shown, printed = numbers(jobs.logs(kind), kind), jobs.printed(kind)
            assert shown == [*range(len(shown))]
            assert printed - len(shown) < UNSTORED_MAX, f"{kind} shows {len(shown)} of {printed} lines"
        workers.kill_all()
        last = {kind: jobs.printed(kind) for kind in KINDS}
        rounds = _rounds_without_a_worker(jobs)
    broker.close()
    for kind, shown in rounds.items():
        assert shown == [*range(len(shown))]
        assert last[kind] - len(shown) < UNSTORED_MAX, f"{kind} has kept {len(shown)} of {last[kind]} lines"


def _rounds_without_a_worker(jobs: Counters) -> dict[str, list[int]]:
    """Have another worker take the jobs back, and return the lines that `sluice logs` shows of their first rounds."""
    jobs.release()
    jobs.workers.start_all()
    wait_until(
        lambda: all(_is_over(jobs.client, kind) for kind in KINDS), within_s=60, explain=jobs.workers.log
    )
    found = {}
    for kind in KINDS:
        lost, after = re.split(r"^round \d+ on ", jobs.logs(kind), flags=re.MULTILINE)[1:]
        assert lost.splitlines()[0].endswith(": lease lost")
        assert after.splitlines()[0].endswith(": done")
        found[kind] = numbers(lost, kind)
    return found


def _is_over(client: Client, kind: str) -> bool:
    job = client.job(kind, "1")
    return job is not None and job.state is State.SUCCEEDED


@pytest.mark.timeout(120)
def test_jobs_that_print_at_the_same_time_in_one_process_keep_their_lines_apart(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path
) -> None:
    broker = connect(redis)
    client = Client(ledger, broker.publish)
    apps = str(APPS)
    with fleet(1, folder, ledger=live_ledger_url, broker=redis, apps=apps, threads=4) as workers:
        client.submit(Submission(app="chatter", keys=tuple("12345678"), id="all"))
        assert client.wait("all", timeout_s=60).state is SubmissionState.SUCCEEDED
        workers.terminate()
        log = workers.log()
    broker.close()
    desk = _desk(folder, live_ledger_url, redis, apps)
    for key in "12345678":
        (round_,) = desk.asks("logs", "chatter", key)["rounds"]
        lines = [re.sub(r"^\S+Z INFO acme.chatter: ", "", line) for line in round_["output"].splitlines()]
        ends = [line for line in lines if "bytes left out" not in line and line.strip()]
        whole = [line for line in ends if line.startswith("<") and line.endswith(">")]
        assert len(ends) - len(whole) <= 2, "only the cut in the middle may split a line"
        assert {line.split()[0] for line in whole} == {f"<{key}"}
        assert [line for line, _ in itertools.groupby(whole)][:2] == [f"<{key} 0>", f"<{key} 1>"]
    printed = [line for line in log.splitlines() if line.startswith("<")]
    assert printed == [], "printed text is in the output of the jobs alone"


@pytest.mark.timeout(120)
def test_logs_are_followed_line_by_line(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path
) -> None:
    broker = connect(redis)
    client = Client(ledger, broker.publish)
    apps = str(APPS)
    desk = _desk(folder, live_ledger_url, redis, apps)
    with fleet(1, folder, ledger=live_ledger_url, broker=redis, apps=apps) as workers:
        client.submit(Submission(app="thread", key="1"))
        wait_until(lambda: client.job("thread", "1") is not None, within_s=30, explain=workers.log)
        with desk.starts("logs", "thread", "1", "--follow") as following:
            assert following.stdout is not None
            heading = following.stdout.readline()
            seen = [following.stdout.readline() for _ in range(30)]
            behind = Counters(workers, client, desk, folder).printed("thread") - int(seen[-1].split()[-1])
            (folder / "released").touch()
            # Not by ``communicate``, which skips what the stream has read ahead.
            rest = following.stdout.read()
            assert following.wait(timeout=30) == 0
    broker.close()
    assert re.match(r"round 0 on \S+, running since .* UTC$", heading)
    lines = "".join([*seen, rest]).splitlines()
    last = next(place for place, line in enumerate(lines) if line.startswith("round 0 on"))
    assert [line.split()[-1] for line in lines[:last]] == [str(number) for number in range(last)]
    assert lines[last].endswith(": done")
    assert behind < UNSTORED_MAX
    record = client.job("thread", "1")
    assert record is not None
    assert numbers(str(record.record["0:output"]), "thread") == [*range(last)]
