"""Load fixture: a ledger as if a million jobs had run, a chain of apps for each key. It is written in one go.

It keeps every rule to which ``reads.check`` holds a ledger; a test checks that. Use it only to measure the queries of
the console.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from sluice.jobs.states import CLAIM, FAIL, RECORD, RELEASE, SUCCEED, WANT, By, State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx

#: One key in this many has failed at the last app of its chain.
FAILS_EVERY = 100

_SUBMISSIONS = f"""
INSERT INTO submission (id, app, state, request, push, received_at, planned_at, ended_at)
SELECT 'crowd-' || key, %(last)s,
       CASE key %% {FAILS_EVERY} WHEN 0 THEN '{SubmissionState.FAILED}' ELSE '{SubmissionState.SUCCEEDED}' END,
       jsonb_build_object('app', %(last)s::text, 'key', key::text), true, at, at, at + interval '1 minute'
FROM (SELECT key, %(since)s::timestamptz + key * %(apart)s::interval AS at FROM generate_series(1, %(keys)s) key) asked
ORDER BY key
"""
_JOBS = f"""
INSERT INTO job (app, key, state, round, fails, claim, open, digest, created_at, changed_at)
SELECT app, key::text, CASE WHEN failed THEN '{State.FAILED}' ELSE '{State.SUCCEEDED}' END,
       failed::int, failed::int, 1, true, 'crowd', at, at + nth * interval '1 second' + interval '800 ms'
FROM (
    SELECT app, nth, key, nth = cardinality(%(apps)s::text[]) AND key %% {FAILS_EVERY} = 0 AS failed,
           %(since)s::timestamptz + key * %(apart)s::interval AS at
    FROM generate_series(1, %(keys)s) key, unnest(%(apps)s::text[]) WITH ORDINALITY AS apps (app, nth)) ran
ORDER BY key, nth
"""
_OF_THE_CROWD = "job.digest = 'crowd'"
_WANTS = f"""
INSERT INTO wants (submission, job, wish) SELECT submission.number, job.id, (job.app <> %(last)s)::int
FROM job JOIN submission ON submission.id = 'crowd-' || job.key WHERE {_OF_THE_CROWD}
"""
_GATES = f"""
INSERT INTO gate (child, gate, name, unmet, dead)
SELECT id, 0, 'default', 0, 0 FROM job WHERE {_OF_THE_CROWD} AND app <> %(first)s
"""
_NEEDS = f"""
INSERT INTO need (child, gate, parent, condition, settled)
SELECT id, 0, id - 1, 'succeeded', true FROM job WHERE {_OF_THE_CROWD} AND app <> %(first)s
"""
_ROUNDS = f"""
INSERT INTO round (job, claim, round, worker, running_at, executed_at, ending, took_s, exit_code, digest, error, output)
SELECT id, 1, 0, %(worker)s, changed_at - interval '700 ms', changed_at - interval '50 ms',
       CASE state WHEN '{State.FAILED}' THEN 'error' ELSE 'done' END, 0.6, (state = '{State.FAILED}')::int, 'crowd',
       CASE state WHEN '{State.FAILED}' THEN 'it broke' END, 'seen to ' || key
FROM job WHERE {_OF_THE_CROWD}
"""
_HISTORY = f"""
INSERT INTO transition (job, at, source, target, verb, by, round, claim)
SELECT id, CASE nth WHEN 1 THEN created_at ELSE changed_at - early END, source,
       coalesce(target, state),
       CASE WHEN target IS NOT NULL THEN verb WHEN state = '{State.FAILED}' THEN '{FAIL.name}'
            ELSE '{SUCCEED.name}' END,
       by, CASE nth WHEN 5 THEN round ELSE 0 END, (nth > 2)::int
FROM job CROSS JOIN (VALUES
    (1, '-', '{State.WAITING}', '{WANT.name}', '{By.PLANNER}', interval '0'),
    (2, '{State.WAITING}', '{State.READY}', '{RELEASE.name}', '{By.PLANNER}', interval '720 ms'),
    (3, '{State.READY}', '{State.RUNNING}', '{CLAIM.name}', '{By.EXECUTOR}', interval '700 ms'),
    (4, '{State.RUNNING}', '{State.EXECUTED}', '{RECORD.name}', '{By.EXECUTOR}', interval '50 ms'),
    (5, '{State.EXECUTED}', NULL, NULL, '{By.PLANNER}', interval '0')
) AS step (nth, source, target, verb, by, early)
WHERE {_OF_THE_CROWD} ORDER BY id, nth
"""


def gather(tx: Tx, apps: Sequence[str], keys: int, *, since: datetime, apart_s: float) -> None:
    """Insert ``keys`` submissions, ``apart_s`` seconds apart, each with a chain of one job per app.

    The submission requests the job of the last app, which needed the jobs of the apps before it. The ledger must be
    empty.
    """
    times = {"since": since, "apart": f"{apart_s} s"}
    tx.write(_SUBMISSIONS, keys=keys, last=apps[-1], **times)
    tx.write(_JOBS, keys=keys, apps=list(apps), **times)
    tx.write(_WANTS, last=apps[-1])
    tx.write(_GATES, first=apps[0])
    tx.write(_NEEDS, first=apps[0])
    tx.write(_ROUNDS, worker=uuid4())
    tx.write(_HISTORY)
