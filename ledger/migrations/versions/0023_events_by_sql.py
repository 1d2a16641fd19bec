"""Events by SQL: a program sends an event to a saga within its own transaction."""

from alembic import op

revision = "0023"
down_revision = "0022"
compatible_from = "0013"

# The groomer delivers the event within a tick, like any event that came before its job, and drops a repeated one.
_DDL = """
CREATE FUNCTION sluice_resume(request jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    said_id text := coalesce(request ->> 'id', gen_random_uuid()::text);
    found_id bigint;
    found_state text;
    wrong text;
BEGIN
    IF jsonb_typeof(request) IS DISTINCT FROM 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'an event is a JSON object';
    END IF;
    -- The limits of a submission (jobs.request_limits).
    wrong := CASE
        WHEN pg_column_size(request) > 8388608 THEN 'it is larger than 1048576 bytes'
        WHEN jsonb_path_exists(request, 'strict $.** ? (@.type() == "number" && (@ >= 1e308 || @ <= -1e308))')
            THEN 'it holds a number of more than 308 digits'
        WHEN jsonb_path_exists(request, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")')
            THEN 'it nests deeper than 64 levels'
        WHEN octet_length(request::text) > 1048576 THEN 'it is larger than 1048576 bytes'
    END;
    IF wrong IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the event is refused: ' || wrong;
    END IF;
    SELECT string_agg(word, ', ') INTO wrong FROM jsonb_object_keys(request) AS words (word)
    WHERE word NOT IN ('app', 'key', 'event', 'payload', 'id');
    IF wrong IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'unknown words of an event: ' || wrong;
    END IF;
    SELECT word INTO wrong
    FROM (VALUES ('app', false), ('key', false), ('event', true), ('id', true)) AS words (word, optional)
    WHERE NOT CASE coalesce(jsonb_typeof(request -> word), 'null')
        WHEN 'string' THEN length(request ->> word) <= CASE WHEN optional THEN 200 ELSE 10000 END
                           AND (request ->> word <> '' OR word = 'key')
        WHEN 'null' THEN optional
        ELSE false END
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'the event has no usable ' || wrong,
            HINT = 'app and key are texts; event and id, if given, are texts of 1 to 200 characters';
    END IF;
    SELECT id, state INTO found_id, found_state FROM job
    WHERE job.app = request ->> 'app' AND job.key = request ->> 'key';
    IF EXISTS (SELECT 1 FROM event WHERE event.job = found_id AND event.token = said_id) THEN
        RETURN 'repeated';
    END IF;
    IF found_state IN ('succeeded', 'failed', 'fatal', 'timed_out', 'expired', 'skipped', 'cancelled',
                       'upstream_failed', 'split') THEN
        RETURN 'too_late';
    END IF;
    INSERT INTO early (app, key, token, name, payload, by, at)
    VALUES (request ->> 'app', request ->> 'key', said_id, request ->> 'event',
            coalesce(request -> 'payload', 'null'), session_user, clock_timestamp())
    ON CONFLICT (app, key, token) DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'kept' ELSE 'repeated' END;
END
$$;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
