"""``sluice_submit`` refuses what cannot be read, and an id that belongs to another submission."""

from alembic import op

revision = "0022"
down_revision = "0021"
compatible_from = "0013"

_MESSAGE = """
ALTER TABLE submission ADD COLUMN message TEXT;
COMMENT ON COLUMN submission.message IS 'the id of the message that brought it, if one did';
"""
_CONTENT = """
-- What a submission asks for, however it is written: without its id, its place in a trace, and words that say nothing.
CREATE FUNCTION sluice_content(request jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(request) = 'object' THEN (
        SELECT coalesce(jsonb_object_agg(word, value), '{}'::jsonb) FROM jsonb_each(request) AS said (word, value)
        WHERE word NOT IN ('id', 'traceparent') AND value <> 'null'::jsonb
          AND (word, value) NOT IN (('push', '"all"'::jsonb), ('kwargs', '{}'::jsonb), ('policy', '{}'::jsonb))
    ) ELSE request END
$$;
"""
# The cheap checks come first: only what passes them is made into text. Limits are those of jobs.request_limits.
_SUBMIT = """
-- For programs that submit in a transaction of their own: nothing is asked for unless that commits.
CREATE OR REPLACE FUNCTION sluice_submit(request jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    given CONSTANT jsonb := request;
    fault text;
    its_id text;
    whole jsonb;
BEGIN
    fault := CASE
        WHEN given IS NULL OR jsonb_typeof(given) <> 'object' THEN 'it is no JSON object'
        WHEN pg_column_size(given) > 8388608 THEN 'it is larger than 1048576 bytes'
        WHEN jsonb_path_exists(given, 'strict $.** ? (@.type() == "number" && (@ >= 1e308 || @ <= -1e308))')
            THEN 'it holds a number of more than 308 digits'
        WHEN jsonb_path_exists(given, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")')
            THEN 'it nests deeper than 64 levels'
        WHEN octet_length(given::text) > 1048576 THEN 'it is larger than 1048576 bytes'
        WHEN octet_length((given -> 'kwargs')::text) > 65536 THEN 'its kwargs are larger than 65536 bytes'
        WHEN jsonb_typeof(given -> 'id') NOT IN ('string', 'null')
            OR NOT length(given ->> 'id') BETWEEN 1 AND 200 THEN 'its id is no text of 1 to 200 characters'
        WHEN given ->> 'id' LIKE '%/compensation' OR given ->> 'id' LIKE 'schedule:%'
            THEN 'ids that begin with schedule: or end in /compensation are reserved'
    END;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'The submission is refused: %.', fault USING ERRCODE = 'invalid_parameter_value';
    END IF;
    its_id := coalesce(given ->> 'id', gen_random_uuid()::text);
    whole := given || jsonb_build_object('id', its_id);
    INSERT INTO submission (id, app, state, request, push, received_at)
    VALUES (its_id, coalesce(given ->> 'app', '?'), 'received', whole,
            coalesce(given ->> 'push', 'all') = 'all', clock_timestamp())
    ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN
        RETURN its_id;
    END IF;
    UPDATE submission AS refused SET
        app = coalesce(given ->> 'app', '?'), state = 'received', request = whole,
        push = coalesce(given ->> 'push', 'all') = 'all', message = NULL, reason = NULL, sentinel = NULL, look_at = NULL,
        received_at = clock_timestamp(), planned_at = NULL, paused_at = NULL, ended_at = NULL
    WHERE refused.id = its_id AND refused.state = 'refused';
    IF NOT FOUND AND EXISTS (SELECT FROM submission AS other
                             WHERE other.id = its_id AND sluice_content(other.request) <> sluice_content(whole)) THEN
        RAISE EXCEPTION 'Submission % exists and asks for something else.', its_id
            USING ERRCODE = 'unique_violation', HINT = 'Use a new id, or none.';
    END IF;
    RETURN its_id;
END
$$;
"""
_OPTIONS = "SELECT prosecdef, proconfig FROM pg_proc WHERE oid = 'sluice_submit(jsonb)'::regprocedure"


def upgrade() -> None:
    """Owner and grants of a function outlast its replacement; what `sluice db roles` set besides does not."""
    bind = op.get_bind()
    runs_as_owner, options = bind.exec_driver_sql(_OPTIONS).one()
    bind.exec_driver_sql(_MESSAGE)
    bind.exec_driver_sql(_CONTENT)
    # The driver would take a percent sign for a parameter.
    bind.exec_driver_sql(_SUBMIT.replace("%", "%%"))
    if runs_as_owner:
        bind.exec_driver_sql("ALTER FUNCTION sluice_submit(jsonb) SECURITY DEFINER")
    for option in options or ():
        name, _, value = option.partition("=")
        bind.exec_driver_sql(f"ALTER FUNCTION sluice_submit(jsonb) SET {name} TO {value}")
