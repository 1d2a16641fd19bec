"""Jobs that fill tables partition by partition, work that never ends, and submissions that pause."""

from alembic import op

revision = "0004"
down_revision = "0003"

_PARTITIONS = """
ALTER TABLE job DROP CONSTRAINT job_name;
ALTER TABLE job DROP COLUMN version;
ALTER TABLE job ADD CONSTRAINT job_name UNIQUE (app, key);
ALTER TABLE job ADD COLUMN place TEXT;
COMMENT ON COLUMN job.place IS 'of a step: the table whose partitions it makes';
CREATE TABLE partition (
    place TEXT NOT NULL,
    version TEXT NOT NULL,
    partition INTEGER NOT NULL,
    job BIGINT,
    done_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (place, version, partition),
    CONSTRAINT partition_made CHECK (job IS NOT NULL OR done_at IS NOT NULL)
);
CREATE INDEX partition_job ON partition (job) WHERE job IS NOT NULL;
COMMENT ON COLUMN partition.place IS 'the name of the table that it is a partition of';
COMMENT ON COLUMN partition.version IS
    'of the app that fills the table; of one that others fill, the unit of its partitions';
COMMENT ON COLUMN partition.partition IS 'as jobs.calendar counts them';
COMMENT ON COLUMN partition.job IS 'who is to make it, or has; null: it came from elsewhere';
COMMENT ON COLUMN partition.done_at IS 'when it was made; null: it is not there';
"""

_VERSIONS = """
CREATE TABLE app_version (
    app TEXT NOT NULL,
    version TEXT NOT NULL,
    code TEXT NOT NULL,
    words JSONB NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (app, version)
);
COMMENT ON COLUMN app_version.version IS 'of what it and all that it reads from do';
COMMENT ON COLUMN app_version.code IS 'a digest of the function that does its work; empty for none';
COMMENT ON COLUMN app_version.words IS 'its definition, as it was last seen in this version';
COMMENT ON COLUMN app_version.seen_at IS 'when that was';
CREATE TABLE branch (
    branch TEXT NOT NULL,
    app TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (branch, app)
);
CREATE TABLE branch_sync (
    branch TEXT NOT NULL,
    confs JSONB NOT NULL,
    synced_by TEXT,
    synced_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (branch)
);
COMMENT ON COLUMN branch_sync.confs IS 'each with the app that it ends in, by mode';
COMMENT ON COLUMN branch_sync.synced_at IS 'whoever keeps its definitions reads them anew after that';
"""

_UNBOUNDED = """
ALTER TABLE job ADD COLUMN watch_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN job.watch_at IS 'of work that no worker looks after: when to look how it stands, or to end it';
ALTER TABLE job ADD COLUMN unbounded BOOLEAN DEFAULT false NOT NULL;
COMMENT ON COLUMN job.unbounded IS
    'its work goes on until it is stopped; once that is started no worker holds the job';
ALTER TABLE job ADD COLUMN watch_s DOUBLE PRECISION;
COMMENT ON COLUMN job.watch_s IS 'how long such work is left alone between two looks';
ALTER TABLE job ADD COLUMN misses SMALLINT DEFAULT '0' NOT NULL;
COMMENT ON COLUMN job.misses IS 'looks in a row that failed';
ALTER TABLE job ADD COLUMN said TEXT;
COMMENT ON COLUMN job.said IS 'what the last look that had anything to say heard';
ALTER TABLE job ADD COLUMN failing INTEGER DEFAULT '0' NOT NULL;
COMMENT ON COLUMN job.failing IS
    'of unbounded work: fails in a row, without a round between that went on for a while';
ALTER TABLE job DROP CONSTRAINT job_worker;
ALTER TABLE job ADD CONSTRAINT job_worker CHECK (worker IS NULL OR state = 'running');
ALTER TABLE job ADD CONSTRAINT job_looked_after
    CHECK (state <> 'running' OR worker IS NOT NULL OR watch_at IS NOT NULL);
CREATE INDEX job_watch ON job (watch_at) WHERE watch_at IS NOT NULL;
-- Until now nobody ended the work of these.
UPDATE job SET watch_at = clock_timestamp() WHERE handle IS NOT NULL AND state IN
    ('succeeded', 'failed', 'fatal', 'timed_out', 'expired', 'skipped', 'cancelled', 'upstream_failed', 'split');
"""

_PAUSES = """
ALTER TABLE submission ADD COLUMN paused_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN submission.paused_at IS 'what it alone wants is not begun';
ALTER TABLE job ADD COLUMN paused BOOLEAN DEFAULT false NOT NULL;
COMMENT ON COLUMN job.paused IS 'all who want it are paused: it stays waiting';
ALTER TABLE job ADD CONSTRAINT job_paused CHECK (state <> 'ready' OR NOT paused);
DROP INDEX job_due;
CREATE INDEX job_due ON job (not_before) WHERE state = 'waiting' AND open AND NOT paused;
"""

_TRANSITIONS = """
ALTER TABLE transition DROP CONSTRAINT transition_legal;
ALTER TABLE transition ADD CONSTRAINT transition_legal CHECK ((source, target) IN (('-', 'expected'), ('-', 'skipped'), ('-', 'waiting'), ('cancelled', 'waiting'), ('executed', 'expired'), ('executed', 'failed'), ('executed', 'fatal'), ('executed', 'succeeded'), ('executed', 'waiting'), ('expected', 'skipped'), ('expected', 'succeeded'), ('expected', 'waiting'), ('expired', 'waiting'), ('failed', 'split'), ('failed', 'waiting'), ('fatal', 'waiting'), ('ready', 'cancelled'), ('ready', 'expired'), ('ready', 'running'), ('ready', 'waiting'), ('running', 'cancelled'), ('running', 'executed'), ('running', 'expired'), ('running', 'failed'), ('running', 'ready'), ('running', 'suspended'), ('running', 'timed_out'), ('running', 'waiting'), ('skipped', 'waiting'), ('succeeded', 'waiting'), ('suspended', 'cancelled'), ('suspended', 'expired'), ('suspended', 'waiting'), ('timed_out', 'split'), ('timed_out', 'waiting'), ('upstream_failed', 'waiting'), ('waiting', 'cancelled'), ('waiting', 'expired'), ('waiting', 'ready'), ('waiting', 'skipped'), ('waiting', 'upstream_failed')));
"""


def upgrade() -> None:
    for statements in (_PARTITIONS, _VERSIONS, _UNBOUNDED, _PAUSES, _TRANSITIONS):
        op.get_bind().exec_driver_sql(statements)
