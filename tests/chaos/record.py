"""Record folder of a run. The checker reads it.

    run.json          the seed, the time, the broker, the ledger, and the difference of the two clocks
    effects/          the effects of the jobs (``effects``)
    submitted.jsonl   each submission that was confirmed as accepted, and how it was sent
    nemesis.jsonl     each act of the nemesis, with its target and time
    logs/             the logs of the workers

A line is on disk before the run continues. So each recorded event has happened, even if the run itself breaks off.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from sluice.ledger.database.connection import Ledger


class Record:
    """Writer of a record folder. ``begin`` reads the ledger's time, and ``name_jobs`` the ids of its jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.effects = folder / "effects"
        self.logs = folder / "logs"
        self.effects.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        self._lock = Lock()

    def begin(self, ledger: Ledger, url: str, *, seed: int, seconds: float, broker: str) -> None:
        now_s = ledger.transact(lambda tx: tx.current_time()).timestamp()
        words = {"seed": seed, "seconds": seconds, "broker": broker, "ledger": url}
        words["monotonic_to_epoch_s"] = now_s - time.monotonic()
        (self.folder / "run.json").write_text(json.dumps(words, indent=2) + "\n")

    def did(self, act: str, whom: str, **more: object) -> None:
        self._append("nemesis.jsonl", {"at": time.monotonic(), "act": act, "whom": whom, **more})

    def accepted(self, id_: str, app: str, by: str) -> None:
        self._append("submitted.jsonl", {"id": id_, "app": app, "by": by})

    def name_jobs(self, ledger: Ledger) -> None:
        """Add to each effect the id that its job has in the ledger, which workers do not know.

        It is 0 if the ledger does not have the job.
        """
        numbers: defaultdict[tuple[str, str], int] = defaultdict(int)
        rows = ledger.transact(lambda tx: tx.rows("SELECT app, key, id FROM job"))
        numbers.update({(app, key): id_ for app, key, id_ in rows})
        for path in self.effects.glob("*.jsonl"):
            lines = [line | {"job": numbers[line["app"], line["key"]]} for line in read(path)]
            path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    def _append(self, name: str, line: dict[str, object]) -> None:
        with self._lock, (self.folder / name).open("a") as file:
            file.write(f"{json.dumps(line)}\n")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of one file. A missing file has none."""
    if path.exists():
        with path.open() as lines:
            yield from map(json.loads, lines)
