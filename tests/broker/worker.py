"""Worker process that tests can hold and kill. Run as ``python -m tests.broker.worker``.

It prints ``begin N`` and ``end N`` for every job, and ends a job when it reads the job's number from stdin. Jobs from
100 on are acknowledged as soon as they begin.
"""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread

from sluice.broker.connect import connect
from sluice.broker.consumer.service import serve
from sluice.broker.consumer.slots import Slots
from sluice.broker.delivery import Delivery
from sluice.broker.messages import Execute, Message

EARLY = 100
CHECKOUT = Path(__file__).parents[2]


class Child:
    """Handle of a worker process in a test."""

    def __init__(
        self, url: str, namespace: str, queue: str, *, slots: int = 1, words: Mapping[str, str] | None = None
    ) -> None:
        """Start the process. ``words`` are added to the test's own environment."""
        command = [sys.executable, "-m", "tests.broker.worker", url, namespace, queue, str(slots)]
        self._process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env=os.environ | (words or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.said: list[str] = []
        Thread(target=self._read, daemon=True).start()

    def let_end(self, job: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{job}\n")

    def kill(self) -> None:
        """Kill the process with SIGKILL, so that it cannot clean up."""
        if self._process.returncode is not None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self.said.append(line.strip())
        except ValueError:
            return  # Closed by ``kill``.


def main(url: str, namespace: str, queue: str, slots: str) -> None:
    may_end: defaultdict[int, Event] = defaultdict(Event)

    def execute(message: Message, delivery: Delivery) -> None:
        assert isinstance(message, Execute)
        job = message.jobs[0].job
        if job >= EARLY:
            delivery.acknowledge()
        say(f"begin {job}")
        may_end[job].wait()
        say(f"end {job}")

    broker = connect(url, namespace=namespace, heartbeat_timeout_s=1.0)
    serve(broker, {"execute": execute}, [queue], slots=Slots(control=0, apps=int(slots))).start()
    for line in sys.stdin:
        may_end[int(line)].set()


def say(what: str) -> None:
    """Print a line in one write, because several threads print."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
