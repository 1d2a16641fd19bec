"""A world with schedules: definitions in a file that tests edit, schedule checks, and a clock set by hand."""

import json
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from sluice.broker.messages import Look
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.schedules.schedule import FiringOutcome, StoredSchedule
from sluice.ledger import schedules
from sluice.ledger.reads.schedule_states import FiringRecord, recent
from tests.world import World

#: Only one submission of ``chunked`` may be open at once. The planner refuses all keys of ``needy`` but ``only``.
APPS: dict[str, Any] = {
    "a": {"job_id": "{x}", "bash_cmd": "true"},
    "b": {"job_id": "{x}", "bash_cmd": "true"},
    "chunked": {"chunk_size": 2, "bash_cmd": "true"},
    "needy": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "x": ["only"]}, "bash_cmd": "true"},
}
HOURLY = {"app": "a", "key": "{due:%Y%m%d%H%M%S}", "cron": "0 * * * *"}


class Timed(World):
    """World with schedules. It begins at noon, on the first day of 2026."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(url)
        self.source = folder / "apps.json"
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def write(self, schedules: dict[str, dict[str, Any]], source: Path | None = None) -> Catalogue:
        """Write a file with these schedules, and return its catalogue. Default: hourly, and of app ``a``."""
        timed = {id_: _words(words) for id_, words in schedules.items()}
        path = source or self.source
        path.write_text(json.dumps({**APPS, "schedules": timed}))
        return load([str(path)])

    def edit(self, **schedules: dict[str, Any]) -> None:
        """Replace the schedules for every process."""
        self.catalogue = self.write(schedules)

    def look(self, at: str | None = None) -> None:
        """Run a schedule check, at this time of day."""
        if at is not None:
            self.now = datetime.combine(self.now, time.fromisoformat(at), UTC)
        self.queue.append(Look())
        self.deliver()

    def came(self, id_: str = "s") -> str:
        """Return the outcomes of the due times in order, for example ``13:00 fired, 14:00 skipped``."""
        return ", ".join(f"{each.due:%H:%M} {each.outcome}" for each in self.firings(id_))

    def firings(self, id_: str = "s") -> list[FiringRecord]:
        return self.ledger.transact(lambda tx: recent(tx, id_, 10_000))[::-1]

    def standing(self, id_: str = "s") -> StoredSchedule:
        return self.ledger.transact(lambda tx: schedules.lock(tx, [id_]))[id_]

    def next(self, id_: str = "s") -> str:
        due = self.standing(id_).next_due
        return f"{due:%H:%M}" if due else "none"

    def fired(self, id_: str = "s") -> list[str]:
        """Return the submissions that were made, in the order of the due times."""
        return [str(each.submission) for each in self.firings(id_) if each.outcome is FiringOutcome.FIRED]

    def submissions(self) -> list[str]:
        """Return all submissions, in the order in which they were received."""
        return self.ledger.transact(lambda tx: tx.column("SELECT id FROM submission ORDER BY number"))


def _words(words: dict[str, Any]) -> dict[str, Any]:
    given = {**HOURLY, **words}
    if "every" in words:
        del given["cron"]
    return {word: value for word, value in given.items() if value is not ...}
