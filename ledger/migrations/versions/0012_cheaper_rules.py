"""The rules about states, said in a way that costs each statement less."""

from alembic import op

revision = "0012"
down_revision = "0011"

_DDL = """
ALTER TABLE job DROP CONSTRAINT job_state, ADD CONSTRAINT job_state CHECK (strpos('|expected|waiting|ready|running|suspended|executed|succeeded|failed|fatal|timed_out|expired|skipped|cancelled|upstream_failed|split|', '|' || state || '|') > 0);
ALTER TABLE job DROP CONSTRAINT job_flying, ADD CONSTRAINT job_flying CHECK (NOT flying OR open AND strpos('|waiting|ready|running|suspended|executed|fatal|', '|' || state || '|') > 0);
ALTER TABLE job DROP CONSTRAINT job_round, ADD CONSTRAINT job_round CHECK (round = fails + timeouts + losses OR strpos('|succeeded|failed|fatal|timed_out|expired|skipped|cancelled|upstream_failed|split|', '|' || state || '|') > 0);
ALTER TABLE transition DROP CONSTRAINT transition_legal, ADD CONSTRAINT transition_legal CHECK (strpos('|- expected|- skipped|- waiting|cancelled waiting|executed cancelled|executed expired|executed failed|executed fatal|executed succeeded|executed waiting|expected skipped|expected succeeded|expected waiting|expired waiting|failed split|failed waiting|fatal waiting|ready cancelled|ready expired|ready running|ready waiting|running cancelled|running executed|running expired|running failed|running ready|running suspended|running timed_out|running waiting|skipped waiting|succeeded cancelled|succeeded waiting|suspended cancelled|suspended expired|suspended waiting|timed_out split|timed_out waiting|upstream_failed waiting|waiting cancelled|waiting expired|waiting ready|waiting skipped|waiting upstream_failed|', '|' || source || ' ' || target || '|') > 0);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
