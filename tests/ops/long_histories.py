"""Jobs with a longer history than a test has time to produce."""

from sluice.jobs.model.names import JobName
from sluice.jobs.states import CLAIM, MAKE_READY, RECORD, RETRY
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.history import VerbBy, number

_ROUNDS = """
INSERT INTO round (job, claim, round, worker, running_at, executed_at, ending, took_s, exit_code, output, stderr)
SELECT job.id, before.claim + n, before.round + n, before.worker, before.running_at + make_interval(secs => n),
       before.running_at + make_interval(secs => n), 'error', 1, 3, repeat('x', 6000), (before.claim + n)::text
FROM job JOIN round before ON before.job = job.id, generate_series(1, %(rounds)s) n
WHERE job.app = %(app)s AND job.key = %(key)s
"""
_STEPS = ", ".join(
    f"({nth}, {number(min(verb.existing), VerbBy(verb, min(verb.by)))})"
    for nth, verb in enumerate((RETRY, MAKE_READY, CLAIM, RECORD))
)
_HISTORY = f"""
INSERT INTO history (job, at, kind, round, claim)
SELECT job.id, job.changed_at + make_interval(secs => n), step.kind, n, n + 1
FROM job, generate_series(1, %(rounds)s) n, LATERAL (VALUES {_STEPS}) step (nth, kind)
WHERE job.app = %(app)s AND job.key = %(key)s ORDER BY n, step.nth
"""
_SUBMISSIONS = """
INSERT INTO submission (id, app, state, request, push, received_at, planned_at, ended_at)
SELECT 'again ' || n, app, state, request, push, received_at, planned_at, ended_at
FROM submission, generate_series(1, %(submissions)s) n
WHERE number = (SELECT submission_job.submission FROM submission_job JOIN job ON job.id = submission_job.job
                WHERE job.app = %(app)s AND job.key = %(key)s)
ORDER BY n
"""
_WANTS = """
INSERT INTO submission_job (submission, job, request_reason)
SELECT submission.number, job.id, 0 FROM submission, job
WHERE submission.id LIKE 'again %%' AND job.app = %(app)s AND job.key = %(key)s
"""
_JOB = """
UPDATE job SET claim = claim + %(rounds)s, round = round + %(rounds)s WHERE app = %(app)s AND key = %(key)s
"""


def lengthen(tx: Tx, name: JobName, *, rounds: int = 2000, submissions: int = 120) -> None:
    """Give a job a long history. It must have ended after one round and have been submitted once. Each added round
    printed 6,000 bytes.
    """
    for statement in (_ROUNDS, _HISTORY, _SUBMISSIONS, _WANTS, _JOB):
        tx.write(statement, app=name.app, key=name.key, rounds=rounds, submissions=submissions)
