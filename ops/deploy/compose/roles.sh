#!/bin/sh
# Creates the roles that the parts of docker-compose.yml connect as, with the SQL of `sluice db roles`, and sets their
# passwords. It is run after every migration, because rights to new tables are granted by it.
set -eu
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --file="$1" >/dev/null
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 <<'SQL'
\getenv password LEDGER_PASSWORD
ALTER ROLE sluice_control PASSWORD :'password';
ALTER ROLE sluice_worker PASSWORD :'password';
SQL
