"""Random jobs that running jobs add, and the checks of these jobs."""

import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sluice.jobs.expansions import Expansion, encoded
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle.claims import ClaimedJob

#: Apps whose jobs add jobs have this name, and a digit after it.
SPLIT = "split"
#: App whose jobs are added, and add jobs themselves.
NESTED = f"{SPLIT}_again"
#: Messages of users in a world of expansions, at least and at most.
WISHES = (9, 15)
# Each with the jobs that it has added and the jobs that exist.
_EXPANDED = f"""
SELECT job.app, job.key, job.claim, job.changed_at,
       1 = (SELECT count(*) FROM transition WHERE transition.job = job.id AND target = '{State.SUCCEEDED}') AS once,
       ARRAY(SELECT child.app || '/' || child.key FROM need JOIN job child ON child.id = need.child
             WHERE need.parent = job.id AND need.added) AS added,
       ARRAY(SELECT app || '/' || key FROM job) AS existing
FROM job WHERE job.app LIKE '{SPLIT}%%' AND job.state = '{State.SUCCEEDED}' AND job.expansion = 'entered'
"""
# A pushed job does not count, because a push requests no parents. A job that has run keeps its inputs, so it does not
# wait for a parent that runs again.
_UNREQUESTED = f"""
SELECT DISTINCT parent.app || '/' || parent.key || ' for ' || submission.id
FROM need JOIN job child ON child.id = need.child AND child.state = '{State.WAITING}'
    JOIN job parent ON parent.id = need.parent AND parent.state IN ({sql_list(*sorted(LIVE))})
    JOIN submission_job asked ON asked.job = child.id AND asked.request_reason <> {RequestReason.PUSHED:d}
    JOIN submission ON submission.number = asked.submission AND submission.state = '{SubmissionState.ACTIVE}'
WHERE need.added AND need.met IS NULL AND NOT EXISTS (
    SELECT FROM submission_job own WHERE own.submission = asked.submission AND own.job = parent.id)
"""


def unrequested(tx: Tx) -> list[str]:
    """Return the added jobs that a waiting job needs, and that a submission of that job does not request. Another
    submission could cancel them."""
    return tx.column(_UNREQUESTED)


def with_drawn_expansions(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the apps with one or two apps whose jobs add jobs of ``part`` and of ``NESTED``, whose jobs add jobs of
    ``leaf``. ``join`` mostly needs the apps that add jobs."""
    plain = {"job_id": "{x}", "bash_cmd": "true", "max_losses": 50, "max_fails": 2}
    splits = [f"{SPLIT}{place}" for place in range(rng.randint(1, 2))]
    added: dict[str, Any] = dict.fromkeys(splits, plain)
    narrow = [name for name in apps if apps[name]["job_id"] == "{x}"]
    added[splits[0]] = plain | _needs(rng, narrow)
    added["part"] = plain | {"job_id": "{x}_{y}", "autofill_values": {"y": ["p", "q"]}}
    added[NESTED] = plain | {"job_id": "{x}_{y}", "autofill_values": {"y": ["p", "q"]}}
    added["leaf"] = plain | {"job_id": "{x}_{y}_{z}", "autofill_values": {"y": ["p", "q"], "z": ["0", "1"]}}
    for name in ("part", "leaf"):
        added[name] |= {"max_fails": rng.choice((0, 0, 2))}
    added["join"] = plain | _needs(rng, splits)
    added["end"] = plain | {"depends_on": {"app_name": ["join"]}}
    return apps | added


class DrawnExpansions:
    """Jobs that each claim adds if it succeeds."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[JobName, int], list[Expansion]] = {}

    def draw(self, rng: random.Random, claimed: ClaimedJob) -> str | None:
        """Draw the jobs that this claim adds. None if it adds none, or if its app adds no jobs."""
        if not claimed.app.startswith(SPLIT):
            return None
        added = (("leaf", "01"),) if claimed.app == NESTED else (("part", "pqrstu"), (NESTED, "pqr"))
        drawn = [_drawn(rng, claimed.key, app, letters) for app, letters in added if rng.random() < 0.9]
        self._drawn[claimed.name, claimed.claim] = drawn
        return encoded(drawn)

    def wrong(
        self, tx: Tx, app: dict[str, Any], *, was_removed: Callable[[JobName, datetime], bool]
    ) -> list[str]:
        """Return the violations of a world at rest: named jobs that do not exist, jobs that were added and are not
        named, and last jobs without their added needs. ``app`` is the definition of ``join``.

        A ``join`` that needs the job by its definition cannot have begun before its first success. A named job that
        ``was_removed`` after that need not exist, nor have the added needs if it exists again.
        """
        waits_for = app.get("depends_on", {}).get("app_name", [])
        found: list[str] = []
        for name, key, claim, since, once, added, existing in tx.rows(_EXPANDED):
            drawn = self._drawn[JobName(name, key), claim]
            named = {name for each in drawn for name in (*each.parts, each.then) if name}
            gone = {str(name) for name in named if was_removed(name, since)}
            named = {str(name) for name in named}
            last = {str(each.then) for each in drawn if each.then and once and name in waits_for}
            shared = self._named_by_others(JobName(name, key))
            if named - set(existing) - gone or set(added) - named - shared or last - set(added) - gone:
                found.append(f"{name}/{key} under claim {claim} names {named} and has added {added}")
        return found

    def _named_by_others(self, name: JobName) -> set[str]:
        """Return the jobs that other jobs have named. They may need this job, because it was added too."""
        expansions = [each for (by, _), drawn in self._drawn.items() if by != name for each in drawn]
        return {str(named) for each in expansions for named in (*each.parts, each.then) if named}


def _drawn(rng: random.Random, key: str, app: str, letters: str) -> Expansion:
    keys = [f"{key}_{letter}" for letter in letters if rng.random() < 0.7]
    then = JobName("join", key.partition("_")[0]) if rng.random() < 0.7 else None
    return Expansion(app, tuple(keys), then, rng.choice(("succeeded", "succeeded", "finished")))


def _needs(rng: random.Random, names: list[str]) -> dict[str, Any]:
    needed = [name for name in names if rng.random() < 0.7]
    return {"depends_on": {"app_name": needed}} if needed else {}
