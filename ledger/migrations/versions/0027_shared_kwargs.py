"""Large kwargs are stored once and jobs refer to them; ``sluice_submit`` limits the policy of a submission."""

from alembic import op

revision = "0027"
down_revision = "0026"
# Code before it cannot claim a job that refers to its kwargs.
compatible_from = "0027"

# It may be run again: what precedes the index is committed before that is built.
_DDL = """
CREATE TABLE IF NOT EXISTS shared_kwargs (
    digest TEXT PRIMARY KEY,
    kwargs JSONB NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL
);
COMMENT ON COLUMN shared_kwargs.digest IS 'SHA-256 of their JSON, by which jobs refer to them';
COMMENT ON COLUMN job.kwargs IS 'an object; or a text, the digest of those in shared_kwargs';
"""
_INDEX = "job_shared_kwargs ON job ((kwargs #>> '{}')) WHERE jsonb_typeof(kwargs) = 'string'"
_HAS_JOBS = "SELECT EXISTS (SELECT FROM job)"

_DEFINITION = "SELECT pg_get_functiondef('sluice_submit(jsonb)'::regprocedure)"
_KWARGS_LIMIT = (
    "WHEN octet_length((given -> 'kwargs')::text) > 65536 THEN 'its kwargs are larger than 65536 bytes'"
)
# The limit is that of jobs.request_limits.
_POLICY_LIMIT = (
    "WHEN octet_length((given -> 'policy')::text) > 8192 THEN 'its policy is larger than 8192 bytes'"
)


def upgrade() -> None:
    bind = op.get_bind()
    _limit_policies()
    bind.exec_driver_sql(_DDL)
    if not bind.exec_driver_sql(_HAS_JOBS).scalar_one():
        bind.exec_driver_sql(f"CREATE INDEX {_INDEX}")
        return
    with op.get_context().autocommit_block():
        # An upgrade that was interrupted leaves an index that is not valid.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS job_shared_kwargs")
        op.execute(f"CREATE INDEX CONCURRENTLY {_INDEX}")


def _limit_policies() -> None:
    """Add one line to the function. Its owner, grants and settings stay."""
    bind = op.get_bind()
    text = bind.exec_driver_sql(_DEFINITION).scalar_one()
    if _POLICY_LIMIT in text:
        return
    if _KWARGS_LIMIT not in text:
        raise RuntimeError("sluice_submit has no limit for kwargs, after which the one for policies is added")
    limited = text.replace(_KWARGS_LIMIT, f"{_KWARGS_LIMIT}\n        {_POLICY_LIMIT}")
    # The driver would take a percent sign for a parameter.
    bind.exec_driver_sql(limited.replace("%", "%%"))
