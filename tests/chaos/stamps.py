"""A table beside the ledger's own, into which jobs write together with their success."""

TABLE = "public.chaos_stamp"
MAKE = f"CREATE TABLE {TABLE} (app text NOT NULL, key text NOT NULL, claim bigint NOT NULL)"
DROP = f"DROP TABLE IF EXISTS {TABLE}"
WRITE = f"INSERT INTO {TABLE} VALUES (%(app)s, %(key)s, %(claim)s)"
READ = f"SELECT app, key, claim FROM {TABLE} ORDER BY app, key, claim"
THERE = f"SELECT to_regclass('{TABLE}') IS NOT NULL"
