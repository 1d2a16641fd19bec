"""A killed worker and lost messages: each job of the submission still succeeds exactly once."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.recovery.invariants import breaches
from tests import private_servers
from tests.homes import started_ledger
from tests.jobs.runners.runner_bench import eventually
from tests.pictures.terminal import Line, animation, record

KEYS = 60
_PIPELINE = """\
import time
from sluice import app

@app
def clean(n: int):
    time.sleep(1)

@app(needs=[clean])
def score(n: int):
    time.sleep(1)
"""
_KILL = "kill -9 %1  # one worker dies while it runs jobs"
_COMMANDS = (
    "cat pipeline.py",
    "sluice worker --threads 4 2> one.log &",
    "sluice worker --threads 4 2> two.log &",
    f"sluice submit score {{1..{KEYS}}} --id night",
    "sluice submissions night",
    _KILL,
    "redis-cli -u $SLUICE_BROKER_URL flushall  # and all messages are lost",
    f"sluice submit score {{1..{KEYS}}} --id night --wait  # the same id: wait for the end",
    "sluice ls --where 'round > 0'  # the jobs that the killed worker ran",
    "sluice db check",
)
_TITLE = "One of two workers is killed, the queues are emptied, and all jobs still succeed"
#: Remarks of the shell about its background jobs.
_OF_SHELL = re.compile(r"^(\[\d+\]|bash: line \d+:)")
# Workers with a job that has just begun, and so runs for half a second at least.
_AT_WORK = f"""
SELECT count(DISTINCT worker) FROM job
WHERE state = '{State.RUNNING}' AND changed_at > now() - interval '500 ms'
"""
_SUCCESSES = "SELECT count(*) FROM transition WHERE target = 'succeeded' GROUP BY job"


def write(folder: Path, target: Path) -> None:
    """Play the scene in the folder, on a ledger and a Redis of its own, and write its animation."""
    (folder / "pipeline.py").write_text(_PIPELINE)
    programs = Path(os.environ.get("VIRTUAL_ENV", Path(__file__).parents[2] / ".venv")) / "bin"
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    with private_servers.redis() as redis, started_ledger(folder / "home", durable=True) as url:
        own = {
            "SLUICE_LEDGER_URL": url,
            "SLUICE_BROKER_URL": redis.url,
            "SLUICE_APPS": "pipeline.py",
            "SLUICE_LEASE": "3s",
            "SLUICE_TICK": "200ms",
            "PATH": f"{programs}:{os.environ['PATH']}",
        }
        with closing(Ledger(url, connections=1)) as ledger:

            def wait_for_both(command: str) -> None:
                if command == _KILL:
                    eventually(lambda: ledger.transact(lambda tx: tx.column(_AT_WORK)) == [2])

            lines = record(_COMMANDS, outer | own, folder, wait_for_both)
            ledger.transact(_check)
    target.write_text(animation(list(_readable(lines)), _TITLE))


def _check(tx: Tx) -> None:
    """Raise if the kill interrupted no job, or if a job has not succeeded exactly once."""
    assert tx.column("SELECT sum(losses) FROM job")[0] > 0, "the worker was killed while it ran no job"
    assert tx.column(_SUCCESSES) == [1] * 2 * KEYS
    assert breaches(tx) == []


def _readable(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines without remarks of the shell and without the spaces at their ends."""
    for line in lines:
        if line.is_command or not _OF_SHELL.match(line.text):
            yield line._replace(text=line.text.rstrip())
